package indextest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"concordat"
)

// Site and Scheme belong to every index under test.
const (
	Site   = concordat.SiteID("here")
	Scheme = concordat.Scheme("test@0123456789abcdef")
)

// Generator generates documents whose fingerprints are near each other, so that queries have answers. The same seed yields the same
// documents.
type Generator struct {
	r     *rand.Rand
	words *rand.Rand // for terms
	roots []concordat.Fingerprint
}

// NewGenerator returns a Generator with the given number of root fingerprints, from which it
// derives all others by changes.
func NewGenerator(seed uint64, roots int) *Generator {
	g := &Generator{r: rand.New(rand.NewPCG(seed, 0)), words: rand.New(rand.NewPCG(seed, 1))}
	for range roots {
		g.roots = append(g.roots, g.Random())
	}
	return g
}

// Random returns a fingerprint that is not near any other.
func (g *Generator) Random() concordat.Fingerprint {
	return concordat.FingerprintFromHalves(g.r.Uint64(), g.r.Uint64())
}

// Near returns a root with 0 to 12 changed nibbles.
func (g *Generator) Near() concordat.Fingerprint {
	return g.ChangeNibbles(g.roots[g.r.IntN(len(g.roots))], g.r.IntN(13))
}

// ChangeNibbles returns f with exactly n changed nibbles.
func (g *Generator) ChangeNibbles(f concordat.Fingerprint, n int) concordat.Fingerprint {
	for _, i := range g.r.Perm(concordat.Nibbles)[:n] {
		f[i/15] ^= uint64(1+g.r.IntN(15)) << (4 * (i % 15))
	}
	return f
}

// ChangeBits returns f with exactly n changed bits.
func (g *Generator) ChangeBits(f concordat.Fingerprint, n int) concordat.Fingerprint {
	for _, i := range g.r.Perm(concordat.Bits)[:n] {
		f[i/60] ^= 1 << (i % 60)
	}
	return f
}

// Profile returns a document with the given number of sentences.
func (g *Generator) Profile(library concordat.LibraryID, id concordat.DocumentID, sentences int) *concordat.Profile {
	p := &concordat.Profile{Scheme: Scheme, Document: concordat.Document{
		Library: library, ID: id, Title: fmt.Sprintf("About %s, %d", id, g.r.IntN(100)),
		Added: time.Date(2020, 1, 1, 0, 0, g.r.IntN(1e8), g.r.IntN(1e9), time.UTC),
	}}
	var text strings.Builder
	for range sentences {
		text.WriteString(strings.Repeat("…", g.r.IntN(3)))
		start := text.Len()
		text.WriteString(strings.Repeat("ab ", g.r.IntN(70)))
		s := concordat.Sentence{Span: concordat.Span{Start: start, End: text.Len()}, Section: -1, Fingerprint: g.Near()}
		if g.r.IntN(50) == 0 {
			s.Fingerprint = concordat.Fingerprint{}
		}
		p.Indexed = append(p.Indexed, s)
	}
	p.Document.Text = text.String()
	p.Terms, p.Cells = g.Terms(), g.Cells()
	return p
}

// Query returns a query of n fingerprints, about half of them near known ones.
func (g *Generator) Query(n int) *concordat.Query {
	q := &concordat.Query{Scheme: Scheme, MaxDistance: g.r.IntN(40), Probe: concordat.Probe(g.r.IntN(2))}
	if g.r.IntN(3) == 0 {
		q.MaxHashes = 1 + g.r.IntN(14)
	}
	for range n {
		if g.r.IntN(2) == 0 {
			q.Fingerprints = append(q.Fingerprints, g.Near())
		} else {
			q.Fingerprints = append(q.Fingerprints, g.Random())
		}
	}
	if g.r.IntN(2) == 0 {
		q.Limit = 1 + g.r.IntN(10)
	}
	for range g.r.IntN(3) {
		q.Libraries = append(q.Libraries, g.Library())
	}
	for range g.r.IntN(3) {
		q.Exclude = append(q.Exclude, concordat.Ref{Site: Site, Library: g.Library(), Document: g.ID()})
	}
	return q
}

// Library returns one of four libraries.
func (g *Generator) Library() concordat.LibraryID {
	return concordat.LibraryID(fmt.Sprintf("lib%d", g.r.IntN(4)))
}

// ID returns one of twelve identities.
func (g *Generator) ID() concordat.DocumentID {
	return concordat.DocumentID(fmt.Sprintf("doc%d", g.r.IntN(12)))
}

// IntN returns a number from 0 to n-1.
func (g *Generator) IntN(n int) int { return g.r.IntN(n) }
