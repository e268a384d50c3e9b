package wording

import (
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"
)

// TestSieve: text that the sieve rules out matches nothing, in upper or lower case, and the sieve rules out ordinary sentences.
func TestSieve(t *testing.T) {
	all := []*regexp.Regexp{instructing, declaring, clausing, outlining}
	s := newSieve(all...)
	if s.always != 0 {
		t.Errorf("no literals are known of %b", s.always)
	}
	if got := s.sift("The lighthouse on the cape was built in 1862 after four ships had been wrecked within one winter."); got != 0 {
		t.Errorf("an ordinary sentence passes: %b", got)
	}
	r := rand.New(rand.NewPCG(1, 40))
	matched := 0
	for range 20_000 {
		k := r.IntN(len(all))
		parsed, err := syntax.Parse(all[k].String(), syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		text := "so " + example(r, parsed) + " and on"
		switch r.IntN(3) {
		case 0:
			text = strings.ToUpper(text)
		case 1:
			text = strings.NewReplacer("s", "\u017f", "k", "\u212a").Replace(text)
		}
		for i, x := range all {
			if x.MatchString(text) {
				matched++
				if !s.sift(text).has(i) {
					t.Fatalf("expression %d matches %q and is ruled out", i, text)
				}
			}
		}
	}
	if matched < 5000 {
		t.Errorf("%d examples matched", matched)
	}
}

// example returns a text that an expression is likely to match.
func example(r *rand.Rand, re *syntax.Regexp) string {
	var b strings.Builder
	again := func(least, most int) {
		for range least + r.IntN(most-least+1) {
			b.WriteString(example(r, re.Sub[0]))
		}
	}
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		i := 2 * r.IntN(len(re.Rune)/2)
		b.WriteRune(re.Rune[i] + rune(r.IntN(int(min(re.Rune[i+1]-re.Rune[i], 20)+1))))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('x')
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			b.WriteString(example(r, sub))
		}
	case syntax.OpAlternate:
		return example(r, re.Sub[r.IntN(len(re.Sub))])
	case syntax.OpCapture:
		return example(r, re.Sub[0])
	case syntax.OpQuest:
		again(0, 1)
	case syntax.OpStar:
		again(0, 3)
	case syntax.OpPlus:
		again(1, 3)
	case syntax.OpRepeat:
		most := re.Max
		if most < 0 {
			most = re.Min + 3
		}
		again(re.Min, most)
	}
	return b.String()
}
