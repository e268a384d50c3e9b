package wire_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"concordat"
	"concordat/federation/wire"
)

// message is a message layout, with functions that generate a random message, write it and read it.
type message struct {
	name   string
	random func(r *gen) any
	write  func(v any) ([]byte, error)
	read   func(b []byte) (any, error)
}

func of[T any](name string, random func(r *gen) *T, write func([]byte, *T) ([]byte, error), read func([]byte) (*T, error)) message {
	return message{
		name:   name,
		random: func(r *gen) any { return random(r) },
		write:  func(v any) ([]byte, error) { return write(nil, v.(*T)) },
		read: func(b []byte) (any, error) {
			v, err := read(b)
			return v, err
		},
	}
}

// bare returns the layout of a message without content.
func bare(name string, write func([]byte) ([]byte, error), read func([]byte) error) message {
	return of(name, func(*gen) *struct{} { return &struct{}{} },
		func(b []byte, _ *struct{}) ([]byte, error) { return write(b) },
		func(b []byte) (*struct{}, error) { return &struct{}{}, read(b) })
}

var messages = []message{
	of("ask", (*gen).ask, wire.AppendAsk, wire.ParseAsk),
	of("tell", (*gen).epochAnswer, wire.AppendAnswer, wire.ParseAnswer),
	of("error", (*gen).refusal, wire.AppendRefusal, wire.ParseRefusal),
	bare("catalogue ask", wire.AppendCatalogueAsk, wire.ParseCatalogueAsk),
	of("catalogue", (*gen).catalogue, wire.AppendCatalogue, wire.ParseCatalogue),
	of("outline ask", (*gen).outlineAsk, wire.AppendOutlineAsk, wire.ParseOutlineAsk),
	of("outlines", (*gen).outlines, wire.AppendOutlines, wire.ParseOutlines),
	of("edges ask", (*gen).edgesAsk, wire.AppendEdgesAsk, wire.ParseEdgesAsk),
	of("edges", (*gen).edges, wire.AppendEdges, wire.ParseEdges),
	of("reveal ask", (*gen).revealAsk, wire.AppendRevealAsk, wire.ParseRevealAsk),
	of("revealed", (*gen).revealed, wire.AppendRevealed, wire.ParseRevealed),
	of("ship ask", (*gen).shipAsk, wire.AppendShipAsk, wire.ParseShipAsk),
	of("shipment", (*gen).shipment, wire.AppendShipment, wire.ParseShipment),
	of("notice", (*gen).notice, wire.AppendNotice, wire.ParseNotice),
	bare("received", wire.AppendReceived, wire.ParseReceived),
	of("grant ask", (*gen).grantAsk, wire.AppendGrantAsk, wire.ParseGrantAsk),
	of("grant", (*gen).card,
		func(b []byte, p *[]byte) ([]byte, error) { return wire.AppendGrant(b, *p) },
		func(b []byte) (*[]byte, error) {
			p, err := wire.ParseGrant(b)
			return &p, err
		}),
	bare("card ask", wire.AppendCardAsk, wire.ParseCardAsk),
	of("card", (*gen).card,
		func(b []byte, p *[]byte) ([]byte, error) { return wire.AppendCard(b, *p) },
		func(b []byte) (*[]byte, error) {
			p, err := wire.ParseCard(b)
			return &p, err
		}),
	bare("head ask", wire.AppendHeadAsk, wire.ParseHeadAsk),
	of("head", (*gen).head, wire.AppendHead, wire.ParseHead),
	of("request", (*gen).request, wire.AppendRequest, wire.ParseRequest),
	of("reply", (*gen).reply, wire.AppendReply, wire.ParseReply),
	of("lead ask", (*gen).leadAsk, wire.AppendLeadAsk, wire.ParseLeadAsk),
	of("leads", (*gen).leads, wire.AppendLeadAnswer, wire.ParseLeadAnswer),
}

