package wire_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"concordat"
	"concordat/federation/wire"
)

// TestLimits writes each part of a message just below its limit, at the limit and one beyond, and reads it again. Everything written can
// be read back completely, and nothing that cannot be read is written. Texts for people are truncated to the limit.
func TestLimits(t *testing.T) {
	epoch := concordat.Epoch{Federation: "health", Number: 1}
	sized := func(n int) string { return strings.Repeat("x", n) }
	reveal := func(change func(a *concordat.RevealAsk, n int)) func(n int) ([]byte, []byte, error) {
		return func(n int) ([]byte, []byte, error) {
			a := &concordat.RevealAsk{Epoch: epoch, Level: concordat.ShowPassage, Reason: "why", Contact: "who",
				Passages: []concordat.RevealPassage{{Span: concordat.Span{Start: 1, End: 2}}}}
			change(a, n)
			return again(a, wire.AppendRevealAsk, wire.ParseRevealAsk)
		}
	}
	catalogue := func(change func(l *concordat.OpenLibrary, n int)) func(n int) ([]byte, []byte, error) {
		return func(n int) ([]byte, []byte, error) {
			c := &concordat.Catalogue{Libraries: []concordat.OpenLibrary{{ID: "l", Level: concordat.ShowMetadata, Outline: concordat.OutlineWords}}}
			change(&c.Libraries[0], n)
			return again(c, wire.AppendCatalogue, wire.ParseCatalogue)
		}
	}
	leads := func(change func(t *concordat.LeadAnswer, n int)) func(n int) ([]byte, []byte, error) {
		return func(n int) ([]byte, []byte, error) {
			x := &concordat.LeadAnswer{Table: "t", Libraries: []concordat.LeadLibraryAnswer{{Library: "l", LeftCells: -1, LeftNear: -1}},
				Documents: []concordat.LeadDocument{{Places: []concordat.Span{{Start: 0, End: 1}}}}}
			change(x, n)
			return again(x, wire.AppendLeadAnswer, wire.ParseLeadAnswer)
		}
	}
	cut := map[string]bool{"title of a library": true, "description of a library": true, "title of a lead": true,
		"contact of a lead": true, "reason of a request": true}
	for _, l := range []struct {
		name string
		most int
		try  func(n int) (wrote, read []byte, err error)
	}{
		{"name of a library", 512, catalogue(func(l *concordat.OpenLibrary, n int) { l.ID = concordat.LibraryID(sized(n)) })},
		{"title of a library", 4096, catalogue(func(l *concordat.OpenLibrary, n int) { l.Title = sized(n) })},
		{"description of a library", 65535, catalogue(func(l *concordat.OpenLibrary, n int) { l.Description = sized(n) })},
		{"purposes of a library", 255, catalogue(func(l *concordat.OpenLibrary, n int) {
			l.Purposes = nil
			for i := range n {
				l.Purposes = append(l.Purposes, fmt.Sprint("p", i))
			}
		})},
		{"purpose of a lead ask", 512, func(n int) ([]byte, []byte, error) {
			return again(&concordat.LeadAsk{Epoch: epoch, Table: "t", Libraries: []concordat.LibraryID{"l"}, Purpose: sized(n)},
				wire.AppendLeadAsk, wire.ParseLeadAsk)
		}},
		{"libraries of a lead ask", 65535, func(n int) ([]byte, []byte, error) {
			a := &concordat.LeadAsk{Epoch: epoch, Table: "t", Libraries: make([]concordat.LibraryID, n)}
			for i := range a.Libraries {
				a.Libraries[i] = concordat.LibraryID(fmt.Sprint(i))
			}
			return again(a, wire.AppendLeadAsk, wire.ParseLeadAsk)
		}},
		{"places of a lead", 255, leads(func(t *concordat.LeadAnswer, n int) {
			d := &t.Documents[0]
			d.Places = nil
			for i := range n {
				d.Places = append(d.Places, concordat.Span{Start: 2 * i, End: 2*i + 1})
			}
		})},
		{"title of a lead", 4096, leads(func(t *concordat.LeadAnswer, n int) { t.Documents[0].Title = sized(n) })},
		{"contact of a lead", 4096, leads(func(t *concordat.LeadAnswer, n int) { t.Documents[0].Contact = sized(n) })},
		{"reason of a request", 4096, reveal(func(a *concordat.RevealAsk, n int) { a.Reason = sized(n) })},
		{"text of a passage", 1 << 20, reveal(func(a *concordat.RevealAsk, n int) {
			a.Level, a.Passages[0].Text = concordat.ShowOverlap, sized(n)
		})},
		{"passages of a request", 65535, reveal(func(a *concordat.RevealAsk, n int) {
			a.Passages = make([]concordat.RevealPassage, n)
			for i := range a.Passages {
				a.Passages[i].Span = concordat.Span{Start: i, End: i + 1}
			}
		})},
	} {
		var lengths []int
		for _, n := range []int{l.most - 1, l.most, l.most + 1} {
			wrote, read, err := l.try(n)
			switch {
			case n <= l.most || cut[l.name]:
				if err != nil || !bytes.Equal(wrote, read) {
					t.Errorf("%s: of %d bytes of a message come back %d, error %v", l.name, n, len(read), err)
				}
				lengths = append(lengths, len(wrote))
			case wrote != nil:
				t.Errorf("%s: %d are written, want at most %d; read with error %v", l.name, n, l.most, err)
			}
		}
		if len(lengths) < 2 || lengths[1] <= lengths[0] || cut[l.name] && (len(lengths) < 3 || lengths[2] != lengths[1]) {
			t.Errorf("%s: messages of %d bytes", l.name, lengths)
		}
	}
}

// again writes v, reads it and writes the result. wrote is nil if v was not written.
func again[T any](v *T, write func([]byte, *T) ([]byte, error), read func([]byte) (*T, error)) (wrote, back []byte, err error) {
	if wrote, err = write(nil, v); err != nil {
		return nil, nil, err
	}
	got, err := read(wrote)
	if err == nil {
		back, err = write(nil, got)
	}
	return wrote, back, err
}
