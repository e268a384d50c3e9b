package batch

import (
	"context"
	"sync"

	"concordat"
	"concordat/report"
	"concordat/store"
)

// citedWorks caches the works that members cite, so that reference lists are not parsed again for every pair. The zero value is ready to
// use and safe for concurrent use.
type citedWorks struct {
	mu sync.Mutex
	by map[string][]report.Work
}

// of returns the works cited by the named member; read returns its text.
func (c *citedWorks) of(name string, read func() (*concordat.Document, error)) ([]report.Work, error) {
	c.mu.Lock()
	works, ok := c.by[name]
	c.mu.Unlock()
	if ok {
		return works, nil
	}
	d, err := read()
	if err != nil {
		return nil, err
	}
	works = report.Works(d.Text)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by == nil {
		c.by = map[string][]report.Work{}
	}
	c.by[name] = works
	return works, nil
}

// addWorks adds to findings the works cited by both a member and other members compared with it, even if they share nothing else.
func (r *batchRun) addWorks(ctx context.Context, f *report.Findings, m *store.BatchMember, by map[int]*store.BatchMember) error {
	read := func(name string) func() (*concordat.Document, error) {
		return func() (*concordat.Document, error) { return r.text(ctx, name) }
	}
	own, err := r.works.of(m.Name, read(m.Name))
	if err != nil || len(own) == 0 {
		return err
	}
	compared, err := r.o.Store.Batches.Compared(ctx, r.id, m.Number)
	if err != nil {
		return err
	}
	for _, n := range compared {
		other := by[n]
		if other == nil || !other.Cause.IsZero() {
			continue
		}
		works, err := r.works.of(other.Name, read(other.Name))
		if err != nil {
			return err
		}
		if both, ok := report.BothCite(own, works, r.ref(other.Name), other.Title); ok {
			f.SharedWorks = append(f.SharedWorks, both)
		}
	}
	return nil
}
