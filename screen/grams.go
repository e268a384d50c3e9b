package screen

import (
	"fmt"
	"unicode/utf8"
)

// GramTrial measures one choice of grams on a sample of edited texts.
type GramTrial struct {
	Grams    []int
	Recall   float64 // proportion of edited texts for which the original is found
	Measured float64 // mean number of texts measured per query
	Hits     float64 // mean number of texts found per query
}

// GramOptions are the requirements for choosing grams.
type GramOptions struct {
	Short  ShortOptions // its Grams are ignored
	Edits  int          // letters of each sample text that are replaced, deleted or inserted; the default is 2
	Sample int          // number of texts edited; the default is 300
	Recall float64      // minimum proportion to be found; the default is 0.95
}

// TryGrams tries choices of gram lengths on a sample of the texts, edited pseudo-randomly, so that the same texts give the same trials.
// It returns the trials and the index of the best one, which is the trial that reaches the recall and measures least or, if none reaches
// it, the one with the highest recall. Longer grams produce fewer candidates and miss more, because two texts of n letters that are e
// edits apart must share a run of (n-e)/(e+1) letters, but not necessarily a longer one.
func TryGrams(texts []string, o GramOptions) (trials []GramTrial, best int, err error) {
	if o.Edits == 0 {
		o.Edits = 2
	}
	if o.Sample == 0 {
		o.Sample = 300
	}
	if o.Recall == 0 {
		o.Recall = 0.95
	}
	if o.Edits < 0 || o.Sample < 0 || !(o.Recall >= 0 && o.Recall <= 1) || len(texts) == 0 {
		return nil, 0, fmt.Errorf("choose grams: option out of range: %d texts, %d edits, sample of %d, recall %v", len(texts), o.Edits, o.Sample,
			o.Recall)
	}
	for _, grams := range [][]int{{1}, {1, 2}, {2}, {2, 3}, {3}, {4}, {5}} {
		o.Short.Grams = grams
		t, err := tryGrams(texts, o)
		if err != nil {
			return nil, 0, err
		}
		trials = append(trials, t)
	}
	for i, t := range trials {
		b := trials[best]
		switch {
		case t.Recall >= o.Recall && (b.Recall < o.Recall || t.Measured < b.Measured), b.Recall < o.Recall && t.Recall > b.Recall:
			best = i
		}
	}
	return trials, best, nil
}

func tryGrams(texts []string, o GramOptions) (GramTrial, error) {
	s, err := NewShort(texts, o.Short)
	if err != nil {
		return GramTrial{}, err
	}
	t := GramTrial{Grams: o.Short.Grams}
	r := steps(1)
	n := 0
	var hits []ShortHit
	for range o.Sample {
		id := r.below(len(texts))
		edited := r.edit(texts[id], texts, o.Edits)
		if edited == "" {
			continue
		}
		n++
		var measured int
		hits, measured = s.Near(edited, hits[:0])
		t.Measured += float64(measured)
		t.Hits += float64(len(hits))
		for _, h := range hits {
			if h.ID == id {
				t.Recall++
				break
			}
		}
	}
	if n > 0 {
		t.Recall /= float64(n)
		t.Measured /= float64(n)
		t.Hits /= float64(n)
	}
	return t, nil
}

// steps generates pseudo-random numbers that are the same everywhere (SplitMix64; Steele, Lea and Flood 2014).
type steps uint64

func (s *steps) next() uint64 {
	*s += 0x9e3779b97f4a7c15
	x := uint64(*s)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func (s *steps) below(n int) int { return int(s.next() % uint64(n)) }

// edit returns a text with n letters changed, using letters of the other texts.
func (s *steps) edit(text string, others []string, n int) string {
	r := []rune(text)
	for range n {
		if len(r) < 2 {
			break
		}
		letter := 'x'
		if o := others[s.below(len(others))]; o != "" {
			letter, _ = utf8.DecodeRuneInString(o[runeStart(o, s.below(len(o))):])
		}
		at := s.below(len(r))
		switch s.below(3) {
		case 0:
			r[at] = letter
		case 1:
			r = append(r[:at], r[at+1:]...)
		default:
			r = append(r, 0)
			copy(r[at+1:], r[at:])
			r[at] = letter
		}
	}
	return string(r)
}

// runeStart returns the start of the rune that contains byte at.
func runeStart(s string, at int) int {
	for at > 0 && !utf8.RuneStart(s[at]) {
		at--
	}
	return at
}
