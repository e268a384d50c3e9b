package eval

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"concordat"
	"concordat/extract"
	"concordat/report"
	"concordat/site"
)

// innocentArchive contains documents by different authors that share wording for legitimate reasons, with a few real copies among them,
// in one folder per call.
const innocentArchive = "innocent/innocent.tar.zst"

// innocentScenario is one folder of the corpus, with the documents of one call.
type innocentScenario struct {
	name     string
	docs     []*innocentDoc // in order of name
	template string         // wording that was handed out; empty if there was none
	copies   []innocentCopy
}

// templates returns the templates for measuring the documents: no template and, if one was handed out, that template.
func (s *innocentScenario) templates() [][]report.Template {
	if s.template == "" {
		return [][]report.Template{nil}
	}
	return [][]report.Template{nil, {{Name: "template.txt", Text: s.template}}}
}

// innocentDoc is one document and the truth about it. Spans are in bytes of text.
type innocentDoc struct {
	name    string
	item    site.Item // as read from its file
	text    string
	letters []int                       // start of each letter and digit of text, ascending
	copied  map[string][]concordat.Span // spans shared with the other document of a real copy
	legit   []concordat.Span            // forms, references, quotations and similar
}

// innocentCopy is a real copy.
type innocentCopy struct {
	A, B   string // B was copied from A
	ShareA float64
	ShareB float64
}

func (c innocentCopy) share() float64 { return max(c.ShareA, c.ShareB) }

// truthLine is a line of truth.jsonl. Spans are code points [begin, end) of the plain text.
type truthLine struct {
	Type   string              `json:"type"`
	A      string              `json:"a"`
	B      string              `json:"b"`
	ShareA float64             `json:"share_a"`
	ShareB float64             `json:"share_b"`
	SpansA [][2]int            `json:"spans_a"`
	SpansB [][2]int            `json:"spans_b"`
	Places map[string][][2]int `json:"places"`
}

