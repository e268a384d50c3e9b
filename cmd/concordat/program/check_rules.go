package program

import (
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

// ruleFlags specifies what counts. It has a flag for each row of report.RuleTable, and flags that name documents and files.
type ruleFlags struct {
	whole              report.Rules
	sources, templates []string
}

func (f *ruleFlags) add(fl *pflag.FlagSet) {
	for _, r := range report.RuleTable() {
		usage := strings.ToLower(r.Doc[:1]) + strings.TrimSuffix(r.Doc[1:], ".")
		switch p := r.Of(&f.whole).(type) {
		case *bool:
			fl.BoolVar(p, r.Flag, false, usage)
		case *int:
			fl.IntVar(p, r.Flag, 0, usage)
		case *float64:
			fl.Float64Var(p, r.Flag, 0, usage)
		case *[]string:
			if r.Words != nil {
				usage, _, _ = strings.Cut(usage, ":")
				usage += ": " + strings.Join(r.Words, ", ")
			}
			fl.Var((*wordList[string])(p), r.Flag, usage+" (repeatable)")
		case *[]concordat.Kind:
			fl.Var((*wordList[concordat.Kind])(p), r.Flag, usage+": "+strings.Join(r.Words, ", ")+" (repeatable)")
		}
	}
	fl.StringArrayVar(&f.sources, "exclude-source", nil, "source whose matches do not count, as LIBRARY or LIBRARY/ID (repeatable)")
	fl.StringArrayVar(&f.templates, "exclude-template", nil,
		"file in any format whose wording does not count, such as a form or task sheet (repeatable)")
}

// wordList is a repeatable flag that takes one word at a time.
type wordList[T ~string] []T

func (w *wordList[T]) Set(s string) error { *w = append(*w, T(s)); return nil }
func (w *wordList[T]) Type() string       { return "stringArray" }

func (w *wordList[T]) String() string {
	var all []string
	for _, s := range *w {
		all = append(all, string(s))
	}
	return strings.Join(all, ",")
}

func (f *ruleFlags) validate() error {
	for _, r := range report.RuleTable() {
		if wrong := r.Fault(&f.whole); wrong != "" {
			return cli.Usagef("--%s %s", r.Flag, wrong)
		}
	}
	return nil
}

// given reports whether any of these flags was set.
func (f *ruleFlags) given() bool { return !reflect.DeepEqual(*f, ruleFlags{}) }

// rules applies the flags to the configured rules.
func (f *ruleFlags) rules(ctx context.Context, a *app, o *instance.Instance) (report.Rules, error) {
	return f.over(ctx, a, o, o.Config.Report.Rules)
}

// over applies the flags to the given rules.
func (f *ruleFlags) over(ctx context.Context, a *app, o *instance.Instance, r report.Rules) (report.Rules, error) {
	r = r.Over(f.whole)
	r.ExcludeSources, r.ExcludeTemplate = slices.Clone(r.ExcludeSources), slices.Clone(r.ExcludeTemplate)
	for _, s := range f.sources {
		lib, id, _ := strings.Cut(s, "/")
		r.ExcludeSources = append(r.ExcludeSources, concordat.Ref{Site: o.Site.ID(), Library: concordat.LibraryID(lib),
			Document: concordat.DocumentID(id)})
	}
	for _, path := range f.templates {
		text, err := wording(ctx, o, path)
		if err != nil {
			return r, err
		}
		r.ExcludeTemplate = append(r.ExcludeTemplate, text)
	}
	return r, nil
}
