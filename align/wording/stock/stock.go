// Package stock recognises wording that everyone is free to use: declarations of originality, consent and copyright statements, licences,
// publishers' notices, and the sentences with which papers describe their statistics.
//
// [Public] consists of public texts collected by lab/gen/stock and of declarations written for languages in which it found none, with the
// origin and licence of each; a site can add its own with [Stock.With]. [Stock.In] finds such wording in a text. No list is complete, and
// every university has its own version, so wording belongs to the stock if most of it occurs there in runs of three words.
package stock

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"concordat"
)

//go:embed public.txt
var public string

//go:embed declarations.txt
var declarations string

// Public returns the built-in stock.
var Public = sync.OnceValue(func() *Stock { return (&Stock{}).With(public).withForms(declarations) })

// Kind is the purpose of an entry's wording.
type Kind string

// The kinds.
const (
	Declaration Kind = "declaration"
	Licence     Kind = "licence"
	Notice      Kind = "notice"
	Method      Kind = "method" // statistics and ethics, as in every paper of a field
	Own         Kind = "own"    // wording added by the site
)

// kinds lists all kinds in order of preference.
var kinds = []Kind{Declaration, Licence, Notice, Method, Own}

// Stock is a collection of public wording. It is immutable and safe for concurrent use.
type Stock struct {
	grams map[string]Kind // runs of words or characters, folded
}

// These are the length of the runs that identify wording, and the share of it that they must cover.
const (
	gramWords = 3
	gramHan   = 5 // in Chinese characters
	rowWords  = 4 // minimum words in adjacent runs
	rowHan    = 8 // minimum Chinese characters in adjacent runs
	// leastKnown is the share of a sentence that must be in such runs for it to belong to the stock; in ordinary prose, about a tenth is.
	leastKnown = 0.5
	// leastBeside is the corresponding share for a sentence next to others of the stock in its paragraph.
	leastBeside = 0.25
	leastWords  = 10 // minimum words in a sentence; two Chinese characters count as one
	maxText     = 4 << 20
)

// entryMark begins the first line of an entry in a file: its kind, origin and licence, separated by tabs.
const entryMark = "== "

// With returns the stock with additional entries from a file. Each follows a line "== kind TAB name TAB licence", or no such line if it
// is the site's own wording. It ignores anything beyond the first 4 MiB of the file.
func (s *Stock) With(file string) *Stock {
	out := s.clone()
	file = file[:min(len(file), maxText)]
	kind := Own
	var b strings.Builder
	flush := func() {
		for _, x := range sentences(b.String()) {
			out.add(x.tokens, kind)
		}
		b.Reset()
	}
	for line := range strings.Lines(file) {
		if head, ok := strings.CutPrefix(line, entryMark); ok {
			flush()
			name, _, _ := strings.Cut(strings.TrimSpace(head), "\t")
			kind = Kind(name)
			continue
		}
		b.WriteString(line)
	}
	flush()
	return out
}

func (s *Stock) clone() *Stock { return &Stock{grams: maps.Clone(s.grams)} }

// add adds the runs in a sentence, except for those it has already.
func (s *Stock) add(tokens []token, kind Kind) {
	if s.grams == nil {
		s.grams = map[string]Kind{}
	}
	for _, g := range grams(tokens) {
		if _, known := s.grams[g.text]; !known {
			s.grams[g.text] = kind
		}
	}
}

// Read returns the stock with additional entries from a site's own file, like With, or an error that identifies the faulty line. It
// refuses a file that is not text, is too long or empty, or has an entry of unknown kind.
func (s *Stock) Read(file string) (*Stock, error) {
	switch {
	case len(file) > maxText:
		return nil, fmt.Errorf("file has %d bytes, want at most %d: %w", len(file), maxText, concordat.ErrInvalid)
	case !utf8.ValidString(file) || strings.ContainsRune(file, 0):
		return nil, fmt.Errorf("file is not UTF-8 text: %w", concordat.ErrInvalid)
	}
	n := 0
	for line := range strings.Lines(file) {
		n++
		head, ok := strings.CutPrefix(line, entryMark)
		if !ok {
			continue
		}
		kind, _, _ := strings.Cut(strings.TrimSpace(head), "\t")
		if !slices.Contains(kinds, Kind(kind)) {
			return nil, fmt.Errorf("line %d: unknown kind %q; valid kinds are declaration, licence, notice, method and own: %w", n, kind, concordat.ErrInvalid)
		}
	}
	if len((&Stock{}).With(file).grams) == 0 {
		return nil, fmt.Errorf("file contains no sentence of at least %d words: %w", gramWords, concordat.ErrInvalid)
	}
	return s.With(file), nil
}

// Found is stock wording in a text.
type Found struct {
	concordat.Span
	Kind Kind
}

