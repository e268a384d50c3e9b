package auditing

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/crypto"
	"concordat/instance"
	"concordat/store"
	"concordat/view"
)

func AuditCommand(s *cli.Site) *cobra.Command {
	a := &commands{s}
	c := &cobra.Command{Use: "audit", Short: "Show, verify and export the audit log", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	c.AddCommand(a.auditShow(), a.auditVerify(), a.auditExport())
	return c
}

func (a *commands) auditShow() *cobra.Command {
	var after int64
	var limit int
	c := &cobra.Command{
		Use: "show", Short: "List entries of the audit log, oldest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				es, err := o.Store.Audit.Audit(cmd.Context(), after, limit)
				if err != nil {
					return err
				}
				for _, e := range es {
					if a.JSON {
						err = a.Line(view.OfAuditEntry(e))
					} else {
						a.Say("%6d  %s  %-20.20s %-20s %s", e.Seq, e.At.Local().Format(time.DateTime), e.Actor, e.Action, e.Detail)
					}
					if err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	c.Flags().Int64Var(&after, "after", 0, "list only entries after the one with this number")
	c.Flags().IntVar(&limit, "limit", 100, "maximum number of entries to list")
	return c
}

func (a *commands) auditVerify() *cobra.Command {
	var of, file string
	var heads []string
	c := &cobra.Command{
		Use: "verify", Short: "Verify the hash chain of the audit log, here or in a partner's export",
		Long: `Verify checks the chain of hashes from the first entry and names the entry at which it breaks. A chain that was
rewritten completely is consistent in itself, so only signed heads kept elsewhere reveal the change. The last
entry is compared with the head that the site signed last (audit.head), so missing entries are noticed. If someone
could change both the audit log and audit.head, keep the last hash or a copy of audit.head elsewhere.

  --head FILE          a signed head of this site that a partner kept, as written by audit export
  --export FILE --of SITE
                       a partner's audit log, compared with the heads that this site kept`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if (of == "") != (file == "") {
				return cli.Usagef("--export and --of must be used together")
			}
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				if file != "" {
					return a.verifyExport(cmd.Context(), o, file, of, heads)
				}
				return a.verifyOwn(cmd.Context(), o, heads)
			})
		},
	}
	c.Flags().StringVar(&file, "export", "", "file written by audit export at a partner site")
	c.Flags().StringVar(&of, "of", "", "partner whose audit log was exported")
	c.Flags().StringArrayVar(&heads, "head", nil, "file whose last line is a signed head; may be repeated")
	return c
}

func (a *commands) verifyOwn(ctx context.Context, o *instance.Instance, files []string) error {
	var known []store.AuditHead
	if len(files) > 0 {
		_, id, err := a.OpenKeys(o.Dir)
		if err != nil {
			return err
		}
		cards, err := cli.StoredCards(ctx, o, concordat.SiteID(id.Site().String()))
		if err != nil {
			return err
		}
		if known, err = readHeads(files, cards); err != nil {
			return err
		}
	}
	kept, ok, err := instance.KeptHead(ctx, o.Dir, o.Store)
	if err != nil {
		return a.verified(store.AuditHead{}, len(known), err)
	}
	if ok {
		known = append(known, kept)
	} else {
		a.Warn("no signed head is kept with the store, so missing entries at the end of the audit log would go unnoticed")
	}
	if _, _, err := instance.AuditEnds(ctx, o.Dir, o.Store); err != nil {
		return a.verified(store.AuditHead{}, len(known), err)
	}
	head, err := o.Store.Audit.VerifyAudit(ctx, known...)
	return a.verified(head, len(known), err)
}

// verified prints the outcome. If the chain is broken, the exit code is 1 and the message names the broken entry.
func (a *commands) verified(head store.AuditHead, heads int, err error) error {
	if err != nil {
		if a.JSON {
			return errors.Join(a.Line(map[string]any{"ok": false, "error": err.Error()}), &cli.Exit{Code: cli.Failed})
		}
		return err
	}
	if a.JSON {
		return a.Line(map[string]any{"ok": true, "entries": head.Seq, "hash": head.Hash, "heads": heads})
	}
	a.Say("the audit log is intact: %d entries, %d known heads, last hash %s", head.Seq, heads, head.Hash)
	return nil
}

// readHeads reads the last line of each file as a head and checks it against the site's cards.
func readHeads(files []string, cards []*crypto.Card) ([]store.AuditHead, error) {
	var known []store.AuditHead
	for _, file := range files {
		var last instance.SignedHead
		for line, err := range auditLines(file) {
			if err != nil {
				return nil, err
			}
			last = instance.SignedHead{}
			_ = json.Unmarshal(line, &last) // entries are not heads
		}
		h, err := crypto.ParseHead(last.Head)
		if err != nil {
			return nil, cli.Usagef("%s: the last line is not a signed head", file)
		}
		if err := checkHead(h, cards); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		known = append(known, store.AuditHead{Seq: int64(h.Seq), Hash: hex.EncodeToString(h.Hash[:])})
	}
	return known, nil
}

// checkHead succeeds if one of the cards confirms the head.
func checkHead(h *crypto.Head, cards []*crypto.Card) error {
	err := fmt.Errorf("%w: this site has no card for site %s", crypto.ErrCard, h.Site)
	for _, c := range cards {
		if err = h.Check(c); err == nil {
			return nil
		}
	}
	return err
}

// maxAuditLine is the maximum length in bytes of a line of an export.
const maxAuditLine = 1 << 20

// auditLines returns the non-empty lines of an export.
func auditLines(path string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		f, err := os.Open(path)
		if err != nil {
			yield(nil, cli.Usage(err))
			return
		}
		defer f.Close()
		s := bufio.NewScanner(f)
		s.Buffer(nil, maxAuditLine)
		for s.Scan() {
			if len(bytes.TrimSpace(s.Bytes())) > 0 && !yield(s.Bytes(), nil) {
				return
			}
		}
		if err := s.Err(); err != nil {
			yield(nil, fmt.Errorf("%s: %w", path, err))
		}
	}
}

// verifyExport verifies a partner's export.
func (a *commands) verifyExport(ctx context.Context, o *instance.Instance, file, of string, heads []string) error {
	p, err := instance.Partner(ctx, o.Store, of)
	if err != nil {
		return err
	}
	cards, err := cli.StoredCards(ctx, o, p.Site)
	if err != nil {
		return err
	}
	known, kept, err := cli.KnownHeads(ctx, o.Store, p.Site)
	if err != nil {
		return err
	}
	for _, w := range kept {
		if w.Fork {
			a.Warn("%s has shown contradictory audit logs: entry %d, received %s", of, w.Seq, w.Heard.Local().Format(time.DateTime))
		}
	}
	more, err := readHeads(append(heads, file), cards) // the last line of the export itself is signed too
	if err != nil {
		return err
	}
	known = append(known, more...)
	head, err := store.VerifyEntries(func(yield func(store.AuditEntry, error) bool) {
		for line, err := range auditLines(file) {
			var e store.AuditEntry
			if err == nil {
				err = json.Unmarshal(line, &e)
			}
			if err == nil && e.Action == "" && e.Prev == "" { // e is the head
				continue
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}, known...)
	return a.verified(head, len(known), err)
}

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
