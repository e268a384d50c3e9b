package compare

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"unicode"

	"concordat"
	"concordat/align"
	"concordat/align/wording"
	"concordat/align/wording/stock"
	"concordat/report"
)

// SharedWording is the wording of a text that others share and that comparisons leave out, with the means to find it in other texts.
type SharedWording struct {
	Text  string
	Words *wording.Words
	given []string        // templates, that is, wording that was handed out
	grams *wording.Common // wording shared by others, which is left out of their texts too
	// Explained lists the stretches that the text itself explains if others contain them, namely quotations that name their source. They
	// are left out of comparisons, and count only if an officer decides so. Documents and Of are not set.
	Explained []report.Wording
	Found     []report.Wording
	Form      []concordat.Span // template wording in the text
	Named     []concordat.Span // quotations that name their source
	// Attributed holds the wording that the text attributes to others. If another document attributes it too, that is an explanation.
	Attributed []report.Attributed
	// References lists the entries of reference lists, because texts that cite the same works are compared work by work.
	References []concordat.Span
	Walls      []concordat.Span // all parts of the text to leave out, in text order without overlaps
	Held       *wording.Common  // wording also found in at least one compared document; nil if nothing was compared
	Of         int              // number of documents that could contain it, including the text itself; 0 if nothing was compared
	Classes    []wording.Class  // classes of wording that others contain, in text order without overlaps
	forms      func() *wording.Reader
	// clauses means that shared clauses can be standard ones; see wording.ClausesAreForms.
	clauses bool
	beside  func() *wording.Common // grams of Found and Form
	works   []report.Work          // works cited in the text
	// counting is wording that counts by decision; Counted is the part of it that applied, without text.
	counting []report.Template
	Counted  []report.Template
	Cited    []report.SharedWorks // works also cited by candidates, set by Align
}

// Stock is wording that everyone is free to use.
type Stock = stock.Stock

// ReadStock returns the public stock together with a site's own file; see [stock.Stock.Read] for its format and possible faults.
func ReadStock(file string) (*Stock, error) { return stock.Public().Read(file) }

// Shareable returns the shared wording of a text, judging by the text itself, the templates and a stock of public wording; nil selects
// the built-in stock.
func Shareable(text string, templates []string, public *Stock) *SharedWording {
	if public == nil {
		public = stock.Public()
	}
	w := &SharedWording{Text: text, Words: wording.Split(text), given: templates}
	w.forms = sync.OnceValue(func() *wording.Reader { return wording.NewReader(text) })
	w.Form = report.Given(text, templates)
	w.Named = report.AttributedQuotations(text)
	for _, s := range w.Named {
		w.Explained = append(w.Explained, report.Wording{Span: s, Kind: concordat.KindQuotation, Why: string(report.AsQuotation)})
	}
	w.Attributed = report.Attributions(text)
	for _, x := range report.PartsApart(text) {
		w.explain(report.Wording{Span: x.Span, Kind: concordat.KindForm, Why: string(x.Why)})
	}
	for _, x := range public.In(text) {
		w.explain(report.Wording{Span: x.Span, Kind: concordat.KindQuotation, Why: string(x.Kind)})
	}
	cites := report.ReadBibliography(text)
	w.References, w.works = cites.Lists, cites.Works
	w.wall()
	w.foundChanged()
	return w
}

// Counting makes the given wording count where it would otherwise be undecided.
func (w *SharedWording) Counting(ts []report.Template) { w.counting = ts }

// decided reports whether the wording of a stretch counts by decision.
func (w *SharedWording) decided(s concordat.Span) bool {
	for _, t := range w.counting {
		held := 0
		for _, g := range report.Given(w.Text, []string{t.Text}) {
			held += max(0, min(g.End, s.End)-max(g.Start, s.Start))
		}
		if float64(held) < decidedShare*float64(s.Len()) {
			continue
		}
		if t.Text = ""; !slices.Contains(w.Counted, t) {
			w.Counted = append(w.Counted, t)
		}
		return true
	}
	return false
}

