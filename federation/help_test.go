package federation_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"concordat"
	"concordat/internal/fedtest"
)

const scheme concordat.Scheme = "natural@0123456789abcdef"

// scan is an answerer that compares every sentence with every other one, which defines the correct answer. It records the questions.
type scan struct {
	documents [][]concordat.Fingerprint
	title     string
	level     concordat.Show

	mu      sync.Mutex
	asks    []*concordat.Ask
	from    []concordat.SiteID
	notices []*concordat.Notice
	reveals []*concordat.RevealAsk
	before  func(ctx context.Context) error // called before each Answer
}

var _ concordat.Answerer = (*scan)(nil)

const gate = 20

func handleOf(document int) (h concordat.Handle) {
	sum := sha256.Sum256(binary.BigEndian.AppendUint32(nil, uint32(document)))
	copy(h[:], sum[:])
	return h
}

// step returns the closeness that corresponds to a distance in bits.
func step(distance int) concordat.Closeness {
	switch {
	case distance == 0:
		return concordat.CloseSame
	case distance <= 20:
		return concordat.CloseNear
	}
	return concordat.CloseFar
}

func titleOf(title string, document int) string { return fmt.Sprintf("%s %d", title, document) }

func (s *scan) OpenTo(context.Context, concordat.SiteID) (*concordat.Catalogue, error) {
	return &concordat.Catalogue{Libraries: []concordat.OpenLibrary{{
		ID: "theses", Title: s.title, Documents: len(s.documents), Level: s.level, Sentences: -1, Disclosures: 500,
		Ready: []concordat.EpochReadiness{{Epoch: fedtest.Epoch, Scheme: scheme, Ready: 1}},
	}}}, nil
}

func (s *scan) Answer(ctx context.Context, from concordat.SiteID, a *concordat.Ask) (*concordat.SiteAnswer, error) {
	s.mu.Lock()
	s.asks, s.from = append(s.asks, a), append(s.from, from)
	before := s.before
	s.mu.Unlock()
	if before != nil {
		if err := before(ctx); err != nil {
			return nil, err
		}
	}
	t := &concordat.SiteAnswer{Libraries: []concordat.LibraryAnswer{{Library: a.Libraries[0], Level: s.level, Ready: 1, LeftSentences: -1,
		LeftDisclosures: 400}}}
	sentences := map[int]bool{}
	for d, prints := range s.documents {
		matched := map[int]bool{}
		for i, q := range a.Sentences {
			for o, f := range prints {
				if distance := f.Distance(q.Fingerprint); distance <= q.Gate {
					matched[i], sentences[i] = true, true
					t.Hits = append(t.Hits, concordat.Hit{Sentence: i, Document: len(t.Documents), Ordinal: o, Closeness: step(distance), Documents: 1})
				}
			}
		}
		if len(matched) > 0 {
			t.Documents = append(t.Documents, concordat.DocumentAnswer{Handle: handleOf(d), Matches: len(matched), Title: titleOf(s.title, d),
				Outline: concordat.OutlineWords})
		}
	}
	l := &t.Libraries[0]
	l.Exists, l.Documents, l.Sentences = len(t.Documents) > 0, len(t.Documents), len(sentences)
	return t, nil
}

func (s *scan) AnswerOutline(_ context.Context, _ concordat.SiteID, a *concordat.OutlineAsk) (*concordat.Outlines, error) {
	o := &concordat.Outlines{}
	for i, d := range a.Documents {
		if i > 0 {
			o.Documents = append(o.Documents, concordat.Outline{Handle: d.Handle, Refusal: &concordat.Refusal{Reason: concordat.ReasonBudget}})
			continue
		}
		o.Documents = append(o.Documents, concordat.Outline{Handle: d.Handle, Form: concordat.OutlineWords, Bits: 10, Length: 300,
			Units: []concordat.OutlineUnit{
				{Ordinal: 3, Span: concordat.Span{Start: 0, End: 120}, Chars: 100, Words: []uint16{1, 5, 1023}},
				{Ordinal: 4, Span: concordat.Span{Start: 121, End: 300}, Chars: 150},
			}})
	}
	return o, nil
}

