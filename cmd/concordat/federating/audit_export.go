package federating

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/spf13/cobra"

	"concordat/crypto"
	"concordat/instance"
	"concordat/store"
)

func (a *commands) auditExport() *cobra.Command {
	var out string
	c := &cobra.Command{
		Use: "export", Short: "Export the audit log as JSON lines, ending with its signed head", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.WithKeys(cmd.Context(), func(o *instance.Instance, _ *instance.Keystore, id *crypto.Identity) error {
				var b bytes.Buffer
				w := a.Stdout
				if out != "" {
					w = &b
				}
				if err := ExportAudit(cmd.Context(), w, o.Store, id); err != nil || out == "" {
					return err
				}
				return instance.WriteFile(out, b.Bytes())
			})
		},
	}
	c.Flags().StringVar(&out, "out", "", "file to write (default: stdout)")
	return c
}

func ExportAudit(ctx context.Context, w io.Writer, db *store.DB, id *crypto.Identity) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	var end store.AuditHead
	for {
		es, err := db.Audit.Audit(ctx, end.Seq, 0)
		if err != nil {
			return err
		}
		for _, x := range es {
			if err := e.Encode(x); err != nil {
				return err
			}
			end = store.AuditHead{Seq: x.Seq, Hash: x.Hash}
		}
		if len(es) < store.MaxPage {
			break
		}
	}
	h, err := instance.SignHead(id, end, time.Now())
	if err != nil {
		return err
	}
	return e.Encode(instance.SignedHeadOf(h))
}
