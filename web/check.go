package web

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"concordat"
	"concordat/report"
	"concordat/site"
	"concordat/store"
	"concordat/web/message"
	"concordat/web/pages"
	"concordat/web/pages/settings"
)

// purposesOf returns the purposes for which partners open libraries, each once, in order. any reports whether
// some are open for every purpose.
func purposesOf(ps []Partner) (all []string, any bool) {
	for _, p := range ps {
		for _, l := range p.Libraries {
			any = any || len(l.Purposes) == 0
			for _, one := range l.Purposes {
				if one == anyPurpose {
					any = true
				} else if !slices.Contains(all, one) {
					all = append(all, one)
				}
			}
		}
	}
	slices.Sort(all)
	return all, any
}

// anyPurpose stands for every purpose in the purposes for which a library is open.
const anyPurpose = "*"

// opensFor reports whether a library of a partner is open for a purpose.
func opensFor(l concordat.OpenLibrary, purpose string) bool {
	return len(l.Purposes) == 0 || slices.Contains(l.Purposes, anyPurpose) || slices.Contains(l.Purposes, purpose)
}

// checkPurpose refuses a purpose for which a partner opens none of the selected libraries, since the partner would report that only at the
// end of the check. It skips partners that have not disclosed their libraries yet.
func checkPurpose(purpose string, asked []Partner) error {
	for _, p := range asked {
		if len(p.Libraries) == 0 || slices.ContainsFunc(p.Libraries, func(l concordat.OpenLibrary) bool { return opensFor(l, purpose) }) {
			continue
		}
		known, _ := purposesOf([]Partner{p})
		return message.Invalid("wrong.purpose", p.Name, strings.Join(known, ", "))
	}
	return nil
}

type newCheck struct {
	Libraries []store.Library
	Templates []string
	Partners  []Partner
	Problem   string
	Faults    []fault // faults of the files, none of which was accepted
	MaxMiB    int64
	MaxFiles  int
	Batch     string // common name of files that are submitted together but one by one
	Rules     report.Rules
	MayRule   bool // the visitor may set the rules
	Levels    []concordat.Show
	Forwards  []string
	Deadlines []int             // seconds
	Purposes  []string          // purposes for which partners open libraries
	AnyOther  bool              // some of them are open for every other purpose too
	NoStore   bool              // the site's policy is to keep nothing
	Meaning   *settings.Meaning // how rewritten text is found; nil: it is not known
	// Administers reports whether the visitor may change that.
	Administers bool
	Detail      string // details of the problem
	DetailIn    string // language of Detail, if it is not the page's
	// Sent contains the values of a rejected form, which are shown again; nil: the form is new.
	Sent url.Values
}

// Field returns the value of a field: the value that was sent before or, without one, first.
func (n newCheck) Field(name, first string) string {
	if n.Sent == nil {
		return first
	}
	return n.Sent.Get(name)
}

// RuleFields returns fields with the rules of the site, or with those that were sent before.
func (n newCheck) RuleFields() []ruleField { return ruleFields(n.Rules, n.Sent, nil) }

// Chosen reports whether a box or an option of a field was chosen before.
func (n newCheck) Chosen(name string, value any) bool {
	return slices.Contains(n.Sent[name], fmt.Sprint(value))
}

// On reports whether a box is ticked, as it was sent before or, in a new form, as it is initially.
func (n newCheck) On(name string, first bool) bool {
	if n.Sent == nil {
		return first
	}
	return n.Sent.Has(name)
}

// refused is a form that was not accepted.
type refused struct {
	problem string // key of the message about the problem
	err     error  // details, if the problem is with the input
	faults  []fault
	sent    url.Values
}

// tell adds to the form a description of what was wrong with it.
func (n *newCheck) tell(r refused, l message.Language) {
	n.Problem, n.Faults, n.Sent = r.problem, r.faults, r.sent
	if r.err != nil {
		n.Detail, _ = l.Reason(r.err)
		n.DetailIn = l.Other(r.err)
	}
}

// fault is a file that was not accepted, and why.
type fault struct {
	Name  string
	Cause store.Cause
}

// Values to choose from when partners are asked.
var (
	askLevels   = []concordat.Show{concordat.ShowMetadata, concordat.ShowCounts, concordat.ShowExists}
	askForwards = []string{site.ForwardUnmatched, site.ForwardAll, site.ForwardNone}
	// askDeadlines are the deadlines to choose from, in seconds; any whole number up to MaxDeadline is accepted.
	askDeadlines = []int{60, 15, 300, 900}
)

const MaxDeadline = 3600

func (w checkPages) newPage(rw http.ResponseWriter, r *http.Request, v *Visitor) {
	w.showNew(rw, r, v, http.StatusOK, refused{})
}

func (w checkPages) showNew(rw http.ResponseWriter, r *http.Request, v *Visitor, code int, was refused) {
	libraries, err := w.o.Store.Catalogue.Libraries(r.Context())
	if err != nil {
		w.Fail(rw, r, v, err)
		return
	}
	partners, err := w.o.Partners(r.Context())
	if err != nil {
		w.Fail(rw, r, v, err)
		return
	}
	p := newCheck{Libraries: libraries, Partners: partners, Templates: w.o.Templates(),
		MaxMiB: w.o.MaxUpload >> 20, MaxFiles: MaxFiles, Batch: strings.ToLower(rand.Text()), Rules: w.o.Rules(), MayRule: v.MayReview(),
		Levels: askLevels, Forwards: askForwards, Deadlines: askDeadlines, NoStore: w.o.Policy.NoStore}
	p.Purposes, p.AnyOther = purposesOf(partners)
	p.Meaning, p.Administers = w.Settings.Meaning(r.Context()), v.Role == store.RoleAdministrator
	p.tell(was, message.LanguageOf(r))
	w.Show(rw, r, v, code, "new", "title.new", p)
}

// CleanName returns the last part of a file's name without characters that could do harm where it is shown.
func CleanName(name string) string {
	name = path.Base("/" + strings.ReplaceAll(strings.ToValidUTF8(name, "\ufffd"), `\`, "/"))
	name = pages.Visible(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, name))
	if name == "/" || name == "." || name == ".." {
		return ""
	}
	if runes := []rune(name); len(runes) > 120 {
		name = string(runes[len(runes)-120:])
	}
	return name
}
