package reports

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"strings"

	"concordat"
	"concordat/report"
	"concordat/report/html"
	"concordat/site"
	"concordat/store"
	"concordat/web/message"
	"concordat/web/pages"
)

// Layout is a sequence of pages of an original, with the positions of passages on them.
type Layout struct {
	Pages  int   // number of pages of the original
	Begins []int // page on which each span begins; 0 if it was not found with certainty and is therefore unmarked
	Shown  []LaidOut
}

// LaidOut is a page without its image.
type LaidOut struct {
	Number        int
	Width, Height float64 // in points
	Marks         []LaidOutMark
}

// LaidOutMark is a span, or part of it, on a page.
type LaidOutMark struct {
	Span   int // index of the span
	Begins bool
	Boxes  []Mark // one per line, in order
}

// leavesAtOnce is the number of original pages shown on one web page.
const leavesAtOnce = 6

// layoutPage is the submission in its original layout, for the template.
type layoutPage struct {
	Files    []laidOutFile
	Sheet    template.HTML
	Number   int // number of the web page, from 1
	Runs     int
	Original int        // number of pages of the original
	Begins   string     // web page on which each passage begins, in order of number; 0 for none
	Flags    []unmarked // kinds of flags whose places are not marked on any page
	Unplaced []string   // numbers of unmarked passages in this file, or in the submission if their files are unknown
	Reason   string     // message key explaining why they are not marked
	Problem  string     // message key explaining why no pages are shown; empty if they are
	Missed   string     // number of a requested passage that was not found

	address string
	begins  []int // web page of each passage; 0 for none
	flags   []int // web page of each flag; 0 for none
	file    int   // number of the file, from 1; 0 if there is only one
}

// unmarked is a kind of flag with the number of its places that are not marked on the pages of a file.
type unmarked struct {
	report.FlagKind
	Places int
}

// laidOutFile is one of several files of a submission.
type laidOutFile struct {
	Number  int // from 1; 0 if the file has no pages
	Name    string
	Current bool
}

// Address returns the address of web page n, or an address with a placeholder if n is negative.
func (l *layoutPage) Address(n int) string {
	number := "{n}"
	if n >= 0 {
		number = strconv.Itoa(n)
	}
	out := l.address + "?page=" + number
	if l.file > 0 {
		out += "&file=" + strconv.Itoa(l.file)
	}
	return out
}

// flag returns the address of the mark of flag i, or "" if it is marked only in the text.
func (l *layoutPage) flag(i int) string {
	if i >= len(l.flags) || l.flags[i] == 0 {
		return ""
	}
	return l.Address(l.flags[i]) + fmt.Sprintf("#f%d", i+1)
}

// mark returns the address of the mark of passage i.
func (l *layoutPage) mark(p *checkPage, i int) string {
	if l.begins[i] == 0 { // in another file, or not found
		return cmp.Or(p.originalLink(i), "/checks/"+url.PathEscape(string(p.ID))+"/passages/"+p.Report.Number(i))
	}
	return l.Address(l.begins[i]) + "#m" + p.Report.Number(i)
}

// layoutPage shows the submission in its original layout, with its passages marked.
func (w Reports) layoutPage(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	q := r.URL.Query()
	piece := q.Get("part") != ""
	p, got, err := w.reader(r, v, piece)
	if err == nil && !p.MayLeaf() {
		err = fmt.Errorf("pages of %s: %w", p.ID, concordat.ErrNotFound)
	}
	k := -1
	if number := q.Get("passage"); err == nil && number != "" {
		if k = p.Report.Numbered(number); k < 0 {
			err = fmt.Errorf("passage %q: %w", number, concordat.ErrNotFound)
		}
	}
	if err == nil {
		if p.originals != nil {
			noteOriginal(r.Context(), w, v, p.ID, piece)
		}
		if err = layOut(w, r, p, got, k); errors.Is(err, concordat.ErrInvalid) && !piece {
			w.Logger.Warn("pages", "task", p.ID, "error", err)
			p.Layout.Problem = "layout.failed"
			if errors.Is(err, context.DeadlineExceeded) {
				p.Layout.Problem = "layout.late"
			}
			err = nil
		}
	}
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	if k >= 0 {
		if p.Layout.begins[k] > 0 {
			to := p.Layout.mark(p, k)
			if changed := q.Get("changed"); changed != "" {
				to = strings.Replace(to, "#", "&changed="+url.QueryEscape(changed)+"#", 1)
			}
			http.Redirect(rw, r, to, http.StatusSeeOther)
			return
		}
		if p.Layout.Problem == "" {
			p.Layout.Missed = p.Report.Number(k)
		}
	}
	if piece {
		part(rw, r, p.Layout.Sheet)
		return
	}
	w.showReport(rw, r, v, p, got)
}

