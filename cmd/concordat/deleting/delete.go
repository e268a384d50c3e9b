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
	"concordat/site/retain"
	"concordat/store"
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
