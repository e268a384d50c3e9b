package instance

import (
	"bytes"
	"context"
	"encoding/json"

	"concordat/store"
)

// JSONLine returns v as JSON without white space and without HTML escapes.
func JSONLine(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

// Administrator is the audit's name for the person at the command line of this machine.
const Administrator = "administrator"

// Audit records an administrator's action on this machine.
func Audit(ctx context.Context, db *store.DB, action string, detail map[string]any) error {
	b, err := JSONLine(detail)
	if err != nil {
		return err
	}
	_, err = db.Audit.AppendAudit(ctx, Administrator, action, b)
	return err
}
