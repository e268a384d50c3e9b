package sitetest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"concordat"
	"concordat/align"
	"concordat/internal/indextest"
	"concordat/profile"
	"concordat/site"
	"concordat/site/ask"
)

// Partner is another site in this process, backed by an index and texts, with fields that make it misbehave.
type Partner struct {
	id        concordat.SiteID
	Profiler  *profile.Profiler
	sketchKey []byte
	Index     indextest.Oracle
	Level     concordat.Show
	Form      string
	least     int // minimum number of a document's sentences that must match; 0 means 1

	Refuse  *concordat.Refusal // refusal of the whole ask
	Library map[concordat.LibraryID]*concordat.Refusal
	Silent  bool // do not answer until the caller gives up
	Mangle  func(*concordat.SiteAnswer)
	Late    bool // do not answer the second round
	Outlaws func(*concordat.Outlines)
	Decide  string // state of requests for passages
	// EdgesPanic makes the call for the order of words panic.
	EdgesPanic bool
	// EdgesRefuse is the refusal of that call.
	EdgesRefuse *concordat.Refusal

	mu         sync.Mutex
	docs       map[concordat.Handle]*concordat.Profile
	Asks       []*concordat.Ask
	Reveals    []*concordat.RevealAsk
	Notices    []*concordat.Notice
	log        []shipped // for Ship
	AskedEdges int
	TellLeads  func(*concordat.LeadAsk) (*concordat.LeadAnswer, error) // nil if the partner's version does not know the request
}

type shipped struct {
	handle  concordat.Handle
	removed bool
}

var (
	_ site.Partner  = (*Partner)(nil)
	_ ask.Discloser = (*Partner)(nil)
	_ ask.Listener  = (*Partner)(nil)
	_ ask.Shipper   = (*Partner)(nil)
)

// federationKey is the federation's key in these tests.
var federationKey = []byte("0123456789abcdef0123456789abcdef")

