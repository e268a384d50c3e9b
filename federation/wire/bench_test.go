package wire_test

import (
	"maps"
	"slices"
	"testing"

	"concordat"
	"concordat/federation/wire"
	"concordat/internal/cputime"
)

// typical returns messages of the size needed for a check of 200 sentences.
func typical() map[string]struct {
	value any
	of    string
} {
	type entry = struct {
		value any
		of    string
	}
	g := newGen(4)
	outline := concordat.Outline{Form: concordat.OutlineWords, Bits: 10, Length: 12_000}
	for i := range 100 {
		u := concordat.OutlineUnit{Ordinal: i, Span: concordat.Span{Start: 120 * i, End: 120*i + 110}, Chars: 95}
		for w := range 11 {
			u.Words = append(u.Words, uint16(90*w+g.IntN(90)))
		}
		outline.Units = append(outline.Units, u)
	}
	words := concordat.EdgePassage{Span: concordat.Span{End: 3000}}
	for range 500 {
		words.Words = append(words.Words, byte(g.IntN(256)))
	}
	shipment := &concordat.Shipment{Scheme: "natural@0123456789abcdef", Cursor: make([]byte, 32)}
	for range 100 {
		d := concordat.ShippedDocument{Title: "On the Measurement of Things", Author: "A. Author", Contact: "library@example.org"}
		for i := range 200 {
			d.Sentences = append(d.Sentences, concordat.ShippedSentence{Fingerprint: g.fingerprint(), Ordinal: i})
		}
		shipment.Documents = append(shipment.Documents, d)
	}
	reveal := &concordat.RevealAsk{Epoch: g.epoch(), Level: concordat.ShowOverlap,
		Passages: []concordat.RevealPassage{{Span: g.span(), Text: string(make([]byte, 600))}}}
	return map[string]entry{
		"outline of 100 units":          {&concordat.Outlines{Documents: []concordat.Outline{outline}}, "outlines"},
		"edges ask of 500 words":        {&concordat.EdgesAsk{Epoch: g.epoch(), Passages: []concordat.EdgePassage{words}}, "edges ask"},
		"shipment of 100x200 sentences": {shipment, "shipment"},
		"reveal of one passage":         {reveal, "reveal ask"},
		"outline ask of one document, 20": {&concordat.OutlineAsk{Epoch: g.epoch(),
			Documents: []concordat.OutlineOf{{Ordinals: []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}}}},
			"outline ask"},
		"notice that a library was closed":   {&concordat.Notice{Kind: concordat.NoticeWithdrawn, Library: "theses"}, "notice"},
		"refusal that a budget is used up":   {&concordat.Refusal{Reason: concordat.ReasonBudget, Words: "come again tomorrow"}, "error"},
		"audit head":                         {&wire.Head{Seq: 1}, "head"},
		"ask of 200 sentences, shown as 256": {askOf(g, 256), "ask"},
	}
}

func askOf(g *gen, n int) *concordat.Ask {
	a := &concordat.Ask{Epoch: concordat.Epoch{Federation: "health", Number: 3}, Scheme: "natural@0123456789abcdef",
		Level: concordat.ShowMetadata, Purpose: "thesis", Libraries: []concordat.LibraryID{"theses"}}
	for range n {
		a.Sentences = append(a.Sentences, concordat.AskedSentence{Fingerprint: g.fingerprint(), Gate: 27})
	}
	return a
}

// BenchmarkPayload writes and reads messages of typical size; payload-bytes is their length before padding and sealing.
func BenchmarkPayload(b *testing.B) {
	all := typical()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		v := all[name]
		for _, m := range messages {
			if m.name != v.of {
				continue
			}
			b.Run("message="+name, func(b *testing.B) {
				b.ReportAllocs()
				n, start := 0, cputime.Used()
				for b.Loop() {
					p, err := m.write(v.value)
					if err != nil {
						b.Fatal(err)
					}
					if _, err := m.read(p); err != nil {
						b.Fatal(err)
					}
					n = len(p)
				}
				cputime.Report(b, start, b.N, "op")
				b.SetBytes(int64(n))
				b.ReportMetric(float64(n), "payload-bytes")
			})
		}
	}
}
