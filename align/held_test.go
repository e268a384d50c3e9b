package align

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"concordat"
)

// long is a detailed text, and condensed says the same in half as many words.
const (
	long = `The lighthouse on the northern cape was built in 1862 after four merchant ships had been wrecked within a single winter. Its first keeper, a retired pilot called Anders Holm, lived there with his wife, two daughters and a cow that was lowered by a crane from a barge. ` +
		`The lamp burned rape oil, which was carried up one hundred and forty steps in copper cans every evening, whatever the weather was like. In fog the keeper fired a small cannon at every quarter of an hour, and his daughters noted each shot in a book bound in sealskin. ` +
		`In 1889 the oil was replaced by paraffin, and the cannon by a siren that was driven by compressed air from a steam engine in the yard. The villagers complained about the noise of the siren for years, since their hens stopped laying and their children woke at night. ` +
		`Electricity reached the cape in 1937 by a cable along the sea bed, which the storm of the following January tore apart at three places. Divers repaired it in spring with sleeves of lead that may still be seen in the museum of the harbour. ` +
		`The last keeper left the tower in 1979, when the light was made automatic and was watched by telephone from the pilot station on the mainland. Since then the house of the keepers is let to painters, who pay with one picture for every month of their stay.`
	condensed = `After four merchant ships were wrecked in 1862, a lighthouse rose on the northern cape, where a retired pilot was its first keeper with wife and daughters. The lamp burned oil in copper cans, and a small cannon was fired in fog. In 1889 paraffin came, with a siren driven by steam and compressed air, whose noise woke villagers, hens and children. Electricity by cable along the sea bed followed in 1937, torn by a January storm and repaired by divers with lead. The light became automatic in 1979, watched by telephone from the mainland; painters pay with a picture for the house of the keepers.`
)

// TestSummary: a text that condenses one several times as long is found as a summary. Neither an independent text nor a copy of a part is
// found as one.
func TestSummary(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	var wide strings.Builder
	for _, s := range strings.SplitAfter(long, ". ") {
		wide.WriteString(s)
		for range 6 {
			wide.WriteString(" " + words(r, 14, 3000) + ". ")
		}
	}
	b := Prepare(wide.String())
	bytes := 0
	for _, p := range Pair(Prepare(condensed), b, Options{}) {
		bytes += p.A.Len()
		if p.Kind != concordat.KindSummary || p.B.Len() > 3*p.A.Len() {
			t.Errorf("%s %q in %q, want a piece of a summary beside what it condenses", p.Kind, p.A.In(condensed), p.B.In(wide.String()))
		}
	}
	if 2*bytes < len(condensed) {
		t.Errorf("the pieces have %d of %d bytes, want half at least", bytes, len(condensed))
	}
	for name, a := range map[string]string{"a copy": strings.Join(strings.SplitAfter(long, ". ")[:4], ""), "another text": essay} {
		for _, p := range Pair(Prepare(a), b, Options{}) {
			if p.Kind == concordat.KindSummary || name == "another text" {
				t.Errorf("%s: %s %q in %q", name, p.Kind, p.A.In(a), p.B.In(wide.String()))
			}
		}
	}
}

// TestExchangedSentences: if sentences of a passage were reordered and reworded, they are aligned with their counterparts, which a single
// in-order alignment misses.
func TestExchangedSentences(t *testing.T) {
	sentences := []string{
		`The lamp used rape oil, carried up one hundred and forty steps every evening in cans of copper, in whatever weather. `,
		`The lighthouse on the cape was built in 1862 after four ships had been wrecked within one winter. `,
		`Its first keeper, a retired pilot called Anders Holm, had a wife, two daughters and a cow lowered by crane from a barge. `,
	}
	for _, order := range [][]int{{0, 1, 2}, {1, 2, 0}} {
		own := ""
		for _, i := range order {
			own += sentences[i]
		}
		a, b := Prepare(own), Prepare(long)
		o := Options{}.filled()
		e := newEvidence(a, b, &o)
		found := e.stretches(stretch{a1: int32(len(a.words)), b1: int32(len(b.words))}, rewordedOdds)
		have := make([]bool, len(a.words))
		for _, s := range found {
			for i := s.a0; i < s.a1; i++ {
				have[i] = true
			}
		}
		n := 0
		for _, h := range have {
			if h {
				n++
			}
		}
		if 10*n < 9*len(have) {
			t.Errorf("in order %v, %d stretches hold %d of %d words", order, len(found), n, len(have))
		}
	}
}

