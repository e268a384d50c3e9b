package pages

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"concordat/report"
	"concordat/web/message"
)

// The address parameters of a lead filter.
const (
	leadKind      = "lead-kind"
	leadLanguages = "lead-languages"
	leadLikely    = "lead-likelihood"
	leadState     = "lead-state"
)

// leadNames are the parameter names of a lead filter in addresses and forms, in display order.
var leadNames = []string{leadState, leadKind, leadLanguages, leadLikely}

// LeadFilterOf parses a lead filter and ignores unparsable values.
func LeadFilterOf(q url.Values) (f report.LeadFilter) {
	if k := report.LeadKind(q.Get(leadKind)); slices.Contains(report.LeadKinds(), k) {
		f.Kind = k
	}
	if s := report.LeadState(q.Get(leadState)); slices.Contains(report.LeadStates(), s) {
		f.State = s
	}
	if least, err := strconv.ParseFloat(q.Get(leadLikely), 64); err == nil && slices.Contains(report.LikelihoodSteps(), least) {
		f.Least = least
	}
	if p := q.Get(leadLanguages); len(p) <= maxLanguagePair {
		f.Languages = p
	}
	return f
}

// maxLanguagePair is the maximum length of a language pair in an address, in bytes.
const maxLanguagePair = 20

// LeadQuery is the inverse of LeadFilterOf.
func LeadQuery(f report.LeadFilter) url.Values {
	q := url.Values{}
	set := func(name, value string) {
		if value != "" {
			q.Set(name, value)
		}
	}
	set(leadKind, string(f.Kind))
	set(leadLanguages, f.Languages)
	set(leadState, string(f.State))
	if f.Least > 0 {
		q.Set(leadLikely, strconv.FormatFloat(f.Least, 'f', -1, 64))
	}
	return q
}

// LeadBar offers lead filters as links, each with the number of leads that would remain.
type LeadBar struct {
	Facets     []leadFacet
	Shown, All int
	Filtered   bool
	Clear      string // address of the page without filters
	Chosen     string // description of the active filters
}

// leadFacet is a property for filtering leads.
type leadFacet struct {
	Name    string
	Options []leadOption
}

// leadOption is one value of a facet. Its link selects the value, or deselects it if it is active.
type leadOption struct {
	Label string
	Count int // number of leads that match this value and the other filters
	On    bool
	URL   string
}

// FilteredLead is a lead with the decision about it.
type FilteredLead struct {
	report.Lead
	State report.LeadState
}

// NewLeadBar returns filters for all leads at an address and preserves the address's other parameters. It omits filters that would leave
// all leads or none.
func NewLeadBar(l message.Language, all []FilteredLead, f report.LeadFilter, at *url.URL) *LeadBar {
	b := &LeadBar{All: len(all), Filtered: f != report.LeadFilter{}}
	count := func(f report.LeadFilter) (n int) {
		for _, x := range all {
			if f.Has(x.Lead, x.State) {
				n++
			}
		}
		return n
	}
	address := func(f report.LeadFilter) string {
		q := at.Query()
		for _, name := range leadNames {
			q.Del(name)
		}
		q.Del("changed") // a message about an action is shown only once
		for name, values := range LeadQuery(f) {
			q[name] = values
		}
		return (&url.URL{Path: at.Path, RawQuery: q.Encode(), Fragment: "leads"}).String()
	}
	b.Shown, b.Clear = count(f), address(report.LeadFilter{})
	facet := func(name string, now string, values []string, label func(string) string, with func(value string) report.LeadFilter) {
		one := leadFacet{Name: l.Say("leads.by." + name)}
		without := count(with(""))
		for _, v := range values {
			o := leadOption{Label: label(v), On: v == now, Count: count(with(v)), URL: address(with(v))}
			if o.On {
				o.URL = address(with(""))
			}
			if o.On || o.Count > 0 && o.Count < without {
				one.Options = append(one.Options, o)
			}
		}
		if len(one.Options) > 0 {
			b.Facets = append(b.Facets, one)
		}
	}
	words := func(name string) func(string) string {
		return func(v string) string { return l.Say("leads." + name + "." + v) }
	}
	facet("state", string(f.State), texts(report.LeadStates()), words("state"),
		func(v string) report.LeadFilter { g := f; g.State = report.LeadState(v); return g })
	facet("kind", string(f.Kind), texts(report.LeadKinds()), words("kind"),
		func(v string) report.LeadFilter { g := f; g.Kind = report.LeadKind(v); return g })
	facet("languages", f.Languages, pairsOf(all, f.Languages), l.Report().PairWords,
		func(v string) report.LeadFilter { g := f; g.Languages = v; return g })
	facet("likelihood", LeadQuery(report.LeadFilter{Least: f.Least}).Get(leadLikely), likelihoods(),
		func(v string) string { return l.Say("leads.likely", v) },
		func(v string) report.LeadFilter { g := f; g.Least, _ = strconv.ParseFloat(v, 64); return g }) // no value means any
	b.Chosen = strings.Join(l.Report().LeadFilterWords(f), l.Report().Say(", "))
	return b
}

// texts converts named strings to plain strings.
func texts[T ~string](all []T) (out []string) {
	for _, x := range all {
		out = append(out, string(x))
	}
	return out
}

// pairsOf returns the sorted language pairs of leads, including the requested pair.
func pairsOf(all []FilteredLead, asked string) (out []string) {
	for _, x := range all {
		out = append(out, report.LanguagePair(x.Languages))
	}
	if asked != "" {
		out = append(out, asked)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func likelihoods() (out []string) {
	for _, x := range report.LikelihoodSteps() {
		out = append(out, strconv.FormatFloat(x, 'f', -1, 64))
	}
	return out
}
