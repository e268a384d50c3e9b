package batch

import (
	"cmp"
	"context"
	"slices"

	"concordat/report"
	"concordat/segment"
	"concordat/store"
)

// A pair is listed if a section of either document reaches the threshold, however small a part of the document it is. A copied work plan
// can be just a tenth of an application.

// leastSection is the minimum number of letters, marks and digits compared in a section for its share to be meaningful: about 40 words,
// or a long sentence in Chinese.
const leastSection = 200

// leastWidely is the minimum number of documents that must share a section with another for it to count as common to the batch.
const leastWidely = 3

// commonHeadings returns a template of the headings common to the documents, or nil if there are none.
func (r *batchRun) commonHeadings(ctx context.Context, members []store.BatchMember) (*segment.Template, error) {
	var h segment.Headings
	for _, m := range members {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		d, err := r.text(ctx, m.Name)
		if err != nil {
			return nil, err
		}
		h.Add(d.Text)
	}
	return h.Template(), nil
}

// sectionShares returns the sections of a report with text from a source, except sections too short for a share.
func sectionShares(rep *report.Report, s *report.RankedSource) []store.SectionShare {
	var out []store.SectionShare
	for i, of := range s.Sections {
		if x := &rep.Sections[i]; of > 0 && x.Checked >= leastSection && !x.Excluded {
			out = append(out, store.SectionShare{Name: x.Name, Share: of})
		}
	}
	return out
}

// setWidely records the sections whose share with another document reaches the threshold in more than half of the documents, and in at
// least three. Such wording belongs to the form or to a ring; it is reported separately and proves nothing about any one pair.
func (v *View) setWidely() {
	holders := map[string]map[int]bool{}
	for _, p := range v.Pairs {
		for _, s := range p.sections() {
			if s.Share() < v.Job.PairThreshold() {
				continue
			}
			if holders[s.Section] == nil {
				holders[s.Section] = map[int]bool{}
			}
			holders[s.Section][p.A], holders[s.Section][p.B] = true, true
		}
	}
	v.widely = map[string]bool{}
	for name, of := range holders {
		v.widely[name] = len(of) >= leastWidely && 2*len(of) > len(v.Members)
	}
}

// Reaches reports whether the share of either document in a pair, or of one of its sections not common to the batch, is at least a
// threshold.
func (v *View) Reaches(p ViewedPair, threshold float64) bool {
	return p.Share() >= threshold || slices.ContainsFunc(p.sections(), func(s PairSection) bool {
		return s.Share() >= threshold && !v.widely[s.Section]
	})
}

// PairSection states how much of the sections with one name occurs in the other document of a pair.
type PairSection struct {
	Section string  `json:"section"`
	ShareA  float64 `json:"share_a"` // 0 to 1, relative to the section of a
	ShareB  float64 `json:"share_b"` // relative to the section of b
}

// Share returns the larger of the two shares.
func (s PairSection) Share() float64 { return max(s.ShareA, s.ShareB) }

// SectionLine is a section for which a pair is listed, in machine-readable form.
type SectionLine struct {
	Type    string  `json:"type"` // "section"
	A       string  `json:"a"`
	B       string  `json:"b"`
	NumberA int     `json:"number_a"` // members' numbers, from 1
	NumberB int     `json:"number_b"`
	Section string  `json:"section"`
	Share   float64 `json:"share"` // share of the section, the larger of the next two
	ShareA  float64 `json:"share_a"`
	ShareB  float64 `json:"share_b"`
	Counted bool    `json:"counted"`          // same as for the pair
	Reason  string  `json:"reason,omitempty"` // why the pair does not count
}

// sections joins the sections of both documents by name, largest share first.
func (p ViewedPair) sections() []PairSection {
	var out []PairSection
	of := func(name string) *PairSection {
		i := slices.IndexFunc(out, func(s PairSection) bool { return s.Section == name })
		if i < 0 {
			i = len(out)
			out = append(out, PairSection{Section: name})
		}
		return &out[i]
	}
	for _, s := range p.SectionsA {
		of(s.Name).ShareA = max(of(s.Name).ShareA, s.Share)
	}
	for _, s := range p.SectionsB {
		of(s.Name).ShareB = max(of(s.Name).ShareB, s.Share)
	}
	slices.SortStableFunc(out, func(x, y PairSection) int { return cmp.Compare(y.Share(), x.Share()) })
	return out
}

// SectionLines returns the sections for which pairs are listed, in pair order.
func (v *View) SectionLines() []SectionLine {
	var out []SectionLine
	for _, p := range v.Pairs {
		out = append(out, v.SectionsOf(p)...)
	}
	return out
}

// SectionsOf returns the sections that reach the threshold, for which a pair is listed, or none if one of the documents reaches it.
func (v *View) SectionsOf(p ViewedPair) []SectionLine {
	threshold := v.Job.PairThreshold()
	if p.Share() >= threshold {
		return nil
	}
	var out []SectionLine
	line := v.pairLine(p)
	for _, s := range line.Sections {
		if s.Share() >= threshold && !v.widely[s.Section] {
			out = append(out, SectionLine{Type: "section", A: line.A, B: line.B, NumberA: line.NumberA, NumberB: line.NumberB,
				Section: s.Section, Share: s.Share(), ShareA: s.ShareA, ShareB: s.ShareB, Counted: line.Counted, Reason: line.Reason})
		}
	}
	return out
}
