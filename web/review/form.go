package review

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"concordat"
	"concordat/report"
	"concordat/web/message"
)

// RuleField is a form field for a rule about a whole report.
type RuleField struct {
	Name, Label string // field name, also the message key of its label
	Kind        string // box, words, texts, number or percent
	On          bool   // state of a checkbox
	Value       string // value of a number
	Least, Most string
	Hint        string // for a number: the value used if the field is empty
	Options     []RuleOption
}

// RuleOption is an option in a list.
type RuleOption struct {
	Value string
	On    bool
}

// ticked returns the name of the field in which a tick means that something counts. Rules that exclude something have their own field
// name for this, so that every tick in a form has the same meaning.
func ticked(r report.Rule) string {
	if rest, ok := strings.CutPrefix(r.Name, "exclude_"); ok {
		return "counts_" + rest
	}
	return r.Name
}

// RuleFields returns the rules of report.RuleTable as form fields: checkboxes, lists, then numbers. A tick means that something counts.
// The fields show the rules or, if sent is not nil, the values that were sent. Sections are the report's sections; a form without a
// report has no such list.
func RuleFields(rules report.Rules, sent url.Values, sections []string) []RuleField {
	var boxes, lists, numbers []RuleField
	on := func(name, value string, is bool) bool {
		if sent != nil {
			return slices.Contains(sent[name], value)
		}
		return is
	}
	option := func(f RuleField, value string, excluded bool) RuleOption {
		return RuleOption{value, on(f.Name, value, !excluded)}
	}
	for _, r := range report.RuleTable() {
		f := RuleField{Name: ticked(r), Label: r.Label, Least: strconv.FormatFloat(r.Least, 'f', -1, 64),
			Most: strconv.FormatFloat(r.Most, 'f', -1, 64), Hint: r.Initial}
		switch p := r.Of(&rules).(type) {
		case *bool:
			f.Kind, f.On = "box", on(f.Name, "on", *p == (f.Name == r.Name))
			boxes = append(boxes, f)
		case *[]concordat.Kind:
			f.Kind = "words"
			for _, word := range r.Words {
				f.Options = append(f.Options, option(f, word, slices.Contains(*p, concordat.Kind(word))))
			}
			lists = append(lists, f)
		case *[]string:
			offers := sections
			if f.Kind = "texts"; r.Words != nil {
				f.Kind, offers = "words", r.Words
			}
			for _, s := range offers {
				f.Options = append(f.Options, option(f, s, slices.Contains(*p, s)))
			}
			if len(f.Options) > 0 {
				lists = append(lists, f)
			}
		case *int:
			f.Kind = "number"
			if r.Never != "" {
				boxes = append(boxes, RuleField{Name: r.Never, Label: r.NeverLabel, Kind: "box", On: on(r.Never, "on", *p < 0)})
				f.Least = "1"
			}
			if *p > 0 || r.Never == "" {
				f.Value = strconv.Itoa(*p)
			}
			numbers = append(numbers, f)
		case *float64:
			f.Kind, f.Most, f.Value = "percent", "100", strconv.FormatFloat(100**p, 'g', 4, 64)
			numbers = append(numbers, f)
		}
	}
	if sent != nil {
		for i := range numbers {
			numbers[i].Value = sent.Get(numbers[i].Name)
		}
	}
	return slices.Concat(boxes, lists, numbers)
}

// ReadRules reads the rules for a whole report from a form made by RuleFields. A number missing from the form remains unchanged.
func ReadRules(rules report.Rules, f url.Values) (report.Rules, error) {
	for _, r := range report.RuleTable() {
		text := f.Get(r.Name)
		var err error
		switch p := r.Of(&rules).(type) {
		case *bool:
			*p = boxed(f, r.Name)
			if name := ticked(r); name != r.Name && f.Has(name) {
				*p = !boxed(f, name)
			}
		case *[]concordat.Kind:
			*p = unticked(f, ticked(r), chosen(f, r.Name, *p))
		case *[]string:
			*p = unticked(f, ticked(r), chosen(f, r.Name, *p))
		case *int:
			if text != "" {
				*p, err = strconv.Atoi(text)
			}
			switch {
			case r.Never == "":
			case text != "" && *p < 1:
				return rules, message.Invalid("wrong.number", text)
			case boxed(f, r.Never):
				*p = -1
			case *p < 0:
				*p = 0
			}
		case *float64:
			if text != "" {
				*p, err = strconv.ParseFloat(text, 64)
				*p /= 100
			}
		}
		if err != nil {
			return rules, message.Invalid("wrong.number", text)
		}
	}
	return rules, nil
}

// chosen returns the values of a list in a form. A list in a form begins with an empty value; if that is missing, the list remains
// unchanged.
func chosen[T ~string](f url.Values, name string, before []T) (out []T) {
	if !f.Has(name) {
		return before
	}
	for _, s := range f[name] {
		if s != "" {
			out = append(out, T(s))
		}
	}
	return out
}

// boxed reports whether a checkbox is ticked; an empty field of the same name shows that the form contains the checkbox.
func boxed(f url.Values, name string) bool {
	return slices.ContainsFunc(f[name], func(s string) bool { return s != "" })
}

// offered is the suffix of the names of fields that contain the options of a list.
const offered = ".of"

// unticked returns the options of a list that were offered but not ticked, and earlier values that were not offered.
func unticked[T ~string](f url.Values, name string, before []T) []T {
	if !f.Has(name) {
		return before
	}
	var out []T
	for _, x := range before {
		if !slices.Contains(f[name+offered], string(x)) {
			out = append(out, x)
		}
	}
	for _, x := range f[name+offered] {
		if !slices.Contains(f[name], x) {
			out = append(out, T(x))
		}
	}
	return out
}

// RuleForm returns the form that ReadRules reads; an optional rule is omitted if its value is 0.
func RuleForm(rules report.Rules) url.Values {
	f := url.Values{}
	for _, r := range report.RuleTable() {
		switch p := r.Of(&rules).(type) {
		case *bool:
			if *p {
				f.Set(r.Name, "on")
			}
		case *int:
			switch {
			case r.Never == "" || *p > 0:
				f.Set(r.Name, strconv.Itoa(*p))
			case *p < 0:
				f.Set(r.Never, "on")
			}
		case *float64:
			f.Set(r.Name, strconv.FormatFloat(100**p, 'g', -1, 64))
		case *[]string:
			f[r.Name] = append([]string{""}, *p...)
		case *[]concordat.Kind:
			f[r.Name] = []string{""}
			for _, k := range *p {
				f.Add(r.Name, string(k))
			}
		}
	}
	return f
}
