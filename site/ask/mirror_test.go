package ask_test

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"concordat"
	"concordat/internal/indextest"
	"concordat/internal/sitetest"
	"concordat/site"
	"concordat/site/ask"
)

// broken is a partner whose shipments fail after a given number.
type broken struct {
	*sitetest.Partner
	left int
}

func (b *broken) Ship(ctx context.Context, a *concordat.ShipAsk) (*concordat.Shipment, error) {
	if b.left--; b.left < 0 {
		return nil, concordat.ErrUnavailable
	}
	return b.Partner.Ship(ctx, a)
}

// TestSyncMirror: a mirror is fetched in parts, resumed, kept up to date, searched without a question to its owner, and deleted when the
// owner closes the library.
func TestSyncMirror(t *testing.T) {
	ctx := t.Context()
	p := sitetest.NewHere(t, "")
	north := sitetest.NewPartner(t, "north")
	for i, text := range []string{sitetest.Glacier, sitetest.Bakery, sitetest.Orchard, sitetest.Foundry, sitetest.Winter} {
		north.Put(t, "lib", concordat.DocumentID('a'+rune(i)), text)
	}
	index := &indextest.Oracle{Site: "here", Scheme: north.Profiler.Scheme()}
	m := sitetest.MirrorOf(north, index)
	cut := &broken{north, 2}
	if got, err := p.SyncMirror(ctx, cut, m, nil); !errors.Is(err, concordat.ErrUnavailable) || got.Documents != 4 {
		t.Fatalf("cut short: %+v, %v", got, err)
	}
	cut.left = 99
	if got, err := p.SyncMirror(ctx, cut, m, nil); err != nil || got.Documents != 1 || !got.Complete || cut.left != 98 {
		t.Fatalf("resumed: %+v, %v, %d shipments left", got, err, cut.left)
	}
	check := func(want ...string) {
		t.Helper()
		f := p.Found(t, sitetest.Glacier+"\n\n"+sitetest.Bakery+"\n\n"+sitetest.Garden, site.CheckOptions{Mirrors: []site.MirroredLibrary{m}})
		if got := sitetest.FoundAt(f); !slices.Equal(got, want) {
			t.Errorf("sources %v, want %v", got, want)
		}
		if len(north.Asks) > 0 {
			t.Error("the partner was asked")
		}
		if len(want) == 0 {
			return
		}
		if c := sitetest.LineOf(t, f, "north", "lib"); c.Mirror.IsZero() || c.Asked == 0 || c.Answered != c.Asked ||
			c.Exposed != (concordat.Exposed{}) {
			t.Errorf("line %+v", c)
		}
		if f.Partners[0].Author != "A. Writer" {
			t.Errorf("partners' sources %+v", f.Partners)
		}
		if _, err := p.Reveal(ctx, f.Task, ask.RevealRequest{Partner: north}, 0); !errors.Is(err, concordat.ErrInvalid) {
			t.Errorf("a mirror's passage was revealed: %v", err)
		}
	}
	check("north/Title of a", "north/Title of b")
	north.Remove(t, "lib", "b")
	north.Put(t, "lib", "g", sitetest.Garden)
	if got, err := p.SyncMirror(ctx, north, m, nil); err != nil || got.Removed != 1 || got.Documents != 1 {
		t.Errorf("what changed: %+v, %v", got, err)
	}
	check("north/Title of a", "north/Title of g")
	if ms, err := p.Mirrors(ctx); err != nil || len(ms) != 1 || ms[0].Documents != 5 || !ms[0].Complete {
		t.Errorf("mirrors %+v, %v", ms, err)
	}

	// A withdrawn mirror is not used once the notice has arrived, and is deleted at the next call.
	if _, err := p.Noticed(ctx, "south", &concordat.Notice{Kind: concordat.NoticeWithdrawn, Library: "lib"}); err != nil {
		t.Fatal(err)
	}
	check("north/Title of a", "north/Title of g") // a notice from another site does not count
	if _, err := p.Noticed(ctx, "north", &concordat.Notice{Kind: concordat.NoticeWithdrawn, Library: "lib"}); err != nil {
		t.Fatal(err)
	}
	check()
	north.Refuse = &concordat.Refusal{Reason: concordat.ReasonLibrary}
	if got, err := p.SyncMirror(ctx, north, m, nil); err != nil || !got.Withdrawn {
		t.Errorf("withdrawn: %+v, %v", got, err)
	}
	if a, err := index.Match(ctx, &concordat.Query{Scheme: index.Scheme, MaxDistance: 100,
		Fingerprints: make([]concordat.Fingerprint, 1)}); err != nil || len(a.Matches) != 0 {
		t.Errorf("the index still holds %d sentences, %v", len(a.Matches), err)
	}
	if ms, err := p.Mirrors(ctx); err != nil || len(ms) != 0 {
		t.Errorf("mirrors %+v, %v", ms, err)
	}
}