// TestRoundTrip: the message read equals the message written, the same message always has the same bytes, and every shorter or longer
// message is refused.
func TestRoundTrip(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for _, m := range messages {
		t.Run(m.name, func(t *testing.T) {
			g := newGen(seed)
			for range 15 {
				v := m.random(g)
				b, err := m.write(v)
				if err != nil {
					t.Fatalf("write %+v: %v", v, err)
				}
				got, err := m.read(b)
				if err != nil {
					t.Fatalf("read what was written of %+v: %v", v, err)
				}
				if diff := cmp.Diff(v, got, cmpopts.EquateEmpty(), cmpopts.IgnoreTypes(concordat.Statement{})); diff != "" {
					t.Fatalf("read back (-written +read):\n%s", diff)
				}
				again, err := m.write(got)
				if err != nil || !bytes.Equal(again, b) {
					t.Fatalf("written again: other bytes, error %v", err)
				}
				if _, err := m.read(append(bytes.Clone(b), 0)); !errors.Is(err, wire.ErrFormat) {
					t.Fatalf("a byte after the end: error %v, want ErrFormat", err)
				}
				for _, n := range []int{0, 1, len(b) - 1, g.IntN(len(b))} {
					if n == len(b) {
						continue
					}
					if _, err := m.read(b[:n]); !errors.Is(err, wire.ErrFormat) {
						t.Fatalf("cut to %d of %d bytes: error %v, want ErrFormat", n, len(b), err)
					}
				}
			}
		})
	}
}

// TestNames: an identity of 512 bytes arrives in full, and a longer one is refused and never truncated; a title that is too long is
// truncated between letters.
func TestNames(t *testing.T) {
	long := strings.Repeat("x", 512)
	for name, good := range map[string]bool{"": false, "x": true, long: true, long + "x": false, "\xff": false} {
		b, err := wire.AppendShipAsk(nil, &concordat.ShipAsk{Epoch: concordat.Epoch{Federation: "f", Number: 1},
			Library: concordat.LibraryID(name)})
		if good != (err == nil) || !good && !errors.Is(err, concordat.ErrInvalid) {
			t.Errorf("a name of %d bytes: error %v", len(name), err)
			continue
		}
		if a, err := wire.ParseShipAsk(b); good && (err != nil || string(a.Library) != name) {
			t.Errorf("a name of %d bytes was read as one of %d, error %v", len(name), len(a.Library), err)
		}
	}
	s := &concordat.Shipment{Scheme: "s", Documents: []concordat.ShippedDocument{{Title: "x" + strings.Repeat("汉", 2000), Author: "a\xffb"}}}
	b, err := wire.AppendShipment(nil, s)
	if err != nil {
		t.Fatal(err)
	}
	got, err := wire.ParseShipment(b)
	if err != nil {
		t.Fatal(err)
	}
	if d := got.Documents[0]; d.Title != "x"+strings.Repeat("汉", 1365) || d.Author != "a\uFFFDb" {
		t.Errorf("a title of %d bytes ending in %q, an author %q", len(d.Title), d.Title[len(d.Title)-3:], d.Author)
	}
}

// TestOneReading: no two byte strings mean the same message. A message with one changed byte is either refused or read as a different
// message.
func TestOneReading(t *testing.T) {
	for _, m := range messages {
		t.Run(m.name, func(t *testing.T) {
			g := newGen(1)
			b, err := m.write(m.random(g))
			if err != nil {
				t.Fatal(err)
			}
			for i := 0; i < len(b); i += 1 + len(b)/2000 {
				changed := bytes.Clone(b)
				changed[i] ^= byte(1 + g.IntN(255))
				checkReading(t, m, changed)
			}
		})
	}
}

// checkReading fails if m reads b but writes different bytes.
func checkReading(t *testing.T, m message, b []byte) {
	t.Helper()
	v, err := m.read(b)
	if err != nil {
		if !errors.Is(err, wire.ErrFormat) {
			t.Fatalf("error %v, want ErrFormat", err)
		}
		return
	}
	again, err := m.write(v)
	if err != nil {
		t.Fatalf("what was read cannot be written: %v", err)
	}
	if !bytes.Equal(again, b) {
		t.Fatalf("two readings:\n%x\n%x", b, again)
	}
}

