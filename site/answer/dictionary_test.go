package answer_test

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"concordat"
	"concordat/align"
	"concordat/internal/sitetest"
	"concordat/site"
	"concordat/store"
)

// dictionary is a member's knowledge of the language: each word once, the most frequent first, with its value in a word set and in a word
// order under one key.
type dictionary struct {
	words []dictionaryWord
	by    map[string]dictionaryWord
}

type dictionaryWord struct {
	text  string
	set   int // -1 for stop words, which are in no word set
	order byte
}

func newDictionary(t *testing.T, key []byte, texts []string) *dictionary {
	t.Helper()
	counts := map[string]int{}
	for _, text := range texts {
		for _, w := range plainWords(text) {
			counts[w]++
		}
	}
	d := &dictionary{by: map[string]dictionaryWord{}}
	for w := range counts {
		x := align.Prepare(w)
		o, err := x.Order(key, concordat.Span{End: len(w)})
		sitetest.Must(t, err)
		s, err := x.Sketch(key, align.DefaultSketchBits)
		sitetest.Must(t, err)
		if len(o.Words) != 1 {
			continue
		}
		e := dictionaryWord{w, -1, o.Words[0]}
		if len(s.Units) > 0 && len(s.Units[0].Words) > 0 {
			e.set = int(s.Units[0].Words[0])
		}
		d.words, d.by[w] = append(d.words, e), e
	}
	slices.SortFunc(d.words, func(a, b dictionaryWord) int {
		return cmp.Or(cmp.Compare(counts[b.text], counts[a.text]), cmp.Compare(a.text, b.text))
	})
	return d
}

func plainWords(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r < 'a' || r > 'z' })
}

// named returns the words that a member guesses from a unit's word set alone, the most frequent word for each value.
func (d *dictionary) named(u concordat.OutlineUnit) map[string]bool {
	out, done := map[string]bool{}, map[int]bool{}
	for _, w := range d.words {
		if w.set >= 0 && slices.Contains(u.Words, uint16(w.set)) && !done[w.set] {
			done[w.set], out[w.text] = true, true
		}
	}
	return out
}

// TestD4Dictionary is dictionary attack D4: a member has a literal copy of the beginning of a passage, the word sets of the rest, and a
// dictionary with every word of the passage, and tries to name the words of the rest. From word sets alone it names some of them, as
// documented. With the word order, which the owner does not reveal, the same program names nearly all of them. The test runs it on the
// word order too, to show that the program works. From the owner's answers in the edge round, asked for as long as it answers, the member
// names no more words than from the word sets, apart from single guesses that are confirmed.
func TestD4Dictionary(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: asks a dictionary")
	}
	files, err := filepath.Glob("../../demo/library/calls/*.txt")
	sitetest.Must(t, err)
	if len(files) < 15 {
		t.Fatalf("%d texts of the demonstration", len(files))
	}
	var texts []string
	for _, f := range files {
		b, err := os.ReadFile(f)
		sitetest.Must(t, err)
		texts = append(texts, strings.Join(strings.Fields(string(b)), " ")+" ")
	}
	sketchKey := sitetest.Key("sketch of " + sitetest.TestEpoch.String())
	d := newDictionary(t, sketchKey, texts)
	content, bySet, byOrder, byEdges, tries := 0, 0, 0, 0, 0
	long := slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return len(text) < 2500 })
	for _, victim := range long[:4] {
		x := newD4(t, d, victim)
		content += x.content()
		bySet += x.right(func(u concordat.OutlineUnit) map[string]bool { return d.named(u) })
		byOrder += x.right(x.ordered)
		told, n := x.tried()
		tries += n
		byEdges += x.right(func(u concordat.OutlineUnit) map[string]bool {
			out := d.named(u)
			for w := range told {
				out[w] = true
			}
			return out
		})
	}
	share := func(n int) float64 { return float64(n) / float64(content) }
	t.Logf("%d words of content that the member does not have, a dictionary of %d words: named by word sets %.3f, by the order of words beside "+
		"them %.3f, by %d tries in the edge round %.3f", content, len(d.words), share(bySet), share(byOrder), tries, share(byEdges))
	if share(byOrder) < share(bySet)+0.15 {
		t.Errorf("the order of words names %.3f beside %.3f: the attack is not what it was", share(byOrder), share(bySet))
	}
	if share(byEdges) > share(bySet)+0.01 {
		t.Errorf("the edge round names %.3f, word sets alone %.3f", share(byEdges), share(bySet))
	}
}

