package deleting

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/instance"
	"concordat/report"
	"concordat/site/retain"
	"concordat/store"
)

func RetentionCommand(s *cli.Site) *cobra.Command {
	a := &commands{s}
	c := &cobra.Command{Use: "retention", Short: "Show and apply retention rules", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	var dryRun bool
	run := &cobra.Command{Use: "run", Short: "Delete what has expired, as concordat serve does every hour", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.With(cmd.Context(), instance.WithIndex, func(o *instance.Instance) error { return a.retain(cmd.Context(), o, dryRun) })
		}}
	run.Flags().BoolVar(&dryRun, "dry-run", false, "show what would be deleted")
	show := &cobra.Command{Use: "show", Short: "Show the retention rules of the site, and of libraries and documents that override them",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error { return a.showRetention(cmd.Context(), o) })
		}}
	c.AddCommand(show, run, a.retentionDocument())
	return c
}

func (a *commands) retain(ctx context.Context, o *instance.Instance, dryRun bool) error {
	did := &retain.Swept{}
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
	many := report.Plural
	a.Say("%s %s, %s, %s, %s, %s, %s; %s continued", verb, many(did.Reports, "report", "reports"),
		many(did.Texts, "text of a submission", "texts of submissions"), many(did.Originals, "original", "originals"),
		many(did.Documents, "document of a library", "documents of libraries"),
		many(did.Cases, "document of a shared case", "documents of shared cases"),
		many(did.Files, "orphaned file", "orphaned files"), many(did.Resumed, "deletion", "deletions"))
	return err
}

func afterDecision(days int) string {
	if days == 0 {
		return "at once"
	}
	return inDays(days)
}

// inDays returns a number of days in words.
func inDays(n int) string {
	if n == 1 {
		return "1 day"
	}
	return fmt.Sprintf("%d days", n)
}

func (a *commands) showRetention(ctx context.Context, o *instance.Instance) error {
	r := o.Config.Retention
	libraries, err := o.Store.Catalogue.Libraries(ctx)
	if err != nil {
		return err
	}
	if a.JSON {
		if err := a.Line(map[string]any{"reports_days": r.Reports, "texts_days": r.Texts, "originals_days": r.Originals, "no_store": r.NoStore,
			"cited": r.Cited, "accepted_days": r.Accepted, "rejected_days": r.Rejected, "withdrawn_days": r.Withdrawn}); err != nil {
			return err
		}
	} else {
		days := func(n int) string {
			if n == 0 {
				return "for ever"
			}
			return inDays(n)
		}
		a.Say("kept: reports %s, texts of submissions %s, originals %s; nothing is stored: %t; wording of deleted sources: %s",
			days(r.Reports), days(r.Texts), days(r.Originals), r.NoStore, r.Cited)
		a.Say("documents of shared cases are deleted: after acceptance, %s; after rejection, %s; after withdrawal, %s",
			afterDecision(r.Accepted), afterDecision(r.Rejected), afterDecision(r.Withdrawn))
	}
	for _, l := range libraries {
		if err := a.showTerms(ctx, o, l); err != nil {
			return err
		}
	}
	return nil
}

func (a *commands) showTerms(ctx context.Context, o *instance.Instance, l store.Library) error {
	if l.Policy.KeepDays > 0 {
		if a.JSON {
			if err := a.Line(map[string]any{"library": l.ID, "keep_days": l.Policy.KeepDays}); err != nil {
				return err
			}
		} else {
			a.Say("library %s: documents are kept for %s", l.ID, inDays(l.Policy.KeepDays))
		}
	}
	for after := concordat.DocumentID(""); ; {
		terms, err := o.Store.Retention.Terms(ctx, l.ID, after, store.MaxPage)
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

func (a *commands) retentionDocument() *cobra.Command {
	var hidden, expires string
	c := &cobra.Command{Use: "document LIBRARY ID", Short: "Set when a document stops being hidden and when it is deleted",
		Args: cobra.ExactArgs(2),
		Long: `A hidden document still counts in checks: passages from it are found and counted. Until the date given with
--hidden-until, reports show neither its title nor its wording, and partners learn nothing about it; after that date,
all reports show both, including earlier ones.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				l, err := instance.Library(cmd.Context(), o.Store, args[0])
				if err != nil {
					return err
				}
				t, err := o.Store.Retention.Term(cmd.Context(), l.ID, concordat.DocumentID(args[1]))
				if errors.Is(err, concordat.ErrNotFound) {
					return cli.Usagef("library %s has no document %s", l.ID, args[1])
				}
				if err == nil && cmd.Flags().Changed("hidden-until") {
					t.Hidden, err = cli.ParseDate(hidden)
				}
				if err == nil && cmd.Flags().Changed("expires") {
					t.Expires, err = cli.ParseDate(expires)
				}
				if err != nil {
					return err
				}
				if err := o.Store.Retention.SetTerm(cmd.Context(), t); err != nil {
					return err
				}
				b, err := json.Marshal(map[string]any{"library": t.Library, "document": retain.DocumentName(t.Library, t.Document), "hidden": t.Hidden,
					"expires": t.Expires})
				if err != nil {
					return err
				}
				_, err = o.Store.Audit.AppendAudit(cmd.Context(), cli.Operator(), "term_set", b)
				return err
			})
		}}
	c.Flags().StringVar(&hidden, "hidden-until", "", "hide the document until this date (YYYY-MM-DD); if empty, show it")
	c.Flags().StringVar(&expires, "expires", "", "delete the document on this date (YYYY-MM-DD); if empty, never")
	return c
}
