package sharing

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/instance"
	"concordat/report"
	"concordat/site"
	"concordat/site/ask"
)

// revealFlags contains the flags of reveal.
type revealFlags struct {
	level, reason, contact string
	deadline               time.Duration
	refresh                bool
}

func RevealCommand(s *cli.Site) *cobra.Command {
	a := &commands{s}
	var f revealFlags
	c := &cobra.Command{
		Use:   "reveal TASK PASSAGE...",
		Short: "Ask partners to show more of the passages of a report",
		Long: `Reveal asks the partners that hold the sources of passages to show more of them, and keeps
their answers in the report. PASSAGE is the number in brackets in concordat report show. The wording of the
passages is sent to the partner, and this is recorded as an exposure.

At level overlap, the partner answers immediately with those of these words that its document also contains. At
level passage, it shows its own wording once a person there agrees; until then, the request is pending, and
--refresh checks its state.

P1, P2 and so on are partners' documents that may say the same thing in other words. With --level passage, reveal
asks for the passages concerned, and sends nothing from the submission. Once shown, each passage is compared with
the submission, and becomes a lead or disappears.`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case f.refresh && len(args) != 1:
				return cli.Usagef("--refresh takes a task but no passages")
			case !f.refresh && len(args) < 2:
				return cli.Usagef("a task and at least one passage are required")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.validate(); err != nil {
				return err
			}
			leads, passages := []string{}, []string{}
			for _, n := range args[1:] {
				if leadNumber.MatchString(n) {
					leads = append(leads, n)
					continue
				}
				passages = append(passages, n)
				if !passageNumber.MatchString(n) {
					return cli.Usagef("passage %s: want a passage number that concordat report show prints", n)
				}
			}
			// This needs the index, because places of leads are compared with the site's own documents.
			return a.With(cmd.Context(), instance.WithIndex, func(o *instance.Instance) error {
				return a.reveal(cmd.Context(), o, concordat.TaskID(args[0]), passages, leads, &f)
			})
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.level, "level", string(concordat.ShowOverlap), "level to ask for: overlap or passage")
	fl.StringVar(&f.reason, "reason", "", "reason for the request, shown to the person who decides at the partner; required for level passage")
	fl.StringVar(&f.contact, "contact", "", "contact details that are shown to that person; required for level passage")
	fl.DurationVar(&f.deadline, "deadline", site.DefaultDeadline, "time limit for each partner")
	fl.BoolVar(&f.refresh, "refresh", false, "check the state of pending requests")
	return c
}

// passageNumber matches a passage number such as 7 or 7b.
var passageNumber = regexp.MustCompile(`^[1-9][0-9]*[a-z]*$`)

// leadNumber matches the number of a partner's document that may make the same statement.
var leadNumber = regexp.MustCompile(`^P[1-9][0-9]*$`)

func (f *revealFlags) validate() error {
	level := concordat.Show(f.level)
	switch {
	case level != concordat.ShowOverlap && level != concordat.ShowPassage:
		return cli.Usagef("--level %s: want overlap or passage", f.level)
	case !f.refresh && level == concordat.ShowPassage && (f.reason == "" || f.contact == ""):
		return cli.Usagef("--level passage requires --reason and --contact, which are shown to the person who decides")
	case f.deadline <= 0:
		return cli.Usagef("--deadline %v: want a positive duration", f.deadline)
	}
	return nil
}

// reveal runs the command.
func (a *commands) reveal(ctx context.Context, o *instance.Instance, task concordat.TaskID, numbers, leads []string,
	f *revealFlags) error {
	if len(leads) > 0 && f.level != string(concordat.ShowPassage) {
		return cli.Usagef("%s is a document, not a passage; to ask for its passages, use --level passage", leads[0])
	}
	found, err := o.Site.Findings(ctx, task)
	if errors.Is(err, concordat.ErrNotFound) {
		return cli.Usagef("no report %s; see concordat report list", task)
	}
	if err != nil {
		return err
	}
	if f.refresh {
		return a.refreshReveals(ctx, o, found, task, f)
	}
	by, err := a.atPartners(ctx, o, found, numbers, concordat.Show(f.level))
	if err != nil {
		return err
	}
	possible, err := leadsAtPartners(found, leads)
	if err != nil {
		return err
	}
	if len(by)+len(possible) == 0 {
		a.Say("no passages are left to ask for; see concordat report show %s", task)
		return nil
	}
	c, err := a.Partners(ctx, o)
	if err != nil {
		return err
	}
	partners := slices.Concat(slices.Sorted(maps.Keys(by)), slices.Sorted(maps.Keys(possible)))
	slices.Sort(partners)
	var errs []error
	for _, partner := range slices.Compact(partners) {
		cl, err := c.Connect(partner, f.deadline)
		if err != nil {
			return err
		}
		request := ask.RevealRequest{Partner: cl, Level: concordat.Show(f.level), Reason: f.reason, Contact: f.contact}
		ds, err := o.Asks.Reveal(ctx, task, request, by[partner]...)
		errs = append(errs, a.printReveals(task, ds), err)
		ds, err = o.Asks.RevealLead(ctx, task, request, possible[partner]...)
		errs = append(errs, a.printReveals(task, ds), err)
		cl.Close()
	}
	return errors.Join(errs...)
}

