package report

import (
	"concordat"
)

// Bounds are the bounds of an estimated share, 0 to 1; the true share lies between them.
type Bounds struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

func (b *Bounds) rounded() *Bounds {
	if b == nil {
		return nil
	}
	return &Bounds{round(b.Low), round(b.High)}
}

// The share of a source held by a partner is an estimate, because outlines and fingerprints only approximate where its passages begin and
// end, and which words they contain. The share that a check with the full text would find lies between two bounds: the shared text
// weighted by similarity, and the shared text with its surroundings. The bounds were measured on chapters that historians rewrote and on
// copies of PAN 2013; doc/evaluation/share.md has the command.
const (
	outlinedAround = 100  // code points around each passage if the partner provided an outline of its document
	matchedAround  = 200  // code points around each passage if only single sentences are known
	belowLow       = 0.1  // part of the share that is coincidence or is explained at the partner
	outlinedAbove  = 0.05 // part of the share invisible to fingerprints
	matchedAbove   = 0.1
)

// remote maps each source with text held elsewhere to whether its outline was provided.
func (b *builder) remote() map[concordat.Ref]bool {
	out := map[concordat.Ref]bool{}
	for _, p := range b.f.Partners {
		out[p.Ref] = p.Outline != ""
	}
	return out
}

// estimate returns bounds for the share of the given chains, which must be all the counting chains of one or more sources. It returns nil
// if this site has the full text of every source.
func (b *builder) estimate(chains []*chain) *Bounds {
	var counted []*chain
	some := false
	low, above := spans(nil), 0.0
	var near, wide []concordat.Span
	for _, c := range chains {
		if c.excluded != "" {
			continue
		}
		counted = append(counted, c)
		wide = append(wide, c.counted...)
		outlined, remote := b.remotes[c.ref]
		if !remote {
			near = append(near, c.counted...)
			continue
		}
		some = true
		around := matchedAround
		if above = max(above, matchedAbove); outlined {
			around, above = outlinedAround, max(above, outlinedAbove)
		}
		for _, s := range c.counted {
			wide = append(wide, b.widened(s, around))
		}
	}
	if !some {
		return nil
	}
	low = union(near)
	surely := float64(b.count.sum(low))
	sweep(b.claims(counted, func(p concordat.Passage) float64 { return p.Similarity }), func(s concordat.Span, best claim) {
		surely += best.rank * float64(b.count.sum(spans{s}.and(b.could).without(low)))
	})
	if b.countable == 0 {
		return &Bounds{}
	}
	return &Bounds{Low: max(b.part(low), surely/float64(b.countable)-belowLow, 0), High: min(1, b.part(union(wide).and(b.could))+above)}
}

// widened returns a span extended on both sides by the given number of code points.
func (b *builder) widened(s concordat.Span, around int) concordat.Span {
	p := b.count.Points(s)
	p.Start, p.End = max(0, p.Start-around), min(p.End+around, b.count.Points(concordat.Span{End: len(b.text)}).End)
	return b.count.Bytes(p)
}

// Estimated describes a share known only by its bounds, or returns "" if it was measured.
func (l Language) Estimated(b *Bounds) string {
	if b == nil {
		return ""
	}
	return l.Say("estimate, %s to %s", l.Percent(b.Low), l.Percent(b.High))
}
