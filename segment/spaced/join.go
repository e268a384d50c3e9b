package spaced

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// longestWord is the number of letters above which the dictionary divides text between two word gaps, since white space between its words
// has been lost.
const longestWord = 24

// joiner writes the words of a run.
type joiner struct {
	text    string
	tokens  []token
	between string // white space between two letters of a word
	wide    bool   // whether white space between words differs
	out     strings.Builder
	at      []int
	known   int // number of letters in dictionary words
}

func newJoiner(text string, tokens []token) *joiner {
	j := &joiner{text: text, tokens: tokens}
	count := map[string]int{}
	inner := tokens[:len(tokens)-1] // the gap after the last token is not part of the run
	for _, t := range inner {
		count[t.gap]++
	}
	for g, n := range count { // of equal counts, take the narrower, then the smaller string, so that the map's order does not matter
		if best := count[j.between]; n > best || n == best && narrower(g, j.between) {
			j.between = g
		}
	}
	for _, t := range inner {
		j.wide = j.wide || !strings.Contains(t.gap, "\n") && j.parts(t.gap)
	}
	return j
}

// parts reports whether the white space g separates words.
func (j *joiner) parts(g string) bool { return g != j.between && width(g) >= width(j.between) }

// narrower reports whether a precedes b in the order of white space by displayed width.
func narrower(a, b string) bool {
	wa, wb := width(a), width(b)
	return wa < wb || wa == wb && a < b
}

// width returns the approximate width of s in sixths of an em (The Unicode Standard, table 6-2).
func width(s string) int {
	n := 0
	for _, r := range s {
		switch r {
		case 0x200a, 0x2006, 0x2009, 0x202f:
			n++
		case 0x2000, 0x2002:
			n += 3
		case 0x2001, 0x2003, 0x3000:
			n += 6
		case '\t', '\n':
			n += 8
		default:
			n += 2
		}
	}
	return n
}

// join sets the text that r spells.
func (j *joiner) join(r *Run) {
	for i := 0; i < len(j.tokens); {
		n := j.chunk(i)
		j.word(j.tokens[i:i+n], i+n < len(j.tokens))
		i += n
	}
	r.Joined, r.At = j.out.String(), j.at
	r.Known = j.known*10 >= r.Letters*8
}

// chunk returns the number of tokens, starting with token i, that belong together. They extend to the next white space between words or,
// if that cannot be determined, to the next sign at the end of a word.
func (j *joiner) chunk(i int) int {
	for n := i; n < len(j.tokens); n++ {
		t := j.tokens[n]
		switch {
		case n+1 == len(j.tokens), j.wide && j.parts(t.gap) && !j.divided(i, n+1):
			return n + 1 - i
		case !j.wide && endsWord(j.text[t.from:t.to]):
			return n + 1 - i
		}
	}
	return len(j.tokens) - i
}

// divided reports whether a line end before token k splits a dictionary word that begins at token i, because programs can break a line
// anywhere between letters written apart.
func (j *joiner) divided(i, k int) bool {
	if !strings.Contains(j.tokens[k-1].gap, "\n") {
		return false
	}
	end := k
	for end < len(j.tokens)-1 && !j.parts(j.tokens[end].gap) {
		end++
	}
	head, tail := plainLetters(j.tokens[i:k]), plainLetters(j.tokens[k:end+1])
	return isKnown(append(slices.Clip(head), tail...)) && !(isKnown(head) && isKnown(tail))
}

// endsWord reports whether a token ends in a sign after which a new word begins.
func endsWord(s string) bool { return strings.IndexByte(".,;:!?)]", s[len(s)-1]) >= 0 }

// word writes a chunk's tokens and, if more follow, a space.
func (j *joiner) word(tokens []token, more bool) {
	n := letters(tokens)
	var spelt []byte
	if ascii := plainLetters(tokens); len(ascii) == n {
		spelt = ascii
	}
	cuts, known := divide(spelt)
	if j.wide && n <= longestWord || known*2 < n {
		cuts = nil
	}
	if cuts != nil || len(spelt) > 0 && isKnown(spelt) {
		j.known += known
	}
	k := 0 // letters so far
	for _, t := range tokens {
		if t.letter != 0 {
			if len(cuts) > 0 && k == cuts[0] {
				j.put(" ", t.from)
				cuts = cuts[1:]
			}
			k++
		}
		j.copy(t)
	}
	if more {
		last := tokens[len(tokens)-1]
		j.put(" ", last.to)
	}
}

func (j *joiner) put(s string, at int) {
	j.out.WriteString(s)
	for range len(s) {
		j.at = append(j.at, at)
	}
}

// copy writes a token unchanged.
func (j *joiner) copy(t token) {
	for at := t.from; at < t.to; {
		_, size := utf8.DecodeRuneInString(j.text[at:])
		j.put(j.text[at:at+size], at)
		at += size
	}
}

// plainLetters returns the tokens that are ASCII letters, in lower case.
func plainLetters(tokens []token) []byte {
	var out []byte
	for _, t := range tokens {
		if t.letter != 0 && t.letter < 0x80 {
			out = append(out, byte(t.letter)|0x20)
		}
	}
	return out
}
