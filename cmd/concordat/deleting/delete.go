package deleting

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/instance"
	"concordat/instance/signing"
	"concordat/site/retain"
	"concordat/store"
	"concordat/view"
)

func DeleteCommand(s *cli.Site) *cobra.Command {
	a := &commands{s}
	c := &cobra.Command{Use: "delete", Short: "Delete reports and documents permanently, with a receipt", Args: cobra.NoArgs,
		Long: `Delete permanently removes reports, documents or whole libraries from the index, the store, the submitted files
and the fingerprint sets of partners. It returns once the bytes are gone from the disk, and prints a receipt. The
receipt is signed with the site's key, kept in the audit log, and names documents only by a hash. doc/operations.md
says what remains, such as backups.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	c.AddCommand(a.deleteReports(), a.deleteDocuments(), a.deleteLibrary(), a.deleteList(), a.deleteReceipt(), a.deleteVerify())
	return c
}

// Deletion returns a command that deletes the target, with a reason and a receipt.
func Deletion(s *cli.Site, use, short string, args cobra.PositionalArgs,
	target func(ctx context.Context, o *instance.Instance, args []string) (retain.Target, error)) *cobra.Command {
	a := &commands{s}
	var reason, receipt string
	c := &cobra.Command{Use: use, Short: short, Args: args, RunE: func(cmd *cobra.Command, args []string) error {
		if reason == "" {
			return cli.Usagef("--reason is required: give the reason for the deletion")
		}
		return a.With(cmd.Context(), instance.WithIndex, func(o *instance.Instance) error {
			t, err := target(cmd.Context(), o, args)
			if err != nil {
				return err
			}
			return a.erase(cmd.Context(), o, reason, receipt, t)
		})
	}}
	c.Flags().StringVar(&reason, "reason", "", "reason for the deletion, kept with the receipt")
	c.Flags().StringVar(&receipt, "receipt", "", "write the receipt to this file, as JSON")
	return c
}

// erase deletes here or through the serving process, and prints the receipt.
func (a *commands) erase(ctx context.Context, o *instance.Instance, reason, file string, t retain.Target) error {
	var r *retain.Receipt
	var err error
	if o.Remote == nil {
		r, err = instance.Eraser(o, a.Signatures().Receipt, slog.New(slog.DiscardHandler)).Erase(ctx, cli.Operator(), reason, t)
	} else {
		r, err = a.eraseServed(ctx, o, reason, t)
	}
	if r == nil {
		return err
	}
	if errors.Is(err, concordat.ErrUnavailable) {
		a.Warn("deleted, but some bytes are still on disk: %v; the server will remove them", err)
		err = nil
	}
	if err != nil {
		return err
	}
	return a.printReceipt(r, file)
}

// bytesTime is how long delete waits for the removal of the bytes after the text can no longer be found, because one of the site's
// machines may be away.
const bytesTime = 30 * time.Second

// eraseServed requests a deletion and waits until the serving process has completed it, except perhaps for the removal of bytes.
func (a *commands) eraseServed(ctx context.Context, o *instance.Instance, reason string, t retain.Target) (*retain.Receipt, error) {
	id, err := retain.Ask(ctx, o.Site, o.Store, cli.Operator(), reason, t)
	if err != nil {
		return nil, err
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	begun := time.Now()
	for {
		row, err := o.Store.Retention.Erasure(ctx, id)
		if err != nil {
			return nil, err
		}
		if row.State == store.ErasureDone || row.State == store.ErasureDeleted && time.Since(begun) > bytesTime {
			var r retain.Receipt
			return &r, json.Unmarshal(row.Receipt, &r)
		}
		if _, err := instance.Serving(ctx, o.Dir); err != nil {
			return nil, fmt.Errorf("deletion %s was requested and will continue when the server is running again: %w", id, err)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("deletion %s is still in progress on the server: %w", id, ctx.Err())
		case <-tick.C:
		}
	}
}

func (a *commands) printReceipt(r *retain.Receipt, file string) error {
	if file != "" {
		b, err := json.MarshalIndent(r, "", "  ")
		if err == nil {
			err = os.WriteFile(file, append(b, '\n'), 0o600)
		}
		if err != nil {
			return err
		}
	}
	if a.JSON {
		return a.Line(r)
	}
	state := "all bytes are gone from the disk"
	if r.Done.IsZero() {
		state = "some bytes are still on disk; concordat delete receipt " + r.ID + " shows when they are gone"
	}
	a.Say("deletion %s: %d reports, %d documents; %s", r.ID, len(r.Tasks), len(r.Documents), state)
	for _, p := range r.Places {
		a.Say("  %-12s %s", p.Name, p.State)
	}
	if r.Reports > 0 {
		a.Say("  %d reports cite the documents; wording quoted in these reports: %s", r.Reports, r.Cited)
	}
	return nil
}

func (a *commands) deleteDocuments() *cobra.Command {
	return Deletion(a.Site, "document LIBRARY ID...", "Delete documents from a library", cobra.MinimumNArgs(2),
		func(ctx context.Context, o *instance.Instance, args []string) (t retain.Target, err error) {
			l, err := instance.Library(ctx, o.Store, args[0])
			if err != nil {
				return t, err
			}
			t.Library = l.ID
			for _, id := range args[1:] {
				_, err := o.Store.Catalogue.DocumentRow(ctx, l.ID, concordat.DocumentID(id))
				if errors.Is(err, concordat.ErrNotFound) {
					return t, cli.Usagef("library %s has no document %s", l.ID, id)
				}
				if err != nil {
					return t, err
				}
				t.Documents = append(t.Documents, concordat.DocumentID(id))
			}
			return t, nil
		})
}

func (a *commands) deleteLibrary() *cobra.Command {
	return Deletion(a.Site, "library NAME", "Delete a library and all its documents", cobra.ExactArgs(1),
		func(ctx context.Context, o *instance.Instance, args []string) (t retain.Target, err error) {
			l, err := instance.Library(ctx, o.Store, args[0])
			return retain.Target{Library: l.ID, Whole: true}, err
		})
}

func (a *commands) deleteReports() *cobra.Command {
	return Deletion(a.Site, "report ID...", "Delete checks with their reports, texts and originals", cobra.MinimumNArgs(1),
		func(ctx context.Context, o *instance.Instance, args []string) (t retain.Target, err error) {
			for _, id := range args {
				_, err := o.Store.Checks.Task(ctx, concordat.TaskID(id))
				if errors.Is(err, concordat.ErrNotFound) {
					return t, cli.Usagef("no report %s; see concordat report list", id)
				}
				if err != nil {
					return t, err
				}
				t.Tasks = append(t.Tasks, concordat.TaskID(id))
			}
			return t, nil
		})
}

func (a *commands) deleteList() *cobra.Command {
	return &cobra.Command{Use: "list", Short: "List deletions, newest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				es, err := o.Store.Retention.Erasures(cmd.Context(), 0, 100)
				for _, e := range es {
					if err != nil {
						break
					}
					if a.JSON {
						err = a.Line(view.OfDeletion(e))
					} else {
						a.Say("%s  %s  %-8s %s  %s", e.ID, e.Made.Local().Format(time.DateTime), e.State, e.Actor, e.Reason)
					}
				}
				return err
			})
		}}
}

func (a *commands) deleteReceipt() *cobra.Command {
	return &cobra.Command{Use: "receipt ID", Short: "Print the receipt of a deletion as JSON", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				e, err := o.Store.Retention.Erasure(cmd.Context(), args[0])
				if errors.Is(err, concordat.ErrNotFound) || err == nil && e.Receipt == nil {
					return cli.Usagef("no receipt %s; see concordat delete list", args[0])
				}
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(a.Stdout, "%s\n", e.Receipt)
				return err
			})
		}}
}

// maxReceipt is the maximum size in bytes of a receipt to verify.
const maxReceipt = 64 << 20

func (a *commands) deleteVerify() *cobra.Command {
	var cardFiles []string
	var document string
	c := &cobra.Command{
		Use: "verify FILE", Short: "Check the signature of a deletion receipt", Args: cobra.ExactArgs(1),
		Long: `Verify checks the site's signature on the receipt against the cards given with --card, or those that
this site has stored. With --document LIBRARY/ID, it also checks that the receipt is about that document.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := instance.ReadBounded(args[0], maxReceipt)
			if err != nil {
				return cli.Usage(err)
			}
			cards, err := a.ReadCards(cmd.Context(), cardFiles)
			if err != nil {
				return err
			}
			var r retain.Receipt
			if err := json.Unmarshal(b, &r); err != nil || r.Version != retain.ReceiptVersion {
				return cli.Usagef("%s: not a version %d receipt: %v", args[0], retain.ReceiptVersion, err)
			}
			if err := verifyReceipt(r, cards); err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			if document != "" && !names(r, document) {
				return fmt.Errorf("%s: %w: the receipt is not about document %s", args[0], concordat.ErrNotFound, document)
			}
			a.Say("the receipt is unchanged since site %s signed it: %d reports, %d documents", r.Site, len(r.Tasks), len(r.Documents))
			if a.JSON {
				return a.Line(map[string]any{"ok": true, "site": r.Site, "id": r.ID})
			}
			return nil
		},
	}
	c.Flags().StringArrayVar(&cardFiles, "card", nil, "file with a site's card; may be repeated")
	c.Flags().StringVar(&document, "document", "", "check that the receipt is about this document, given as LIBRARY/ID")
	return c
}

// verifyReceipt returns nil if the receipt was signed by the site of the cards.
func verifyReceipt(r retain.Receipt, cards cli.Cards) error {
	if len(r.Signature) == 0 {
		return fmt.Errorf("the receipt is not signed: %w", concordat.ErrInvalid)
	}
	var s signing.ReceiptSignature
	if err := json.Unmarshal(r.Signature, &s); err != nil {
		return fmt.Errorf("decode the signature: %w: %v", concordat.ErrInvalid, err)
	}
	sum, err := r.Sum()
	if err != nil {
		return err
	}
	err = cards.Check(concordat.Statement{Site: s.Site, Kind: signing.KindReceipt, At: s.At, KeyEpoch: s.KeyEpoch,
		Request: make([]byte, 32), Payload: sum[:], Signature: s.Signature})
	if err != nil {
		return fmt.Errorf("check the signature of site %s: %w", s.Site, err)
	}
	return nil
}

// names reports whether the receipt covers a document, given as LIBRARY/ID.
func names(r retain.Receipt, document string) bool {
	for _, d := range r.Documents {
		if d.Name == retain.NameOf(document) {
			return true
		}
	}
	return false
}