// allocationFactor limits the bytes that a reader allocates per byte of input.
const allocationFactor = 16

// TestAllocation: counts that claim more elements than there are cost nothing.
func TestAllocation(t *testing.T) {
	for _, m := range messages {
		t.Run(m.name, func(t *testing.T) {
			g := newGen(2)
			b, err := m.write(m.random(g))
			if err != nil {
				t.Fatal(err)
			}
			for i := 0; i < len(b); i += 1 + len(b)/100 {
				for _, claim := range [][]byte{{0xff, 0xff, 0xff, 0xff}, {0x7f, 0xff, 0xff, 0xff}, {0, 0xff, 0xff, 0xff}, {0xff}} {
					hostile := bytes.Clone(b)
					copy(hostile[i:], claim)
					if got, most := allocated(m, hostile), uint64(allocationFactor*len(hostile)+8192); got > most {
						t.Fatalf("%d bytes allocated for %d, at most %d (claim at %d)", got, len(hostile), most, i)
					}
				}
			}
		})
	}
}

func allocated(m message, b []byte) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _ = m.read(b)
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func fuzz(f *testing.F, names ...string) {
	for _, m := range messages {
		for _, name := range names {
			if m.name != name {
				continue
			}
			g := newGen(3)
			for range 4 {
				b, err := m.write(m.random(g))
				if err != nil {
					f.Fatal(err)
				}
				f.Add(b)
			}
			f.Fuzz(func(t *testing.T, b []byte) { checkReading(t, m, b) })
			return
		}
	}
	f.Fatalf("no message %q", names)
}

func FuzzAsk(f *testing.F)        { fuzz(f, "ask") }
func FuzzAnswer(f *testing.F)     { fuzz(f, "tell") }
func FuzzError(f *testing.F)      { fuzz(f, "error") }
func FuzzCatalogue(f *testing.F)  { fuzz(f, "catalogue") }
func FuzzOutlineAsk(f *testing.F) { fuzz(f, "outline ask") }
func FuzzOutlines(f *testing.F)   { fuzz(f, "outlines") }
func FuzzEdgesAsk(f *testing.F)   { fuzz(f, "edges ask") }
func FuzzEdges(f *testing.F)      { fuzz(f, "edges") }
func FuzzRevealAsk(f *testing.F)  { fuzz(f, "reveal ask") }
func FuzzRevealed(f *testing.F)   { fuzz(f, "revealed") }
func FuzzLeadAsk(f *testing.F)    { fuzz(f, "lead ask") }
func FuzzLeads(f *testing.F)      { fuzz(f, "leads") }
func FuzzShipAsk(f *testing.F)    { fuzz(f, "ship ask") }
func FuzzShipment(f *testing.F)   { fuzz(f, "shipment") }
func FuzzNotice(f *testing.F)     { fuzz(f, "notice") }
func FuzzGrant(f *testing.F)      { fuzz(f, "grant") }
func FuzzCard(f *testing.F)       { fuzz(f, "card") }
func FuzzHead(f *testing.F)       { fuzz(f, "head") }
func FuzzRequest(f *testing.F)    { fuzz(f, "request") }
func FuzzReply(f *testing.F)      { fuzz(f, "reply") }

// gen generates random messages.
type gen struct{ *rand.Rand }

func newGen(seed uint64) *gen { return &gen{rand.New(rand.NewPCG(seed, 0))} }

func (g *gen) fill(p []byte) {
	for i := range p {
		p[i] = byte(g.IntN(256))
	}
}

func (g *gen) text(most int) string {
	letters := []rune("abc 汉字 éß\n\"<𝄞")
	s := make([]rune, g.IntN(most/4+1))
	for i := range s {
		s[i] = letters[g.IntN(len(letters))]
	}
	return string(s)
}

func (g *gen) id() string { return "x" + g.text(100) }

