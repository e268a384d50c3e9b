package intake

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"concordat"
	"concordat/report"
	"concordat/site"
	"concordat/store"
	"concordat/web/message"
	"concordat/web/pages"
	"concordat/web/pages/settings"
	"concordat/web/review"
)

// purposesOf returns the purposes for which partners open libraries, sorted and without duplicates. any reports whether some libraries
// are open for every purpose.
func purposesOf(ps []pages.Partner) (all []string, any bool) {
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

// anyPurpose represents all purposes in a library's list of purposes.
const anyPurpose = "*"

// opensFor reports whether a library of a partner is open for a purpose.
func opensFor(l concordat.OpenLibrary, purpose string) bool {
	return len(l.Purposes) == 0 || slices.Contains(l.Purposes, anyPurpose) || slices.Contains(l.Purposes, purpose)
}

// checkPurpose rejects a purpose if no selected library of a partner is open for it. The partner would report this only at the end of the
// check. It skips partners that have not disclosed their libraries yet.
func checkPurpose(purpose string, asked []pages.Partner) error {
	for _, p := range asked {
		if len(p.Libraries) == 0 || slices.ContainsFunc(p.Libraries, func(l concordat.OpenLibrary) bool { return opensFor(l, purpose) }) {
			continue
		}
		known, _ := purposesOf([]pages.Partner{p})
		return message.Invalid("wrong.purpose", p.Name, strings.Join(known, ", "))
	}
	return nil
}

type newCheck struct {
	Libraries []store.Library
	Templates []string
	Partners  []pages.Partner
	Problem   string
	Faults    []pages.Fault // reasons why the files were rejected; none was accepted
	MaxMiB    int64
	MaxFiles  int
	Batch     string // common name of files that are submitted together, one per request
	Rules     report.Rules
	MayRule   bool // the visitor may choose the rules
	Levels    []concordat.Show
	Forwards  []string
	Deadlines []int             // in seconds
	Purposes  []string          // purposes for which partners open libraries
	AnyOther  bool              // some of them are open for every other purpose too
	NoStore   bool              // the site's policy is to keep nothing
	Meaning   *settings.Meaning // how rewritten text is found; nil if unknown
	// Administers reports whether the visitor may change how rewritten text is found.
	Administers bool
	Detail      string // details of the problem
	DetailIn    string // language of Detail, if it differs from the page's
	// Sent contains the values of a rejected form, to show them again. It is nil for a new form.
	Sent url.Values
}

// Field returns the value sent in a field or, in a new form, first.
func (n newCheck) Field(name, first string) string {
	if n.Sent == nil {
		return first
	}
	return n.Sent.Get(name)
}

// RuleFields returns fields with the rules that were sent or, in a new form, the site's rules.
func (n newCheck) RuleFields() []review.RuleField { return review.RuleFields(n.Rules, n.Sent, nil) }

// Chosen reports whether a checkbox or option was selected when the form was sent.
func (n newCheck) Chosen(name string, value any) bool {
	return slices.Contains(n.Sent[name], fmt.Sprint(value))
}

// On reports whether a checkbox was ticked when the form was sent or, in a new form, is ticked initially.
func (n newCheck) On(name string, first bool) bool {
	if n.Sent == nil {
		return first
	}
	return n.Sent.Has(name)
}

// refused describes a rejected form.
type refused struct {
	problem string // key of the message about the problem
	err     error  // details, if the input is at fault
	faults  []pages.Fault
	sent    url.Values
}

// tell adds an explanation of the rejection to the form.
func (n *newCheck) tell(r refused, l message.Language) {
	n.Problem, n.Faults, n.Sent = r.problem, r.faults, r.sent
	if r.err != nil {
		n.Detail, _ = l.Reason(r.err)
		n.DetailIn = l.Other(r.err)
	}
}

// These are the options offered when partners are asked.
var (
	askLevels = []concordat.Show{concordat.ShowMetadata, concordat.ShowCounts, concordat.ShowExists}
	// askDeadlines are the selectable deadlines in seconds; any whole number up to MaxDeadline is accepted.
	askDeadlines = []int{60, 15, 300, 900}
)

// MaxDeadline is the maximum deadline in seconds when partners are asked.
const MaxDeadline = 3600

func (w Intake) newPage(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	w.showNew(rw, r, v, http.StatusOK, refused{})
}

func (w Intake) showNew(rw http.ResponseWriter, r *http.Request, v *pages.Visitor, code int, was refused) {
	libraries, err := w.o.Store.Catalogue.Libraries(r.Context())
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	partners, err := w.o.Choices.Partners(r.Context())
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	p := newCheck{Libraries: libraries, Partners: partners, Templates: w.o.Choices.Templates(),
		MaxMiB: w.o.MaxUpload >> 20, MaxFiles: pages.MaxFiles, Batch: strings.ToLower(rand.Text()), Rules: w.o.Rules(), MayRule: v.MayReview(),
		Levels: askLevels, Forwards: site.Forwards, Deadlines: askDeadlines, NoStore: w.o.NoStore}
	p.Purposes, p.AnyOther = purposesOf(partners)
	p.Meaning, p.Administers = w.o.Settings.Meaning(r.Context()), v.Role == store.RoleAdministrator
	p.tell(was, message.LanguageOf(r))
	w.frame.Show(rw, r, v, code, "new", "title.new", p)
}
