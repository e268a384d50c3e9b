package align

import "concordat"

// rough returns a passage of sketches: whole units, nothing of words.
func (p *pairing) rough(f found) Passage {
	out := Passage{
		A: concordat.Span{Start: int(p.a[f.a0].start), End: int(p.a[f.a1-1].end)},
		B: concordat.Span{Start: int(p.b[f.b0].start), End: int(p.b[f.b1-1].end)},
	}
	return out
}
