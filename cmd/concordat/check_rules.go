package main

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"concordat"
	"concordat/cmd/cli"
	"concordat/instance"
	"concordat/report"
)

// ruleFlags say what of the findings counts.
type ruleFlags struct {
	quotes, bibliography     bool
	citations, countTemplate bool
	countForms, countSingle  bool
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
	fl.BoolVar(&f.countForms, "count-forms", false, "wording that reads like that of a form, of which no template was given, counts")
	fl.BoolVar(&f.countSingle, "count-sentences", false, "a sentence or so in common that stands alone counts")
	fl.IntVar(&f.minMatch, "min-match", 0, "matches below this many letters do not count")
	fl.Float64Var(&f.minSource, "min-source", 0, "sources below this share of the submission do not count")
	fl.StringArrayVar(&f.sources, "exclude-source", nil, "source that does not count, as LIBRARY or LIBRARY/ID (repeatable)")
	fl.StringArrayVar(&f.sections, "exclude-section", nil, "section of the template that does not count (repeatable)")
	fl.StringArrayVar(&f.kinds, "exclude-kind", nil, "kind of evidence that does not count: verbatim, near, paraphrase, summary (repeatable)")
	fl.StringArrayVar(&f.templates, "exclude-template", nil,
		"file of any format whose wording does not count: a form, a task sheet (repeatable)")
	fl.IntVar(&f.commonAbove, "common-above", 0,
		"wording in more documents than this is common and does not count (default 20, negative: never)")
}

func (f *ruleFlags) validate() error {
	if f.minMatch < 0 {
		return cli.Usagef("--min-match %d: must not be negative", f.minMatch)
	}
	if !(f.minSource >= 0 && f.minSource <= 1) {
		return cli.Usagef("--min-source %v: want a share, 0 to 1", f.minSource)
	}
	for _, k := range f.kinds {
		if !slices.Contains([]string{"verbatim", "near", "paraphrase", "summary"}, k) {
			return cli.Usagef("--exclude-kind %s: want verbatim, near, paraphrase or summary", k)
		}
	}
	return nil
}

// given reports whether any flag was.
func (f *ruleFlags) given() bool { return !reflect.DeepEqual(*f, ruleFlags{}) }

// rules returns the rules of the flags over those of the configuration.
func (f *ruleFlags) rules(ctx context.Context, a *app, o *instance.Instance) (report.Rules, error) {
	return f.over(ctx, a, o, instance.Rules(o.Config))
}

// over returns the rules of the flags over others.
func (f *ruleFlags) over(ctx context.Context, a *app, o *instance.Instance, r report.Rules) (report.Rules, error) {
	r.ExcludeSections, r.ExcludeKinds = slices.Clone(r.ExcludeSections), slices.Clone(r.ExcludeKinds)
	r.ExcludeSources, r.ExcludeTemplate = slices.Clone(r.ExcludeSources), slices.Clone(r.ExcludeTemplate)
	r.ExcludeCitations = r.ExcludeCitations || f.citations
	r.CountTemplates = r.CountTemplates || f.countTemplate
	r.CountForms, r.CountSentences = r.CountForms || f.countForms, r.CountSentences || f.countSingle
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
		r.ExcludeSources = append(r.ExcludeSources, concordat.Ref{Site: o.ID(), Library: concordat.LibraryID(lib),
			Document: concordat.DocumentID(id)})
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
