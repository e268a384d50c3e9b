package site

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"concordat"
	"concordat/align"
	"concordat/report"
	"concordat/wording"
)

// sharedWording is what of a text is shared by right and takes no part in comparing it, and how the same is found in
// others.
type sharedWording struct {
	text  string
	words *wording.Words
	given []string        // templates: wording that was handed out
	grams *wording.Common // of what others share: it takes no part in them either
	found []report.Wording
	form  []concordat.Span // what templates hold of the text
	walls []concordat.Span // all of the text that takes no part, in order and disjoint
	forms func() *wording.Reader
}

// mostQuoted is the share of a text that may stand in quotation marks for them to be those of quotations: in a novel or
// a chronicle most of what people say does.
const mostQuoted = 0.2

// shareable returns what of a text is known to be shared by right from the text and the templates alone.
func shareable(text string, templates []string) *sharedWording {
	w := &sharedWording{text: text, words: wording.Split(text), given: templates}
	w.forms = sync.OnceValue(func() *wording.Reader { return wording.NewReader(text) })
	w.form = report.Given(text, templates)
	w.walls = joined(slices.Concat(report.References(text), w.form))
	return w
}

// decide notes the wording that others hold too: common among of documents, and that of forms. held are the grams that
// at least one other document has, with the numbers of documents.
func (w *sharedWording) decide(held *wording.Common, of int) {
	least := wording.Least(of)
	w.grams = &wording.Common{}
	if least > 0 {
		w.grams = held.Least(least, wording.LeastLong(of))
	}
	spans := slices.Clone(w.walls)
	for _, x := range w.grams.In(w.words) {
		for _, s := range without(x.Span, spans) {
			w.found = append(w.found, report.Wording{Span: s, Kind: concordat.KindCommon, Documents: x.Documents, Of: of})
		}
	}
	for _, x := range w.found {
		spans = append(spans, x.Span)
	}
	spans = joined(spans)
	for _, f := range wording.FormsAmong(w.text, w.words, held.In(w.words)) {
		for _, s := range without(f.Span, spans) {
			w.found = append(w.found, report.Wording{Span: s, Kind: concordat.KindForm, Documents: f.Documents, Of: of, Why: string(f.Why)})
			w.grams.Join(w.words.Of(s))
		}
	}
	for _, x := range w.found {
		spans = append(spans, x.Span)
	}
	w.walls = joined(spans)
	slices.SortFunc(w.found, func(x, y report.Wording) int { return cmp.Or(x.Start-y.Start, x.End-y.End) })
}

// without returns what of a span is in none of the others, which are in order and disjoint.
func without(s concordat.Span, others []concordat.Span) []concordat.Span {
	var out []concordat.Span
	for _, x := range others {
		if x.End <= s.Start || x.Start >= s.End {
			continue
		}
		if x.Start > s.Start {
			out = append(out, concordat.Span{Start: s.Start, End: x.Start})
		}
		s.Start = x.End
	}
	if s.Start < s.End {
		out = append(out, s)
	}
	return out
}

// wallsOf returns what of a source takes no part in a comparison with the text.
func (w *sharedWording) wallsOf(source string, words *wording.Words) []concordat.Span {
	walls := slices.Concat(report.References(source), report.Given(source, w.given))
	for _, s := range w.grams.In(words) {
		walls = append(walls, s.Span)
	}
	return joined(walls)
}

// prepare makes the text ready for comparing.
func (w *sharedWording) prepare() *align.Text { return align.PrepareWithout(w.text, w.walls) }

// What two texts share at one place, slots filled in or put a little differently, is a form's if it reads like one, is
// short and stands alone. A copied page holds more.
const (
	mostFormWords = 60 // of the passages at one place
	formApart     = 40 // words between two places
)

// markForms marks the passages of one source, in order of text, that read like a form's.
func (w *sharedWording) markForms(passages []concordat.Passage) {
	for i := 0; i < len(passages); {
		n := w.words.Count(passages[i].Span)
		j := i + 1
		for ; j < len(passages) && w.words.Count(concordat.Span{Start: passages[j-1].Span.End, End: passages[j].Span.Start}) < formApart; j++ {
			n += w.words.Count(passages[j].Span)
		}
		if n <= mostFormWords {
			for k := i; k < j; k++ {
				if _, ok := w.forms().ReadsLikeForm(passages[k].Span); ok {
					passages[k].Wording = concordat.KindForm
				}
			}
		}
		i = j
	}
}

// beside returns the shared wording of the text that a source holds as well, as passages: no evidence, but shown as
// what it is. shows says which.
func (w *sharedWording) beside(source *wording.Words, ref concordat.Ref, title, text string, shows func(report.Wording) bool) []concordat.Passage {
	all := slices.Clone(w.found)
	for _, s := range w.form {
		all = append(all, report.Wording{Span: s, Kind: concordat.KindTemplate})
	}
	var places *wording.Places
	var points *report.Counter
	var out []concordat.Passage
	for _, x := range all {
		if !shows(x) {
			continue
		}
		if places == nil {
			places, points = source.Places(w.words.Of(concordat.Span{End: len(w.text)})), report.NewCounter(text)
		}
		at, ok := places.Beside(w.words, x.Span)
		if !ok {
			continue
		}
		p := concordat.Passage{Span: at.Here, Source: ref, Title: title, SourceSpan: at.There, SourcePoints: points.Points(at.There),
			Kind: concordat.KindNear, Similarity: at.Share, Words: at.Words, Documents: x.Documents, Wording: x.Kind}
		if at.Share == 1 {
			p.Kind = concordat.KindVerbatim
		}
		p.Text, p.Before, p.After = around(text, at.There)
		out = append(out, p)
	}
	return out
}

// add notes wording of the text that is known to be shared by right already.
func (w *sharedWording) add(known []report.Wording) {
	w.found = append(w.found, known...)
	for _, x := range known {
		w.walls = append(w.walls, x.Span)
	}
	w.walls = joined(w.walls)
}

// mostBeside is the number of sources that common and template wording is shown with.
const mostBeside = 8

func everyWording(report.Wording) bool { return true }

// fewBeside leaves each stretch of common and template wording mostBeside sources, those that come first by name: more
// of them tell a reader nothing.
func fewBeside(passages []concordat.Passage) []concordat.Passage {
	type key struct {
		kind  concordat.Kind
		start int
	}
	by := map[key][]concordat.Ref{}
	many := func(p concordat.Passage) bool {
		return p.Wording == concordat.KindCommon || p.Wording == concordat.KindTemplate
	}
	for _, p := range passages {
		if many(p) {
			k := key{p.Wording, p.Span.Start}
			by[k] = append(by[k], p.Source)
		}
	}
	for k, refs := range by {
		slices.SortFunc(refs, func(x, y concordat.Ref) int { return strings.Compare(x.String(), y.String()) })
		by[k] = refs[:min(len(refs), mostBeside)]
	}
	return slices.DeleteFunc(passages, func(p concordat.Passage) bool {
		return many(p) && !slices.Contains(by[key{p.Wording, p.Span.Start}], p.Source)
	})
}

// templateTexts returns the wording of templates.
func templateTexts(ts []report.Template) []string {
	out := make([]string, 0, len(ts))
	for _, t := range ts {
		if strings.TrimSpace(t.Text) != "" {
			out = append(out, t.Text)
		}
	}
	return out
}