// Keyed returns a profiler with a key.
func Keyed(t testing.TB, key []byte) *profile.Profiler {
	t.Helper()
	p, err := profile.New(profile.Options{Key: key})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// NewPartner returns an empty partner that answers at level metadata.
func NewPartner(t testing.TB, id concordat.SiteID) *Partner {
	p := Keyed(t, federationKey)
	return &Partner{id: id, Profiler: p, sketchKey: []byte("sketch"), Index: indextest.Oracle{Site: id, Scheme: p.Scheme()},
		Level: concordat.ShowMetadata, docs: map[concordat.Handle]*concordat.Profile{}}
}

func (p *Partner) handle(lib concordat.LibraryID, id concordat.DocumentID) concordat.Handle {
	sum := sha256.Sum256([]byte(fmt.Sprintf("%s/%s/%s", p.id, lib, id)))
	return concordat.Handle(sum[:16])
}

// Put adds a document.
func (p *Partner) Put(t testing.TB, lib concordat.LibraryID, id concordat.DocumentID, text string) {
	t.Helper()
	d, err := p.Profiler.ForIndex(concordat.Document{Library: lib, ID: id, Title: "Title of " + string(id), Text: text})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Index.Put(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	h := p.handle(lib, id)
	p.docs[h] = d
	p.log = append(p.log, shipped{handle: h})
}

// Remove deletes a document.
func (p *Partner) Remove(t testing.TB, lib concordat.LibraryID, id concordat.DocumentID) {
	h := p.handle(lib, id)
	delete(p.docs, h)
	p.log = append(p.log, shipped{h, true})
	if err := p.Index.Delete(t.Context(), concordat.Ref{Site: p.id, Library: lib, Document: id}); err != nil {
		t.Fatal(err)
	}
}

// Libraries returns the partner's libraries in the form that a check uses to ask about them.
func (p *Partner) Libraries(libs ...concordat.LibraryID) site.PartnerLibraries {
	return site.PartnerLibraries{Partner: p, Epoch: concordat.Epoch{Federation: "test", Number: 1}, Profiler: p.Profiler,
		SketchKey: p.sketchKey, CellKey: Key("cells"), Libraries: libs}
}

func (p *Partner) Site() concordat.SiteID { return p.id }

func (p *Partner) Leads(_ context.Context, a *concordat.LeadAsk) (*concordat.LeadAnswer, error) {
	if p.TellLeads == nil {
		return nil, errors.ErrUnsupported
	}
	return p.TellLeads(a)
}

func (p *Partner) Ask(ctx context.Context, a *concordat.Ask) (*concordat.SiteAnswer, error) {
	p.mu.Lock()
	p.Asks = append(p.Asks, a)
	p.mu.Unlock()
	if p.Silent {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if p.Refuse != nil {
		return nil, p.Refuse
	}
	t := &concordat.SiteAnswer{Statement: concordat.Statement{Site: p.id, Kind: "answer", KeyEpoch: 1, Payload: []byte("told"),
		Signature: []byte("signed")}}
	for _, l := range a.Libraries {
		if err := p.tellLibrary(ctx, a, t, l); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(t.Hits, func(x, y concordat.Hit) int {
		return cmp.Or(cmp.Compare(x.Sentence, y.Sentence), cmp.Compare(y.Closeness, x.Closeness), cmp.Compare(x.Document, y.Document),
			cmp.Compare(x.Ordinal, y.Ordinal))
	})
	if p.Mangle != nil {
		p.Mangle(t)
	}
	return t, nil
}

func (p *Partner) tellLibrary(ctx context.Context, a *concordat.Ask, t *concordat.SiteAnswer, l concordat.LibraryID) error {
	n := len(t.Libraries)
	t.Libraries = append(t.Libraries, concordat.LibraryAnswer{Library: l, Level: p.Level, Ready: 1, Standing: a.Standing, LeftSentences: -1,
		LeftDisclosures: -1})
	lib := &t.Libraries[n]
	if r := p.Library[l]; r != nil {
		lib.Level, lib.Refusal, lib.Standing = concordat.ShowNothing, r, false
		return nil
	}
	q := &concordat.Query{Scheme: a.Scheme, Libraries: []concordat.LibraryID{l}, MaxHashes: p.Profiler.MaxHashes(), Probe: a.Probe}
	for _, s := range a.Sentences {
		q.Fingerprints = append(q.Fingerprints, s.Fingerprint)
	}
	ans, err := p.Index.Match(ctx, q)
	if err != nil {
		return err
	}
	by := map[concordat.DocumentID][]concordat.Match{}
	sentences := map[int]bool{}
	for _, m := range ans.Matches {
		if _, within := p.Profiler.Closeness(concordat.Sentence{Gate: a.Sentences[m.Sentence].Gate}, m); within {
			by[m.Source.Document] = append(by[m.Source.Document], m)
			sentences[m.Sentence] = true
		}
	}
	for id, ms := range by {
		distinct := map[int]bool{}
		for _, m := range ms {
			distinct[m.Sentence] = true
		}
		if len(distinct) < p.least {
			continue
		}
		lib.Exists = true
		if p.Level == concordat.ShowExists {
			continue
		}
		lib.Documents, lib.Sentences = lib.Documents+1, len(sentences)
		if p.Level == concordat.ShowCounts {
			t.Documents = append(t.Documents, concordat.DocumentAnswer{Handle: p.handle(l, id), Library: n, Matches: len(distinct)})
			continue
		}
		t.Documents = append(t.Documents, concordat.DocumentAnswer{Handle: p.handle(l, id), Library: n, Matches: len(distinct),
			Title: "Title of " + string(id), Author: "A. Writer", Contact: "librarian@" + string(p.id), Outline: p.Form})
		for _, m := range ms {
			c, _ := p.Profiler.Closeness(concordat.Sentence{Gate: a.Sentences[m.Sentence].Gate}, m)
			t.Hits = append(t.Hits, concordat.Hit{Sentence: m.Sentence, Document: len(t.Documents) - 1, Ordinal: m.Ordinal, Closeness: c,
				Documents: m.Documents})
		}
	}
	return nil
}

func (p *Partner) Outline(ctx context.Context, a *concordat.OutlineAsk) (*concordat.Outlines, error) {
	if p.Late {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	out := &concordat.Outlines{Statement: concordat.Statement{Site: p.id, Kind: "outline", Payload: []byte("outlined")}}
	for _, d := range a.Documents {
		doc := p.docs[d.Handle]
		o := concordat.Outline{Handle: d.Handle, Form: p.Form, Length: len(doc.Document.Text)}
		switch p.Form {
		case concordat.OutlineWords:
			s, err := align.Prepare(doc.Document.Text).Sketch(p.sketchKey, align.DefaultSketchBits)
			if err != nil {
				return nil, err
			}
			var spans []concordat.Span
			for _, n := range d.Ordinals {
				spans = append(spans, doc.Indexed[n].Span)
			}
			s = s.Near(spans, 20)
			o.Bits = s.Bits
			for _, u := range s.Units {
				o.Units = append(o.Units, concordat.OutlineUnit{Ordinal: u.Ordinal, Span: u.Span, Chars: u.Chars, Words: u.Words})
			}
		case concordat.OutlineFingerprints:
			ps, err := ask.Prints(p.Profiler, doc)
			if err != nil {
				return nil, err
			}
			prepared := align.Prepare(doc.Document.Text)
			for i, x := range ps {
				o.Units = append(o.Units, concordat.OutlineUnit{Ordinal: i, Span: x.Span, Chars: x.Chars, Features: x.Features,
					Fingerprint: x.Fingerprint, Check: prepared.Check(p.sketchKey, x.Span)})
			}
		}
		out.Documents = append(out.Documents, o)
	}
	if p.Outlaws != nil {
		p.Outlaws(out)
	}
	return out, nil
}

func (p *Partner) Edges(_ context.Context, a *concordat.EdgesAsk) (*concordat.Edges, error) {
	p.mu.Lock()
	p.AskedEdges++
	p.mu.Unlock()
	if p.EdgesPanic {
		panic("compared")
	}
	if p.EdgesRefuse != nil {
		return nil, p.EdgesRefuse
	}
	out := &concordat.Edges{}
	text := align.Prepare(p.docs[a.Handle].Document.Text)
	for _, x := range a.Passages {
		ours, err := text.Order(p.sketchKey, x.Span)
		if err != nil {
			return nil, err
		}
		theirs := align.Order{Words: x.Words, Spans: make([]concordat.Span, len(x.Words))}
		for i := range theirs.Spans {
			theirs.Spans[i] = concordat.Span{Start: i, End: i + 1}
		}
		found, err := align.Copies(theirs, ours, align.Options{})
		if err != nil {
			return nil, err
		}
		var copies []concordat.EdgeCopy
		for _, f := range found {
			copies = append(copies, concordat.EdgeCopy{From: f.A.Start, To: f.A.End, Span: f.B})
		}
		out.Passages = append(out.Passages, copies)
	}
	return out, nil
}

func (p *Partner) Reveal(_ context.Context, a *concordat.RevealAsk) (*concordat.Revealed, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Reveals = append(p.Reveals, a)
	out := &concordat.Revealed{State: cmp.Or(p.Decide, concordat.DisclosureGranted), Words: "by the librarian"}
	if out.State != concordat.DisclosureGranted {
		return out, nil
	}
	text := p.docs[a.Handle].Document.Text
	for _, x := range a.Passages {
		r := concordat.RevealedPassage{}
		for _, q := range align.Pair(align.Prepare(x.Text), align.Prepare(x.Span.In(text)), align.Options{}) {
			for _, w := range q.Words {
				r.Shared = append(r.Shared, w.Span)
			}
		}
		if a.Level == concordat.ShowPassage {
			r.Text = x.Span.In(text)
		}
		out.Passages = append(out.Passages, r)
	}
	return out, nil
}

// Ship sends two changes at a time; the cursor counts them.
func (p *Partner) Ship(_ context.Context, a *concordat.ShipAsk) (*concordat.Shipment, error) {
	if p.Refuse != nil {
		return nil, p.Refuse
	}
	from := 0
	if len(a.Cursor) > 0 {
		from = int(a.Cursor[0])
	}
	to := min(from+2, len(p.log))
	out := &concordat.Shipment{Scheme: p.Profiler.Scheme(), Cursor: []byte{byte(to)}, More: to < len(p.log)}
	for _, x := range p.log[from:to] {
		d := concordat.ShippedDocument{Handle: x.handle, Removed: x.removed || p.docs[x.handle] == nil}
		if doc := p.docs[x.handle]; doc != nil {
			d.Title, d.Author = doc.Document.Title, "A. Writer"
			for i, s := range doc.Indexed {
				d.Sentences = append(d.Sentences, concordat.ShippedSentence{Fingerprint: s.Fingerprint, Ordinal: i})
			}
		}
		out.Documents = append(out.Documents, d)
	}
	return out, nil
}

func (p *Partner) Notify(_ context.Context, n *concordat.Notice) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Notices = append(p.Notices, n)
	return nil
}

// MirrorOf returns a partner's library lib, mirrored in an index.
func MirrorOf(n *Partner, index concordat.Index) site.MirroredLibrary {
	return site.MirroredLibrary{Site: n.id, Library: "lib", Epoch: concordat.Epoch{Federation: "test", Number: 1}, Profiler: n.Profiler,
		Index: index}
}
