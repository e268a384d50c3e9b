package eval

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"concordat/align"
	"concordat/segment"
)

// languageTexts are the sources of text in each language.
var languageTexts = []struct {
	name string
	load func(c corpusDir, n int) ([]string, error)
}{
	{"en", func(c corpusDir, n int) ([]string, error) { return textOnly(c.reviews(6 * n)) }},
	{"zh", func(c corpusDir, n int) ([]string, error) { return textOnly(c.modern(n)) }},
	{"zh, classical", func(c corpusDir, n int) ([]string, error) {
		library, later, _, err := historyTexts(c)
		return textOnly(append(library, later...), err)
	}},
	{"ar", func(c corpusDir, n int) ([]string, error) {
		src, _, _, err := arabic(c)
		var out []string
		for _, name := range sortedKeys(src) {
			out = append(out, strings.ToValidUTF8(src[name], "\ufffd"))
		}
		return out, err
	}},
	{"hy", func(c corpusDir, n int) ([]string, error) {
		var out []string
		err := c.rows("arpa-armenian/train.tsv.gz", func(f []string) bool {
			if len(f) == 3 && f[0] != "Sentence1" {
				out = append(out, f[0])
			}
			return true
		})
		return out, err
	}},
	{"cs", func(c corpusDir, n int) ([]string, error) { return chapters(c, "cs/CzeCSP.tsv") }},
	{"sl", func(c corpusDir, n int) ([]string, error) { return chapters(c, "sl/SloStritar.tsv") }},
}

func textOnly(docs []Doc, err error) ([]string, error) {
	var out []string
	for _, d := range docs {
		out = append(out, d.Text)
	}
	return out, err
}

func chapters(c corpusDir, edition string) ([]string, error) {
	var out []string
	err := c.files("verse-retranslations/verse-retranslations.tar.zst", func(name, text string) error {
		if name != edition {
			return nil
		}
		last := ""
		for _, line := range strings.Split(text, "\n") {
			f := strings.Split(line, "\t")
			if len(f) != 3 {
				continue
			}
			chapter, _, _ := strings.Cut(f[0]+" "+f[1], ":")
			if chapter != last {
				out = append(out, "")
				last = chapter
			}
			out[len(out)-1] += f[2] + " "
		}
		return nil
	})
	return out, err
}

// languages measures alignment on generated reuse: passages of one text inserted into another of the same language, unchanged, or with a
// fifth or a third of the words replaced, omitted, added or moved. Compared with people's edits, generated ones change words less and
// their order more, so the figures compare channels and languages but do not predict results.
func languages(r *run) error {
	for _, l := range languageTexts {
		texts, err := l.load(r.corpora, r.pick(600, 100))
		if err != nil {
			return err
		}
		m, err := newMaker(texts)
		if err != nil {
			return err
		}
		if len(m.sentences) < 200 {
			return fmt.Errorf("%s: too few sentences: %d", l.name, len(m.sentences))
		}
		p := m.pairs(r.pick(400, 40))
		for _, channel := range []Channel{ChannelText, ChannelSketches, ChannelFingerprints} {
			find, err := finder(channel)
			if err != nil {
				return err
			}
			got, err := p.align(r, p.pairs, func(_ DocumentPair, susp, source *Side) ([]align.Passage, error) { return find(susp, source) })
			if err != nil {
				return err
			}
			res := score(p.truth, got)
			of := l.name + ", " + string(channel)
			r.figure(of, "plagdet", res.Plagdet)
			for _, kind := range madeKinds[1:] {
				r.figure(of, "plagdet "+kind.name, res.Groups[kind.name].Plagdet)
			}
			r.figure(of, "detections in clean pairs", float64(res.Groups[madeKinds[0].name].Detections))
			r.figure(of, "clean pairs", float64(len(p.pairs)/len(madeKinds)))
		}
	}
	return nil
}

// madeKinds are the kinds of generated reuse, with the proportion of edited words.
var madeKinds = []struct {
	name  string
	edits float64
}{{"none", -1}, {"unchanged", 0}, {"a fifth edited", 0.2}, {"a third edited", 1.0 / 3}}

