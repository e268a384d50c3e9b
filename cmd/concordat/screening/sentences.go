package screening

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"concordat"
	"concordat/cmd/cli"
	"concordat/cmd/parallel"
	"concordat/screen"
)

// byFingerprint joins the texts by bands, in as many parts as the available memory requires, and compares the candidates on all cores. A
// unit consists of a fixed number of candidates.
func (s *screening) byFingerprint(ctx context.Context, u *units) error {
	j := &printJoin{s: s, u: u, cache: &documentCache{s: s, most: int64(s.MemoryMiB) << 20 / 2,
		docs: make([]atomic.Pointer[screen.Document], len(s.texts))}}
	b := s.app.Progress(int64(len(s.texts)), "comparing")
	defer b.Done()
	var order []int
	for i := range s.texts {
		if !s.texts[i].blank {
			order = append(order, i)
		}
	}
	return j.join(ctx, order, nil, b)
}

type printJoin struct {
	s     *screening
	u     *units
	cache *documentCache
	unit  int
}

const (
	unitPairs   = 1 << 16
	joinBytes   = 100 // memory in bytes for each joined sentence, including its document
	passBytes   = 32  // memory in bytes for each sentence in each further pass
	pairBytes   = 48  // memory in bytes for each candidate pair
	joinedAlone = 64  // minimum number of texts to join at once, regardless of memory
)

// join compares the texts in a with one another or, if b is not nil, with the texts in b.
func (j *printJoin) join(ctx context.Context, a, b []int, progress cli.Bar) error {
	all := slices.Concat(a, b)
	half := func(x []int) ([]int, []int) { return x[:len(x)/2], x[len(x)/2:] }
	pairs, common, err := j.candidates(ctx, all, len(a), b != nil)
	if errors.Is(err, screen.ErrMemory) && len(all) > joinedAlone {
		if b != nil && len(b) >= len(a) {
			x, y := half(b)
			if err := j.join(ctx, a, x, progress); err != nil {
				return err
			}
			return j.join(ctx, a, y, progress)
		}
		x, y := half(a)
		if err := j.join(ctx, x, b, progress); err != nil {
			return err
		}
		if err := j.join(ctx, y, b, progress); err != nil || b != nil {
			return err
		}
		return j.join(ctx, x, y, progress)
	}
	if err != nil {
		return err
	}
	j.s.sum.Common += common
	for part := range slices.Chunk(pairs, unitPairs) {
		n := j.unit
		j.unit++
		if j.u.done[n] {
			continue
		}
		if err := j.compare(ctx, n, part, all); err != nil {
			return err
		}
	}
	if b == nil {
		progress.Add(len(a))
	}
	return nil
}

// candidates returns the pairs of indices in all that have a sentence in common.
func (j *printJoin) candidates(ctx context.Context, all []int, split int, across bool) (pairs [][2]int, common int, err error) {
	budget := int64(j.s.MemoryMiB) << 20 / 4
	sentence := int64(joinBytes + passBytes*runtime.GOMAXPROCS(0))
	o := screen.JoinOptions{Probe: concordat.ProbeOne}
	if across {
		o.Split = split
	}
	if len(all) > joinedAlone {
		o.Most = int(budget / pairBytes)
	}
	docs := make([]screen.Document, len(all))
	sentences := 0
	for i, text := range all {
		if ctx.Err() != nil {
			return nil, 0, context.Cause(ctx)
		}
		d, err := j.cache.get(text)
		if err != nil {
			return nil, 0, err
		}
		docs[i] = screen.Document{Indexed: d.Indexed}
		if sentences += len(d.Indexed); int64(sentences)*sentence > budget && len(all) > joinedAlone {
			return nil, 0, screen.ErrMemory
		}
	}
	joined, err := parallel.Join(ctx, docs, o)
	if err != nil {
		return nil, 0, err
	}
	pairs = slices.DeleteFunc(joined.Pairs, func(p [2]int) bool { return !j.s.across(all[p[0]], all[p[1]]) })
	return pairs, joined.Common + joined.Crowded, nil
}

// compare measures one unit of candidates.
func (j *printJoin) compare(ctx context.Context, n int, pairs [][2]int, all []int) error {
	const stride = 256
	overlaps := make([]screen.Overlap, len(pairs))
	var next atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	for range runtime.GOMAXPROCS(0) {
		g.Go(func() error {
			for {
				from := int(next.Add(stride)) - stride
				if from >= len(pairs) || ctx.Err() != nil {
					return context.Cause(ctx)
				}
				for i := from; i < min(from+stride, len(pairs)); i++ {
					x, err := j.cache.get(all[pairs[i][0]])
					if err != nil {
						return err
					}
					y, err := j.cache.get(all[pairs[i][1]])
					if err != nil {
						return err
					}
					overlaps[i] = screen.Compare(x, y)
				}
			}
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	r := unit{Unit: n, Candidates: len(pairs)}
	for i, o := range overlaps {
		value := o.Resemblance
		if j.s.Contained {
			value = max(o.ContainedA, o.ContainedB)
		}
		if value < j.s.leastFound() {
			continue
		}
		p := foundPair{A: all[pairs[i][0]], B: all[pairs[i][1]], Resemblance: o.Resemblance, Contained: &[2]float64{o.ContainedA, o.ContainedB}}
		if j.s.template != nil {
			var err error
			if p.Sections, err = j.sections(p.A, p.B); err != nil {
				return err
			}
		}
		r.Pairs = append(r.Pairs, p)
	}
	return j.u.keep(r)
}

func (j *printJoin) sections(a, b int) ([]screenSections, error) {
	x, err := j.cache.get(a)
	if err != nil {
		return nil, err
	}
	y, err := j.cache.get(b)
	if err != nil {
		return nil, err
	}
	var out []screenSections
	for _, o := range screen.CompareSections(x, y) {
		out = append(out, screenSections{A: o.A, B: o.B, CoveredA: o.CoveredA, CoveredB: o.CoveredB, ContainmentA: o.ContainedA,
			ContainmentB: o.ContainedB})
	}
	return out, nil
}

// documentCache caches documents from the work file. When full, it drops all of them. It is safe for concurrent use.
type documentCache struct {
	s    *screening
	most int64 // maximum size in bytes
	held atomic.Int64
	docs []atomic.Pointer[screen.Document]
}

func (c *documentCache) get(text int) (*screen.Document, error) {
	if d := c.docs[text].Load(); d != nil {
		return d, nil
	}
	body, err := c.s.body(text, nil)
	if err != nil {
		return nil, err
	}
	d, err := screen.ParseDocument(body)
	if err != nil {
		return nil, err
	}
	if c.held.Add(int64(len(body))*3/2) > c.most {
		c.held.Store(0)
		for i := range c.docs {
			c.docs[i].Store(nil)
		}
	}
	c.docs[text].Store(d)
	return d, nil
}
