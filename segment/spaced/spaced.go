// Package spaced finds words with letters written apart, as in "p l a g i a r i s m". This makes a copied passage unreadable for programs
// but not for people.
//
// Start from [Find]. It finds runs of single letters of the Latin, Greek, Cyrillic and Armenian scripts, each followed by white space of
// any width, and returns the words that they spell. It separates words where the white space differs from the white space between letters
// or, if it is the same everywhere, by an English dictionary. Initials, enumerations, alphabets and formulas are not runs.
//
// The result depends only on the text, not on other state or the version of the Unicode tables, because fingerprints depend on it.
// Everything is safe for concurrent use.
package spaced

import (
	"strings"
	"unicode/utf8"
)

// Run is a stretch of text with letters written apart.
type Run struct {
	Start, End int    // byte positions in the text
	Letters    int    // number of letters written apart
	Known      bool   // whether nearly all of its words are in the dictionary
	Small      bool   // whether most of its letters are lower-case
	Joined     string // spelled text, with single spaces between words and with punctuation
	At         []int  // position in the text of the character at each byte of Joined
}

// A run must have this many letters, this many different letters, and as many vowels as ordinary language. Labelled figures and matrices
// have few vowels, or letters in alphabetical order.
const (
	leastLetters   = 8
	leastDifferent = 5
	leastVowels    = 20 // per cent
	maxVowels      = 70
)

// probeStep is the distance in bytes between the positions at which a text is probed for runs. It is shorter than any run.
const probeStep = 6

// Find returns the runs of text in order, disjoint. Text without any run takes about half a nanosecond per byte.
func Find(text string) []Run {
	var runs []Run
	done := 0 // tokens up to here have been judged
	for p := 0; p+3 < len(text); p += probeStep {
		if !mayApart(text, p) || !apart(text, p) {
			continue
		}
		from := lineStart(text, p, done)
		tokens, end := readTokens(text, from)
		if letters(tokens) >= leastLetters {
			if r, ok := judge(text, tokens); ok {
				runs = append(runs, r)
			}
		}
		done = end
		p = max(p, end-probeStep)
	}
	return runs
}

// mayApart is a quick test that is true whenever apart is. It checks that no two neighbours among the four ASCII bytes starting at p are
// both non-spaces.
func mayApart(text string, p int) bool {
	b := text[p : p+4]
	x := uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
	const high, seven = 0x80808080, 0x7f7f7f7f
	word := (x ^ 0x20202020) + seven // high bits of bytes that are not spaces, if all are ASCII
	return word&(word>>8)&0x00808080 == 0 || x&high != 0
}

// apart reports whether there are letters at byte p and none of them are adjacent.
func apart(text string, p int) bool {
	a, b, c, d := text[p], text[p+1], text[p+2], text[p+3]
	if a|b|c|d < utf8.RuneSelf {
		return (a == ' ' || b == ' ') && (b == ' ' || c == ' ') && (c == ' ' || d == ' ') && a|b|c|d != ' '
	}
	for p < len(text) && !utf8.RuneStart(text[p]) {
		p++
	}
	last := other
	for n := 0; n < 4 && p < len(text); {
		r, size := utf8.DecodeRuneInString(text[p:])
		p += size
		k := classOf(r)
		if k == nothing {
			continue
		}
		if n == 0 && k == other || k == letter && last == letter {
			return false
		}
		last = k
		n++
	}
	return true
}

// maxBack is the maximum distance in bytes from a probe back to the beginning of its run.
const maxBack = 64

// lineStart returns the beginning of the run of single letters that contains byte p, at done or later.
func lineStart(text string, p, done int) int {
	last := other
	for at, least := p, max(done, p-maxBack); at > least; {
		r, size := utf8.DecodeLastRuneInString(text[:at])
		k := classOf(r)
		if k == letter && last == letter {
			for at < len(text) && !isGap(text[at:]) { // skip the rest of a real word
				_, size := utf8.DecodeRuneInString(text[at:])
				at += size
			}
			return at
		}
		if k != nothing {
			last = k
		}
		if at -= size; at <= least {
			return at
		}
	}
	return p
}

