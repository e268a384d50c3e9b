package intake

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"concordat"
	"concordat/store"
	"concordat/web/pages"
)

// ErrKey means that an Idempotency-Key was used for a different request.
var ErrKey = errors.New("the Idempotency-Key was used for a different request")

// Once runs a request, or returns the earlier answer if the key was used before. asked identifies the request.
func Once[O any](ctx context.Context, db *store.DB, v *pages.Visitor, key string, asked any, do func() (*O, error)) (*O, error) {
	if len(key) > 255 {
		return nil, fmt.Errorf("Idempotency-Key has %d bytes, but at most 255 are allowed: %w", len(key), concordat.ErrInvalid)
	}
	if key == "" {
		return do()
	}
	b, err := json.Marshal(asked)
	if err != nil {
		return nil, err
	}
	h := sha256.Sum256(b)
	before, err := db.People.BeginOnce(ctx, v.Name, key, hex.EncodeToString(h[:]))
	if errors.Is(err, concordat.ErrInvalid) {
		return nil, ErrKey
	}
	if err != nil {
		return nil, err
	}
	if before != "" {
		out := new(O)
		if err := json.Unmarshal([]byte(before), out); err != nil {
			return nil, fmt.Errorf("response stored for key %s: %w: %v", key, concordat.ErrCorrupt, err)
		}
		return out, nil
	}
	out, err := do()
	kept := ""
	if err == nil {
		var b []byte
		b, err = json.Marshal(out)
		kept = string(b)
	}
	// The answer is stored even if the caller has disconnected, since the caller will ask again.
	return out, errors.Join(err, db.People.EndOnce(context.WithoutCancel(ctx), v.Name, key, kept))
}