// leadsAtPartners returns, by partner, the numbers of documents that may make the same statement.
func leadsAtPartners(f *report.Findings, numbers []string) (map[concordat.SiteID][]string, error) {
	out := map[concordat.SiteID][]string{}
	for _, n := range numbers {
		i := slices.IndexFunc(f.PartnerLeads, func(l report.PartnerLead) bool { return l.Number == n })
		if i < 0 {
			return nil, cli.Usagef("no document %s in the report; see concordat report show", n)
		}
		site := f.PartnerLeads[i].Source.Site
		out[site] = append(out[site], n)
	}
	return out, nil
}

// refreshReveals polls the pending requests in a task's findings.
func (a *commands) refreshReveals(ctx context.Context, o *instance.Instance, found *report.Findings, task concordat.TaskID,
	f *revealFlags) error {
	pending := map[concordat.SiteID]bool{}
	for _, d := range found.Disclosures {
		if d.State == concordat.DisclosurePending {
			pending[d.Source.Site] = true
		}
	}
	if len(pending) == 0 {
		a.Say("no requests are pending; see concordat report show %s", task)
		return nil
	}
	c, err := a.Partners(ctx, o)
	if err != nil {
		return err
	}
	all, err := c.ConnectAll(slices.Sorted(maps.Keys(pending)), f.deadline)
	if err != nil {
		return err
	}
	defer all.Close()
	ds, err := o.Asks.RefreshDisclosures(ctx, task, all.Disclosers()...)
	return errors.Join(a.printReveals(task, ds), err)
}

// atPartners returns, by partner, the indices of passages with the given numbers whose sources a partner can reveal. It omits passages
// that are already revealed or pending.
func (a *commands) atPartners(ctx context.Context, o *instance.Instance, f *report.Findings, numbers []string,
	level concordat.Show) (map[concordat.SiteID][]int, error) {
	rules, err := site.RulesInForce(ctx, o.Store, f.Task, o.Config.Report.Rules)
	if err != nil {
		return nil, err
	}
	rep := report.Build(f, rules)
	out := map[concordat.SiteID][]int{}
	for _, n := range numbers {
		at := rep.Numbered(n)
		if at < 0 {
			return nil, cli.Usagef("no passage %s in the report; see concordat report show", n)
		}
		can := o.Asks.Revealable(f, rep.Evidence[at].Span, level)
		for partner, passages := range can.Passages {
			for _, i := range passages {
				if !slices.Contains(out[partner], i) {
					out[partner] = append(out[partner], i)
				}
			}
		}
		switch {
		case can.Placed:
		case can.Mirrored:
			return nil, cli.Usagef("passage %s was found in a mirror without asking its owner; repeat the check with --partner and --no-mirrors", n)
		default:
			return nil, cli.Usagef("passage %s has no source whose location at a partner is known", n)
		}
	}
	return out, nil
}

// printReveals prints the state of each request on a separate line.
func (a *commands) printReveals(task concordat.TaskID, ds []report.Disclosure) error {
	for _, d := range ds {
		if a.JSON {
			if err := a.Line(struct {
				Task concordat.TaskID `json:"task"`
				report.Disclosure
			}{task, d}); err != nil {
				return err
			}
			continue
		}
		line := fmt.Sprintf("%-9s %s of %s in %s", d.State, d.Level, report.Plural(len(d.Passages), "passage", "passages"), d.Source)
		if !d.Until.IsZero() {
			line += ", until " + d.Until.Local().Format(time.DateOnly)
		}
		if d.Words != "" {
			line += ": " + d.Words
		}
		a.Say("%s", line)
	}
	if slices.ContainsFunc(ds, func(d report.Disclosure) bool { return d.State == concordat.DisclosureGranted }) {
		a.Say("to see what was shown, run concordat report show %s", task)
	}
	if slices.ContainsFunc(ds, func(d report.Disclosure) bool { return d.State == concordat.DisclosurePending }) {
		a.Say("to check the pending requests, run concordat reveal %s --refresh", task)
	}
	return nil
}