// decidedShare is the share of a stretch that decided wording must cover. The edges of a stretch depend on which documents contain it,
// and so vary between checks.
const decidedShare = 0.8

// wall sets the walls to the parts explained by the text, the templates and the stock.
func (w *SharedWording) wall() {
	walls := slices.Concat(w.References, w.Form)
	for _, x := range w.Explained {
		walls = append(walls, x.Span)
	}
	w.Walls = Joined(walls)
}

// explain adds wording explained by the text, except for parts already explained.
func (w *SharedWording) explain(x report.Wording) {
	known := make([]concordat.Span, len(w.Explained))
	for i, e := range w.Explained {
		known[i] = e.Span
	}
	for _, s := range report.Without(x.Span, Joined(known)) {
		x.Span = s
		w.Explained = append(w.Explained, x)
	}
}

// maxNamed is the maximum number of holders listed for undecided wording.
const maxNamed = 50

// QuotedWords returns the words of a text that it attributes to others, for a counter.
func QuotedWords(text string, w *wording.Words) *wording.Words {
	return quotedWords(w, report.Attributions(text))
}

func quotedWords(w *wording.Words, attributed []report.Attributed) *wording.Words {
	spans := make([]concordat.Span, len(attributed))
	for i, x := range attributed {
		spans[i] = x.Span
	}
	return w.Only(spans)
}

// Decide records wording that others contain too but that is not evidence. These are the parts explained by the text, and the parts that
// the classifier excludes or leaves undecided. self is the number of the text among the documents in scope; ref maps numbers to
// documents. It fails only if ctx ends, with its cause; w must not be used afterwards.
func (w *SharedWording) Decide(ctx context.Context, scope *wording.Scope, self int, ref func(text int) concordat.Ref) (err error) {
	w.Held, w.Of = scope.Held, scope.Of
	w.dropTitles()
	w.dropTitleText()
	w.grams = &wording.Common{}
	for _, x := range w.Explained {
		if n := w.Held.Documents(w.Words, x.Span); n > 0 {
			x.Documents, x.Of = n, w.Of
			w.Found = append(w.Found, x)
			w.grams.Join(w.Words.Of(x.Span))
		}
	}
	for _, x := range w.Attributed {
		for _, at := range scope.Quoted.HeldIn(w.Words, x.Span) {
			for _, s := range report.Without(at, w.Walls) {
				w.Found = append(w.Found, report.Wording{Span: s, Kind: concordat.KindQuotation, Documents: max(2, w.Held.Documents(w.Words, s)),
					Of: w.Of, Why: string(x.Why)})
				w.grams.Join(w.Words.Of(s))
				w.Walls = append(w.Walls, s)
			}
		}
		w.Walls = Joined(w.Walls)
	}
	if w.Classes, err = scope.Classify(ctx, self, w.Words, w.forms(), w.Walls); err != nil {
		return err
	}
	spans := slices.Clone(w.Walls)
	var counted []wording.Stretch
	for i, x := range w.Classes {
		if x.Kind == concordat.KindUndecided && w.decided(x.Span) {
			x.Kind, w.Classes[i].Kind = "", ""
		}
		if x.Kind == "" {
			counted = append(counted, x.Stretch)
			continue
		}
		spans = append(spans, x.Span)
		if x.Kind == concordat.KindForm && w.Words.Count(x.Span) < leastBeside {
			continue // a heading, which is neither evidence nor worth displaying
		}
		found := report.Wording{Span: x.Span, Kind: x.Kind, Documents: x.Documents, Of: w.Of, Why: string(x.Why), Words: x.Words}
		if x.Kind == concordat.KindUndecided {
			for _, e := range x.Texts[:min(len(x.Texts), maxNamed)] {
				found.Holders = append(found.Holders, ref(int(e)))
			}
		}
		w.Found = append(w.Found, found)
		w.grams.Join(w.Words.Of(x.Span))
	}
	w.clauses = wording.ClausesAreForms(w.Words, counted)
	w.Walls = Joined(spans)
	slices.SortFunc(w.Found, func(x, y report.Wording) int { return cmp.Or(x.Start-y.Start, x.End-y.End) })
	w.foundChanged()
	return nil
}

