package screen

import (
	"cmp"
	"math/bits"
	"slices"

	"concordat"
)

// Overlap is how much of each of two documents is in the other, according to their fingerprints.
type Overlap struct {
	CoveredA, CoveredB int // in normalised characters
	// Resemblance is the number of covered characters in both documents divided by the number of all their characters.
	Resemblance            float64
	ContainedA, ContainedB float64 // covered proportion of each
}

// Compare returns the overlap of two documents. If both have runs of words, the covered text consists of shared runs and of asked
// sentences that are lightly edited copies of an indexed sentence of the other. Otherwise, it consists of the asked sentences within the
// gate of an indexed sentence. It compares every sentence with every sentence of the other document.
func Compare(a, b *Document) Overlap {
	o := Overlap{CoveredA: covered(a, b), CoveredB: covered(b, a)}
	o.ContainedA = share(o.CoveredA, a.Characters)
	o.ContainedB = share(o.CoveredB, b.Characters)
	o.Resemblance = share(o.CoveredA+o.CoveredB, a.Characters+b.Characters)
	return o
}

func share(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return min(1, float64(part)/float64(whole))
}

// covered returns the number of a's characters that b also contains.
func covered(a, b *Document) int {
	spans, limit := [][2]int32(nil), concordat.Bits
	if a.Runs != nil && b.Runs != nil {
		spans, limit = sharedRuns(a.Runs, b.Runs), edited
	}
	asked := a.Asked
	if asked == nil {
		asked = a.Indexed
	}
	for i := range asked {
		if p := &asked[i]; near(p, b.Indexed, limit) {
			spans = append(spans, [2]int32{p.Start, p.End})
		}
	}
	slices.SortFunc(spans, func(x, y [2]int32) int { return cmp.Compare(x[0], y[0]) })
	n, end := 0, int32(0)
	for _, s := range spans {
		if s[1] > end {
			n += int(s[1] - max(s[0], end))
			end = s[1]
		}
	}
	return n
}

// near reports whether a passage is within limit and both gates of any of the others. Screening spends most of its time here, and the
// first 60 bits decide nearly all pairs.
func near(p *Passage, others []Passage, limit int) bool {
	limit = min(limit, int(p.Gate))
	for i := range others {
		q := &others[i]
		d := bits.OnesCount64(p.Fingerprint[0] ^ q.Fingerprint[0])
		if d <= limit && d+bits.OnesCount64(p.Fingerprint[1]^q.Fingerprint[1]) <= min(limit, int(q.Gate)) {
			return true
		}
	}
	return false
}

// sharedRuns returns the places of the runs of a that b contains too.
func sharedRuns(a, b []Run) [][2]int32 {
	var out [][2]int32
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i].Hash < b[j].Hash:
			i++
		case a[i].Hash > b[j].Hash:
			j++
		default:
			out = append(out, [2]int32{a[i].Start, a[i].End})
			i++ // a can repeat the run
		}
	}
	return out
}

// SectionOverlap is how much of a document's section is in a section of another document.
type SectionOverlap struct {
	A, B string // names of the sections
	Overlap
}

// CompareSections returns the non-zero overlaps between sections of a and of b, ordered by a's section and then b's.
func CompareSections(a, b *Document) []SectionOverlap {
	var out []SectionOverlap
	parts := make([]Document, len(b.Sections))
	for j, t := range b.Sections {
		parts[j] = b.part(t)
	}
	for _, s := range a.Sections {
		p := a.part(s)
		for j, t := range b.Sections {
			if o := Compare(&p, &parts[j]); o.CoveredA+o.CoveredB > 0 {
				out = append(out, SectionOverlap{s.Name, t.Name, o})
			}
		}
	}
	return out
}
