package alerting

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/instance"
	"concordat/partners"
	"concordat/report"
	"concordat/site/retain"
	"concordat/store"
	"concordat/view"
)

// caseCommands contains the commands for shared cases.
type caseCommands struct{ *cli.Site }

// CaseCommand returns the command for cases that this site shares with partners.
func CaseCommand(s *cli.Site) *cobra.Command {
	a := &caseCommands{s}
	c := &cobra.Command{Use: "case", Short: "Settle cases that this site shares with a partner", Args: cobra.NoArgs,
		Long: `When a partner's document matches a standing check of this site, or the other way round, both sites see one case
with the same number. Each site states its position (open, confirmed or cleared) and names a contact. A case is
settled once both sites agree. The decide command closes the case for this site's own document: its text and
fingerprints are deleted here, and the partner deletes the fingerprints that it keeps; each site gets a receipt.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	c.AddCommand(a.caseList(), a.caseShow(),
		a.caseMove("confirm ID", "State that the documents share more than they should", concordat.CaseConfirmed),
		a.caseMove("clear ID", "State that nothing is wrong", concordat.CaseCleared),
		a.caseMove("reopen ID", "Withdraw this site's statement about a case", concordat.CaseOpen), a.caseDecide())
	return c
}

func (a *caseCommands) caseList() *cobra.Command {
	var open bool
	list := func(cmd *cobra.Command, _ []string) error {
		return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
			for before := int64(0); ; {
				all, err := o.Store.Cases.List(cmd.Context(), open, before, 0)
				if err != nil || len(all) == 0 {
					return err
				}
				for _, x := range all {
					if err := a.printCase(cmd.Context(), o, x, false); err != nil {
						return err
					}
					before = x.Seq
				}
			}
		})
	}
	c := &cobra.Command{Use: "list", Short: "List shared cases, newest first", Args: cobra.NoArgs, RunE: list}
	c.Flags().BoolVar(&open, "open", false, "list only cases that are not settled yet")
	return c
}

func (a *caseCommands) caseShow() *cobra.Command {
	return &cobra.Command{Use: "show ID", Short: "Show a case and what each site has shown the other", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
				x, err := theCase(cmd.Context(), o, args[0])
				if err != nil {
					return err
				}
				return a.printCase(cmd.Context(), o, x, true)
			})
		}}
}

// theCase returns the case with this number.
func theCase(ctx context.Context, o *instance.Instance, number string) (store.SharedCase, error) {
	id, err := concordat.ParseCaseID(number)
	var x store.SharedCase
	if err == nil {
		x, err = o.Store.Cases.Case(ctx, id)
	}
	if errors.Is(err, concordat.ErrNotFound) {
		err = cli.Usagef("no case %s; see concordat case list", number)
	}
	return x, err
}

// caseMove returns a command that states this site's position.
func (a *caseCommands) caseMove(use, short string, state concordat.CaseState) *cobra.Command {
	m := retain.CaseMove{State: state}
	var actor string
	c := &cobra.Command{Use: use, Short: short, Args: cobra.ExactArgs(1), RunE: func(cmd *cobra.Command, args []string) error {
		return a.With(cmd.Context(), instance.StoreOnly, func(o *instance.Instance) error {
			return a.moveCase(cmd.Context(), o, args[0], actor, m)
		})
	}}
	caseFlags(c, &m, &actor)
	return c
}

func caseFlags(c *cobra.Command, m *retain.CaseMove, actor *string) {
	c.Flags().StringVar(&m.Words, "words", "", "message to the partner")
	c.Flags().StringVar(&m.Contact, "contact", "", "person whom the partner can call (default: unchanged)")
	c.Flags().StringVar(actor, "as", "", "person who makes this statement (default: the current user)")
}

func (a *caseCommands) caseDecide() *cobra.Command {
	var m retain.CaseMove
	var actor string
	c := &cobra.Command{Use: "decide ID accepted|rejected|withdrawn", Short: "Record the decision about this site's document, and delete the document",
		Args: cobra.ExactArgs(2), RunE: func(cmd *cobra.Command, args []string) error {
			m.Decision = concordat.CaseDecision(args[1])
			if m.Decision == concordat.Undecided || !slices.Contains(concordat.CaseDecisions(), m.Decision) {
				return cli.Usagef("decision %q: want accepted, rejected or withdrawn", args[1])
			}
			return a.With(cmd.Context(), instance.WithIndex, func(o *instance.Instance) error {
				if err := a.moveCase(cmd.Context(), o, args[0], actor, m); err != nil || m.Keep || o.Remote != nil {
					return err
				}
				e := instance.Eraser(o, a.Signatures().Receipt, slog.New(slog.DiscardHandler))
				for range 2 { // first the deletion, then the notice to the partner
					if _, err := e.Resume(cmd.Context()); err != nil {
						return err
					}
				}
				return nil
			})
		}}
	caseFlags(c, &m, &actor)
	c.Flags().BoolVar(&m.Keep, "keep", false, "delete nothing")
	return c
}

func (a *caseCommands) moveCase(ctx context.Context, o *instance.Instance, number, actor string, m retain.CaseMove) error {
	x, err := theCase(ctx, o, number)
	if err != nil {
		return err
	}
	if actor == "" {
		actor = cli.Operator()
	}
	m.After = instance.CaseTerms(o.Config).Of(m.Decision)
	x, err = retain.MoveCase(ctx, o.Site, o.Store, x.ID, actor, m)
	if errors.Is(err, concordat.ErrInvalid) {
		return cli.Usage(err)
	}
	if err != nil {
		return err
	}
	return a.printCase(ctx, o, x, false)
}

func (a *caseCommands) printCase(ctx context.Context, o *instance.Instance, x store.SharedCase, whole bool) error {
	names, err := partners.Names(ctx, o.Store)
	if err != nil {
		return err
	}
	requests, err := o.Store.Cases.Requests(ctx, x)
	if err != nil {
		return err
	}
	v := view.OfCase(x, requests, names)
	if a.JSON {
		return a.Line(v)
	}
	what := "a document of " + string(v.Library)
	if v.Title != "" {
		what = fmt.Sprintf("%q", v.Title)
	}
	side := "here matches a check of"
	if v.Side == store.AlertFound {
		side = "matches a check of this site; the document is at"
	}
	a.Say("%s  %-9s  %s  %s %s %s", v.ID, v.State, v.Opened.Local().Format(time.DateOnly), what, side, v.Name)
	if !whole {
		return nil
	}
	a.Say("  this site: %s", position(v.Own))
	a.Say("  partner:   %s", position(v.Theirs))
	for _, s := range v.Shown {
		a.Say("  %s", shownLine(s))
	}
	if v.Deletion != "" {
		a.Say("  deletion %s; for its receipt, run concordat delete receipt", v.Deletion)
	}
	return nil
}

func position(p view.CasePosition) string {
	if p.At.IsZero() {
		return "no statement yet"
	}
	parts := []string{string(p.State), p.At.Local().Format(time.DateTime)}
	due := ""
	if !p.Due.IsZero() {
		due = p.Due.Local().Format(time.DateOnly)
	}
	for _, s := range []struct{ label, text string }{{"", p.By}, {"decided: ", string(p.Decision)}, {"contact: ", p.Contact}, {"", p.Words},
		{"to be deleted on ", due}, {"receipt ", p.Receipt}} {
		if s.text != "" {
			parts = append(parts, s.label+s.text)
		}
	}
	return strings.Join(parts, "; ")
}

func shownLine(s view.CaseShown) string {
	who := "the partner"
	if s.By == "own" {
		who = "this site"
	}
	switch s.What {
	case "question":
		return who + " showed fingerprints of its document"
	case "alert":
		return fmt.Sprintf("%s showed that a document matches (%s, %s)", who, s.Level, report.Plural(s.Sentences, "sentence", "sentences"))
	}
	return fmt.Sprintf("%s was asked for %s: %s", who, report.Plural(s.Passages, "passage", "passages"), s.State)
}
