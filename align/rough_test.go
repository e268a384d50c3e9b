package align

import (
	"strings"
	"testing"

	"concordat"
)

// first and second are two copied blocks; mineBetween and theirsBetween stand between them and have nothing in common.
const (
	firstBlock = `Glaciologists drilled an ice core from the Vostok plateau and dated volcanic ash layers in it by argon isotopes. ` +
		`Bakers of the lower town petitioned the magistrate against millers who mixed chalk and sawdust into rye flour. `
	secondBlock = `Pears grafted upon quince rootstock bear fruit two summers earlier than those that are raised from seedlings. ` +
		`The bell founder melted copper and tin in a clay furnace whose bellows were driven by a small undershot wheel. `
	mineBetween = `Our questionnaire went to forty schools in spring, and thirty of them sent it back before the holidays began. ` +
		`Pupils were asked about breakfast, sleep, homework and the hours that they spend in front of a screen each day. `
	theirsBetween = `The orchestra toured Portugal with two symphonies and a violin concerto by an almost forgotten composer from Porto. ` +
		`Critics praised the horns, regretted the tempo of the slow movement and were silent about the encore altogether. `
)

// compared returns the passages of two texts, by sketches and by fingerprints.
func compared(t *testing.T, a, b string, o Options) map[string][]Passage {
	t.Helper()
	return map[string][]Passage{
		"sketches":     Pair(textOf(t, sketchOf(t, a, DefaultSketchBits)), textOf(t, sketchOf(t, b, DefaultSketchBits)), o),
		"fingerprints": PairPrints(printsOf(a), printsOf(b), o),
	}
}

// TestNoBridge: text without a counterpart between two copied blocks is in no passage shown to people, on either side; PAN's measure
// includes all of it.
func TestNoBridge(t *testing.T) {
	a, b := firstBlock+mineBetween+secondBlock, firstBlock+theirsBetween+secondBlock
	for name, ps := range compared(t, a, b, Options{Bridged: true}) {
		if p := only(t, ps); !strings.Contains(p.A.In(a), "questionnaire") {
			t.Errorf("%s, bridged: got %q", name, p.A.In(a))
		}
	}
	for name, ps := range compared(t, a, b, Options{}) {
		if len(ps) != 2 {
			t.Fatalf("%s: got %d passages, want the two blocks: %+v", name, len(ps), ps)
		}
		for i, want := range []string{firstBlock, secondBlock} {
			if got := ps[i].A.In(a); got != strings.TrimSpace(want) {
				t.Errorf("%s: A is %q, want %q", name, got, want)
			}
			if got := ps[i].B.In(b); got != strings.TrimSpace(want) {
				t.Errorf("%s: B is %q, want %q", name, got, want)
			}
		}
	}
}

// TestSourceIsCut: the source's side is trimmed where the submission's side has no counterpart.
func TestSourceIsCut(t *testing.T) {
	a, b := firstBlock+secondBlock, firstBlock+theirsBetween+secondBlock
	for name, ps := range compared(t, a, b, Options{}) {
		for _, p := range ps {
			if strings.Contains(p.B.In(b), "orchestra") {
				t.Errorf("%s: B is %q", name, p.B.In(b))
			}
		}
		if len(ps) != 2 {
			t.Errorf("%s: got %d passages, want 2", name, len(ps))
		}
	}
}

// TestAlone: two sentences that are only somewhat similar and far apart do not form a passage.
func TestAlone(t *testing.T) {
	const reworded = `A core of ice was drilled at Vostok, where volcanic layers were found by glaciologists who came there for another reason. `
	const other = `In the lower town a petition was handed in against millers, as the magistrate tells in a letter about his bakers. `
	a, b := reworded+mineBetween+other, firstBlock[:112]+theirsBetween+firstBlock[112:]
	for name, ps := range compared(t, a, b, Options{}) {
		for _, p := range ps {
			if strings.Contains(p.A.In(a), "questionnaire") || strings.Contains(p.B.In(b), "orchestra") {
				t.Errorf("%s: %q beside %q", name, p.A.In(a), p.B.In(b))
			}
		}
	}
}

// TestSketchStopsAtWalls: no passage of a sketch crosses excluded text, however short, not even for PAN's measure.
func TestSketchStopsAtWalls(t *testing.T) {
	const label = "Please answer briefly. "
	a := firstBlock + label + secondBlock
	b := firstBlock + secondBlock
	wall := concordat.Span{Start: len(firstBlock), End: len(firstBlock) + len(label)}
	s, err := PrepareWithout(a, []concordat.Span{wall}).Sketch(key, DefaultSketchBits)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []Options{{}, {Bridged: true}} {
		ps := Pair(textOf(t, s), textOf(t, sketchOf(t, b, DefaultSketchBits)), o)
		if len(ps) != 2 {
			t.Fatalf("got %d passages, want 2: %+v", len(ps), ps)
		}
		for _, p := range ps {
			if p.A.Overlaps(wall) {
				t.Errorf("%q holds the wall", p.A.In(a))
			}
		}
	}
}

// TestPrintWithoutFeatures: a fingerprint without features matches nothing, and no passage shown to people crosses it.
func TestPrintWithoutFeatures(t *testing.T) {
	a := printsOf(firstBlock + secondBlock)
	b := printsOf(firstBlock + secondBlock)
	if ps := PairPrints(a, b, Options{}); len(ps) != 1 {
		t.Fatalf("got %d passages, want 1", len(ps))
	}
	at := len(a) / 2
	out := a[at]
	a[at] = Print{Span: out.Span}
	for _, p := range PairPrints(a, b, Options{}) {
		if p.A.Overlaps(out.Span) {
			t.Errorf("passage %v holds %v, which takes no part", p.A, out.Span)
		}
	}
	if ps := PairPrints(make([]Print, 8), make([]Print, 8), Options{}); len(ps) != 0 {
		t.Errorf("nothing equals nothing: %+v", ps)
	}
}
