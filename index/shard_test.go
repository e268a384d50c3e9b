package index

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"concordat"
)

func TestSmoke(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir, Options{Site: "here", Scheme: "x@0"})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	var ps []*concordat.Profile
	for i := range 40 {
		p := &concordat.Profile{Scheme: "x@0", Document: concordat.Document{Library: "l", ID: concordat.DocumentID(fmt.Sprint(i)), Title: "t", Text: "hello"}}
		for range r.IntN(50) {
			p.Indexed = append(p.Indexed, concordat.Sentence{Fingerprint: concordat.FingerprintOf([5]uint32{r.Uint32(), r.Uint32(), r.Uint32(), r.Uint32(), r.Uint32()})})
		}
		ps = append(ps, p)
	}
	ctx := context.Background()
	if err := s.Put(ctx, ps...); err != nil {
		t.Fatal(err)
	}
	check := func() {
		t.Helper()
		n := 0
		for _, p := range ps {
			q := &concordat.Query{Scheme: "x@0", Probe: concordat.ProbeOne, MaxDistance: 27}
			for _, s := range p.Indexed {
				q.Fingerprints = append(q.Fingerprints, s.Fingerprint)
			}
			a, err := s.Match(ctx, q)
			if err != nil {
				t.Fatal(err)
			}
			b, err := s.MatchStored(ctx, q)
			if err != nil {
				t.Fatal(err)
			}
			if fmt.Sprint(a) != fmt.Sprint(b) {
				t.Fatalf("%v\n%v", a, b)
			}
			n += len(a.Matches)
		}
		t.Log(n, s.Stats())
	}
	check()
	if err := s.Merge(ctx); err != nil {
		t.Fatal(err)
	}
	check()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, err = Open(dir, Options{Site: "here", Scheme: "x@0"})
	if err != nil {
		t.Fatal(err)
	}
	check()
	d, err := s.Document(ctx, concordat.Ref{Site: "here", Library: "l", Document: "7"})
	if err != nil || d.Text != "hello" {
		t.Fatal(d, err)
	}
	s.Close()
}