func isGap(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return classOf(r) == gap || r == '\n'
}

// token is one letter, digit or sign between white space.
type token struct {
	from, to int
	letter   rune   // 0 for a sign or a digit
	gap      string // subsequent white space, without invisible characters
}

// readTokens reads tokens, starting at byte at, up to a token with more than one letter or an empty line.
func readTokens(text string, at int) (tokens []token, end int) {
	at += len(text[at:]) - len(strings.TrimLeft(text[at:], " \n\t"))
	for at < len(text) {
		t, next, ok := readToken(text, at)
		if !ok {
			return tokens, max(next, at+1)
		}
		tokens = append(tokens, t)
		at = next
		if strings.Count(t.gap, "\n") > 1 {
			break
		}
	}
	return tokens, at
}

// maxSigns is the maximum number of signs attached to a letter.
const maxSigns = 3

func readToken(text string, at int) (t token, next int, ok bool) {
	t.from = at
	signs := 0
	for at < len(text) {
		r, size := utf8.DecodeRuneInString(text[at:])
		k := classOf(r)
		if k == gap || r == '\n' {
			break
		}
		switch k {
		case letter:
			if t.letter != 0 {
				return t, at + size, false
			}
			t.letter = r
		case other:
			// These characters occur in formulas, tables and markup, or in other scripts.
			if signs++; signs > maxSigns || r >= 0x2e80 || r >= 0x2190 && r <= 0x2bff || strings.ContainsRune("=+*/<>|^_~\\{}[]#@$%&×÷±", r) {
				return t, at + size, false
			}
		}
		at += size
	}
	t.to = at
	from, plain := at, true
	for at < len(text) {
		r, size := utf8.DecodeRuneInString(text[at:])
		k := classOf(r)
		if k != gap && k != nothing && r != '\n' {
			break
		}
		plain = plain && k != nothing
		at += size
	}
	if t.gap = text[from:at]; !plain {
		t.gap = strings.Map(func(r rune) rune {
			if classOf(r) == nothing {
				return -1
			}
			return r
		}, t.gap)
	}
	return t, at, true
}

func letters(tokens []token) int {
	n := 0
	for i := range tokens {
		if tokens[i].letter != 0 {
			n++
		}
	}
	return n
}

// judge returns the run of the text that tokens spell, if any.
func judge(text string, tokens []token) (Run, bool) {
	for len(tokens) > 0 && tokens[0].letter == 0 {
		tokens = tokens[1:]
	}
	all := tokens
	for len(tokens) > 0 && tokens[len(tokens)-1].letter == 0 {
		tokens = tokens[:len(tokens)-1]
	}
	r := Run{Letters: letters(tokens)}
	if r.Letters < leastLetters || r.Letters*3 < len(tokens)*2 {
		return r, false
	}
	small, vowels, inOrder, last := 0, 0, 0, rune(0)
	seen := map[rune]bool{}
	for _, t := range tokens {
		if t.letter == 0 {
			continue
		}
		l := lower(t.letter)
		if l == t.letter {
			small++
		}
		if l == last+1 {
			inOrder++
		}
		if strings.ContainsRune(vowelLetters, l) {
			vowels++
		}
		last, seen[l] = l, true
	}
	k := r.Letters
	r.Small = small*10 >= k*8
	if len(seen) < leastDifferent || vowels*100 < k*leastVowels || vowels*100 > k*maxVowels || inOrder*2 >= k {
		return r, false
	}
	j := newJoiner(text, tokens)
	if n := len(tokens); n < len(all) && all[n-1].gap == j.between && endsWord(text[all[n].from:all[n].to]) {
		j.tokens = all[:n+1] // including the full stop
	}
	r.Start, r.End = tokens[0].from, j.tokens[len(j.tokens)-1].to
	j.join(&r)
	return r, r.Known || r.Small
}

const vowelLetters = "aeiouyàáâãäåæèéêëìíîïòóôõöøùúûüýœőűаеёиоуыэюяіїєαεηιουωάέήίόύώաեէըիոօ"