// d4 is the document under attack.
type d4 struct {
	t      *testing.T
	o      *sitetest.Owner
	d      *dictionary
	text   string
	has    int // the member has the text before this position
	job    concordat.JobID
	handle concordat.Handle
	units  []concordat.OutlineUnit // the units after the member's part
}

func newD4(t *testing.T, d *dictionary, victim string) *d4 {
	t.Helper()
	o := sitetest.NewOwner(t, "theses")
	o.AddDocuments(t, "theses", site.Incoming{ID: "a", Text: victim})
	o.ShareWith(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata, Matches: 1, Outline: concordat.OutlineWords,
		Limits: store.Limits{Characters: -1, Sentences: -1, Burst: -1, Documents: -1, Disclosures: -1}})
	x := &d4{t: t, o: o, d: d, text: victim, has: 700 + strings.Index(victim[700:], " ") + 1}
	a, told, ordinals := o.Named(t, "north", victim[:x.has], "theses")
	x.job, x.handle = a.Job, told.Handle
	for _, u := range o.Outline(t, "north", a, concordat.OutlineOf{Handle: told.Handle, Ordinals: ordinals})[0].Units {
		if u.Span.Start >= x.has {
			x.units = append(x.units, u)
		}
	}
	return x
}

// contentOf returns the distinct words of a unit that are in word sets.
func (x *d4) contentOf(u concordat.OutlineUnit) []string {
	words := plainWords(u.Span.In(x.text))
	slices.Sort(words)
	return slices.DeleteFunc(slices.Compact(words), func(w string) bool { e, ok := x.d.by[w]; return !ok || e.set < 0 })
}

func (x *d4) content() (n int) {
	for _, u := range x.units {
		n += len(x.contentOf(u))
	}
	return n
}

// right counts the content words that guess gets right in each unit.
func (x *d4) right(guess func(concordat.OutlineUnit) map[string]bool) (n int) {
	for _, u := range x.units {
		named := guess(u)
		for _, w := range x.contentOf(u) {
			if named[w] {
				n++
			}
		}
	}
	return n
}

// ordered returns the words that word set and word order identify.
func (x *d4) ordered(u concordat.OutlineUnit) map[string]bool {
	o, err := align.Prepare(x.text).Order(sitetest.Key("sketch of "+sitetest.TestEpoch.String()), u.Span)
	sitetest.Must(x.t, err)
	out := map[string]bool{}
	for i, sp := range o.Spans {
		for _, w := range x.d.words {
			if w.order == o.Words[i] && len(w.text) == sp.Len() && (w.set < 0 || slices.Contains(u.Words, uint16(w.set))) {
				out[w.text] = true
				break
			}
		}
	}
	return out
}

// tried asks whether the copy continues with a given word until it gets no more answers. It tries each word that the word sets allow, the
// most frequent first, and continues after each confirmed word. It returns the confirmed words.
func (x *d4) tried() (told map[string]bool, tries int) {
	o, err := align.Prepare(x.text).Order(sitetest.Key("sketch of "+sitetest.TestEpoch.String()), concordat.Span{End: x.has})
	sitetest.Must(x.t, err)
	prefix := o.Words
	told = map[string]bool{}
	most := func(c concordat.EdgeCopy) bool { return c.To > len(prefix)/2 }
	if copies, err := x.copies(prefix); err != nil || !slices.ContainsFunc(copies, most) {
		x.t.Fatalf("of its own copy the member is told %v, %v", copies, err)
	}
	for {
		found := false
		for _, w := range x.d.words {
			if w.set >= 0 && !slices.ContainsFunc(x.units[:min(2, len(x.units))], func(u concordat.OutlineUnit) bool {
				return slices.Contains(u.Words, uint16(w.set))
			}) {
				continue
			}
			words := append(slices.Clone(prefix), w.order)
			copies, err := x.copies(words)
			if err != nil {
				refused(x.t, err, concordat.ReasonBudget)
				return told, tries
			}
			tries++
			if slices.ContainsFunc(copies, func(c concordat.EdgeCopy) bool { return c.To == len(words) }) {
				prefix, told[w.text], found = words, true, true
				break
			}
		}
		if !found {
			return told, tries
		}
	}
}

// copies asks the edge round about the member's part and a little of the text after it.
func (x *d4) copies(words []byte) ([]concordat.EdgeCopy, error) {
	e, err := x.o.AnswerEdges(x.t.Context(), "north", &concordat.EdgesAsk{Job: x.job, Epoch: sitetest.TestEpoch, Handle: x.handle,
		Passages: []concordat.EdgePassage{{Span: concordat.Span{End: min(x.has+200, len(x.text))}, Words: words}}})
	if err != nil {
		return nil, err
	}
	return e.Passages[0], nil
}