// In returns the stock wording in a text, sentence by sentence, in text order without overlaps. Adjacent sentences in a paragraph are
// joined.
func (s *Stock) In(text string) []Found {
	var out []Found
	paragraph := -1
	for _, p := range marked(s, sentences(text)) {
		if n := len(out); n > 0 && p.paragraph == paragraph && p.joined {
			out[n-1].End = p.End
			continue
		}
		paragraph = p.paragraph
		out = append(out, Found{p.Span, p.kind})
	}
	return out
}

// markedSentence is a sentence of the stock; joined means that the previous one is too.
type markedSentence struct {
	sentence
	kind   Kind
	joined bool
}

// marked returns the sentences that belong to the stock.
func marked(s *Stock, all []sentence) []markedSentence {
	known := make([]float64, len(all)) // share in runs, including isolated ones
	kinds := make([]Kind, len(all))
	is := make([]bool, len(all))
	for i, x := range all {
		var inRows float64
		known[i], inRows, kinds[i] = s.known(x.tokens)
		is[i] = inRows >= leastKnown && len(x.tokens) >= leastWords
	}
	for i := 1; i < len(all); i++ { // first those after such a sentence, then those before one
		is[i] = is[i] || is[i-1] && known[i] >= leastBeside && all[i].paragraph == all[i-1].paragraph
	}
	for i := len(all) - 2; i >= 0; i-- {
		is[i] = is[i] || is[i+1] && known[i] >= leastBeside && all[i].paragraph == all[i+1].paragraph
	}
	var out []markedSentence
	for i, x := range all {
		if is[i] {
			out = append(out, markedSentence{x, kinds[i], i > 0 && is[i-1]})
		}
	}
	return out
}

// known returns the share of tokens in runs of the stock, the share in adjacent runs, and the most frequent kind. A single run means
// little, because "the number of" is in every text.
func (s *Stock) known(tokens []token) (part, inRows float64, kind Kind) {
	if len(tokens) == 0 {
		return 0, 0, ""
	}
	covered, rows := 0, 0
	by := map[Kind]int{}
	from, end := 0, 0
	flush := func() {
		least := rowWords
		if tokens[from].han {
			least = rowHan
		}
		covered += end - from
		if end-from >= least {
			rows += end - from
		}
	}
	for _, g := range grams(tokens) {
		k, ok := s.grams[g.text]
		if !ok {
			continue
		}
		if g.first > end {
			flush()
			from = g.first
		}
		end = g.last
		by[k]++
	}
	flush()
	for _, k := range kinds {
		if by[k] > by[kind] {
			kind = k
		}
	}
	of := float64(len(tokens))
	return float64(covered) / of, float64(rows) / of, kind
}

// sentence is a sentence or a line of a text with its words.
type sentence struct {
	concordat.Span
	tokens    []token
	paragraph int
}

// token is a word, or a Chinese character.
type token struct {
	text string
	han  bool
}

// run is a run of tokens [first, last).
type run struct {
	text        string
	first, last int
}

// grams returns the runs in a sentence, in order.
func grams(tokens []token) []run {
	out := make([]run, 0, len(tokens))
	var b []byte
	for i := range tokens {
		n := gramWords
		if tokens[i].han {
			n = gramHan
		}
		if i+n > len(tokens) {
			continue
		}
		b = b[:0]
		for _, t := range tokens[i : i+n] {
			b = append(append(b, t.text...), ' ')
		}
		out = append(out, run{string(b), i, i + n})
	}
	return out
}

// sentences splits a text at sentence ends and at empty lines. It joins wrapped lines.
func sentences(text string) []sentence {
	var out []sentence
	var tokens []token
	from, paragraph, word := 0, 0, -1
	endWord := func(at int) {
		if word >= 0 {
			tokens = append(tokens, token{text: strings.ToLower(text[word:at])})
			word = -1
		}
	}
	end := func(at int) {
		endWord(at)
		s := concordat.Span{Start: from, End: at}
		s.Start += len(s.In(text)) - len(strings.TrimLeftFunc(s.In(text), unicode.IsSpace))
		s.End -= len(s.In(text)) - len(strings.TrimRightFunc(s.In(text), unicode.IsSpace))
		if len(tokens) > 0 {
			out = append(out, sentence{s, slices.Clone(tokens), paragraph})
		}
		tokens, from = tokens[:0], at
	}
	for i, r := range text {
		n := utf8.RuneLen(r)
		if n < 0 {
			n = 1
		}
		next := i + n
		switch {
		case unicode.Is(unicode.Han, r):
			endWord(i)
			tokens = append(tokens, token{string(r), true})
		case unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r):
			if word < 0 {
				word = i
			}
		default:
			endWord(i)
			switch r {
			case '。', '！', '？', '；':
				end(next)
			case '.', '!', '?', ';', ':':
				if next == len(text) || unicode.IsSpace(rune(text[next])) {
					end(next)
				}
			case '\n':
				if blank(text[next:]) {
					end(i)
					paragraph++
				}
			}
		}
	}
	end(len(text))
	return out
}

// blank reports whether the text continues with an empty line.
func blank(s string) bool {
	line, _, _ := strings.Cut(s, "\n")
	return strings.TrimSpace(line) == ""
}
