package wording

import (
	"encoding/binary"
	"regexp"
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"
)

// sieve determines which of several regular expressions can match a text. An expression remains possible if the text contains one of the
// literals required by all its matches. sieve makes one pass over a text, and never rules out an expression that matches.
type sieve struct {
	always passed // expressions without known literals
	at     [1 << sieveBits]uint16
	list   []literal // bucket b has list[at[b]-1:] up to the literal marked last; at[b] is 0 if it is empty
}

// passed is a set of expressions, by number.
type passed uint8

func (p passed) has(i int) bool { return p>>i&1 == 1 }

// literal is a folded text that matches of an expression contain.
type literal struct {
	text string
	of   passed
	last bool // last in its bucket
}

const (
	sieveBits = 14
	// sieveBytes is the minimum length of a literal; an expression with a shorter one always passes.
	sieveBytes = 4
	// maxLiterals is the maximum number of literals for part of an expression.
	maxLiterals = 128
)

func bucket(b []byte) uint32 {
	return binary.LittleEndian.Uint32(b) * 2654435761 >> (32 - sieveBits)
}

func newSieve(expressions ...*regexp.Regexp) *sieve {
	s := &sieve{}
	by := map[uint32][]literal{}
	for i, x := range expressions {
		of := passed(1) << i
		parsed, err := syntax.Parse(x.String(), syntax.Perl)
		var texts []string
		if err == nil { // it has been parsed before
			texts = required(parsed.Simplify())
		}
		if shortest(texts) < sieveBytes {
			s.always |= of
			continue
		}
		for _, text := range texts {
			b := bucket([]byte(text))
			by[b] = append(by[b], literal{text: text, of: of})
		}
	}
	for b, list := range by {
		s.at[b] = uint16(len(s.list) + 1)
		list[len(list)-1].last = true
		s.list = append(s.list, list...)
	}
	return s
}

// sift returns the expressions that can match text.
func (s *sieve) sift(text string) passed {
	out := s.always
	var room [512]byte
	b := fold(room[:0], text)
	for i := 0; i+sieveBytes <= len(b); i++ {
		k := s.at[bucket(b[i:])]
		if k == 0 {
			continue
		}
		for _, l := range s.list[k-1:] {
			if out&l.of == 0 && len(b)-i >= len(l.text) && string(b[i:i+len(l.text)]) == l.text {
				out |= l.of
			}
			if l.last {
				break
			}
		}
	}
	return out
}

// fold appends text with letters unified if a regular expression with (?i) does not distinguish them.
func fold(b []byte, text string) []byte {
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf {
			if 'a' <= c && c <= 'z' {
				c -= 'a' - 'A'
			}
			b = append(b, c)
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		b = utf8.AppendRune(b, foldRune(r))
		i += n
	}
	return b
}

// foldRune returns the representative of the letters not distinguished from r.
func foldRune(r rune) rune {
	first := r
	for x := unicode.SimpleFold(r); x != r; x = unicode.SimpleFold(x) {
		first = min(first, x)
	}
	return first
}

// shortest returns the length of the shortest text, or 0 without texts.
func shortest(texts []string) int {
	if len(texts) == 0 {
		return 0
	}
	return len(slices.MinFunc(texts, func(x, y string) int { return len(x) - len(y) }))
}

// required returns folded texts, at least one of which occurs in every match of an expression, or nil if none are known. It maximises the
// length of the shortest one.
func required(re *syntax.Regexp) []string {
	if all := matches(re); all != nil {
		return all
	}
	switch re.Op {
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpAlternate:
		var out []string
		for _, sub := range re.Sub {
			one := required(sub)
			if shortest(one) == 0 {
				return nil
			}
			out = append(out, one...)
		}
		return out
	case syntax.OpConcat:
		var best []string
		take := func(texts []string) {
			if shortest(texts) > shortest(best) {
				best = texts
			}
		}
		run := []string{""} // matches of the most recent parts, while there are few
		for _, sub := range re.Sub {
			all := matches(sub)
			if next := product(run, all); next != nil {
				run = next
				continue
			}
			take(run)
			run = []string{""}
			if all != nil {
				run = all
			} else {
				take(required(sub))
			}
		}
		take(run)
		return best
	}
	return nil
}

// matches returns all texts matched by an expression, folded, if there are few, otherwise nil.
func matches(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary,
		syntax.OpNoWordBoundary:
		return []string{""}
	case syntax.OpLiteral:
		return []string{string(fold(nil, string(re.Rune)))}
	case syntax.OpCharClass:
		var out []string
		for i := 0; i < len(re.Rune); i += 2 {
			for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
				if out = append(out, string(foldRune(r))); len(out) > 8 {
					return nil
				}
			}
		}
		slices.Sort(out)
		return slices.Compact(out)
	case syntax.OpCapture:
		return matches(re.Sub[0])
	case syntax.OpQuest:
		if one := matches(re.Sub[0]); one != nil {
			return append(slices.Clone(one), "")
		}
	case syntax.OpConcat:
		out := []string{""}
		for _, sub := range re.Sub {
			if out = product(out, matches(sub)); out == nil {
				return nil
			}
		}
		return out
	case syntax.OpAlternate:
		var out []string
		for _, sub := range re.Sub {
			one := matches(sub)
			if out = append(out, one...); one == nil || len(out) > maxLiterals {
				return nil
			}
		}
		return out
	}
	return nil
}

// product concatenates each text of the first list with each of the second. It returns nil if either list is nil or there would be too
// many.
func product(first, second []string) []string {
	if first == nil || second == nil || len(first)*len(second) > maxLiterals {
		return nil
	}
	var out []string
	for _, x := range first {
		for _, y := range second {
			out = append(out, x+y)
		}
	}
	return out
}
