package reports

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"concordat"
	"concordat/report"
	"concordat/report/html"
	"concordat/site"
	"concordat/store"
	"concordat/web/message"
	"concordat/web/pages"
	"concordat/web/pages/alerts"
	"concordat/web/pages/checks"
	"concordat/web/progress"
	"concordat/web/review"
	"concordat/web/static"
)

// fewSources is the number of ranked sources on a page.
const fewSources = 25

// sinceShown is the number of alerts shown with a report about its check.
const sinceShown = 10

// checkPage is the data of a page about one check. Only the report page sets fields other than Row.
type checkPage struct {
	checks.Row
	Report    *report.Report // nil if there is no report yet
	Review    *review.Review
	MayReview bool
	MayDelete bool
	Decides   bool       // the visitor may decide for all checks of a library
	Limited   review.See // part of the report that the visitor sees; empty if unlimited
	Me        string
	People    pages.Names
	Verdicts  []string
	InLibrary *review.CaseLibrary // nil if not shown to the visitor
	// The parts of the report.
	Result, Flags, Map, Legend, Text, Short, Leads, Coverage, Method template.HTML

	Uncounted template.HTML // the collapsed passages

	Sources    sourceList
	Rest       sourceList // the collapsed sources
	SourceFrom int        // index of the first of Sources
	Filter     sourceFilter
	LeadFilter report.LeadFilter
	LeadBar    *pages.LeadBar // nil if leads were not requested
	Orders     []string
	Layout     *layoutPage // nil if the page shows the text
	Page       int         // page of the text, from 1
	Pages      int
	First      string               // number of the first passage on the page of the text; empty if no passage follows
	Numbers    string               // numbers of all passages, in text order
	Walk       string               // numbers of the passages that the reader steps through
	Only       *report.RankedSource // the only source whose passages are marked; nil if all are
	Told       []notice             // the visitor's latest actions
	Since      []alerts.Alert       // later documents that match a watched check, latest first
	MoreSince  bool                 // there are more later documents

	Number         string // number of the passage that the page shows; empty if it shows all
	Earlier, Later string // numbers of the neighbouring passages; empty for none
	Passage        template.HTML
	Of             int         // total number of passages
	TextPage       int         // page of the text with the passage, from 1
	originals      []site.Part // originals of the submission; nil if none has pages
	unpaged        Pages       // why no original has pages
	Comparison

	Now progress.Shown // progress of an unfinished check
}

