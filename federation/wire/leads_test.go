package wire_test

import (
	"errors"
	"testing"

	"concordat"
	"concordat/federation/wire"
)

func (g *gen) leadAsk() *concordat.LeadAsk {
	a := &concordat.LeadAsk{Epoch: g.epoch(), Table: g.id(), Purpose: g.text(60),
		Libraries: some(g, 1, 4, func() concordat.LibraryID { return concordat.LibraryID(g.id()) })}
	g.fill(a.Job[:])
	g.fill(a.Commitment[:])
	a.Cells = make([]concordat.AskedCells, pick(g, 0, 64, 80, 256))
	stretch := 0
	for i := range a.Cells {
		x := &a.Cells[i]
		x.Stretch, x.Chinese = stretch, g.bool()
		for k := range x.Cells {
			x.Cells[k] = uint32(g.IntN(1 << concordat.BandBits))
		}
		if g.IntN(8) == 0 {
			stretch++
		}
	}
	return a
}

func (g *gen) leads() *concordat.LeadAnswer {
	t := &concordat.LeadAnswer{Table: g.id(), Libraries: some(g, 1, 4, func() concordat.LeadLibraryAnswer {
		return concordat.LeadLibraryAnswer{Library: concordat.LibraryID(g.id()), Refusal: g.maybe(), Missing: g.number(), LeftCells: g.left(),
			LeftNear: g.left()}
	})}
	t.Documents = some(g, 0, 5, func() concordat.LeadDocument {
		d := concordat.LeadDocument{Library: g.IntN(len(t.Libraries)), Title: g.text(300), Author: g.text(80), Contact: g.text(80),
			Date: g.time()}
		g.fill(d.Handle[:])
		at := 0
		d.Places = some(g, 1, 5, func() concordat.Span {
			s := concordat.Span{Start: at + 1 + g.IntN(100)}
			s.End = s.Start + 1 + g.IntN(1000)
			at = s.End
			return s
		})
		return d
	})
	if len(t.Documents) > 0 {
		t.Hits = some(g, 0, 40, func() concordat.LeadHit {
			d := g.IntN(len(t.Documents))
			return concordat.LeadHit{Cells: g.IntN(64), Document: d, Place: g.IntN(len(t.Documents[d].Places)), Step: concordat.LeadStep(g.IntN(3))}
		})
	}
	return t
}

// TestLeadBounds: both sides refuse cells that are not padded, are not in the order of their stretches or have more than 20 bits, and
// places that overlap or cannot exist in a document.
func TestLeadBounds(t *testing.T) {
	ask := func(change func(a *concordat.LeadAsk)) error {
		a := newGen(1).leadAsk()
		a.Cells = make([]concordat.AskedCells, 64)
		change(a)
		_, err := wire.AppendLeadAsk(nil, a)
		return err
	}
	tell := func(places []concordat.Span, h concordat.LeadHit) error {
		_, err := wire.AppendLeadAnswer(nil, &concordat.LeadAnswer{Table: "t", Libraries: []concordat.LeadLibraryAnswer{{Library: "l"}},
			Documents: []concordat.LeadDocument{{Places: places}}, Hits: []concordat.LeadHit{h}})
		return err
	}
	places := []concordat.Span{{Start: 0, End: 5}, {Start: 6, End: 9}}
	for what, x := range map[string]struct {
		err  error
		good bool
	}{
		"an ask":              {ask(func(*concordat.LeadAsk) {}), true},
		"no cells":            {ask(func(a *concordat.LeadAsk) { a.Cells = nil }), true},
		"63 cells":            {ask(func(a *concordat.LeadAsk) { a.Cells = a.Cells[1:] }), false},
		"too many cells":      {ask(func(a *concordat.LeadAsk) { a.Cells = make([]concordat.AskedCells, 10240) }), false},
		"a stretch too early": {ask(func(a *concordat.LeadAsk) { a.Cells[0].Stretch = 2 }), false},
		"a stretch back":      {ask(func(a *concordat.LeadAsk) { a.Cells[3].Stretch = 1 }), false},
		"a cell of 21 bits":   {ask(func(a *concordat.LeadAsk) { a.Cells[3].Cells[4] = 1 << concordat.BandBits }), false},
		"a tell":              {tell(places, concordat.LeadHit{Place: 1}), true},
		"no place":            {tell(nil, concordat.LeadHit{}), false},
		"a place too many":    {tell(places, concordat.LeadHit{Place: 2}), false},
		"another document":    {tell(places, concordat.LeadHit{Document: 1}), false},
		"another step":        {tell(places, concordat.LeadHit{Step: 3}), false},
		"places back":         {tell([]concordat.Span{places[1], places[0]}, concordat.LeadHit{}), false},
		"an empty place":      {tell([]concordat.Span{{Start: 3, End: 3}}, concordat.LeadHit{}), false},
	} {
		if x.good != (x.err == nil) || !x.good && !errors.Is(x.err, concordat.ErrInvalid) {
			t.Errorf("%s: error %v, to be written: %v", what, x.err, x.good)
		}
	}
}
