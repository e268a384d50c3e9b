package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/user"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/internal/cli"
	"concordat/instance"
	"concordat/site"
	"concordat/store"
)

func (a *app) deleteCommand() *cobra.Command {
	c := &cobra.Command{Use: "delete", Short: "Delete reports and documents for good, with a receipt", Args: cobra.NoArgs,
		Long: `Delete takes reports, documents or whole libraries away for good: from the index, the store, the files
as they were handed in, and the fingerprint sets of partners. It ends when the bytes are gone from
the disk, and prints a receipt, which the site's key signs and the audit keeps. A receipt names
documents by a hash only. doc/operations.md tells what remains, such as backups.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	c.AddCommand(a.deleteReports(), a.deleteDocuments(), a.deleteLibrary(), a.deleteList(), a.deleteReceipt(), a.deleteVerify())
	return c
}

// deletion is a command that deletes.
func (a *app) deletion(use, short string, args cobra.PositionalArgs, target func(ctx context.Context, o *instance.Instance, args []string) (site.Target, error)) *cobra.Command {
	var reason, receipt string
	c := &cobra.Command{Use: use, Short: short, Args: args, RunE: func(cmd *cobra.Command, args []string) error {
		if reason == "" {
			return cli.Usagef("--reason says nothing: a deletion needs a reason")
		}
		return a.With(cmd.Context(), instance.WithIndex, func(o *instance.Instance) error {
			t, err := target(cmd.Context(), o, args)
			if err != nil {
				return err
			}
			return a.erase(cmd.Context(), o, reason, receipt, t)
		})
	}}
	c.Flags().StringVar(&reason, "reason", "", "why; kept with the receipt")
	c.Flags().StringVar(&receipt, "receipt", "", "file to write the receipt to, in JSON")
	return c
}

func (a *app) deleteReports() *cobra.Command {
	return a.deletion("report ID...", "Delete checks with their reports, texts and originals", cobra.MinimumNArgs(1),
		func(ctx context.Context, o *instance.Instance, args []string) (t site.Target, err error) {
			for _, id := range args {
				_, err := o.Store.Task(ctx, concordat.TaskID(id))
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

func (a *app) deleteDocuments() *cobra.Command {
	return a.deletion("document LIBRARY ID...", "Delete documents of a library", cobra.MinimumNArgs(2),
		func(ctx context.Context, o *instance.Instance, args []string) (t site.Target, err error) {
			l, err := o.Library(ctx, args[0])
			if err != nil {
				return t, err
			}
			t.Library = l.ID
			for _, id := range args[1:] {
				_, err := o.Store.DocumentRow(ctx, l.ID, concordat.DocumentID(id))
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

func (a *app) deleteLibrary() *cobra.Command {
	return a.deletion("library NAME", "Delete a library with all its documents", cobra.ExactArgs(1),
		func(ctx context.Context, o *instance.Instance, args []string) (t site.Target, err error) {
			l, err := o.Library(ctx, args[0])
			return site.Target{Library: l.ID, Whole: true}, err
		})
}

// operator names who is at the command line.
func operator() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return "cli:" + u.Username
	}
	return "cli"
}

// erase deletes here, or has the serving process do it, and prints the receipt.
func (a *app) erase(ctx context.Context, o *instance.Instance, reason, file string, t site.Target) error {
	var r *site.Receipt
	var err error
	if o.Remote == nil {
		r, err = instance.Eraser(o, a.Signatures().Receipt, slog.New(slog.DiscardHandler)).Erase(ctx, operator(), reason, t)
	} else {
		r, err = a.eraseServed(ctx, o, reason, t)
	}
	if r == nil {
		return err
	}
	if errors.Is(err, concordat.ErrUnavailable) {
		a.Warn("deleted, but bytes stay on disk for now: %v; the serving process goes on with it", err)
		err = nil
	}
	if err != nil {
		return err
	}
	return a.printReceipt(r, file)
}

// eraseServed asks for a deletion and waits until the serving process has carried it out.
func (a *app) eraseServed(ctx context.Context, o *instance.Instance, reason string, t site.Target) (*site.Receipt, error) {
	id, err := o.AskErasure(ctx, o.Store, operator(), reason, t)
	if err != nil {
		return nil, err
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		row, err := o.Store.Erasure(ctx, id)
		if err != nil {
			return nil, err
		}
		if row.State == store.ErasureDone {
			var r site.Receipt
			return &r, json.Unmarshal(row.Receipt, &r)
		}
		if _, err := instance.Serving(ctx, o.Dir); err != nil {
			return nil, fmt.Errorf("deletion %s is asked for, and goes on when the site is served again: %w", id, err)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("deletion %s goes on in the serving process: %w", id, ctx.Err())
		case <-tick.C:
		}
	}
}

func (a *app) printReceipt(r *site.Receipt, file string) error {
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
	state := "the bytes are gone"
	if r.Done.IsZero() {
		state = "bytes stay on disk for now"
	}
	a.Say("deletion %s: %d reports, %d documents; %s", r.ID, len(r.Tasks), len(r.Documents), state)
	for _, p := range r.Places {
		a.Say("  %-12s %s", p.Name, p.State)
	}
	if r.Reports > 0 {
		a.Say("  %d reports cite the documents; their wording there: %s", r.Reports, r.Cited)
	}
	return nil
}

func (a *app) deleteList() *cobra.Command {
	return &cobra.Command{Use: "list", Short: "List deletions, newest first", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
			es, err := o.Store.Erasures(cmd.Context(), 0, 100)
			for _, e := range es {
				if err != nil {
					break
				}
				if a.JSON {
					err = a.Line(map[string]any{"id": e.ID, "made": e.Made, "actor": e.Actor, "reason": e.Reason, "state": e.State, "receipt": e.Receipt})
				} else {
					a.Say("%s  %s  %-8s %s  %s", e.ID, e.Made.Local().Format(time.DateTime), e.State, e.Actor, e.Reason)
				}
			}
			return err
		})
	}}
}

func (a *app) deleteReceipt() *cobra.Command {
	return &cobra.Command{Use: "receipt ID", Short: "Print the receipt of a deletion in JSON", Args: cobra.ExactArgs(1), RunE: func(cmd *cobra.Command, args []string) error {
		return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
			e, err := o.Store.Erasure(cmd.Context(), args[0])
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

func (a *app) retentionCommand() *cobra.Command {
	c := &cobra.Command{Use: "retention", Short: "Show and apply how long things are kept", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	var dryRun bool
	run := &cobra.Command{Use: "run", Short: "Delete what is over its time; concordat serve does so every hour", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.With(cmd.Context(), instance.WithIndex, func(o *instance.Instance) error { return a.retain(cmd.Context(), o, dryRun) })
		}}
	run.Flags().BoolVar(&dryRun, "dry-run", false, "say what would be deleted")
	show := &cobra.Command{Use: "show", Short: "Show the rules, of the site and of libraries and documents that have own ones", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error { return a.showRetention(cmd.Context(), o) })
		}}
	c.AddCommand(show, run, a.retentionDocument())
	return c
}

func (a *app) retain(ctx context.Context, o *instance.Instance, dryRun bool) error {
	did := &site.Swept{}
	var err error
	if o.Remote != nil && !dryRun {
		err = instance.CallServing(ctx, o.Dir, "/sweep", nil, did)
	} else {
		did, err = instance.Eraser(o, a.Signatures().Receipt, slog.New(slog.DiscardHandler)).Sweep(ctx, instance.Retention(o.Config), dryRun)
	}
	if did == nil {
		return err
	}
	if a.JSON {
		return errors.Join(err, a.Line(did))
	}
	verb := "deleted"
	if dryRun {
		verb = "would delete"
	}
	a.Say("%s %d reports, %d texts of submissions, %d originals, %d documents of libraries, %d files that belong to nothing; %d deletions carried on",
		verb, did.Reports, did.Texts, did.Originals, did.Documents, did.Files, did.Resumed)
	return err
}

func (a *app) showRetention(ctx context.Context, o *instance.Instance) error {
	r := o.Config.Retention
	libraries, err := o.Store.Libraries(ctx)
	if err != nil {
		return err
	}
	if a.JSON {
		if err := a.Line(map[string]any{"reports_days": r.Reports, "texts_days": r.Texts, "originals_days": r.Originals, "no_store": r.NoStore, "cited": r.Cited}); err != nil {
			return err
		}
	} else {
		days := func(n int) string {
			if n == 0 {
				return "for ever"
			}
			return fmt.Sprintf("%d days", n)
		}
		a.Say("reports: %s; texts of submissions: %s; originals: %s; nothing is stored: %t; wording of deleted sources: %s",
			days(r.Reports), days(r.Texts), days(r.Originals), r.NoStore, r.Cited)
	}
	for _, l := range libraries {
		if err := a.showTerms(ctx, o, l); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) showTerms(ctx context.Context, o *instance.Instance, l store.Library) error {
	if l.Policy.KeepDays > 0 {
		if a.JSON {
			if err := a.Line(map[string]any{"library": l.ID, "keep_days": l.Policy.KeepDays}); err != nil {
				return err
			}
		} else {
			a.Say("library %s: documents are kept for %d days", l.ID, l.Policy.KeepDays)
		}
	}
	for after := concordat.DocumentID(""); ; {
		terms, err := o.Store.Terms(ctx, l.ID, after, store.MaxPage)
		if err != nil {
			return err
		}
		for _, t := range terms {
			after = t.Document
			if a.JSON {
				err = a.Line(map[string]any{"library": t.Library, "document": t.Document, "hidden_until": t.Hidden, "expires": t.Expires})
			} else {
				a.Say("document %s/%s:%s%s", t.Library, t.Document, dated(" hidden until ", t.Hidden), dated(" expires ", t.Expires))
			}
			if err != nil {
				return err
			}
		}
		if len(terms) < store.MaxPage {
			return nil
		}
	}
}

func dated(words string, t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return words + t.Local().Format(time.DateOnly)
}

func (a *app) retentionDocument() *cobra.Command {
	var hidden, expires string
	c := &cobra.Command{Use: "document LIBRARY ID", Short: "Set until when a document is hidden, and from when it is deleted", Args: cobra.ExactArgs(2),
		Long: `A hidden document counts in checks: passages that it holds are found and give a score. Reports show
neither its title nor its wording before the day; then they do, also those made before. Partners are told nothing of it meanwhile.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				l, err := o.Library(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				t, err := o.Store.Term(cmd.Context(), l.ID, concordat.DocumentID(args[1]))
				if errors.Is(err, concordat.ErrNotFound) {
					return cli.Usagef("library %s has no document %s", l.ID, args[1])
				}
				if err == nil && cmd.Flags().Changed("hidden-until") {
					t.Hidden, err = parseDate(hidden)
				}
				if err == nil && cmd.Flags().Changed("expires") {
					t.Expires, err = parseDate(expires)
				}
				if err != nil {
					return err
				}
				if err := o.Store.SetTerm(cmd.Context(), t); err != nil {
					return err
				}
				b, err := json.Marshal(map[string]any{"library": t.Library, "document": site.DocumentName(t.Library, t.Document), "hidden": t.Hidden, "expires": t.Expires})
				if err != nil {
					return err
				}
				_, err = o.Store.AppendAudit(cmd.Context(), operator(), "term_set", b)
				return err
			})
		}}
	c.Flags().StringVar(&hidden, "hidden-until", "", "date (YYYY-MM-DD); empty: it is shown")
	c.Flags().StringVar(&expires, "expires", "", "date (YYYY-MM-DD); empty: never")
	return c
}