func (g *gen) time() time.Time {
	if g.IntN(4) == 0 {
		return time.Time{}
	}
	return time.UnixMilli(g.Int64N(1<<42) - 1<<41).UTC()
}

func (g *gen) bool() bool { return g.IntN(2) == 0 }

func (g *gen) number() int { return g.IntN(1 << g.IntN(31)) }

func (g *gen) left() int { return max(g.number()-1000, -1) }

func (g *gen) span() concordat.Span {
	a := g.IntN(1 << 30)
	return concordat.Span{Start: a, End: a + g.IntN(1<<20)}
}

func (g *gen) fingerprint() concordat.Fingerprint {
	return concordat.FingerprintFromHalves(g.Uint64()&(1<<36-1), g.Uint64())
}

func (g *gen) epoch() concordat.Epoch {
	return concordat.Epoch{Federation: concordat.FederationID(g.id()), Number: 1 + g.Uint32N(1<<31)}
}

func (g *gen) share() float64 { return float64(g.IntN(1e6+1)) / 1e6 }

func some[T any](g *gen, least, most int, each func() T) []T {
	s := make([]T, least+g.IntN(most-least+1))
	for i := range s {
		s[i] = each()
	}
	return s
}

func pick[T any](g *gen, from ...T) T { return from[g.IntN(len(from))] }

func (g *gen) refusal() *concordat.Refusal {
	return &concordat.Refusal{Reason: pick(g, concordat.ReasonLibrary, concordat.ReasonBudget, concordat.ReasonFault), Words: g.text(200),
		Retry: g.time()}
}

func (g *gen) maybe() *concordat.Refusal {
	if g.bool() {
		return nil
	}
	return g.refusal()
}

func (g *gen) level() concordat.Show { return pick(g, concordat.Levels()...) }

func (g *gen) form() string {
	return pick(g, "", concordat.OutlineWords, concordat.OutlineFingerprints)
}

func (g *gen) ask() *concordat.Ask {
	a := &concordat.Ask{
		Epoch: g.epoch(), Scheme: concordat.Scheme(g.id()), Level: g.level(), Probe: concordat.Probe(g.IntN(2)),
		Standing: g.bool(), Purpose: g.text(60),
		Libraries: some(g, 1, 4, func() concordat.LibraryID { return concordat.LibraryID(g.id()) }),
		Authors:   some(g, 0, 3, func() (p [16]byte) { g.fill(p[:]); return p }),
	}
	g.fill(a.Job[:])
	g.fill(a.Commitment[:])
	a.Sentences = make([]concordat.AskedSentence, pick(g, 64, 128, 256))
	for i := range a.Sentences {
		a.Sentences[i] = concordat.AskedSentence{Fingerprint: g.fingerprint(), Gate: g.IntN(101)}
	}
	return a
}

func (g *gen) siteAnswer() concordat.SiteAnswer {
	t := concordat.SiteAnswer{Libraries: some(g, 1, 4, func() concordat.LibraryAnswer {
		return concordat.LibraryAnswer{
			Library: concordat.LibraryID(g.id()), Level: g.level(), Refusal: g.maybe(), Ready: g.share(), Exists: g.bool(),
			Documents: g.number(), Sentences: g.number(), Missing: g.number(), Capped: g.number(),
			LeftSentences: g.left(), LeftDisclosures: g.left(), Standing: g.bool(),
		}
	})}
	t.Documents = some(g, 0, 5, func() concordat.DocumentAnswer {
		d := concordat.DocumentAnswer{
			Library: g.IntN(len(t.Libraries)), Matches: g.number(), Title: g.text(300), Author: g.text(80),
			Contact: g.text(80), Date: g.time(), Outline: g.form(),
		}
		g.fill(d.Handle[:])
		return d
	})
	if len(t.Documents) > 0 {
		t.Hits = some(g, 0, 40, func() concordat.Hit {
			return concordat.Hit{Sentence: g.IntN(64), Document: g.IntN(len(t.Documents)), Ordinal: g.number(),
				Closeness: concordat.Closeness(g.IntN(3)), Documents: g.number()}
		})
	}
	return t
}

