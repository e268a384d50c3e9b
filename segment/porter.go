package segment

import (
	"math/bits"
	"slices"
)

// stemMost is the maximum length in bytes of a word to stem; anything longer is not a word.
const stemMost = 40

// Stem returns the stem of a folded word of 3 to 40 ASCII letters by Porter 1980; it returns other words unchanged.
func Stem(word []byte) []byte {
	var p porter
	return slices.Clone(p.stem(word))
}

// porter is a word during the steps of Porter 1980, section 2. Bit i of vowels is set if letter i is a vowel in Porter's sense, so that
// counting bits yields a word's measure.
type porter struct {
	letters [stemMost + 1]byte
	n       int
	vowels  uint64
}

// stem does the work of Stem; the result is valid until p is used again.
func (p *porter) stem(word []byte) []byte {
	if len(word) < 3 || len(word) > stemMost {
		return word
	}
	p.n, p.vowels = 0, 0
	for _, c := range word {
		if c < 'a' || c > 'z' {
			return word
		}
		p.put(c)
	}
	p.plural()
	p.participle()
	if p.letters[p.n-1] == 'y' && p.vowels&(1<<(p.n-1)-1) != 0 { // step 1c
		p.replace(1, "i")
	}
	p.apply(&step2, 1)
	p.apply(&step3, 1)
	p.apply(&step4, 2)
	p.end()
	return p.letters[:p.n]
}

// put adds a letter. A y is a vowel after a consonant.
func (p *porter) put(c byte) {
	p.letters[p.n] = c
	bit := uint64(1) << p.n
	p.vowels &^= bit
	const always = 1 | 1<<('e'-'a') | 1<<('i'-'a') | 1<<('o'-'a') | 1<<('u'-'a')
	if always>>(c-'a')&1 != 0 || c == 'y' && p.n > 0 && p.vowels&(bit>>1) == 0 {
		p.vowels |= bit
	}
	p.n++
}

// replace replaces the last n letters with to.
func (p *porter) replace(n int, to string) {
	p.n -= n
	for i := range len(to) {
		p.put(to[i])
	}
}

// ends reports whether the word ends in the suffix and has letters before it.
func (p *porter) ends(suffix string) bool {
	return p.n > len(suffix) && string(p.letters[p.n-len(suffix):p.n]) == suffix
}

// measure returns Porter's m of the first n letters, which is how often a consonant follows a vowel.
func (p *porter) measure(n int) int {
	if n == 0 {
		return 0
	}
	return bits.OnesCount64(p.vowels &^ (p.vowels >> 1) & (1<<(n-1) - 1))
}

func (p *porter) consonant(i int) bool { return p.vowels>>i&1 == 0 }

// doubled reports whether the word ends in a doubled consonant.
func (p *porter) doubled() bool {
	return p.n > 1 && p.letters[p.n-1] == p.letters[p.n-2] && p.consonant(p.n-1)
}

// shortEnd reports whether the first n letters end in consonant, vowel, consonant, with a last letter other than w, x and y (*o).
func (p *porter) shortEnd(n int) bool {
	if n < 3 || !p.consonant(n-3) || p.consonant(n-2) || !p.consonant(n-1) {
		return false
	}
	c := p.letters[n-1]
	return c != 'w' && c != 'x' && c != 'y'
}

// plural applies step 1a.
func (p *porter) plural() {
	switch {
	case p.letters[p.n-1] != 's':
	case p.ends("sses"), p.ends("ies"):
		p.n -= 2
	case p.ends("ss"):
	case p.ends("s"):
		p.n--
	}
}

// participle applies step 1b.
func (p *porter) participle() {
	switch {
	case p.ends("eed"):
		if p.measure(p.n-3) > 0 {
			p.n--
		}
		return
	case p.ends("ed") && p.vowels&(1<<(p.n-2)-1) != 0:
		p.n -= 2
	case p.ends("ing") && p.vowels&(1<<(p.n-3)-1) != 0:
		p.n -= 3
	default:
		return
	}
	switch c := p.letters[p.n-1]; {
	case p.ends("at"), p.ends("bl"), p.ends("iz"):
		p.put('e')
	case p.doubled():
		if c != 'l' && c != 's' && c != 'z' {
			p.n--
		}
	case p.measure(p.n) == 1 && p.shortEnd(p.n):
		p.put('e')
	}
}

// rule replaces a suffix if the letters before it have a large enough measure.
type rule struct{ suffix, to string }

// rules are indexed by the penultimate letter of their suffixes. Only the first matching rule applies.
type rules [26][]rule

func newRules(all ...rule) (out rules) {
	for _, r := range all {
		c := r.suffix[len(r.suffix)-2] - 'a'
		out[c] = append(out[c], r)
	}
	return out
}

// Steps 2, 3 and 4. The use of bli for abli, and the suffix logi, are Porter's later changes.
var (
	step2 = newRules(
		rule{"ational", "ate"}, rule{"tional", "tion"}, rule{"enci", "ence"}, rule{"anci", "ance"}, rule{"izer", "ize"},
		rule{"bli", "ble"}, rule{"alli", "al"}, rule{"entli", "ent"}, rule{"eli", "e"}, rule{"ousli", "ous"},
		rule{"ization", "ize"}, rule{"ation", "ate"}, rule{"ator", "ate"}, rule{"alism", "al"}, rule{"iveness", "ive"},
		rule{"fulness", "ful"}, rule{"ousness", "ous"}, rule{"aliti", "al"}, rule{"iviti", "ive"}, rule{"biliti", "ble"}, rule{"logi", "log"})
	step3 = newRules(
		rule{"icate", "ic"}, rule{"ative", ""}, rule{"alize", "al"}, rule{"iciti", "ic"}, rule{"ical", "ic"}, rule{"ful", ""}, rule{"ness", ""})
	step4 = newRules(
		rule{"al", ""}, rule{"ance", ""}, rule{"ence", ""}, rule{"er", ""}, rule{"ic", ""}, rule{"able", ""}, rule{"ible", ""}, rule{"ant", ""},
		rule{"ement", ""}, rule{"ment", ""}, rule{"ent", ""}, rule{"ion", ""}, rule{"ou", ""}, rule{"ism", ""},
		rule{"ate", ""}, rule{"iti", ""}, rule{"ous", ""}, rule{"ive", ""}, rule{"ize", ""})
)

// apply applies a step whose rules require a measure of at least least.
func (p *porter) apply(step *rules, least int) {
	if p.n < 2 {
		return
	}
	for _, r := range step[p.letters[p.n-2]-'a'] {
		if !p.ends(r.suffix) {
			continue
		}
		rest := p.n - len(r.suffix)
		if before := p.letters[rest-1]; r.suffix == "ion" && before != 's' && before != 't' {
			return
		}
		if p.measure(rest) >= least {
			p.replace(len(r.suffix), r.to)
		}
		return
	}
}

// end applies step 5.
func (p *porter) end() {
	if p.letters[p.n-1] == 'e' {
		if m := p.measure(p.n - 1); m > 1 || m == 1 && !p.shortEnd(p.n-1) {
			p.n--
		}
	}
	if p.n > 2 && p.letters[p.n-1] == 'l' && p.letters[p.n-2] == 'l' && p.measure(p.n-1) > 1 {
		p.n--
	}
}