// Unasked returns the parts of the text that partners are not asked about. These are the parts left out of comparisons, except undecided
// wording and attributed quotations, so that reports can show the sources.
func (w *SharedWording) Unasked() []concordat.Span {
	asked := slices.Clone(w.Named)
	for _, x := range w.Found {
		if x.Kind == concordat.KindUndecided {
			asked = append(asked, x.Span)
		}
	}
	asked = Joined(asked)
	var out []concordat.Span
	for _, s := range w.Walls {
		out = append(out, report.Without(s, asked)...)
	}
	return out
}

// WallsOf returns the parts of a source left out of its comparison with the text, in text order without overlaps, including its reference
// lists.
func (w *SharedWording) WallsOf(source string, words *wording.Words, references []concordat.Span) []concordat.Span {
	walls := slices.Concat(references, report.Given(source, w.given))
	for _, s := range w.grams.In(words) {
		walls = append(walls, s.Span)
	}
	return Joined(walls)
}

// Prepare prepares the text for comparison.
func (w *SharedWording) Prepare() *align.Text { return align.PrepareWithout(w.Text, w.Walls) }

// Wording shared by two texts in one place, with slots filled in or small changes, belongs to a form if it resembles one and is short and
// isolated, since a copied page contains more. An isolated sentence is not evidence either, whatever its content, because people who
// write about the same subject share that much, as the set phrases of a field show. In a short text, however, it can be a large part, and
// many of them form a mosaic.
const (
	placeApart    = 40   // maximum words between two passages at one place, ignoring legitimately shared ones
	maxFormWords  = 60   // maximum words of the passages at a place that resembles a form
	aloneLetters  = 180  // maximum letters of an isolated sentence; a Chinese character counts as three
	summaryFactor = 2    // factor for a summary, whose pieces are the weakest evidence
	aloneShare    = 0.15 // share of the text's words, together with everything else from the source, above which it counts
	aloneLeast    = 90   // minimum letters for that share
	aloneMost     = 0.5  // share of the words above which it counts, however few
	crumbLetters  = 45   // letters below which a passage needs another one nearby
	crumbApart    = 15   // maximum distance to that passage in the submission, in words
	crumbSource   = 400  // maximum distance to it in the source, in bytes
	lineLetters   = 90   // letters below which a reworded passage needs another one nearby
	lineApart     = 40   // maximum distance to that passage in the submission, in words
	lineSource    = 1000 // maximum distance to it in the source, in bytes
	lineText      = 1000 // words of a text in which a line is only a small part
	mosaicPieces  = 3    // number of isolated copied sentences from one source at which they count
	pieceLetters  = 60   // minimum letters of such a sentence
	patchApart    = 30   // maximum words between two sentences of a patchwork
)

// Judge marks the passages of one source, in text order, that are not evidence because they resemble a form or are isolated sentences.
func (w *SharedWording) Judge(passages []concordat.Passage) {
	w.markCrumbs(passages)
	var alone []place
	pieces, all := 0, place{}
	for i := 0; i < len(passages); {
		here := place{passages: passages[i : i+1], words: w.Words.Count(passages[i].Span)}
		end := passages[i].Span.End
		for i++; i < len(passages) && w.between(end, passages[i].Span.Start) < placeApart; i++ {
			here.passages = passages[i-len(here.passages) : i+1]
			here.words += w.Words.Count(passages[i].Span)
			end = max(end, passages[i].Span.End)
		}
		if here.words <= maxFormWords && w.markForms(here.passages) {
			continue
		}
		if len(here.passages) == 1 && here.passages[0].Wording != "" {
			continue
		}
		here.letters = weightedLetters(w.Text, here.passages)
		all.words, all.letters = all.words+here.words, all.letters+here.letters
		if here.letters >= here.least() {
			continue
		}
		alone = append(alone, here)
		if here.copied() {
			pieces++
		}
	}
	share := float64(all.words) / max(1, float64(w.Words.Len()))
	if share >= aloneShare && all.letters >= aloneLeast || share >= aloneMost {
		return
	}
	for _, x := range alone {
		if pieces >= mosaicPieces && x.copied() {
			continue
		}
		for k := range x.passages {
			x.passages[k].Wording = cmp.Or(x.passages[k].Wording, concordat.KindSentence)
		}
	}
}

