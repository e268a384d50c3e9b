package program

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"concordat"
	"concordat/cmd/cli"
	"concordat/instance"
	"concordat/instance/config"
	"concordat/partners"
	"concordat/report"
	"concordat/site"
)

// Report formats.
var formats = []string{"html", "pdf", "json", "csv", "text"}

// checkFlags contains the flags of check.
type checkFlags struct {
	libraries, exclude []string
	templates          []string
	forward, channel   string
	date               string
	authors            []string
	short, leads       bool
	leadsGiven         bool // --leads overrides the configuration
	shortThreshold     float64
	exact, complete    bool
	partners           []string
	level, purpose     string
	deadline           time.Duration
	standing           bool
	noMirrors          bool
	threshold, failOn  float64
	candidates         int
	out                outFlags
	rules              ruleFlags
	shown              leadFlags
}

func (a *app) checkCommand() *cobra.Command {
	var f checkFlags
	c := &cobra.Command{
		Use:   "check PATH...",
		Short: "Check submissions and write evidence reports",
		Long: `Check compares each file with the libraries of this site and keeps the result as a report (see concordat
report). Without --out it prints a summary; with --out, the report goes to the file of that name or, for several
submissions, to files in the folder of that name.

The submission is also compared with complete mirrors of partners' libraries (see concordat mirror), without
anything leaving the site. A partner named with --partner is not asked about a mirrored library.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.validate(cmd.Flags()); err != nil {
				return err
			}
			return a.With(cmd.Context(), instance.WithIndex, func(o *instance.Instance) error {
				return a.check(cmd.Context(), o, args, &f)
			})
		},
	}
	fl := c.Flags()
	fl.StringArrayVarP(&f.libraries, "library", "l", nil, "library to search (repeatable; default all)")
	fl.StringArrayVar(&f.exclude, "exclude", nil, "document to exclude, as LIBRARY/ID, such as an earlier version of the submission (repeatable)")
	fl.StringArrayVar(&f.templates, "template", nil,
		"name of the section template, or a file in any format whose wording does not count, such as a form or cover page (repeatable)")
	fl.BoolVar(&f.short, "short", false, "also compare titles, headings and answers too short for fingerprints (default: configuration)")
	fl.Float64Var(&f.shortThreshold, "short-threshold", 0, "minimum similarity of two short texts (default: configuration, 0.5)")
	fl.BoolVar(&f.leads, "leads", false, "also look for paraphrased passages, which are not counted in the share (default: configuration)")
	fl.StringVar(&f.date, "date", "", "date of the submission: YYYY, YYYY-MM or YYYY-MM-DD (default: from its file)")
	fl.StringArrayVar(&f.authors, "author", nil,
		"author of the submission, with the ORCID iD if known, such as \"Jane Doe (0000-0002-1825-0097)\" (repeatable; default: from its file)")
	fl.StringVar(&f.forward, "forward", "", "sentences to ask partner sites about: unmatched, all or none (default: configuration)")
	fl.StringArrayVar(&f.partners, "partner", nil, "partner site to ask, by name or identity: SITE, SITE/LIBRARY or all (repeatable)")
	fl.StringVar(&f.level, "level", string(concordat.ShowMetadata), "maximum detail to request from partners: exists, counts or metadata")
	fl.StringVar(&f.purpose, "purpose", "", "purpose to state to partners: a word that the federation has agreed on, such as thesis")
	fl.DurationVar(&f.deadline, "deadline", site.DefaultDeadline, "time limit for each partner")
	fl.BoolVar(&f.standing, "standing", false, "keep watching: later documents that match raise an alert (see concordat alert)")
	fl.BoolVar(&f.noMirrors, "no-mirrors", false, "do not compare with mirrors of partners' libraries (see concordat mirror)")
	fl.StringVar(&f.channel, "channel", "both", "how candidate sources are found: both, fingerprints (fastest) or text")
	fl.BoolVar(&f.exact, "exact", false, "look up only exact fingerprint bands: faster, but misses more edited text")
	fl.Float64Var(&f.threshold, "threshold", 0, "covered share at which a report deserves a close reading (default: configuration, 0.3)")
	fl.Float64Var(&f.failOn, "fail-on", 0, "exit with status 4 if the covered share of a submission reaches this value")
	fl.BoolVar(&f.complete, "require-complete", false, "exit with status 5 if a partner or shard did not answer")
	fl.IntVar(&f.candidates, "candidates", 0, "maximum number of sources to compare word by word (default 200)")
	f.out.add(fl)
	f.rules.add(fl)
	f.shown.add(c)
	return c
}

func (f *checkFlags) validate(fl *pflag.FlagSet) error {
	f.leadsGiven = fl.Changed("leads")
	share := func(name string, v float64) error {
		if fl.Changed(name) && !(v > 0 && v <= 1) { // also rejects NaN
			return cli.Usagef("--%s %v: must be greater than 0 and at most 1", name, v)
		}
		return nil
	}
	forward := error(nil)
	if f.forward != "" && !slices.Contains([]string{"unmatched", "all", "none"}, f.forward) {
		forward = cli.Usagef("--forward %s: must be unmatched, all or none", f.forward)
	}
	if !slices.Contains([]concordat.Show{concordat.ShowExists, concordat.ShowCounts, concordat.ShowMetadata}, concordat.Show(f.level)) {
		return cli.Usagef("--level %s: must be exists, counts or metadata; to request text, use concordat reveal", f.level)
	}
	if f.deadline <= 0 {
		return cli.Usagef("--deadline %v: must be greater than 0", f.deadline)
	}
	if f.candidates < 0 {
		return cli.Usagef("--candidates %d: must not be negative", f.candidates)
	}
	if _, err := concordat.ParseDate(f.date); err != nil {
		return cli.Usagef("--date %s: must be in the form YYYY, YYYY-MM or YYYY-MM-DD", f.date)
	}
	return cmp.Or(share("threshold", f.threshold), share("short-threshold", f.shortThreshold), share("fail-on", f.failOn), forward,
		f.out.validate(), f.rules.validate(), f.shown.validate())
}

// check runs the command.
func (a *app) check(ctx context.Context, o *instance.Instance, paths []string, f *checkFlags) error {
	files, leftOut, err := walk(paths, false)
	if err != nil {
		return err
	}
	options, err := f.options(ctx, a, o)
	if err != nil {
		return err
	}
	shown, err := f.shown.filter(options.Leads)
	if err != nil {
		return err
	}
	busy, end, err := f.comparison().AddTo(ctx, &options, o, a.PartnerOptions(o))
	if err != nil {
		return err
	}
	defer end()
	rules, err := f.rules.rules(ctx, a, o)
	if err != nil {
		return err
	}
	language, err := instance.Language(o.Config, f.out.language)
	if err != nil {
		return err
	}
	r := instance.NewReader(instance.Extraction(o.Config), len(files))
	called, err := partners.ReportNames(ctx, o)
	if err != nil {
		return err
	}
	c := checker{language: language, shown: shown, called: called, a: a, o: o, f: f, options: options, rules: rules,
		several: len(files) > 1 || isFolder(f.out.out), names: map[string]bool{}, checked: map[string]bool{}, incomplete: busy,
		failures: failures{a: a, leftOut: leftOut}}
	err = c.all(ctx, r, files)
	a.tellEncoder(o)
	err = errors.Join(err, c.failures.tellLeftOut())
	if err = errors.Join(err, r.Close()); err != nil {
		return err
	}
	switch {
	case c.reached:
		return &cli.Exit{Code: cli.Threshold}
	case c.incomplete && f.complete:
		return &cli.Exit{Code: cli.Incomplete, Err: errors.New("a partner or shard did not answer")}
	}
	return c.failures.err()
}

// tellEncoder reports the calls made to the encoder, if any.
func (a *app) tellEncoder(o *instance.Instance) {
	e := o.Encoding.Current()
	if e == nil || a.JSON {
		return
	}
	if s, kept := e.Spent(), o.Site.Options().Encoder().Kept(); s.Requests > 0 || kept > 0 {
		a.Say("encoder %s: %d sentences in %d requests, %s; %d requests failed; vectors of %d sentences were reused", e.Name(),
			s.Texts, s.Requests, s.Took.Round(time.Millisecond), s.Failures, kept)
	}
}

func (f *checkFlags) options(ctx context.Context, a *app, o *instance.Instance) (site.CheckOptions, error) {
	out := site.CheckOptions{Exact: f.exact || o.Config.Check.Probe == concordat.ProbeExact, Candidates: f.candidates,
		Threshold: cmp.Or(f.threshold, o.Config.Check.Threshold), Short: f.short || o.Config.Check.Short,
		ShortThreshold: cmp.Or(f.shortThreshold, o.Config.Check.ShortThreshold), Leads: o.Config.Meaning.Leads == config.LeadsOn,
		PartnerLeads: o.Config.Meaning.Partners == config.LeadsOn}
	if f.leadsGiven {
		out.Leads = f.leads
	}
	for _, name := range f.libraries {
		l, err := instance.Library(ctx, o.Store, name)
		if err != nil {
			return out, err
		}
		if !l.Policy.Expires.IsZero() && !time.Now().Before(l.Policy.Expires) {
			return out, cli.Usagef("library %s expired on %s", l.ID, l.Policy.Expires.Local().Format(time.DateOnly))
		}
		out.Libraries = append(out.Libraries, l.ID)
	}
	for _, e := range f.exclude {
		lib, id, ok := strings.Cut(e, "/")
		if !ok {
			return out, cli.Usagef("--exclude %s: must be in the form LIBRARY/ID", e)
		}
		out.Exclude = append(out.Exclude, concordat.Ref{Site: o.Site.ID(), Library: concordat.LibraryID(lib), Document: concordat.DocumentID(id)})
	}
	var err error
	if out.Forward, err = o.Forward(ctx, f.forward, out.Libraries); err != nil {
		return out, err
	}
	if out.Channel, err = cli.ChannelFlag(f.channel); err != nil {
		return out, err
	}
	out.Standing = f.standing
	return out, f.setTemplates(ctx, a, o, &out)
}

// setTemplates interprets each --template as the name of a section template or as the path of a file with template wording.
func (f *checkFlags) setTemplates(ctx context.Context, a *app, o *instance.Instance, out *site.CheckOptions) error {
	chosen := false
	for _, name := range f.templates {
		t, err := o.SectionTemplate(ctx, name, nil)
		if info, e := os.Stat(name); err != nil && e == nil && info.Mode().IsRegular() {
			text, err := wording(ctx, o, name)
			if err != nil {
				return err
			}
			out.Templates = append(out.Templates, report.Template{Name: filepath.Base(name), Text: text})
			continue
		}
		if err != nil {
			return err
		}
		if chosen {
			return cli.Usagef("--template %s: a submission can have only one section template", name)
		}
		out.Template, chosen = t, true
	}
	if chosen {
		return nil
	}
	var err error
	out.Template, err = o.SectionTemplate(ctx, "", out.Libraries)
	return err
}

// comparison returns the partners and mirrors to compare with.
func (f *checkFlags) comparison() *partners.Comparison {
	return &partners.Comparison{Partners: f.partners, NoMirrors: f.noMirrors, Standing: f.standing, Level: concordat.Show(f.level),
		Purpose: f.purpose, Deadline: f.deadline}
}
