package site

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"unicode"

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
// short and stands alone: a copied page holds more. A sentence or so that stands alone is no evidence either, whatever
// it says: people who write about the same things come to share that much, and the formulas of a field are such
// sentences. Of a short text it may be a large part, and a mosaic is made of many.
const (
	placeApart    = 40   // words between two places, but for what is shared by right
	mostFormWords = 60   // of the passages at one place that reads like a form
	aloneLetters  = 180  // of a sentence that stands alone, a Chinese character counting as three
	summaryFactor = 2    // as many of a summary, whose pieces say least
	aloneShare    = 0.12 // of the words of the text at most
	mosaicPieces  = 3    // copied sentences of one source that count although each stands alone
	pieceLetters  = 60   // of such a sentence, at least
)

// judge marks the passages of one source, in order of text, that are no evidence: those that read like a form's, and
// sentences that stand alone.
func (w *sharedWording) judge(passages []concordat.Passage) {
	var alone [][]concordat.Passage
	pieces := 0
	for i := 0; i < len(passages); {
		j, words := i+1, w.words.Count(passages[i].Span)
		for ; j < len(passages) && w.between(passages[j-1].Span, passages[j].Span) < placeApart; j++ {
			words += w.words.Count(passages[j].Span)
		}
		here := passages[i:j]
		i = j
		if words <= mostFormWords && w.markForms(here) {
			continue
		}
		least := aloneLetters
		if here[0].Kind == concordat.KindSummary {
			least *= summaryFactor
		}
		if n := weightedLetters(w.text, here); n < least && float64(words) < aloneShare*float64(w.words.Len()) {
			alone = append(alone, here)
			if k := here[0].Kind; n >= pieceLetters && (k == concordat.KindVerbatim || k == concordat.KindNear) {
				pieces++
			}
		}
	}
	if pieces >= mosaicPieces {
		return
	}
	for _, here := range alone {
		for k := range here {
			here[k].Wording = cmp.Or(here[k].Wording, concordat.KindSentence)
		}
	}
}

// between returns the words between two spans that are not shared by right.
func (w *sharedWording) between(before, after concordat.Span) int {
	n := 0
	for _, s := range without(concordat.Span{Start: before.End, End: after.Start}, w.walls) {
		n += w.words.Count(s)
	}
	return n
}

// markForms marks the passages that read like a form and reports whether all do.
func (w *sharedWording) markForms(here []concordat.Passage) bool {
	all := true
	for k := range here {
		if _, ok := w.forms().ReadsLikeForm(here[k].Span); ok {
			here[k].Wording = concordat.KindForm
		} else {
			all = false
		}
	}
	return all
}

// hanLetters is how many letters of an alphabet a Chinese character says as much as.
const hanLetters = 3

// weightedLetters returns the letters of passages.
func weightedLetters(text string, passages []concordat.Passage) int {
	n := 0
	for _, p := range passages {
		for _, r := range p.Span.In(text) {
			switch {
			case unicode.Is(unicode.Han, r):
				n += hanLetters
			case unicode.IsLetter(r) || unicode.IsDigit(r):
				n++
			}
		}
	}
	return n
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
		if !ok || w.words.Count(at.Here) < leastBeside {
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

// leastBeside is the number of words of the shortest shared wording that is shown beside a source: headings are not.
const leastBeside = 5

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