// layOut prepares the requested pages or, if k is not negative, the pages of the file that contains passage k.
func layOut(w Reports, r *http.Request, p *checkPage, got *Reading, k int) error {
	q := r.URL.Query()
	l := &layoutPage{address: "/checks/" + string(p.ID) + "/pages", Number: 1, Runs: 1, begins: make([]int, len(p.Report.Evidence))}
	p.Layout = l
	if p.originals == nil {
		l.Problem = "layout." + string(p.unpaged)
		return nil
	}
	if n, err := strconv.Atoi(q.Get("page")); err == nil {
		l.Number = max(n, 1) // an unparsable value starts at the first page
	}
	at, err := fileAt(p.originals, q.Get("file"))
	if err != nil {
		return err
	}
	rep := p.Report
	if k >= 0 {
		var ok bool
		if at, _, ok = originalOf(p.originals, rep, rep.Evidence[k].Span); !ok {
			return fmt.Errorf("original of passage %q: %w", rep.Number(k), concordat.ErrNotFound)
		}
	}
	if len(p.originals) > 1 {
		l.file = at + 1
		for i, f := range p.originals {
			one := laidOutFile{Name: f.Name, Current: i == at}
			if f.File != "" {
				one.Number = i + 1
			}
			l.Files = append(l.Files, one)
		}
	}
	own := stretches(p.originals, rep)[at].own
	flagged := got.view.FlagSpans()
	spans := make([]concordat.Span, 0, len(rep.Evidence)+len(flagged)) // spans of passages, then of flags; empty if outside this file
	add := func(s concordat.Span) {
		if s = (concordat.Span{Start: max(s.Start, own.Start) - own.Start, End: min(s.End, own.End) - own.Start}); s.Start >= s.End {
			s = concordat.Span{}
		}
		spans = append(spans, s)
	}
	for _, e := range rep.Evidence {
		add(e.Span)
	}
	for _, s := range flagged {
		add(s)
	}
	laid, err := w.submitted.originals.Layout(r.Context(), p.originals[at], own.In(rep.Submission.Text), spans,
		(l.Number-1)*leavesAtOnce+1, leavesAtOnce)
	if err != nil {
		return err
	}
	l.Reason = "layout.unplaced.why"
	if own.Len() == 0 {
		l.Reason, l.Unplaced = "layout.unplaced.file", slices.Clone(rep.Numbers)
	}
	l.Original, l.Runs = laid.Pages, (laid.Pages+leavesAtOnce-1)/leavesAtOnce
	runs := make([]string, len(rep.Evidence))
	for i, page := range laid.Begins[:len(rep.Evidence)] {
		if page > 0 {
			l.begins[i] = (page-1)/leavesAtOnce + 1
		} else if spans[i].Len() > 0 {
			l.Unplaced = append(l.Unplaced, rep.Number(i))
		}
		runs[i] = strconv.Itoa(l.begins[i])
	}
	l.Begins = strings.Join(runs, " ")
	anchors := l.placeFlags(rep, flagged, laid.Begins[len(rep.Evidence):], own)
	links := w.links(message.LanguageOf(r), p)
	if s := p.only(q.Get("only")); s != nil {
		links.Only = s.Ordinal
	}
	var out strings.Builder
	for _, leaf := range laid.Shown {
		one := html.Leaf{Number: leaf.Number, Pages: laid.Pages, Width: leaf.Width, Height: leaf.Height,
			Picture: fmt.Sprintf("%s/%d.png", l.address, leaf.Number)}
		if l.file > 0 {
			one.Picture += "?file=" + strconv.Itoa(l.file)
		}
		for _, m := range leaf.Marks {
			var boxes []html.LeafBox
			for _, b := range m.Boxes {
				boxes = append(boxes, html.LeafBox(b))
			}
			if k := m.Span - len(rep.Evidence); k < 0 {
				one.Marks = append(one.Marks, html.LeafMark{Passage: m.Span, Begins: m.Begins, Boxes: boxes})
			} else {
				flag := html.LeafFlag{Stretch: k, Boxes: boxes}
				if m.Begins {
					flag.Anchors = anchors[k]
				}
				one.Flags = append(one.Flags, flag)
			}
		}
		out.WriteString(string(got.view.Leaf(one, links)))
	}
	l.Sheet = template.HTML(out.String())
	return nil
}

