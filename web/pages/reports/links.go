package reports

import (
	"crypto/sha256"
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"concordat"
	"concordat/report"
	"concordat/report/html"
	"concordat/web/bounds"
	"concordat/web/message"
	"concordat/web/pages"
	"concordat/web/pages/requests"
	"concordat/web/review"
)

// links returns the addresses of the parts of a report on these pages.
func (w Reports) links(in message.Language, p *checkPage) html.Links {
	base := "/checks/" + string(p.ID)
	kept := string(p.LeadQuery())
	if kept != "" {
		kept = "&" + kept
	}
	l := html.Links{
		Page:    func(n int) string { return base + "?page=" + strconv.Itoa(n+1) + kept },
		Passage: func(e int) string { return base + "/passages/" + p.Report.Number(e) },
		Source: func(i int) string {
			return base + "/compare?" + refQuery(p.Report.Sources[i].Ref).Encode()
		},
	}
	l.Choose = func(i int) string { return base + "?only=" + p.Report.Sources[i].Letter() + kept + "#read" }
	if p.Layout != nil {
		l.Mark = func(e int) string { return p.Layout.mark(p, e) }
		l.Flag = p.Layout.flag
		l.Choose = func(i int) string {
			return p.Layout.Address(p.Layout.Number) + "&only=" + p.Report.Sources[i].Letter() + "#read"
		}
	}
	l.SourceTools = func(i int) template.HTML {
		return w.piece(in, "source-tools", sourceTools{p.ID, p.Report.Sources[i], l.Source(i), p.MayReview})
	}
	l.LeadTools = func(i int) template.HTML {
		return w.piece(in, "lead-tools", leadTools{p.ID, p.Report.Leads[i], p.MayReview, pages.LeadQuery(p.LeadFilter)})
	}
	if p.LeadBar != nil {
		l.LeadFilter = w.piece(in, "lead-filter", p.LeadBar)
		l.LeadShown = func(i int) bool { return p.ShowsLead(p.Report.Leads[i]) }
		l.LeadPlace = func(i int) string {
			return strings.TrimSuffix(p.LeadBar.Clear, "#leads") + "#" + p.Report.Leads[i].Number
		}
	}
	l.PartnerLeadTools = func(i int) template.HTML {
		lead := p.Report.PartnerLeads[i]
		return w.piece(in, "partner-lead-tools", partnerLeadTools{p.ID, lead, p.Report.PartnerLeadState(lead), p.MayReview && w.o.MayAsk})
	}
	l.PassageTools = func(i int) template.HTML {
		e := p.Report.Evidence[i]
		return w.piece(in, "passage-tools", passageTools{Task: p.ID, Number: p.Report.Number(i), Evidence: e,
			Notes: p.notesOf(e.Span, p.Report.Number(i)), MayReview: p.MayReview,
			MayAsk: p.MayReview && w.o.MayAsk, Asked: requests.SourcesOf(p.Report, e.Span, w.o.Now()), Original: p.originalLink(i),
			Deciding: p.deciding(e),
			Counted:  slices.ContainsFunc(p.Report.Rules.CountWording, func(c report.CountedWording) bool { return c.Span.Overlaps(e.Span) })})
	}
	return l
}

type sourceTools struct {
	Task   concordat.TaskID
	Source report.RankedSource
	Beside string
	May    bool
}

type partnerLeadTools struct {
	Task concordat.TaskID
	report.PartnerLead
	State  string // state of the request for its passages
	MayAsk bool
}

type leadTools struct {
	Task concordat.TaskID
	report.RuledLead
	May  bool
	Kept url.Values // the filter of leads
}

type passageTools struct {
	Task      concordat.TaskID
	Number    string
	Notes     []noted // comments on it, oldest first
	Evidence  concordat.Evidence
	MayReview bool
	MayAsk    bool
	Asked     []requests.Source
	Original  string // link to it on the page of its original; empty for none
	Deciding  *decidingWording
	Counted   bool // someone decided that it, or part of it, counts although many documents share it
}

// decidingWording is undecided wording with the libraries that contain it, for a visitor who may decide for a library.
type decidingWording struct {
	Name, Text string
	Libraries  []decidingLibrary
}

type decidingLibrary struct {
	ID    concordat.LibraryID
	Title string
}

// decidedName is the maximum length of the name of decided wording, in bytes.
const decidedName = 60

// deciding returns the undecided wording of a passage, or nil if the visitor may not decide about it.
func (p *checkPage) deciding(e concordat.Evidence) *decidingWording {
	r := p.Report
	if !p.Decides || e.Excluded != concordat.ExcludedUndecided {
		return nil
	}
	at := slices.IndexFunc(r.Wording, func(x report.SharedWording) bool { return x.Undecided() && x.Span.Overlaps(e.Span) })
	withheld := slices.ContainsFunc(r.Flags, func(f concordat.Flag) bool { return f.Code == report.FlagWithheld })
	if at < 0 || withheld {
		return nil
	}
	one := r.Wording[at]
	d := &decidingWording{Text: one.Span.In(r.Submission.Text)}
	sum := sha256.Sum256([]byte(d.Text)) // so that different wording with the same beginning gets a different name
	d.Name = fmt.Sprintf("%s (%x)", bounds.Cut(strings.Join(strings.Fields(d.Text), " "), decidedName), sum[:3])
	for _, h := range one.Holders {
		if h.Site == r.Names.Site && !slices.ContainsFunc(d.Libraries, func(l decidingLibrary) bool { return l.ID == h.Library }) {
			d.Libraries = append(d.Libraries, decidingLibrary{h.Library, r.LibraryWords(h.Site, h.Library)})
		}
	}
	if d.Libraries == nil {
		return nil
	}
	return d
}

// MayCount reports whether the passage counts only if a person decides so.
func (p passageTools) MayCount() bool {
	return slices.Contains([]concordat.Exclusion{concordat.ExcludedCommon, concordat.ExcludedForm, concordat.ExcludedSentence,
		concordat.ExcludedUndecided, concordat.ExcludedQuote, concordat.ExcludedGroup}, p.Evidence.Excluded)
}

// Partners returns the partners that can be asked about the passage because their documents are sources of it.
func (p passageTools) Partners() (out []requests.Source) {
	for _, a := range p.Asked {
		if a.CanAsk {
			out = append(out, a)
		}
	}
	return out
}

// notesOf returns the comments on a passage.
func (p *checkPage) notesOf(at concordat.Span, number string) (out []noted) {
	if p.Review == nil {
		return nil
	}
	for _, n := range p.Review.Notes {
		if s := review.CommentSpan(n); s.Len() > 0 && s.Overlaps(at) {
			one := p.noted(n)
			one.Passage, one.Where = number, "passage"
			out = append(out, one)
		}
	}
	return out
}

// piece executes a template defined in the file of a page.
func (w Reports) piece(in message.Language, name string, data any) template.HTML {
	markup, err := w.o.Pieces.Piece(in, "check", name, data)
	if err != nil {
		w.Logger.Error("page", "page", name, "error", err)
	}
	return markup
}