// support clears the isolation mark of sentences with others nearby, from any source, because mosaicPieces copied sentences in one place
// are a patchwork.
func (w *SharedWording) support(passages []concordat.Passage) {
	var order []int
	for i, p := range passages {
		if mayCount(p) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(passages[i].Span.Start, passages[j].Span.Start) })
	for i := 0; i < len(order); {
		var copied []int
		var spans []concordat.Span
		for end := passages[order[i]].Span.End; i < len(order) && w.between(end, passages[order[i]].Span.Start) < patchApart; i++ {
			p := passages[order[i]]
			end = max(end, p.Span.End)
			if one := (place{passages: passages[order[i] : order[i]+1]}); one.isCopied(w.Text) {
				copied, spans = append(copied, order[i]), append(spans, p.Span)
			}
		}
		if apartFrom(spans) < mosaicPieces {
			continue
		}
		for _, k := range copied {
			if passages[k].Wording == concordat.KindSentence {
				passages[k].Wording = ""
			}
		}
	}
}

// isCopied is like copied, for a place with uncounted letters.
func (p place) isCopied(text string) bool {
	p.letters = weightedLetters(text, p.passages)
	return p.copied()
}

// apartFrom returns the number of spans that begin after the middle of the previous one, so that a sentence in several sources counts
// once.
func apartFrom(spans []concordat.Span) int {
	n, end := 0, 0
	for _, s := range spans {
		if n == 0 || (s.Start+s.End)/2 >= end {
			n++
		}
		end = max(end, s.End)
	}
	return n
}

// place is a group of passages close together in a text.
type place struct {
	passages       []concordat.Passage
	words, letters int
}

// least returns the number of letters below which the place is an isolated sentence.
func (p place) least() int {
	if p.passages[0].Kind == concordat.KindSummary {
		return summaryFactor * aloneLetters
	}
	return aloneLetters
}

// copied reports whether the place is a copied sentence.
func (p place) copied() bool {
	k := p.passages[0].Kind
	return p.letters >= pieceLetters && (k == concordat.KindVerbatim || k == concordat.KindNear)
}

// markCrumbs marks passages of a few words, and in a long text also reworded passages of a line, that have no other passage from the
// source nearby in both texts, because two texts on one subject share that much.
func (w *SharedWording) markCrumbs(passages []concordat.Passage) {
	for i := range passages {
		p := &passages[i]
		letters := weightedLetters(w.Text, passages[i:i+1])
		apart, source := crumbApart, crumbSource
		reworded := p.Kind == concordat.KindParaphrase || p.Kind == concordat.KindSummary
		if reworded && letters >= crumbLetters && w.Words.Len() >= lineText {
			apart, source, letters = lineApart, lineSource, letters-lineLetters+crumbLetters
		}
		if letters < crumbLetters && !w.besideOther(passages, i, apart, source) {
			p.Wording = cmp.Or(p.Wording, concordat.KindSentence)
		}
	}
}

// besideOther reports whether another passage of the source is within the given number of words of passage i, and the given number of
// bytes of the source.
func (w *SharedWording) besideOther(passages []concordat.Passage, i, apart, source int) bool {
	p := passages[i]
	for k := max(0, i-1); k <= min(len(passages)-1, i+1); k++ {
		q := passages[k]
		if k != i && w.between(min(p.Span.End, q.Span.End), max(p.Span.Start, q.Span.Start)) < apart &&
			max(p.SourceSpan.Start, q.SourceSpan.Start)-min(p.SourceSpan.End, q.SourceSpan.End) < source {
			return true
		}
	}
	return false
}