// maker creates pairs of documents from sentences of one language.
type maker struct {
	rng       *rand.Rand
	sentences []string // sentences with subsequent white space, in the order of the texts
	words     []string
}

func newMaker(texts []string) (*maker, error) {
	m := &maker{rng: rand.New(rand.NewPCG(7, 7))}
	seen := map[string]bool{} // repeated text would be reuse that was not planted
	for _, text := range texts {
		s, err := segment.Split(text)
		if err != nil {
			return nil, err
		}
		for _, x := range s.Sentences {
			if s := strings.Join(strings.Fields(text[x.Span.Start:x.Span.End]), " "); !seen[s] {
				seen[s] = true
				m.sentences = append(m.sentences, s)
			}
		}
		for i, w := range s.Words {
			if i%7 == 0 {
				m.words = append(m.words, text[w.Start:w.End])
			}
		}
	}
	return m, nil
}

// letters per document and per passage; a character of more than two bytes counts as three.
const (
	madeDocument = 4000
	madePassage  = 700
)

// stretch returns consecutive sentences, about n letters in total, starting at a random place.
func (m *maker) stretch(n int) []string {
	at := m.rng.IntN(len(m.sentences))
	var out []string
	for length := 0; length < n; at++ {
		s := m.sentences[at%len(m.sentences)]
		out = append(out, s)
		length += len(s)
	}
	return out
}

// pairs creates n pairs of each kind.
func (m *maker) pairs(n int) *pan {
	p := &pan{src: map[string]string{}, susp: map[string]string{}, truth: &annotations{groups: map[DocumentPair]string{}}}
	for _, kind := range madeKinds {
		for i := range n {
			x := DocumentPair{fmt.Sprintf("susp-%s-%d", kind.name, i), fmt.Sprintf("source-%s-%d", kind.name, i)}
			a, b := m.stretch(madeDocument), m.stretch(madeDocument)
			p.pairs = append(p.pairs, x)
			p.truth.groups[x] = kind.name
			if kind.edits < 0 {
				p.susp[x.Susp], p.src[x.Source] = strings.Join(a, " "), strings.Join(b, " ")
				continue
			}
			passage := m.stretch(madePassage/2 + m.rng.IntN(madePassage))
			p.src[x.Source] = ""
			from, to := m.put(b, strings.Join(passage, " "), func(s string) { p.src[x.Source] = s })
			off, end := m.put(a, m.edit(passage, kind.edits), func(s string) { p.susp[x.Susp] = s })
			p.truth.all = append(p.truth.all, Annotation{x.Susp, x.Source, off, end - off, from, to - from})
		}
	}
	slices.SortFunc(p.truth.all, compareAnnotations)
	return p
}

// put inserts a passage between two sentences and returns its position in code points.
func (m *maker) put(sentences []string, passage string, set func(string)) (from, to int) {
	at := m.rng.IntN(len(sentences) + 1)
	before, after := strings.Join(sentences[:at], " "), strings.Join(sentences[at:], " ")
	if before != "" {
		before += " "
	}
	set(before + passage + " " + after)
	from = len([]rune(before))
	return from, from + len([]rune(passage))
}

// edit replaces, omits, adds or moves a proportion of the words of each sentence.
func (m *maker) edit(sentences []string, share float64) string {
	if share == 0 {
		return strings.Join(sentences, " ")
	}
	var out []string
	for _, s := range sentences {
		t, err := segment.Split(s)
		if err != nil {
			continue
		}
		var b strings.Builder
		at := 0
		for i, w := range t.Words {
			word := s[w.Start:w.End]
			gap := s[at:w.Start]
			at = int(w.End)
			if m.rng.Float64() >= share {
				b.WriteString(gap + word)
				continue
			}
			other := m.words[m.rng.IntN(len(m.words))]
			switch m.rng.IntN(4) {
			case 0:
				b.WriteString(gap + other)
			case 1: // omitted
			case 2:
				b.WriteString(gap + word + gap + other)
			case 3:
				o := t.Words[(i+1+m.rng.IntN(3))%len(t.Words)]
				b.WriteString(gap + s[o.Start:o.End])
			}
		}
		out = append(out, b.String()+s[at:])
	}
	return strings.Join(out, " ")
}