func (s *scan) AnswerEdges(_ context.Context, _ concordat.SiteID, a *concordat.EdgesAsk) (*concordat.Edges, error) {
	e := &concordat.Edges{}
	for _, p := range a.Passages {
		e.Passages = append(e.Passages, []concordat.EdgeCopy{{From: 0, To: len(p.Words), Span: p.Span}})
	}
	return e, nil
}

func (s *scan) AnswerReveal(_ context.Context, _ concordat.SiteID, a *concordat.RevealAsk) (*concordat.Revealed, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reveals = append(s.reveals, a)
	r := &concordat.Revealed{State: concordat.DisclosureGranted}
	for _, p := range a.Passages {
		r.Passages = append(r.Passages, concordat.RevealedPassage{Shared: []concordat.Span{{Start: 0, End: min(4, len(p.Text))}}})
	}
	return r, nil
}

func (s *scan) AnswerLeads(_ context.Context, _ concordat.SiteID, a *concordat.LeadAsk) (*concordat.LeadAnswer, error) {
	v := &concordat.LeadAnswer{Table: a.Table}
	for _, l := range a.Libraries {
		v.Libraries = append(v.Libraries, concordat.LeadLibraryAnswer{Library: l, LeftCells: 100, LeftNear: -1})
	}
	if len(a.Cells) > 0 {
		v.Documents = []concordat.LeadDocument{{Handle: handleOf(0), Title: "a title", Places: []concordat.Span{{Start: 3, End: 70}}}}
		v.Hits = []concordat.LeadHit{{Cells: 1, Step: concordat.LeadNear}, {Cells: 2, Step: concordat.LeadVeryNear}}
	}
	return v, nil
}

func (s *scan) AnswerShip(_ context.Context, _ concordat.SiteID, a *concordat.ShipAsk) (*concordat.Shipment, error) {
	v := &concordat.Shipment{Scheme: scheme, Cursor: append(slices.Clone(a.Cursor), 1), More: len(a.Cursor) == 0}
	for d, prints := range s.documents {
		doc := concordat.ShippedDocument{Handle: handleOf(d)}
		for o, f := range prints {
			doc.Sentences = append(doc.Sentences, concordat.ShippedSentence{Fingerprint: f, Ordinal: o})
		}
		v.Documents = append(v.Documents, doc)
	}
	return v, nil
}

func (s *scan) Receive(_ context.Context, _ concordat.SiteID, n *concordat.Notice) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notices = append(s.notices, n)
	return nil
}

// setBefore makes f run before each later answer; nil removes it.
func (s *scan) setBefore(f func(ctx context.Context) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = f
}

func (s *scan) asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.asks)
}

func randomPrint(r *rand.Rand) concordat.Fingerprint {
	return concordat.FingerprintFromHalves(r.Uint64()&(1<<36-1), r.Uint64())
}

// library returns a scan with documents of random sentences.
func library(r *rand.Rand, title string, documents, sentences int) *scan {
	s := &scan{title: title, level: concordat.ShowMetadata}
	for range documents {
		var d []concordat.Fingerprint
		for range sentences {
			d = append(d, randomPrint(r))
		}
		s.documents = append(s.documents, d)
	}
	return s
}

// submission returns an ask of n sentences; every third one is near a sentence of the library.
func submission(r *rand.Rand, s *scan, n int) *concordat.Ask {
	a := &concordat.Ask{
		Epoch: fedtest.Epoch, Scheme: scheme, Libraries: []concordat.LibraryID{"theses"}, Level: concordat.ShowMetadata, Purpose: "thesis",
	}
	fillJob(r, &a.Job)
	a.Commitment = [32]byte{7}
	for i := range n {
		f := randomPrint(r)
		if i%3 == 0 {
			d := s.documents[r.IntN(len(s.documents))]
			f = d[r.IntN(len(d))]
			for range r.IntN(6) {
				f[0] ^= 1 << r.IntN(60)
			}
		}
		a.Sentences = append(a.Sentences, concordat.AskedSentence{Fingerprint: f, Gate: gate})
	}
	return a
}

func fillJob(r *rand.Rand, j *concordat.JobID) {
	for i := range j {
		j[i] = byte(r.IntN(256))
	}
}

func newRand(t testing.TB) *rand.Rand {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 1))
}