func (g *gen) epochAnswer() *wire.EpochAnswer {
	return &wire.EpochAnswer{Epoch: g.epoch(), Scheme: concordat.Scheme(g.id()), Answer: g.siteAnswer()}
}

func (g *gen) catalogue() *concordat.Catalogue {
	return &concordat.Catalogue{Heads: some(g, 0, 3, func() []byte {
		b := make([]byte, 148)
		for i := range b {
			b[i] = byte(g.IntN(256))
		}
		return b
	}), Libraries: some(g, 0, 5, func() concordat.OpenLibrary {
		return concordat.OpenLibrary{
			ID: concordat.LibraryID(g.id()), Title: g.text(100), Description: g.text(1000), Documents: g.number(), Level: g.level(),
			Outline: g.form(), Purposes: some(g, 0, 3, g.id), Ship: g.bool(), Standing: g.bool(),
			Ready: some(g, 0, 3, func() concordat.EpochReadiness {
				return concordat.EpochReadiness{Epoch: g.epoch(), Scheme: concordat.Scheme(g.id()), Ready: g.share()}
			}),
			Embargo: g.time(), Expires: g.time(), Sentences: g.left(), Disclosures: g.left(),
		}
	})}
}

func (g *gen) outlineAsk() *concordat.OutlineAsk {
	a := &concordat.OutlineAsk{Epoch: g.epoch(), Documents: some(g, 1, 4, func() concordat.OutlineOf {
		var d concordat.OutlineOf
		g.fill(d.Handle[:])
		last := -1
		d.Ordinals = some(g, 0, 20, func() int { last += 1 + g.IntN(100); return last })
		return d
	})}
	g.fill(a.Job[:])
	return a
}

func (g *gen) outlines() *concordat.Outlines {
	return &concordat.Outlines{Documents: some(g, 0, 3, func() concordat.Outline {
		o := concordat.Outline{Length: g.number()}
		g.fill(o.Handle[:])
		if g.IntN(4) == 0 {
			o.Refusal = g.refusal()
			return o
		}
		if o.Form = concordat.OutlineFingerprints; g.bool() {
			o.Form, o.Bits = concordat.OutlineWords, 6+g.IntN(11)
		}
		o.Units = some(g, 0, 20, func() concordat.OutlineUnit {
			u := concordat.OutlineUnit{Ordinal: g.number(), Span: g.span(), Chars: g.number()}
			if o.Form == concordat.OutlineFingerprints {
				u.Features, u.Fingerprint, u.Check = g.IntN(1<<16), g.fingerprint(), g.IntN(1<<31)
				return u
			}
			for w := g.IntN(8); w < 1<<o.Bits && len(u.Words) < 30; w += 1 + g.IntN(8) {
				u.Words = append(u.Words, uint16(w))
			}
			return u
		})
		return o
	})}
}

func (g *gen) edgesAsk() *concordat.EdgesAsk {
	a := &concordat.EdgesAsk{Epoch: g.epoch(), Passages: some(g, 1, 5, func() concordat.EdgePassage {
		p := concordat.EdgePassage{Span: g.span()}
		if n := g.IntN(50); n > 0 {
			p.Words = make([]byte, n)
			g.fill(p.Words)
		}
		return p
	})}
	g.fill(a.Job[:])
	g.fill(a.Handle[:])
	return a
}

func (g *gen) edges() *concordat.Edges {
	return &concordat.Edges{Passages: some(g, 0, 4, func() []concordat.EdgeCopy {
		return some(g, 0, 5, func() concordat.EdgeCopy {
			return concordat.EdgeCopy{From: g.IntN(1 << 20), To: g.IntN(1 << 20), Span: g.span()}
		})
	})}
}

