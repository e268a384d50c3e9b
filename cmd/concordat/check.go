package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"concordat"
	"concordat/report"
	"concordat/report/html"
	"concordat/segment"
	"concordat/site"
)

// The forms of a report.
var formats = []string{"html", "pdf", "json", "csv", "text"}

// checkFlags are the flags of check.
type checkFlags struct {
	libraries, exclude []string
	templates          []string
	forward, channel   string
	date               string
	short              bool
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
}

func (a *app) checkCommand() *cobra.Command {
	var f checkFlags
	c := &cobra.Command{
		Use:   "check PATH...",
		Short: "Check submissions and write evidence reports",
		Long: `Check compares each file with the libraries of this site and keeps what it found as a report (see
concordat report). Without --out a summary is printed; with it the report goes to the file, or, for
several submissions, to files in that folder.

Complete mirrors of partners' libraries (see concordat mirror) are compared with as well, and nothing leaves
the site for that. A partner named with --partner is not asked about a library that is mirrored.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.validate(cmd.Flags()); err != nil {
				return err
			}
			return a.with(cmd.Context(), withIndex, func(o *opened) error {
				return a.check(cmd.Context(), o, args, &f)
			})
		},
	}
	fl := c.Flags()
	fl.StringArrayVarP(&f.libraries, "library", "l", nil, "library to search (repeatable; default all)")
	fl.StringArrayVar(&f.exclude, "exclude", nil, "document not to be shown, as LIBRARY/ID (repeatable): an earlier version of the submission")
	fl.StringArrayVar(&f.templates, "template", nil, "name of the section template of the submission, or a file of any format whose wording gives no score: a form, a cover page (repeatable)")
	fl.BoolVar(&f.short, "short", false, "also compare titles, headings and answers too short for fingerprints (default: configuration)")
	fl.Float64Var(&f.shortThreshold, "short-threshold", 0, "least similarity of two short texts (default: configuration, 0.5)")
	fl.StringVar(&f.date, "date", "", "when the submission is from: YYYY, YYYY-MM or YYYY-MM-DD (default: what its file says)")
	fl.StringVar(&f.forward, "forward", "", "what partner sites are asked: unmatched, all or none (default: configuration)")
	fl.StringArrayVar(&f.partners, "partner", nil, "partner site to ask, as SITE, SITE/LIBRARY or all (repeatable); its name or its identity")
	fl.StringVar(&f.level, "level", string(concordat.ShowMetadata), "most that partners are asked to show: exists, counts or metadata")
	fl.StringVar(&f.purpose, "purpose", "", "purpose told to partners, a word that the federation agreed on, such as thesis")
	fl.DurationVar(&f.deadline, "deadline", site.DefaultDeadline, "how long each partner may take")
	fl.BoolVar(&f.standing, "standing", false, "keep the check: later documents that match raise an alert (see concordat alert)")
	fl.BoolVar(&f.noMirrors, "no-mirrors", false, "do not compare with mirrors of partners' libraries (see concordat mirror)")
	fl.StringVar(&f.channel, "channel", "both", "by what source documents are nominated: both, fingerprints (fastest) or text")
	fl.BoolVar(&f.exact, "exact", false, "look up exact bands only: faster, finds less edited text")
	fl.Float64Var(&f.threshold, "threshold", 0, "covered share from which a report asks to be read (default: configuration, 0.3)")
	fl.Float64Var(&f.failOn, "fail-on", 0, "exit with 4 if a submission is covered to this share or more")
	fl.BoolVar(&f.complete, "require-complete", false, "exit with 5 if something asked did not answer")
	fl.IntVar(&f.candidates, "candidates", 0, "most source documents compared word by word (default 200)")
	f.out.add(fl)
	f.rules.add(fl)
	return c
}

func (f *checkFlags) validate(fl *pflag.FlagSet) error {
	share := func(name string, v float64) error {
		if fl.Changed(name) && !(v > 0 && v <= 1) { // NaN too
			return usagef("--%s %v: want a share above 0, at most 1", name, v)
		}
		return nil
	}
	forward := error(nil)
	if f.forward != "" && !slices.Contains([]string{"unmatched", "all", "none"}, f.forward) {
		forward = usagef("--forward %s: want unmatched, all or none", f.forward)
	}
	if !slices.Contains([]concordat.Show{concordat.ShowExists, concordat.ShowCounts, concordat.ShowMetadata}, concordat.Show(f.level)) {
		return usagef("--level %s: want exists, counts or metadata; more is asked for with concordat reveal", f.level)
	}
	if f.deadline <= 0 {
		return usagef("--deadline %v: want more than nothing", f.deadline)
	}
	if f.candidates < 0 {
		return usagef("--candidates %d: must not be negative", f.candidates)
	}
	if _, err := concordat.ParseDate(f.date); err != nil {
		return usagef("--date %s: want YYYY, YYYY-MM or YYYY-MM-DD", f.date)
	}
	return cmp.Or(share("threshold", f.threshold), share("short-threshold", f.shortThreshold), share("fail-on", f.failOn), forward, f.out.validate(), f.rules.validate())
}

// outFlags say where a report goes, and in which form.
type outFlags struct {
	out, format, language string
	pages                 pageOptions // of a PDF
}

func (f *outFlags) add(fl *pflag.FlagSet) {
	fl.StringVarP(&f.out, "out", "o", "", "file for the report, - for stdout; a folder for several")
	fl.StringVarP(&f.format, "format", "f", "", "form of the report: "+strings.Join(formats, ", ")+" (default: by --out's ending, else html)")
	addLanguage(fl, &f.language)
}

// addLanguage adds the flag for the language of a report.
func addLanguage(fl *pflag.FlagSet, language *string) {
	fl.StringVar(language, "language", "", "language of the words of the report: en or zh (default: configuration, en)")
}

func (f *outFlags) validate() error {
	if _, err := report.ParseLanguage(f.language); err != nil {
		return usagef("--language %s: want en or zh", f.language)
	}
	if f.format == "" {
		f.format = strings.TrimPrefix(strings.ToLower(filepath.Ext(f.out)), ".")
		switch f.format {
		case "htm", "":
			f.format = "html"
		case "txt":
			f.format = "text"
		}
		if !slices.Contains(formats, f.format) {
			f.format = "html"
		}
		return nil
	}
	if !slices.Contains(formats, f.format) {
		return usagef("--format %s: want one of %s", f.format, strings.Join(formats, ", "))
	}
	return nil
}

// ruleFlags say what of the findings counts.
type ruleFlags struct {
	quotes, bibliography     bool
	citations, countTemplate bool
	minMatch, commonAbove    int
	minSource                float64
	sources, sections, kinds []string
	templates                []string
}

func (f *ruleFlags) add(fl *pflag.FlagSet) {
	fl.BoolVar(&f.quotes, "exclude-quotes", false, "quotations do not count")
	fl.BoolVar(&f.bibliography, "exclude-bibliography", false, "the list of references does not count")
	fl.BoolVar(&f.citations, "exclude-citations", false, "the marks of citations, such as (Author, 2020), do not count")
	fl.BoolVar(&f.countTemplate, "count-templates", false, "wording of the libraries' templates, and of --template, counts")
	fl.IntVar(&f.minMatch, "min-match", 0, "matches below this many letters do not count")
	fl.Float64Var(&f.minSource, "min-source", 0, "sources below this share of the submission do not count")
	fl.StringArrayVar(&f.sources, "exclude-source", nil, "source that does not count, as LIBRARY or LIBRARY/ID (repeatable)")
	fl.StringArrayVar(&f.sections, "exclude-section", nil, "section of the template that does not count (repeatable)")
	fl.StringArrayVar(&f.kinds, "exclude-kind", nil, "kind of evidence that does not count: verbatim, near, paraphrase, summary (repeatable)")
	fl.StringArrayVar(&f.templates, "exclude-template", nil, "file of any format whose wording does not count: a form, a task sheet (repeatable)")
	fl.IntVar(&f.commonAbove, "common-above", 0, "wording in more documents than this is common and does not count (default 20, negative: never)")
}

func (f *ruleFlags) validate() error {
	if f.minMatch < 0 {
		return usagef("--min-match %d: must not be negative", f.minMatch)
	}
	if !(f.minSource >= 0 && f.minSource <= 1) {
		return usagef("--min-source %v: want a share, 0 to 1", f.minSource)
	}
	for _, k := range f.kinds {
		if !slices.Contains([]string{"verbatim", "near", "paraphrase", "summary"}, k) {
			return usagef("--exclude-kind %s: want verbatim, near, paraphrase or summary", k)
		}
	}
	return nil
}

// rules returns the rules of the flags over those of the configuration.
func (f *ruleFlags) rules(ctx context.Context, a *app, o *opened) (report.Rules, error) {
	return f.over(ctx, a, o, defaultRules(o.config))
}

// over returns the rules of the flags over others.
func (f *ruleFlags) over(ctx context.Context, a *app, o *opened, r report.Rules) (report.Rules, error) {
	r.ExcludeSections, r.ExcludeKinds = slices.Clone(r.ExcludeSections), slices.Clone(r.ExcludeKinds)
	r.ExcludeSources, r.ExcludeTemplate = slices.Clone(r.ExcludeSources), slices.Clone(r.ExcludeTemplate)
	r.ExcludeCitations = r.ExcludeCitations || f.citations
	r.CountTemplates = r.CountTemplates || f.countTemplate
	r.ExcludeQuotes = r.ExcludeQuotes || f.quotes
	r.ExcludeBibliography = r.ExcludeBibliography || f.bibliography
	r.MinCharacters = cmp.Or(f.minMatch, r.MinCharacters)
	r.MinSourceShare = cmp.Or(f.minSource, r.MinSourceShare)
	r.CommonAbove = cmp.Or(f.commonAbove, r.CommonAbove)
	r.ExcludeSections = append(r.ExcludeSections, f.sections...)
	for _, k := range f.kinds {
		r.ExcludeKinds = append(r.ExcludeKinds, concordat.Kind(k))
	}
	for _, s := range f.sources {
		lib, id, _ := strings.Cut(s, "/")
		r.ExcludeSources = append(r.ExcludeSources, concordat.Ref{Site: o.ID(), Library: concordat.LibraryID(lib), Document: concordat.DocumentID(id)})
	}
	for _, path := range f.templates {
		text, err := a.wording(ctx, o, path)
		if err != nil {
			return r, err
		}
		r.ExcludeTemplate = append(r.ExcludeTemplate, text)
	}
	return r, nil
}

// template returns the named section template: one of the configuration, or one that ships.
func (o *opened) template(name string) (*segment.Template, error) {
	if name == "" {
		return nil, nil
	}
	all := templates(o.now())
	if t, ok := all[name]; ok {
		return t, nil
	}
	names := make([]string, 0, len(all))
	for n := range all {
		names = append(names, n)
	}
	slices.Sort(names)
	return nil, usagef("no template %s: there are %s", name, nameList(names))
}

// check runs the command.
func (a *app) check(ctx context.Context, o *opened, paths []string, f *checkFlags) error {
	files, err := walk(paths, false)
	if err != nil {
		return err
	}
	options, err := f.options(ctx, a, o)
	if err != nil {
		return err
	}
	busy, end, err := f.setOthers(ctx, a, o, &options)
	if err != nil {
		return err
	}
	defer end()
	rules, err := f.rules.rules(ctx, a, o)
	if err != nil {
		return err
	}
	language, err := o.language(f.out.language)
	if err != nil {
		return err
	}
	r := a.reader(extraction(o.config), len(files))
	c := checker{language: language, a: a, o: o, f: f, options: options, rules: rules, several: len(files) > 1 || isFolder(f.out.out), names: map[string]bool{}, incomplete: busy, failures: failures{a: a}}
	for _, file := range files {
		if err = c.file(ctx, r, file); err != nil {
			break
		}
	}
	if err = errors.Join(err, r.close()); err != nil {
		return err
	}
	switch {
	case c.reached:
		return &exitError{code: exitThreshold}
	case c.incomplete && f.complete:
		return &exitError{exitIncomplete, errors.New("something asked did not answer")}
	}
	return c.failures.err()
}

func (f *checkFlags) options(ctx context.Context, a *app, o *opened) (site.CheckOptions, error) {
	out := site.CheckOptions{Exact: f.exact || o.config.Check.Probe == concordat.ProbeExact, Candidates: f.candidates,
		Threshold: cmp.Or(f.threshold, o.config.Check.Threshold), Short: f.short || o.config.Check.Short, ShortThreshold: cmp.Or(f.shortThreshold, o.config.Check.ShortThreshold)}
	for _, name := range f.libraries {
		l, err := o.library(ctx, name)
		if err != nil {
			return out, err
		}
		if !l.Policy.Expires.IsZero() && !time.Now().Before(l.Policy.Expires) {
			return out, usagef("library %s has expired on %s", l.ID, l.Policy.Expires.Local().Format(time.DateOnly))
		}
		out.Libraries = append(out.Libraries, l.ID)
	}
	for _, e := range f.exclude {
		lib, id, ok := strings.Cut(e, "/")
		if !ok {
			return out, usagef("--exclude %s: want LIBRARY/ID", e)
		}
		out.Exclude = append(out.Exclude, concordat.Ref{Site: o.ID(), Library: concordat.LibraryID(lib), Document: concordat.DocumentID(id)})
	}
	var err error
	if out.Forward, err = o.forward(ctx, f.forward, out.Libraries); err != nil {
		return out, err
	}
	if out.Channel, err = channelFlag(f.channel); err != nil {
		return out, err
	}
	out.Standing = f.standing
	return out, f.setTemplates(ctx, a, o, &out)
}

// setTemplates takes each --template as the section template of that name, or as a file of wording.
func (f *checkFlags) setTemplates(ctx context.Context, a *app, o *opened, out *site.CheckOptions) error {
	for _, name := range f.templates {
		t, err := o.template(name)
		if info, e := os.Stat(name); err != nil && e == nil && info.Mode().IsRegular() {
			text, err := a.wording(ctx, o, name)
			if err != nil {
				return err
			}
			out.Templates = append(out.Templates, report.Template{Name: filepath.Base(name), Text: text})
			continue
		}
		if err != nil {
			return err
		}
		if out.Template != nil {
			return usagef("--template %s: the submission has one section template", name)
		}
		out.Template = t
	}
	return nil
}

// checker is one run of check.
type checker struct {
	a        *app
	o        *opened
	f        *checkFlags
	options  site.CheckOptions
	rules    report.Rules
	language report.Language
	several  bool            // reports go to a folder
	names    map[string]bool // of reports written there
	failures failures

	reached, incomplete bool
}

// file checks one file, or every member of an archive.
func (c *checker) file(ctx context.Context, r *reader, file input) error {
	items, err := r.read(ctx, file)
	if err != nil {
		return err
	}
	c.several = c.several || len(items) > 1
	for _, item := range items {
		if item.Err != nil {
			if err := c.failures.add(failed(item.Path, item.Err)); err != nil {
				return err
			}
			continue
		}
		sub := site.Submission{ID: concordat.DocumentID(filepath.ToSlash(item.Path)), Title: cmp.Or(item.Result.Title, titleOf(item.Path)),
			Text: item.Result.Text, Flags: flags(item.Result.Flags)}
		sub.Dated, sub.DatedBy = dateOf(c.f.date, item.Result)
		name := file.name
		if _, member, ok := strings.Cut(item.Path, "!/"); ok {
			name += "!/" + member
		}
		if err := c.one(ctx, sub, name); err != nil {
			return err
		}
	}
	return nil
}

// one checks one submission. name is that of its report if it goes to a folder.
func (c *checker) one(ctx context.Context, sub site.Submission, name string) error {
	b := c.a.bar(1, "checking")
	options := c.options
	options.Progress = func(p site.Progress) {
		if p.Stage == "align" || p.Stage == "partner" {
			b.max(p.Total)
			b.set(p.Done)
		}
	}
	f, err := c.o.Check(ctx, sub, options)
	b.done()
	if errors.Is(err, concordat.ErrInvalid) {
		return c.failures.add(failed(string(sub.ID), err))
	}
	if err != nil {
		return err
	}
	rep := report.Build(f, c.rules)
	rep.Language = c.language
	c.reached = c.reached || c.f.failOn > 0 && rep.Scores.Covered >= c.f.failOn
	for _, asked := range f.Consulted {
		c.incomplete = c.incomplete || asked.Answered < asked.Asked
	}
	out := c.f.out
	out.pages = pagesOf(c.o.config, nil)
	if c.several && out.out != "" && out.out != "-" {
		if err := os.MkdirAll(out.out, 0o755); err != nil {
			return err
		}
		out.out = filepath.Join(out.out, c.fileName(name)+"."+out.format)
	}
	return c.a.give(rep, out)
}

// isFolder reports whether path names a folder, one that is there or one to be made.
func isFolder(path string) bool {
	info, err := os.Stat(path)
	return strings.HasSuffix(path, "/") || err == nil && info.IsDir()
}

// give writes a report where the flags say.
func (a *app) give(rep *report.Report, f outFlags) error {
	if a.json {
		if err := a.reportLine(rep); err != nil {
			return err
		}
	}
	switch {
	case f.out == "" && a.json:
		return nil
	case f.out == "":
		return report.WriteSummary(a.stdout, rep)
	case f.out == "-":
		if a.json {
			return nil
		}
		return a.writeReport(a.stdout, rep, f)
	}
	if err := a.writeFile(rep, f); err != nil {
		return err
	}
	if a.json {
		return nil
	}
	if err := report.WriteSummary(a.stdout, rep); err != nil {
		return err
	}
	a.say("report: %s", absolute(f.out))
	return nil
}

// longestFileName bounds the name of a report in bytes, its ending not counted.
const longestFileName = 200

// fileName makes a name for a report of the submission's name, one that this run has not used.
func (c *checker) fileName(name string) string {
	clean := strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?"<>|`, r) || r < ' ' {
			return '_'
		}
		return r
	}, strings.TrimLeft(name, "./"))
	if len(clean) > longestFileName {
		clean = strings.ToValidUTF8(clean[:longestFileName], "")
	}
	unique := cmp.Or(clean, "submission")
	for n := 2; c.names[unique]; n++ {
		unique = fmt.Sprintf("%s-%d", clean, n)
	}
	c.names[unique] = true
	return unique
}

// writeFile writes a report beside its path and renames it, so that the path never holds half of one.
func (a *app) writeFile(rep *report.Report, f outFlags) error {
	path := f.out
	tmp, err := os.CreateTemp(filepath.Dir(path), ".report-*")
	if err != nil {
		return err
	}
	err = a.writeReport(tmp, rep, f)
	err = errors.Join(err, tmp.Chmod(0o644), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", path, err), os.Remove(tmp.Name()))
	}
	return nil
}

func (a *app) writeReport(w io.Writer, rep *report.Report, f outFlags) error {
	switch f.format {
	case "pdf":
		return a.writeReportPDF(w, rep, f.pages)
	case "json":
		return a.writeReportJSON(w, rep)
	case "csv":
		return report.WriteCSV(w, rep, report.CSVOptions{BOM: true})
	case "text":
		return report.WriteText(w, rep)
	}
	return html.Write(w, rep)
}