// between returns the number of words between two positions, ignoring legitimately shared ones.
func (w *SharedWording) between(end, start int) int {
	n := 0
	for _, s := range report.Without(concordat.Span{Start: end, End: start}, w.Walls) {
		n += w.Words.Count(s)
	}
	return n
}

// markForms marks the passages that resemble a form, and reports whether all do.
func (w *SharedWording) markForms(here []concordat.Passage) bool {
	all := true
	for k := range here {
		why, ok, _ := w.forms().ReadsLikeForm(context.Background(), here[k].Span) // the span is only a few lines long
		if ok && (w.clauses || why != wording.WhyClause) {
			here[k].Wording, here[k].Why = concordat.KindForm, string(why)
		} else {
			all = false
		}
	}
	return all
}

// hanLetters is the number of alphabetic letters equivalent to a Chinese character.
const hanLetters = 3

// weightedLetters returns the weighted number of letters in passages.
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

// Beside returns the text's shared wording that a source also contains, as passages that are not evidence but are displayed with their
// kind. shows selects them; nil selects all.
func (w *SharedWording) Beside(source *wording.Words, ref concordat.Ref, title, text string,
	shows func(report.Wording) bool) []concordat.Passage {
	all := slices.Clone(w.Found)
	for _, s := range w.Form {
		all = append(all, report.Wording{Span: s, Kind: concordat.KindTemplate})
	}
	var places *wording.Places
	var points *report.Counter
	var out []concordat.Passage
	for _, x := range all {
		if shows != nil && !shows(x) {
			continue
		}
		if places == nil {
			places, points = source.Places(w.beside()), report.NewCounter(text)
		}
		at, ok := places.Beside(w.Words, x.Span)
		if !ok || w.Words.Count(at.Here) < leastBeside {
			continue
		}
		p := concordat.Passage{Span: at.Here, Source: ref, Title: title, SourceSpan: at.There, SourcePoints: points.Points(at.There),
			Kind: concordat.KindNear, Similarity: at.Share, Words: at.Words, Documents: x.Documents, Wording: x.Kind, Why: x.Why}
		if at.Share == 1 {
			p.Kind = concordat.KindVerbatim
		}
		p.Text, p.Before, p.After = Around(text, at.There)
		out = append(out, p)
	}
	return out
}

// Add records wording of the text already known to be legitimately shared.
func (w *SharedWording) Add(known []report.Wording) {
	w.Found = append(w.Found, known...)
	for _, x := range known {
		w.Walls = append(w.Walls, x.Span)
	}
	w.Walls = Joined(w.Walls)
	w.foundChanged()
}

// foundChanged makes Beside collect its grams again on next use, once rather than per source.
func (w *SharedWording) foundChanged() {
	w.beside = sync.OnceValue(func() *wording.Common {
		spans := slices.Clone(w.Form)
		for _, x := range w.Found {
			spans = append(spans, x.Span)
		}
		return w.Words.Of(spans...)
	})
}

// MaxBeside is the maximum number of documents of a batch, or of a partner, with which common and template wording is displayed; a check
// of one document displays it with every source.
const MaxBeside = 8

// leastBeside is the minimum number of words for shared wording to be displayed with a source, which excludes headings.
const leastBeside = 5

// FewBeside keeps, for each stretch of common and template wording, only the passages of the first MaxBeside sources by name, since more
// do not help a reader.
func FewBeside(passages []concordat.Passage) []concordat.Passage {
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
		by[k] = refs[:min(len(refs), MaxBeside)]
	}
	return slices.DeleteFunc(passages, func(p concordat.Passage) bool {
		return many(p) && !slices.Contains(by[key{p.Wording, p.Span.Start}], p.Source)
	})
}

// TemplateTexts returns the texts of templates.
func TemplateTexts(ts []report.Template) []string {
	out := make([]string, 0, len(ts))
	for _, t := range ts {
		if strings.TrimSpace(t.Text) != "" {
			out = append(out, t.Text)
		}
	}
	return out
}