// TestSyncMirrorGarbage: nothing from an impossible shipment is stored.
func TestSyncMirrorGarbage(t *testing.T) {
	p := sitetest.NewHere(t, "")
	north := sitetest.NewPartner(t, "north")
	north.Put(t, "lib", "a", sitetest.Glacier+sitetest.Bakery)
	for name, spoil := range map[string]func(*concordat.Shipment){
		"scheme": func(s *concordat.Shipment) { s.Scheme = "other@0123456789abcdef" },
		"order": func(s *concordat.Shipment) {
			s.Documents[0].Sentences[0].Ordinal = 7
			s.Documents[0].Sentences = append(s.Documents[0].Sentences, concordat.ShippedSentence{})
		},
		"negative": func(s *concordat.Shipment) { s.Documents[0].Sentences[0].Ordinal = -1 },
		"cursor":   func(s *concordat.Shipment) { s.Cursor = make([]byte, 65) },
		"endless":  func(s *concordat.Shipment) { s.Cursor, s.More = nil, true },
	} {
		index := &indextest.Oracle{Site: "here", Scheme: north.Profiler.Scheme()}
		if _, err := p.SyncMirror(t.Context(), &shipper{north, spoil}, sitetest.MirrorOf(north, index), nil); err == nil {
			t.Errorf("%s: taken", name)
		}
		if a, err := index.Match(t.Context(), &concordat.Query{Scheme: index.Scheme, MaxDistance: 100,
			Fingerprints: make([]concordat.Fingerprint, 1)}); err != nil || len(a.Matches) != 0 {
			t.Errorf("%s: %d sentences put, %v", name, len(a.Matches), err)
		}
	}
}

// endless is a partner that always announces more to send, with or without documents.
type endless struct {
	*sitetest.Partner
	empty    bool
	shipment uint32
}

func (e *endless) Ship(context.Context, *concordat.ShipAsk) (*concordat.Shipment, error) {
	e.shipment++
	at := binary.BigEndian.AppendUint32(nil, e.shipment)
	sh := &concordat.Shipment{Scheme: e.Profiler.Scheme(), Cursor: at, More: true}
	if !e.empty {
		d := concordat.ShippedDocument{Sentences: make([]concordat.ShippedSentence, 1)}
		copy(d.Handle[:], at)
		sh.Documents = append(sh.Documents, d)
	}
	return sh, nil
}

// TestSyncMirrorEndless: an endless partner can fill the disk only to the low-water mark, and the site stops listening to it.
func TestSyncMirrorEndless(t *testing.T) {
	p := sitetest.NewHere(t, "")
	index := &indextest.Oracle{Site: "here"}
	full := errors.New("no room")
	left := 5
	asks := ask.New(p.Site, ask.Options{Store: p.Store, Room: func() error {
		if left--; left < 0 {
			return full
		}
		return nil
	}})
	north := sitetest.NewPartner(t, "north")
	index.Scheme = north.Profiler.Scheme()
	from := &endless{Partner: north}
	if got, err := asks.SyncMirror(t.Context(), from, sitetest.MirrorOf(north, index), nil); !errors.Is(err, full) || got.Documents != 5 {
		t.Errorf("got %+v, %v, want five documents and that there is no more room", got, err)
	}
	left = 1
	if got, err := asks.SyncMirror(t.Context(), from, sitetest.MirrorOf(north, index), nil); !errors.Is(err, full) || got.Documents != 1 {
		t.Errorf("with room again: %+v, %v, want one document more", got, err)
	}
	alarmed(t, p, "north", false)
	left, from.empty = 1<<30, true
	if _, err := asks.SyncMirror(t.Context(), from, sitetest.MirrorOf(north, index), nil); err == nil || from.shipment > 1100 {
		t.Errorf("%d shipments of nothing: %v", from.shipment, err)
	}
	alarmed(t, p, "north", true)
}

type shipper struct {
	*sitetest.Partner
	spoil func(*concordat.Shipment)
}

func (s *shipper) Ship(ctx context.Context, a *concordat.ShipAsk) (*concordat.Shipment, error) {
	out, err := s.Partner.Ship(ctx, a)
	if err == nil {
		s.spoil(out)
	}
	return out, err
}