func (g *gen) revealAsk() *concordat.RevealAsk {
	a := &concordat.RevealAsk{
		Epoch: g.epoch(), Level: pick(g, concordat.ShowOverlap, concordat.ShowPassage), Reason: g.text(300), Contact: g.text(100),
		Passages: some(g, 1, 4, func() concordat.RevealPassage { return concordat.RevealPassage{Span: g.span(), Text: g.text(2000)} }),
	}
	g.fill(a.Job[:])
	g.fill(a.Handle[:])
	return a
}

func (g *gen) revealed() *concordat.Revealed {
	return &concordat.Revealed{
		State: pick(g, concordat.DisclosureGranted, concordat.DisclosurePending, concordat.DisclosureWithdrawn), Words: g.text(300),
		Until: g.time(),
		Passages: some(g, 0, 3, func() concordat.RevealedPassage {
			return concordat.RevealedPassage{Shared: some(g, 0, 9, g.span), Text: g.text(1000)}
		}),
	}
}

func (g *gen) shipAsk() *concordat.ShipAsk {
	a := &concordat.ShipAsk{Epoch: g.epoch(), Library: concordat.LibraryID(g.id()), Cursor: make([]byte, g.IntN(65))}
	g.fill(a.Cursor)
	return a
}

func (g *gen) shipment() *concordat.Shipment {
	s := &concordat.Shipment{Scheme: concordat.Scheme(g.id()), More: g.bool(), Cursor: make([]byte, g.IntN(65))}
	g.fill(s.Cursor)
	s.Documents = some(g, 0, 5, func() concordat.ShippedDocument {
		d := concordat.ShippedDocument{Removed: g.IntN(4) == 0}
		g.fill(d.Handle[:])
		if !d.Removed {
			d.Withheld = g.IntN(4) == 0
		}
		if d.Removed || d.Withheld {
			return d
		}
		d.Title, d.Author, d.Contact, d.Date = g.text(100), g.text(50), g.text(50), g.time()
		d.Sentences = some(g, 0, 30, func() concordat.ShippedSentence {
			return concordat.ShippedSentence{Fingerprint: g.fingerprint(), Ordinal: g.number()}
		})
		return d
	})
	return s
}

func (g *gen) notice() *concordat.Notice {
	n := &concordat.Notice{Kind: pick(g, concordat.NoticeAlert, concordat.NoticeWithdrawn, concordat.NoticeDisclosure,
		concordat.NoticeEnded, concordat.NoticeCase), Library: concordat.LibraryID(g.text(20)), Words: g.text(100), At: g.time()}
	g.fill(n.Job[:])
	if n.Kind == concordat.NoticeAlert {
		t := g.siteAnswer()
		n.Answer, n.Asked = &t, 64
	}
	if n.Kind == concordat.NoticeCase {
		n.Case = &concordat.CaseNote{State: pick(g, concordat.CaseStates()...), Decision: pick(g, concordat.CaseDecisions()...),
			Contact: g.text(80)}
		g.fill(n.Case.ID[:])
		g.fill(n.Case.Receipt[:])
	}
	return n
}

func (g *gen) grantAsk() *wire.GrantAsk {
	return &wire.GrantAsk{Federation: concordat.FederationID(g.id())}
}

func (g *gen) card() *[]byte {
	b := make([]byte, 1+g.IntN(3000))
	g.fill(b)
	return &b
}

func (g *gen) head() *wire.Head {
	h := &wire.Head{Seq: g.Uint64(), At: g.time(), KeyEpoch: g.Uint32()}
	g.fill(h.Hash[:])
	g.fill(h.Signature[:])
	return h
}

func (g *gen) request() *wire.Request {
	r := &wire.Request{Card: g.Uint64(), Known: g.Uint64(), Head: *g.head(), Payload: make([]byte, 1+g.IntN(20000))}
	g.fill(r.Payload)
	return r
}

func (g *gen) reply() *wire.Reply {
	r := &wire.Reply{Card: g.Uint64(), Head: *g.head(), At: g.time(), KeyEpoch: g.Uint32(), Payload: make([]byte, 1+g.IntN(20000))}
	g.fill(r.Signature[:])
	g.fill(r.Payload)
	return r
}
