package screening

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"concordat"
	"concordat/report"
	"concordat/site"
)

// The estimates made from fingerprints, sketches and letters are not shares that count. These methods recognize neither text that a form,
// a list of references or a quotation explains, nor the point where two texts begin to differ. The documents of the pairs are therefore
// compared as in a check and get that check's shares, so that a pair's shares do not depend on the method. Beyond --shares documents, the
// pairs with the lowest resemblance keep the method's estimate.

// measured is a record of work.found with the result of checking one text.
type measured struct {
	Measured int             `json:"measured"` // the number of the text, from 1
	Shares   map[int]float64 `json:"shares"`   // by the text that contains the matches
}

// measure replaces the estimates of pairs with the shares found by checks.
func (s *screening) measure(ctx context.Context) error {
	if s.CheckShares == 0 || s.abroad != nil || s.Method == methodShort {
		return s.keepEstimates()
	}
	todo := s.toMeasure()
	b := s.app.Progress(int64(len(todo)), "measuring")
	defer b.Done()
	var mu sync.Mutex // protects s.measured
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, text := range todo {
		mu.Lock()
		known := s.measured[text] != nil
		mu.Unlock()
		if known {
			b.Add(1)
			continue
		}
		g.Go(func() error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			shares, err := s.measureOne(ctx, text)
			if err != nil {
				return err
			}
			record, err := json.Marshal(measured{text + 1, shares})
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			s.measured[text] = shares
			b.Add(1)
			if _, err := s.work.found.append(record); err != nil {
				return err
			}
			return s.work.found.flush()
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	s.takeMeasured()
	return s.keepEstimates()
}

// toMeasure returns the texts of the pairs with the highest resemblance, at most s.CheckShares, in an order that is independent of the
// order in which the pairs were found.
func (s *screening) toMeasure() []int {
	pairs := slices.Clone(s.pairs)
	slices.SortFunc(pairs, func(x, y foundPair) int {
		return cmp.Or(cmp.Compare(s.value(y), s.value(x)), cmp.Compare(x.A, y.A), cmp.Compare(x.B, y.B))
	})
	taken := map[int]bool{}
	for _, p := range pairs {
		more := 0
		for _, t := range [2]int{p.A, p.B} {
			if !taken[t] {
				more++
			}
		}
		if len(taken)+more > s.CheckShares {
			break
		}
		taken[p.A], taken[p.B] = true, true
	}
	return slices.Sorted(maps.Keys(taken))
}

// measureOne checks a text against the library that it was compared with, and returns its shares by text.
func (s *screening) measureOne(ctx context.Context, text int) (map[int]float64, error) {
	t := &s.texts[text]
	side := 0
	if len(t.members[0]) == 0 {
		side = 1
	}
	library := concordat.LibraryID(s.Library)
	if !s.self && side == 0 {
		library = concordat.LibraryID(s.Against)
	}
	o := site.CheckOptions{Libraries: []concordat.LibraryID{library}, Template: s.template, Candidates: measuredCandidates}
	for _, doc := range slices.Concat(t.members[0], t.members[1]) {
		if s.self || s.docs[doc].Library == library {
			o.Exclude = append(o.Exclude, s.ref(int(doc)))
		}
	}
	first := int(t.members[side][0])
	d, err := s.site.Index.Document(ctx, s.ref(first))
	if err != nil {
		return nil, fmt.Errorf("measure %s: %w", s.ref(first), err)
	}
	sub := site.Submission{ID: d.ID, Title: d.Title, Text: d.Text}
	shares, err := s.site.Site.Shares(ctx, sub, o, s.site.Config.Report.Rules)
	if err != nil {
		return nil, fmt.Errorf("measure %s: %w", s.ref(first), err)
	}
	out := map[int]float64{}
	for doc := range s.docs {
		if v, ok := shares[s.ref(doc)]; ok {
			out[s.docs[doc].Text] = max(out[s.docs[doc].Text], v)
		}
	}
	return out, nil
}

// measuredCandidates is the number of documents to compare a text with. It is larger than in a check, because in a library of versions
// each document resembles very many others.
const measuredCandidates = 1000

func (s *screening) ref(doc int) concordat.Ref {
	d := &s.docs[doc]
	return concordat.Ref{Site: s.site.Config.Site.ID, Library: d.Library, Document: d.ID}
}

// takeMeasured replaces the shares of pairs whose texts were both checked.
func (s *screening) takeMeasured() {
	for i := range s.pairs {
		p := &s.pairs[i]
		a, b := s.measured[p.A], s.measured[p.B]
		if a == nil || b == nil {
			continue
		}
		p.Measured, p.Contained, p.Found = true, &[2]float64{a[p.B], b[p.A]}, p.Resemblance
		if s.Method == methodFingerprint {
			here, there := float64(s.lettersOf(p.A)), float64(s.lettersOf(p.B))
			p.Resemblance = (a[p.B]*here + b[p.A]*there) / max(1, here+there)
		}
	}
}

func (s *screening) lettersOf(text int) int {
	t := &s.texts[text]
	return s.docs[slices.Concat(t.members[0], t.members[1])[0]].Letters
}

// value returns the share or resemblance to compare with the threshold.
func (s *screening) value(p foundPair) float64 {
	if s.Contained && p.Contained != nil {
		return max(p.Contained[0], p.Contained[1])
	}
	return p.Resemblance
}

// leastFound returns the minimum resemblance of pairs to measure. It is below the threshold because fingerprints cover less of a text
// than a check does.
func (s *screening) leastFound() float64 {
	if s.CheckShares == 0 {
		return s.Threshold
	}
	return s.Threshold / 2
}

// Bounds on the error of an estimate. A check may count nothing, if everything is explained, and it rarely counts more than these bounds
// allow.
const (
	foundFactor = 2
	foundAbove  = 0.1
)

// keepEstimates drops the pairs that do not reach the threshold as measured or, if one share counts, as found. It sets bounds for the
// shares of unmeasured pairs.
func (s *screening) keepEstimates() error {
	s.pairs = slices.DeleteFunc(s.pairs, func(p foundPair) bool {
		if s.Method != methodFingerprint || s.abroad != nil || s.value(p) >= s.Threshold {
			return false
		}
		// A sentence that makes up all of one document is isolated in the other document. The method finds such a pair, and one share
		// counts.
		return !p.Measured || min(p.Found, max(p.Contained[0], p.Contained[1])) < s.Threshold
	})
	for i := range s.pairs {
		p := &s.pairs[i]
		if p.Measured || p.Within != nil || p.Contained == nil {
			continue
		}
		p.Within = &[2]report.Bounds{}
		for k, v := range p.Contained {
			p.Within[k].High = min(1, foundFactor*v+foundAbove)
		}
	}
	return nil
}
