package program

import (
	"cmp"
	"context"
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/instance"
	"concordat/instance/signing"
	"concordat/partners"
	"concordat/report"
	"concordat/site"
	"concordat/view"
	"concordat/web/pages/checks"
)

func (a *app) reportCommand() *cobra.Command {
	c := &cobra.Command{Use: "report", Short: "List, show, export and verify the reports of checks", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	var limit int
	list := &cobra.Command{
		Use: "list", Short: "List checks, newest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error { return a.listReports(cmd.Context(), o, limit) })
		},
	}
	list.Flags().IntVar(&limit, "limit", 50, "maximum number of checks")
	var showing, exporting readingFlags
	var showLanguage string
	show := &cobra.Command{
		Use: "show TASK", Short: "Print a report as text", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withReport(cmd.Context(), args[0], &showing, showLanguage,
				func(_ *instance.Instance, rep *report.Report) error {
					if a.JSON {
						return a.reportLine(rep)
					}
					return cli.Show(a.Stdout, func(w io.Writer) error { return report.WriteText(w, rep) })
				})
		},
	}
	showing.add(show)
	addLanguage(show.Flags(), &showLanguage)
	var out outFlags
	export := &cobra.Command{
		Use: "export TASK --out FILE", Short: "Write a report to a file, optionally under different rules", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if out.out == "" {
				return cli.Usagef("--out is missing: name a file")
			}
			if err := out.validate(); err != nil {
				return err
			}
			return a.withReport(cmd.Context(), args[0], &exporting, out.language,
				func(o *instance.Instance, rep *report.Report) error {
					notes, err := signing.Notes(cmd.Context(), o.Store, rep.Task)
					if err != nil {
						return err
					}
					out.pages = signing.PagesOf(o.Config, instance.Version(), notes)
					return a.give(rep, out)
				})
		},
	}
	out.add(export.Flags())
	exporting.add(export)
	c.AddCommand(list, show, export, a.reportVerify())
	return c
}

// readingFlags controls how the findings of a check are interpreted.
type readingFlags struct {
	rules      ruleFlags
	leads      leadFlags
	configured bool // start from the configured rules instead of the rules in force
}

func (f *readingFlags) add(c *cobra.Command) {
	f.rules.add(c.Flags())
	f.leads.add(c)
	c.Flags().BoolVar(&f.configured, "configured-rules", false,
		"start from the rules in the configuration instead of those of the batch or review")
}

func (a *app) listReports(ctx context.Context, o *instance.Instance, limit int) error {
	tasks, err := o.Store.Checks.Tasks(ctx, 0, limit)
	if err != nil {
		return err
	}
	for _, t := range tasks {
		if a.JSON {
			var one view.Check
			if one, err = view.OfCheck(ctx, o.Store, t, checks.FileName(t)); err == nil {
				err = a.Line(one)
			}
		} else {
			a.Say("%s  %s  %-7s  %s %s", t.ID, t.Made.Local().Format(time.DateTime), t.State, t.Title, t.Cause)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// withReport calls f with a task's report, as selected by the flags.
func (a *app) withReport(ctx context.Context, id string, flags *readingFlags, language string,
	f func(*instance.Instance, *report.Report) error) error {
	if err := cmp.Or(flags.rules.validate(), flags.leads.validate()); err != nil {
		return err
	}
	return a.With(ctx, instance.StoreOnly, func(o *instance.Instance) error {
		found, err := o.Site.Findings(ctx, concordat.TaskID(id))
		if errors.Is(err, concordat.ErrNotFound) {
			return cli.Usagef("report %s not found; see concordat report list", id)
		}
		if err != nil {
			return err
		}
		base := o.Config.Report.Rules
		if !flags.configured {
			if base, err = site.RulesInForce(ctx, o.Store, found.Task, base); err != nil {
				return err
			}
		}
		r, err := flags.rules.over(ctx, a, o, base)
		if err != nil {
			return err
		}
		rep := report.Build(found, r)
		if rep.LeadFilter, err = flags.leads.filter(rep.Leads != nil); err != nil {
			return err
		}
		if rep.Language, err = instance.Language(o.Config, language); err != nil {
			return err
		}
		if rep.Names, err = partners.ReportNames(ctx, o); err != nil {
			return err
		}
		if rep.Later, err = site.Later(ctx, o.Store, found.Task); err != nil {
			return err
		}
		return f(o, rep)
	})
}