// placeFlags uses the pages on which a file's flagged stretches begin to record the page of each flag, and the kinds of flags that are
// not marked on any page. For each stretch, it returns the flags first marked there, which is where links to them lead.
func (l *layoutPage) placeFlags(rep *report.Report, flagged []concordat.Span, begins []int, own concordat.Span) map[int][]int {
	l.flags = make([]int, len(rep.Flags))
	anchors := map[int][]int{}
	for _, kind := range report.FlagKinds(rep) {
		missed := 0
		for _, i := range kind.Flags {
			s := rep.Flags[i].Span
			if s == nil || s.End <= own.Start || s.Start >= own.End {
				continue
			}
			k := sort.Search(len(flagged), func(k int) bool { return flagged[k].End > s.Start })
			for ; k < len(flagged) && flagged[k].Start < s.End && l.flags[i] == 0; k++ {
				if begins[k] > 0 {
					l.flags[i], anchors[k] = (begins[k]-1)/leavesAtOnce+1, append(anchors[k], i)
				}
			}
			if l.flags[i] == 0 {
				missed++
			}
		}
		if missed > 0 {
			l.Flags = append(l.Flags, unmarked{kind, missed})
		}
	}
	return anchors
}

// fileAt returns the index of the file with the given number or, if there is none, of the first file with pages.
func fileAt(parts []site.Part, number string) (int, error) {
	if number == "" {
		for i, p := range parts {
			if p.File != "" {
				return i, nil
			}
		}
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > len(parts) || parts[n-1].File == "" {
		return 0, fmt.Errorf("file %q: %w", number, concordat.ErrNotFound)
	}
	return n - 1, nil
}

// leafPicture sends the image of a page. A browser that opens the address directly is redirected to the page that shows it with its
// neighbours.
func (w Reports) leafPicture(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	name, picture := strings.CutSuffix(r.PathValue("n"), ".png")
	n, err := strconv.Atoi(name)
	if err != nil || n < 1 {
		err = fmt.Errorf("page %q: %w", name, concordat.ErrNotFound)
	}
	var t store.Task
	if err == nil {
		t, err = w.task(r, v)
	}
	if err == nil && !picture {
		q := url.Values{"page": {strconv.Itoa((n-1)/leavesAtOnce + 1)}}
		if file := r.URL.Query().Get("file"); file != "" {
			q.Set("file", file)
		}
		http.Redirect(rw, r, fmt.Sprintf("/checks/%s/pages?%s#page-%d", t.ID, q.Encode(), n), http.StatusSeeOther)
		return
	}
	var parts []site.Part
	if err == nil {
		parts, _, err = w.submitted.of(r.Context(), t)
	}
	at := 0
	if err == nil {
		at, err = fileAt(parts, r.URL.Query().Get("file"))
	}
	var p *OriginalPage
	if err == nil {
		noteOriginal(r.Context(), w, v, t.ID, true)
		p, err = w.submitted.originals.Page(r.Context(), parts[at], n)
	}
	switch {
	case err == nil:
		rw.Header().Set("Content-Type", "image/png")
		_, _ = rw.Write(p.PNG) // an error means that the browser has disconnected
	case errors.Is(err, concordat.ErrNotFound) && picture:
		http.NotFound(rw, r)
	default:
		w.frame.Fail(rw, r, v, err)
	}
}

// noteOriginal records that someone viewed an original. It records each whole page, and images at intervals.
func noteOriginal(ctx context.Context, w Reports, v *pages.Visitor, id concordat.TaskID, part bool) {
	if !w.o.Cache.readsOn(id, "original "+v.Name) || !part {
		w.Audit(ctx, v.Name, "original_read", map[string]any{"task": id})
	}
}

// only returns the source with the given letter if the page marks only that source's passages, and otherwise nil.
func (p *checkPage) only(letter string) *report.RankedSource {
	for i := range p.Report.Sources {
		if s := &p.Report.Sources[i]; s.Letter() == letter {
			return s
		}
	}
	return nil
}

// MayLeaf reports whether the submission has pages, even if they cannot be shown.
func (p *checkPage) MayLeaf() bool { return p.originals != nil || p.unpaged != PagesNone }
