package eval

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"unicode"

	"concordat"
	"concordat/demo"
	"concordat/extract"
	"concordat/segment"
)

// madeLanguage generates sentences of a language: words in random order, with the frequencies of the demonstration's texts. No two
// sentences share five consecutive words except by chance.
type madeLanguage struct {
	name  string
	words []string
	han   bool
	// written holds sentences of forms as written by people.
	written []string
}

// madeSources lists the texts that supply the words.
var madeSources = []struct {
	name, files string
	written     []string
}{
	{"en", "library/calls/*.txt", []string{
		"Tell us what you intend to find out and why it matters to people outside your field.",
		"Which methods will you use, and what will you do if they fail?",
		"Who will work on the project, and how much of their time will they give to it?",
		"What does the work cost, and which part of the cost is borne by others?",
		"Say how you will look after the data once the money is spent.",
		"The undersigned have seen the rules of this call and accept them in full."}},
	{"de", "library/commons/universal-declaration-de.txt", []string{
		"Was möchten Sie herausfinden, und weshalb ist das für andere von Bedeutung?",
		"Mit welchen Mitteln gehen Sie vor, und was tun Sie, wenn diese versagen?",
		"Wer arbeitet an dem Vorhaben mit, und wie viel Zeit steht dafür zur Verfügung?",
		"Welche Kosten entstehen, und welchen Teil davon tragen Dritte?",
		"Wie werden die Daten nach dem Ende der Förderung aufbewahrt und zugänglich gemacht?",
		"Die Unterzeichnenden kennen die Bedingungen dieser Ausschreibung und erkennen sie an."}},
	{"zh", "library/laws/*.md", []string{
		"本项目想解决什么问题，这个问题为什么对本领域以外的人也很重要？",
		"打算采用哪些方法，如果这些方法行不通又有什么备选的办法？",
		"哪些人参加这个项目，他们每年各自投入多少时间？",
		"项目需要多少经费，其中哪一部分由其他单位承担？",
		"资助结束以后数据由谁保管，别人怎样才能使用？",
		"以下签字人已经看过本次申报的全部规则，并且愿意遵守。"}},
}

// madeLanguages reads the words of the demonstration's texts.
func madeLanguages() ([]*madeLanguage, error) {
	var out []*madeLanguage
	for _, s := range madeSources {
		l := &madeLanguage{name: s.name, written: s.written, han: s.name == "zh"}
		names, err := fs.Glob(demo.Files, s.files)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			data, err := demo.Files.ReadFile(name)
			if err != nil {
				return nil, err
			}
			got, err := extract.Bytes(path.Base(name), data, extract.Options{})
			if err != nil {
				return nil, err
			}
			t, err := segment.Split(got.Text)
			if err != nil {
				return nil, err
			}
			for i, w := range t.Words {
				word := t.Source[w.Start:w.End]
				if strings.ContainsFunc(word, unicode.IsDigit) || (w.Flags&segment.Han != 0) != l.han {
					continue
				}
				if i > 0 && t.Source[w.Start-1] == ' ' || l.han { // otherwise it might be the capital that begins a sentence
					l.words = append(l.words, word)
				}
			}
		}
		if len(l.words) == 0 {
			return nil, fmt.Errorf("no words in %s found in %s: %w", l.name, s.files, concordat.ErrNotFound)
		}
		out = append(out, l)
	}
	return out, nil
}

// sentenceMaker generates the texts of one document or form.
type sentenceMaker struct {
	*madeLanguage
	r     *rand.Rand
	topic int // topic, one of four, whose rarer words a document uses
}

const madeTopics = 4

func (m sentenceMaker) word() string {
	for {
		w := m.words[m.r.IntN(len(m.words))]
		runes := []rune(w)
		long := len(runes) > 4 || m.han && len(runes) > 1
		if long && int(runes[0]+runes[len(runes)-1])%madeTopics > 1+m.topic%2 {
			continue
		}
		// The only German text is short, so two of its nouns are joined into a new one.
		if m.name == "de" && unicode.IsUpper(runes[0]) && m.r.IntN(3) > 0 {
			w += "s" + strings.ToLower(m.words[m.r.IntN(len(m.words))])
		}
		return w
	}
}

// sentence returns a sentence of the given number of words, beginning with first.
func (m sentenceMaker) sentence(n int, first ...string) string {
	words := slices.Clone(first)
	for len(words) < n {
		words = append(words, m.word())
	}
	return m.join(words)
}

// join writes words as a sentence with occasional commas.
func (m sentenceMaker) join(words []string) string {
	space, comma, stop := " ", ", ", "."
	if m.han {
		space, comma, stop = "", "，", "。"
	}
	var b strings.Builder
	for i, w := range words {
		if i == 0 {
			r := []rune(w)
			r[0] = unicode.ToUpper(r[0])
			w = string(r)
		} else if i%8 == 0 && i+2 < len(words) {
			b.WriteString(comma)
		} else {
			b.WriteString(space)
		}
		b.WriteString(w)
	}
	return b.String() + stop
}

// some returns a random sentence length in words.
func (m sentenceMaker) some() int { return 11 + m.r.IntN(12) }

// sentences returns n sentences, each as a paragraph.
func (m sentenceMaker) sentences(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = m.sentence(m.some())
	}
	return out
}

// reworded replaces about every fifth word of a sentence and sometimes swaps two neighbours.
func (m sentenceMaker) reworded(sentence string) string {
	t, err := segment.Split(sentence)
	if err != nil {
		return sentence
	}
	words := make([]string, len(t.Words))
	for i, w := range t.Words {
		words[i] = t.Source[w.Start:w.End]
	}
	for i := 2; i < len(words); i += 4 + m.r.IntN(3) {
		words[i] = m.word()
		if i+2 < len(words) && m.r.IntN(3) == 0 {
			words[i+1], words[i+2] = words[i+2], words[i+1]
		}
	}
	return m.join(words)
}

// madeDoc is a document being generated.
type madeDoc struct {
	name      string
	text      strings.Builder
	legit     []concordat.Span
	sentences []string // its own sentences, in order
	spans     []concordat.Span
}

func (d *madeDoc) add(s string) concordat.Span {
	at := d.text.Len()
	d.text.WriteString(s)
	return concordat.Span{Start: at, End: d.text.Len()}
}

// form adds a part of a form.
func (d *madeDoc) form(s string) {
	d.legit = append(d.legit, d.add(s))
	d.add("\n\n")
}

// answer adds the document's own sentences as a paragraph.
func (d *madeDoc) answer(sentences []string, space string) {
	for i, s := range sentences {
		if i > 0 {
			d.add(space)
		}
		d.sentences = append(d.sentences, s)
		d.spans = append(d.spans, d.add(s))
	}
	d.add("\n\n")
}

func (d *madeDoc) done() *innocentDoc {
	out := newInnocentDoc(d.name, &extract.Result{Text: strings.TrimSpace(d.text.String()) + "\n"})
	out.legit = d.legit
	return out
}
