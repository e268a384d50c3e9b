package main

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
	"concordat/cmd/internal/cli"
	"concordat/crypto"
	"concordat/instance"
	"concordat/partners"
	"concordat/store"
)

func (a *app) auditCommand() *cobra.Command {
	c := &cobra.Command{Use: "audit", Short: "Show, verify and export what this site did with and for others", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	c.AddCommand(a.auditShow(), a.auditVerify(), a.auditExport())
	return c
}

func (a *app) auditShow() *cobra.Command {
	var after int64
	var limit int
	c := &cobra.Command{
		Use: "show", Short: "List entries of the audit, oldest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				es, err := o.Store.Audit(cmd.Context(), after, limit)
				if err != nil {
					return err
				}
				for _, e := range es {
					if a.JSON {
						err = a.Line(e)
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
	c.Flags().Int64Var(&after, "after", 0, "begin after this entry")
	c.Flags().IntVar(&limit, "limit", 100, "most entries listed")
	return c
}

// knownHeads returns the heads that this site kept of a partner.
func knownHeads(ctx context.Context, db *store.DB, site concordat.SiteID) ([]store.AuditHead, []store.Witness, error) {
	ws, err := db.Witnesses(ctx, site)
	if err != nil {
		return nil, nil, err
	}
	heads := make([]store.AuditHead, len(ws))
	for i, w := range ws {
		heads[i] = store.AuditHead{Seq: int64(w.Seq), Hash: hex.EncodeToString(w.Hash[:])}
	}
	return heads, ws, nil
}

func (a *app) auditVerify() *cobra.Command {
	var of, file string
	var heads []string
	c := &cobra.Command{
		Use: "verify", Short: "Follow the chain of the audit, here or in a partner's export",
		Long: `verify follows the chain of hashes from the first entry and names the entry at which it breaks. A chain that was
rewritten as a whole is consistent in itself: only signed heads that somebody else kept show it.

  --head FILE          a head of this site that a partner kept, as audit export wrote it
  --export FILE --of SITE
                       the audit that a partner handed over, against the heads that this site kept of it`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if (of == "") != (file == "") {
				return cli.Usagef("--export and --of belong together")
			}
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				if file != "" {
					return a.verifyExport(cmd.Context(), o, file, of, heads)
				}
				return a.verifyOwn(cmd.Context(), o, heads)
			})
		},
	}
	c.Flags().StringVar(&file, "export", "", "file that audit export wrote at another site")
	c.Flags().StringVar(&of, "of", "", "partner whose audit it is")
	c.Flags().StringArrayVar(&heads, "head", nil, "file whose last line is a signed head; may be repeated")
	return c
}

func (a *app) verifyOwn(ctx context.Context, o *instance.Instance, files []string) error {
	var known []store.AuditHead
	if len(files) > 0 {
		_, id, err := a.OpenKeys(o.Dir)
		if err != nil {
			return err
		}
		cards, err := storedCards(ctx, o, concordat.SiteID(id.Site().String()))
		if err != nil {
			return err
		}
		if known, err = readHeads(files, cards); err != nil {
			return err
		}
	}
	head, err := o.Store.VerifyAudit(ctx, known...)
	return a.verified(head, len(known), err)
}

// verified prints the outcome. A broken chain is exit code 1, with the entry in the message.
func (a *app) verified(head store.AuditHead, heads int, err error) error {
	if err != nil {
		if a.JSON {
			return errors.Join(a.Line(map[string]any{"ok": false, "error": err.Error()}), &cli.Exit{Code: cli.Failed})
		}
		return err
	}
	if a.JSON {
		return a.Line(map[string]any{"ok": true, "entries": head.Seq, "hash": head.Hash, "heads": heads})
	}
	a.Say("the audit is whole: %d entries, %d known heads on its way, last hash %s", head.Seq, heads, head.Hash)
	return nil
}

// storedCards returns all cards of a site that the store has, newest first.
func storedCards(ctx context.Context, o *instance.Instance, site concordat.SiteID) ([]*crypto.Card, error) {
	signed, err := o.Store.Cards(ctx, site)
	if err != nil {
		return nil, err
	}
	cards := make([]*crypto.Card, len(signed))
	for i, s := range signed {
		if cards[i], err = crypto.ParseCard(s.Card); err != nil {
			return nil, fmt.Errorf("card %d of %s: %w", s.Serial, site, err)
		}
	}
	return cards, nil
}

// exportedHead is the last line of an export.
type exportedHead struct {
	Site crypto.SiteID `json:"site"`
	Seq  uint64        `json:"seq"`
	Hash string        `json:"hash"`
	Head []byte        `json:"head"` // signed; base64 in JSON
}

// readHeads reads the last line of each file as a head and checks it against the cards of its site.
func readHeads(files []string, cards []*crypto.Card) ([]store.AuditHead, error) {
	var known []store.AuditHead
	for _, file := range files {
		var last exportedHead
		for line, err := range auditLines(file) {
			if err != nil {
				return nil, err
			}
			last = exportedHead{}
			_ = json.Unmarshal(line, &last) // entries are no heads
		}
		h, err := crypto.ParseHead(last.Head)
		if err != nil {
			return nil, cli.Usagef("%s: its last line is no signed head", file)
		}
		if err := checkHead(h, cards); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		known = append(known, store.AuditHead{Seq: int64(h.Seq), Hash: hex.EncodeToString(h.Hash[:])})
	}
	return known, nil
}

// checkHead succeeds where one of the cards confirms the head.
func checkHead(h *crypto.Head, cards []*crypto.Card) error {
	err := fmt.Errorf("%w: no card of %s is known", crypto.ErrCard, h.Site)
	for _, c := range cards {
		if err = h.Check(c); err == nil {
			return nil
		}
	}
	return err
}

// maxAuditLine bounds a line of an export, in bytes.
const maxAuditLine = 1 << 20

// auditLines returns the lines of an export that are not empty.
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

// verifyExport checks what a partner handed over.
func (a *app) verifyExport(ctx context.Context, o *instance.Instance, file, of string, heads []string) error {
	p, err := o.Partner(ctx, of)
	if err != nil {
		return err
	}
	cards, err := storedCards(ctx, o, p.Site)
	if err != nil {
		return err
	}
	known, kept, err := knownHeads(ctx, o.Store, p.Site)
	if err != nil {
		return err
	}
	for _, w := range kept {
		if w.Fork {
			a.Warn("%s has shown audits that contradict each other: entry %d, heard %s", of, w.Seq, w.Heard.Local().Format(time.DateTime))
		}
	}
	more, err := readHeads(append(heads, file), cards) // the export's own last line is signed too
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
			if err == nil && e.Action == "" && e.Prev == "" { // the head
				continue
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}, known...)
	return a.verified(head, len(known), err)
}

func (a *app) auditExport() *cobra.Command {
	var out string
	c := &cobra.Command{
		Use: "export", Short: "Write the audit as JSON lines, the last of them its signed head", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withKeys(cmd.Context(), func(o *instance.Instance, _ *instance.Keystore, id *crypto.Identity) error {
				var b bytes.Buffer
				w := a.Stdout
				if out != "" {
					w = &b
				}
				if err := exportAudit(cmd.Context(), w, o.Store, id); err != nil || out == "" {
					return err
				}
				return instance.WriteFile(out, b.Bytes())
			})
		},
	}
	c.Flags().StringVar(&out, "out", "", "file to write (default: stdout)")
	return c
}

func exportAudit(ctx context.Context, w io.Writer, db *store.DB, id *crypto.Identity) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	var end store.AuditHead
	for {
		es, err := db.Audit(ctx, end.Seq, 0)
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
	h, err := partners.SignHead(id, end, time.Now())
	if err != nil {
		return err
	}
	return e.Encode(exportedHead{Site: h.Site, Seq: h.Seq, Hash: hex.EncodeToString(h.Hash[:]), Head: h.Bytes()})
}