// TestGain: each word of a run counts by its rarity, up to maxGain. The first word was chosen among many, so it counts as if it were any
// word within reach.
func TestGain(t *testing.T) {
	a, b := Prepare(long), Prepare(essay)
	o := Options{}.filled()
	e := newEvidence(a, b, &o)
	rare := func(i int32) float64 { return float64(e.count(e.stemsA[i].hash)) / e.words }
	for at := range int32(20) {
		begin := math.Log(alignedReused / min(reach*rare(at), alignedReused))
		next := min(math.Log(nextReused/min(rare(at+1), nextReused)), maxGain)
		if got := e.gain(run{a: at, n: 1}); math.Abs(got-begin) > 1e-9 {
			t.Errorf("word %d alone gains %v, want %v", at, got, begin)
		}
		if got := e.gain(run{a: at, n: 2}); math.Abs(got-begin-next) > 1e-9 {
			t.Errorf("words %d and %d gain %v, want %v", at, at+1, got, begin+next)
		}
	}
}

// TestInCommon: equal fingerprints share every feature of the shorter sentence, half-equal ones share about as many as theorem 1 of Li
// and König states, and fingerprints that are equal only by chance share none.
func TestInCommon(t *testing.T) {
	var zero, all concordat.Fingerprint
	differing := func(n int) concordat.Fingerprint { // differs from zero in n hashes
		f := zero
		for i := range n {
			f[i/16] |= 1 << (4 * (i % 16))
		}
		return f
	}
	all = differing(printHashes)
	for _, c := range []struct {
		f    concordat.Fingerprint
		a, b int
		want float64
	}{
		{zero, 20, 20, 20}, {zero, 20, 12, 12}, {zero, 12, 20, 12}, {all, 20, 20, 0}, {differing(24), 20, 20, 0},
		{differing(10), 20, 20, 40 * (0.6 - 0.0625) / (0.9375 + 0.6 - 0.0625)}, // r/(1+r) of 40, where r = (0.6 - 1/16) / (15/16)
	} {
		got := inCommon(&Print{Features: c.a}, &Print{Features: c.b, Fingerprint: c.f})
		if math.Abs(float64(got)-c.want) > 1e-4 {
			t.Errorf("%d and %d features, %d hashes equal: %v in common, want %v", c.a, c.b, printHashes-zero.NibbleDistance(c.f), got, c.want)
		}
	}
}

// TestSoften: a stretch is extended to the edges of its unit if fewer than three content words are in between, on either side.
func TestSoften(t *testing.T) {
	a := Prepare("the harbour the siren the lighthouse keeper barge pictures daughters of the winter the cannon of the tower")
	n := int32(len(a.words))
	for from := range n {
		for to := from; to <= n; to++ {
			s := soften(a, stretch{a1: n}, stretch{a0: from, a1: to})
			if begins := content(a.words[:from]) < 3; begins != (s.a0 == 0) || !begins && s.a0 != from {
				t.Errorf("%d to %d begins at %d", from, to, s.a0)
			}
			if ends := content(a.words[to:]) < 3; ends != (s.a1 == n) || !ends && s.a1 != to {
				t.Errorf("%d to %d ends at %d", from, to, s.a1)
			}
		}
	}
}

// TestHeaviest: a passage keeps the units that share more of their words than Options.Trim, with everything between them, and loses units
// at its beginning and end that share fewer.
func TestHeaviest(t *testing.T) {
	p := &pairing{o: &Options{Trim: 0.3}}
	for _, c := range []struct {
		shared   []float32 // from 0 to 1
		from, to int32
	}{
		{[]float32{1, 1, 1}, 0, 3}, {[]float32{0, 1, 1}, 1, 3}, {[]float32{1, 1, 0}, 0, 2}, {[]float32{0, 0.2, 1, 0.2, 0}, 2, 3},
		{[]float32{0, 1, 0.2, 1, 0}, 1, 4}, {[]float32{1, 0, 0, 0, 1}, 0, 1}, {[]float32{0.4, 0.4}, 0, 2},
	} {
		units, total := make([]unit, len(c.shared)), make([]float32, len(c.shared))
		for i := range units {
			units[i].chars, total[i] = 80, 1
		}
		if from, to := p.heaviest(units, c.shared, total); from != c.from || to != c.to {
			t.Errorf("of %v: %d to %d, want %d to %d", c.shared, from, to, c.from, c.to)
		}
	}
}

// TestWeaker: a sentence that is too dissimilar to be a passage alone is a passage if the text shares another one.
func TestWeaker(t *testing.T) {
	const weak = "When it was foggy his small cannon was heard four times an hour, each shot of which the girls wrote down in their book."
	copied, _, _ := strings.Cut(long, " Its first keeper")
	for own, want := range map[string]int{weak: 0, copied + " " + weak: 2} {
		ps := Pair(Prepare(own), Prepare(long), Options{})
		if len(ps) != want || want == 2 && !strings.Contains(ps[1].B.In(long), "every quarter of an hour") {
			t.Errorf("%q: %d passages, want %d", own, len(ps), want)
		}
	}
}