// innocent returns the scenarios that want names, or all if want is nil, in order of name.
func (c corpusDir) innocent(want []string) ([]*innocentScenario, error) {
	files := map[string]map[string]string{} // by scenario, then by name below it
	err := c.files(innocentArchive, func(name, text string) error {
		folder, rest, ok := strings.Cut(name, "/")
		if ok && (len(want) == 0 || slices.Contains(want, folder)) {
			if files[folder] == nil {
				files[folder] = map[string]string{}
			}
			files[folder][rest] = text
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var out []*innocentScenario
	for name, f := range files {
		if f["truth.jsonl"] == "" {
			continue
		}
		s, err := newInnocentScenario(name, f)
		if err != nil {
			return nil, fmt.Errorf("scenario %s: %w", name, err)
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b *innocentScenario) int { return strings.Compare(a.name, b.name) })
	for _, name := range want {
		if !slices.ContainsFunc(out, func(s *innocentScenario) bool { return s.name == name }) {
			return nil, fmt.Errorf("scenario %s: %w", name, concordat.ErrInvalid)
		}
	}
	return out, nil
}

// newInnocentScenario reads the truth, and the documents in the same way as a user's files.
func newInnocentScenario(name string, files map[string]string) (*innocentScenario, error) {
	s := &innocentScenario{name: name, template: strings.TrimSpace(files["template.txt"])}
	plain := map[string]string{}
	byName := map[string]*innocentDoc{}
	for file, data := range files {
		base, ok := strings.CutPrefix(file, "docs/")
		if !ok {
			continue
		}
		got, err := extract.Bytes(base, []byte(data), extract.Options{})
		if err != nil {
			return nil, err
		}
		d := newInnocentDoc(base, got)
		plain[base] = data
		if t, ok := files["text/"+base+".txt"]; ok {
			plain[base] = t
		}
		byName[base] = d
		s.docs = append(s.docs, d)
	}
	slices.SortFunc(s.docs, func(a, b *innocentDoc) int { return strings.Compare(a.name, b.name) })
	at := map[string]*placing{}
	for _, d := range s.docs {
		at[d.name] = newPlacing(plain[d.name], d.text)
	}
	for line := range strings.Lines(files["truth.jsonl"]) {
		var t truthLine
		if err := json.Unmarshal([]byte(line), &t); err != nil {
			return nil, fmt.Errorf("truth: %w", err)
		}
		if err := s.learn(t, byName, at); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func newInnocentDoc(name string, got *extract.Result) *innocentDoc {
	d := &innocentDoc{name: name, text: got.Text, copied: map[string][]concordat.Span{}}
	d.item = site.Item{Submission: site.Submission{ID: concordat.DocumentID(name), Title: got.Title, Text: got.Text}, Author: got.Author}
	if date, err := concordat.ParseDate(got.Date); err == nil && date != "" {
		d.item.Dated, d.item.DatedBy = date, concordat.DateOfFile
	}
	for i, r := range got.Text {
		if isLetter(r) {
			d.letters = append(d.letters, i)
		}
	}
	return d
}

// isLetter reports whether a rune counts for proportions: letters and digits do.
func isLetter(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

// learn records a line of the truth.
func (s *innocentScenario) learn(t truthLine, docs map[string]*innocentDoc, at map[string]*placing) error {
	places := t.Places
	if t.Type == "copy" {
		s.copies = append(s.copies, innocentCopy{t.A, t.B, t.ShareA, t.ShareB})
		places = map[string][][2]int{t.A: t.SpansA, t.B: t.SpansB}
	}
	for name, spans := range places {
		d := docs[name]
		if d == nil {
			return fmt.Errorf("the truth file names an unknown document, %s: %w", name, concordat.ErrNotFound)
		}
		for _, x := range spans {
			span, err := at[name].place(x[0], x[1])
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			switch {
			case t.Type != "copy":
				d.legit = append(d.legit, span)
			case name == t.A:
				d.copied[t.B] = append(d.copied[t.B], span)
			default:
				d.copied[t.A] = append(d.copied[t.A], span)
			}
		}
	}
	return nil
}

// of returns the document with a name, or nil if there is none.
func (s *innocentScenario) of(name string) *innocentDoc {
	i, ok := slices.BinarySearchFunc(s.docs, name, func(d *innocentDoc, name string) int { return strings.Compare(d.name, name) })
	if !ok {
		return nil
	}
	return s.docs[i]
}

// names returns the names of all documents.
func (s *innocentScenario) names() map[string]bool {
	out := map[string]bool{}
	for _, d := range s.docs {
		out[d.name] = true
	}
	return out
}

// free returns at most n of the documents that are not part of a copy.
func (s *innocentScenario) free(n int) []*innocentDoc {
	var out []*innocentDoc
	for _, d := range s.docs {
		if len(d.copied) == 0 && len(out) < n {
			out = append(out, d)
		}
	}
	return out
}

// placing maps positions in the truth's plain text to the extracted text.
type placing struct {
	points    []int // byte position of each code point of the text, and its end; for texts that are equal except for trailing space
	text      string
	lt, le    []int // letters and digits of the truth, as code points, and of the text, as bytes
	pairs     []int // for each letter of the truth, the corresponding letter of the text; -1 if none
	truthSize int
}

func newPlacing(truth, text string) *placing {
	p := &placing{text: text, truthSize: len([]rune(truth))}
	if strings.TrimRightFunc(truth, unicode.IsSpace) == strings.TrimRightFunc(text, unicode.IsSpace) {
		for i := range text {
			p.points = append(p.points, i)
		}
		p.points = append(p.points, len(text))
		return p
	}
	var a, b []rune
	for i, r := range []rune(truth) {
		if isLetter(r) {
			a, p.lt = append(a, unicode.ToLower(r)), append(p.lt, i)
		}
	}
	for i, r := range text {
		if isLetter(r) {
			b, p.le = append(b, unicode.ToLower(r)), append(p.le, i)
		}
	}
	p.pairs = make([]int, len(a))
	for i := range p.pairs {
		p.pairs[i] = -1
	}
	blocks := []equalBlock{{n: len(a)}}
	if !slices.Equal(a, b) {
		blocks = equalBlocks(a, b)
	}
	for _, x := range blocks {
		for i := range x.n {
			p.pairs[x.a+i] = x.b + i
		}
	}
	return p
}

// place converts code points of the truth to bytes of the text. If the texts differ, the span begins and ends with letters or digits.
func (p *placing) place(begin, end int) (concordat.Span, error) {
	if begin < 0 || begin >= end || end > p.truthSize {
		return concordat.Span{}, fmt.Errorf("code points %d to %d in the truth file are out of range for a text of %d: %w", begin, end, p.truthSize, concordat.ErrInvalid)
	}
	if p.points != nil {
		behind := len(p.points) - 1
		return concordat.Span{Start: p.points[min(begin, behind)], End: p.points[min(end, behind)]}, nil
	}
	first, _ := slices.BinarySearch(p.lt, begin)
	behind, _ := slices.BinarySearch(p.lt, end)
	last := behind - 1
	for first <= last && p.pairs[first] < 0 {
		first++
	}
	for last >= first && p.pairs[last] < 0 {
		last--
	}
	if first > last {
		return concordat.Span{}, nil // none of it was extracted
	}
	from, to := p.le[p.pairs[first]], p.le[p.pairs[last]]
	for i := range p.text[to:] {
		if i > 0 {
			return concordat.Span{Start: from, End: to + i}, nil
		}
	}
	return concordat.Span{Start: from, End: len(p.text)}, nil
}