// Silent returns the names of the sites with incomplete answers, without duplicates.
func (p *checkPage) Silent() string {
	var names []string
	for _, c := range p.Report.Consulted {
		if name := p.Report.SiteName(c.Site); !report.Whole(c) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// Address returns the address of the page.
func (p *checkPage) Address() string {
	if p.Layout != nil {
		return p.Layout.Address(p.Layout.Number)
	}
	return "/checks/" + string(p.ID)
}

// Comparison shows the submission next to one source.
type Comparison struct {
	html.Comparison
	Source report.RankedSource
	Place  string
	Rank   int
	Whole  bool          // the source's whole text is shown, not only passages
	Before int           // position where the previous part begins
	Shown  concordat.Ref // the text that is shown; a source's work can have several texts
	Others []otherText   // texts that contain other passages
}

// otherText is another text of a source's work.
type otherText struct{ Place, URL string }

// reader prepares a page about the report of the requested check.
func (w Reports) reader(r *http.Request, v *pages.Visitor, part bool) (*checkPage, *Reading, error) {
	t, err := w.task(r, v)
	if err == nil && !pages.HasReport(t) {
		err = fmt.Errorf("report of %s: %w", t.ID, concordat.ErrNotFound)
	}
	if err != nil {
		return nil, nil, err
	}
	return w.readTask(r, v, t, part)
}

func (w Reports) readTask(r *http.Request, v *pages.Visitor, t store.Task, part bool) (*checkPage, *Reading, error) {
	p := &checkPage{MayReview: v.MayReview(), Me: v.Name, Verdicts: review.Verdicts, Page: 1, Orders: sourceOrders,
		Filter: sourceFilterOf(nil)}
	var err error
	if p.People, err = w.frame.Names(r.Context()); err != nil {
		return nil, nil, err
	}
	if p.Row, err = w.o.Tasks.Row(r.Context(), v, t); err != nil || !pages.HasReport(t) {
		return p, nil, err
	}
	if p.Review, err = w.o.Reviews.Of(r.Context(), t); err != nil {
		return nil, nil, err
	}
	see := w.o.Reviews.Sees(v, p.Review)
	p.MayDelete = v.MayReview() && w.o.MayDelete
	p.Decides = v.Role == store.RoleAdministrator
	got, err := w.o.Cache.Reading(r.Context(), t.ID, p.Review.Rules, message.LanguageOf(r).Report(), see)
	p.Review.Mark(v.Name)
	if see != review.SeeEverything {
		p.Limited, p.Review = see, nil // only officers may see what officers wrote
	}
	if err != nil {
		return p, nil, err
	}
	p.Report, p.Pages, p.Of = got.Report, got.view.Pages(), got.Report.LastNumber
	p.originals, p.unpaged, _ = w.submitted.of(r.Context(), t) // without originals there is no link
	w.o.Cache.NoteRead(r.Context(), v, t.ID, part)
	return p, got, nil
}

// checkPage shows the state of a check, and its report once there is one.
func (w Reports) checkPage(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	t, err := w.task(r, v)
	var p *checkPage
	var got *Reading
	if err == nil {
		p, got, err = w.readTask(r, v, t, false)
	}
	if errors.Is(err, review.ErrNotShown) {
		err = nil // the page shows the error
	}
	if err == nil && !t.State.Ended() {
		p.Now, err = w.o.Progress.For(v, message.LanguageOf(r)).Now(r.Context(), t)
	}
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	if got != nil {
		w.showReport(rw, r, v, p, got)
		return
	}
	w.frame.Show(rw, r, v, http.StatusOK, "check", "title.check", p)
}

// showReport shows a whole report, either with its text or in the original layout.
func (w Reports) showReport(rw http.ResponseWriter, r *http.Request, v *pages.Visitor, p *checkPage, got *Reading) {
	if err := fill(w, r, v, p, got); err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	w.frame.Show(rw, r, v, http.StatusOK, "check", "title.check", p)
}

// sameAuthors marks alerts whose document may be by an author of the submission.
func sameAuthors(ctx context.Context, db *store.DB, r *report.Report, later []alerts.Alert) error {
	if len(r.Authors) == 0 {
		return nil
	}
	var all []store.Alert
	for _, a := range later {
		all = append(all, a.Alert)
	}
	authors, err := site.AuthorsOf(ctx, db, all)
	for i, a := range later {
		later[i].Same = r.Language.SameAuthorWords(report.SameAuthor(r.Authors, authors[a.Seq]))
	}
	return err
}

// fill prepares all parts of a report.
func fill(w Reports, r *http.Request, v *pages.Visitor, p *checkPage, got *Reading) (err error) {
	q := r.URL.Query()
	if n, err := strconv.Atoi(q.Get("page")); err == nil && p.Layout == nil {
		p.Page = min(max(n, 1), p.Pages) // an unparsable value starts at the first page
	}
	if p.MayReview {
		var next int64
		if p.Watched, err = w.o.Alerts.IsWatched(r.Context(), p.ID); err != nil {
			return err
		}
		p.Since, next, err = w.o.Alerts.List(r.Context(), store.AlertFilter{Side: store.AlertFound, Task: p.ID}, 0, sinceShown)
		if err != nil {
			return err
		}
		p.MoreSince = next > 0
		if err := sameAuthors(r.Context(), w.Store, got.Report, p.Since); err != nil {
			return err
		}
	}
	w.filterLeads(r, p)
	l := w.links(message.LanguageOf(r), p)
	if p.Only = p.only(q.Get("only")); p.Only != nil {
		l.Only = p.Only.Ordinal
	}
	if p.Review != nil {
		in, err := w.o.Reviews.CaseLibrary(r.Context(), p.Task, p.Review)
		if err != nil {
			return err
		}
		p.InLibrary = &in
	}
	p.Told = w.changed(r, v, p)
	p.Numbers = strings.Join(got.Report.Numbers, " ")
	var walk []string
	for _, i := range walked(got.Report) {
		walk = append(walk, got.Report.Number(i))
	}
	p.Walk = strings.Join(walk, " ")
	p.Result, p.Flags, p.Map, p.Legend = got.view.Result(l), got.view.Flags(l), got.view.Map(l), got.view.Legend()
	p.Short, p.Leads = got.view.Short(), got.view.Leads(l)
	p.Coverage, p.Method = got.view.Coverage(), got.view.Method()
	p.Uncounted, p.Sources, p.Rest = got.view.Uncounted(l), p.Filter.page(got, 0, l), p.Filter.rest(got, l)
	first := got.view.FirstOn(p.Page - 1)
	if p.Layout != nil {
		first = slices.IndexFunc(p.Layout.begins, func(run int) bool { return run >= p.Layout.Number })
	} else {
		p.Text = got.view.Text(p.Page-1, l)
	}
	if first >= 0 && first < len(got.Report.Evidence) {
		p.First = got.Report.Number(first)
	}
	return nil
}

// RuleFields returns the current rules as fields of the form that changes them.
func (p *checkPage) RuleFields() []review.RuleField {
	var sections []string
	for _, s := range p.Report.Sections {
		sections = append(sections, s.Name)
	}
	return review.RuleFields(p.Review.Rules, nil, sections)
}

// refQuery returns the parameters that identify a document in an address. It does not use the document's rank, which changes with the
// rules.
func refQuery(ref concordat.Ref) url.Values {
	return url.Values{"site": {string(ref.Site)}, "library": {string(ref.Library)}, "document": {string(ref.Document)}}
}

// part writes a fragment to be inserted into an open page.
func part(rw http.ResponseWriter, r *http.Request, markup template.HTML) {
	static.Send(rw, r, http.StatusOK, []byte(markup))
}

// numbered reads a number from 1 to most from the path of a request.
func numbered(r *http.Request, name string, most int) (int, error) {
	n, err := strconv.Atoi(r.PathValue(name))
	if err != nil || n < 1 || n > most {
		return 0, fmt.Errorf("%s %q of %d: %w", name, r.PathValue(name), most, concordat.ErrNotFound)
	}
	return n, nil
}

// textPart writes a page of the text as a fragment for an open page.
func (w Reports) textPart(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	p, got, err := w.reader(r, v, true)
	n := 0
	if err == nil {
		n, err = numbered(r, "page", p.Pages)
	}
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	w.filterLeads(r, p)
	part(rw, r, got.view.Text(n-1, w.links(message.LanguageOf(r), p)))
}

// sourcesPage lists the ranked sources, or those whose title or location contains the given words.
func (w Reports) sourcesPage(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	p, got, err := w.reader(r, v, true)
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	q := r.URL.Query()
	l := w.links(message.LanguageOf(r), p)
	from, _ := strconv.Atoi(q.Get("from")) // an unparsable value starts at the first source
	p.SourceFrom, p.Filter = max(from, 0), sourceFilterOf(q)
	p.Sources = p.Filter.page(got, p.SourceFrom, l)
	if p.SourceFrom == 0 {
		p.Rest = p.Filter.rest(got, l)
	}
	if q.Get("part") != "" {
		piece, data := "source-list", any(p)
		if p.SourceFrom > 0 {
			piece, data = "source-items", p.Sources
		}
		part(rw, r, w.piece(message.LanguageOf(r), piece, data))
		return
	}
	w.frame.Show(rw, r, v, http.StatusOK, "sources", "title.sources", p)
}

// passagePage shows one passage next to all its sources.
func (w Reports) passagePage(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	q := r.URL.Query().Get("part") != ""
	p, got, err := w.reader(r, v, q)
	k := 0
	if err == nil {
		if k = got.Report.Numbered(r.PathValue("number")); k < 0 {
			err = fmt.Errorf("passage %q: %w", r.PathValue("number"), concordat.ErrNotFound)
		}
	}
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	p.Number = got.Report.Number(k)
	p.Earlier, p.Later = around(got.Report, k)
	p.Passage, p.TextPage = got.view.Passage(k, w.links(message.LanguageOf(r), p)), got.view.PageOf(k)+1
	p.Told = w.changed(r, v, p)
	if q {
		part(rw, r, w.piece(message.LanguageOf(r), "passage", p))
		return
	}
	w.frame.Show(rw, r, v, http.StatusOK, "check", "title.passage", p)
}

// comparePage shows the submission and one source side by side.
func (w Reports) comparePage(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	p, got, err := w.reader(r, v, false)
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	q := r.URL.Query()
	ref := review.RefOf(q)
	i := got.Report.Source(ref)
	if i < 0 {
		w.frame.Fail(rw, r, v, fmt.Errorf("source %s: %w", ref, concordat.ErrNotFound))
		return
	}
	text, err := w.sourceText(r.Context(), v, ref)
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	from, _ := strconv.Atoi(q.Get("from")) // an unparsable value starts at the first part
	if e := got.Report.Numbered(q.Get("passage")); e >= 0 {
		from = got.view.PlaceOf(i, e) / html.ComparePlaces * html.ComparePlaces
	}
	compared := got.view.Compare(i, html.CompareOptions{From: from, Text: text, Of: ref}, w.links(message.LanguageOf(r), p))
	p.Comparison = Comparison{compared, got.Report.Sources[i],
		report.SourcePlace(got.Report, ref), i + 1, text != "", 0, ref, p.otherTexts(got.Report.Sources[i], ref)}
	p.Before = max(0, p.From-html.ComparePlaces)
	w.frame.Show(rw, r, v, http.StatusOK, "compare", "title.compare", p)
}

// walked returns the indices of the passages that the reader steps through: the uncollapsed ones or, if all are collapsed, all of them.
func walked(r *report.Report) (out []int) {
	var all []int
	for i, e := range r.Evidence {
		all = append(all, i)
		if !report.Folded(e.Excluded) {
			out = append(out, i)
		}
	}
	if out == nil {
		return all
	}
	return out
}

// around returns the numbers of the passages that the reader steps to before and after passage k, or "" for none.
func around(r *report.Report, k int) (earlier, later string) {
	for _, i := range walked(r) {
		if i < k {
			earlier = r.Number(i)
		}
		if i > k {
			return earlier, r.Number(i)
		}
	}
	return earlier, ""
}

// Base returns the address of this comparison, to which the parameter from can be added.
func (p checkPage) Base() string {
	return "/checks/" + string(p.ID) + "/compare?" + refQuery(p.Shown).Encode()
}

// otherTexts returns the texts of a source's work that contain passages, except the one shown.
func (p *checkPage) otherTexts(source report.RankedSource, shown concordat.Ref) (out []otherText) {
	for _, ref := range source.AllPlaces() {
		holds := slices.ContainsFunc(source.Evidence, func(e int) bool {
			return slices.ContainsFunc(p.Report.Evidence[e].Sources, func(s concordat.Source) bool { return s.Ref == ref })
		})
		if ref != shown && holds {
			out = append(out, otherText{p.Report.Place(ref), "/checks/" + string(p.ID) + "/compare?" + refQuery(ref).Encode()})
		}
	}
	return out
}

// sourceText returns the text of a source of this site to visitors who see all checks; others see only the passages in the report.
func (w Reports) sourceText(ctx context.Context, v *pages.Visitor, ref concordat.Ref) (string, error) {
	if !v.SeesAll() {
		return "", nil
	}
	return w.o.Site.DocumentText(ctx, ref)
}

// pdfWriter sets the content type with the first byte, so that an earlier error can still be reported.
type pdfWriter struct{ http.ResponseWriter }

func (w pdfWriter) Write(b []byte) (int, error) {
	w.Header().Set("Content-Type", "application/pdf")
	return w.ResponseWriter.Write(b)
}

// WritePDF writes the report, with its comments if the visitor sees them.
func (w Reports) WritePDF(rw http.ResponseWriter, r *http.Request, v *pages.Visitor, rep *report.Report) error {
	now, err := w.o.Reviews.OfTask(r.Context(), rep.Task)
	if err != nil {
		return err
	}
	return w.o.Files.WritePDF(r.Context(), pdfWriter{rw}, rep, w.o.Reviews.Sees(v, now) == review.SeeEverything)
}

// pdf answers with the report as a PDF file.
func (w Reports) pdf(rw http.ResponseWriter, r *http.Request, v *pages.Visitor, t store.Task, rep *report.Report) {
	rw.Header().Set("Content-Disposition", Attachment(t, "pdf"))
	if err := w.WritePDF(rw, r, v, rep); err != nil {
		rw.Header().Del("Content-Disposition")
		w.frame.Fail(rw, r, v, err)
	}
}
