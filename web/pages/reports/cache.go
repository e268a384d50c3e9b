package reports

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"concordat"
	"concordat/report"
	"concordat/report/html"
	"concordat/site"
	"concordat/web/pages"
	"concordat/web/review"
)

// Bounds on the cache. It is needed because a browser requests the parts of a report one after another.
const (
	cacheBytes = 192 << 20 // approximate bytes of findings
	// cacheViews is the number of combinations of rules and language kept for a task.
	cacheViews = 4
	// readAgain is the minimum time between two records of the same reader.
	readAgain = 10 * time.Minute
	// redactTime is how long findings are kept before their sources' visibility is checked again, since an embargo or a deletion does not
	// change the revision.
	redactTime = time.Minute
)

// CacheOptions configures a cache. All fields are required.
type CacheOptions struct {
	Site    *site.Site
	Auditor pages.Auditor
	Now     func() time.Time
}

// NewCache returns an empty cache.
func NewCache(frame pages.Frame, o CacheOptions) *Cache {
	return &Cache{Auditor: o.Auditor, frame: frame, o: o, most: cacheBytes}
}

// Cache keeps the findings of recently read reports and the reports generated from them. Its results are shared and must not be
// changed. It is safe for concurrent use.
type Cache struct {
	pages.Auditor
	frame pages.Frame
	o     CacheOptions

	mu      sync.Mutex
	entries []*cachedReport // guarded by mu; the most recently used last
	bytes   int             // bytes of all entries; guarded by mu
	most    int             // maximum number of bytes
}

// cachedReport contains the findings of one task.
type cachedReport struct {
	task  concordat.TaskID
	bytes int // guarded by the cache's mu

	mu       sync.Mutex // guards the fields below; held while findings are read, so that they are read only once
	revision int64
	read     time.Time // when findings were read
	findings *report.Findings
	prepared *report.Prepared // report prepared from findings
	views    []*Reading       // the most recently used last
	readers  map[string]time.Time
}

// Reading is a report in one language for one kind of reader.
type Reading struct {
	rules    string // rules in JSON, and what the reader may see
	language report.Language
	Report   *report.Report
	view     *html.View
}

// take returns the entry of a task.
func (s *Cache) take(id concordat.TaskID) *cachedReport {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, b := range s.entries {
		if b.task == id {
			s.entries = append(append(s.entries[:i:i], s.entries[i+1:]...), b)
			return b
		}
	}
	b := &cachedReport{task: id, readers: map[string]time.Time{}}
	s.entries = append(s.entries, b)
	s.trim()
	return b
}

// resize records the size of an entry, and removes the least recently used entries beyond the bound.
func (s *Cache) resize(b *cachedReport, bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.entries, b) {
		return // the entry was removed after it was taken
	}
	s.bytes += bytes - b.bytes
	b.bytes = bytes
	s.trim()
}

// trim enforces the bounds. The caller holds s.mu.
func (s *Cache) trim() {
	for len(s.entries) > 0 && (s.bytes > s.most || len(s.entries) > maxCached) {
		s.bytes -= s.entries[0].bytes
		s.entries = s.entries[1:]
	}
}

// maxCached bounds the number of entries in a cache, regardless of their size.
const maxCached = 64

// weight returns the approximate memory used by findings, in bytes.
func weight(f *report.Findings) int {
	n := len(f.Submission.Text) + 1<<12
	for i := range f.Passages {
		p := &f.Passages[i]
		n += 512 + len(p.Text) + len(p.Before) + len(p.After) + 32*len(p.Words) + 16*len(p.Shared)
	}
	for _, l := range f.Leads {
		n += 512 + len(l.Text)
		for _, p := range l.Pairs {
			n += 128 + len(p.Text)
		}
	}
	return 2 * n // includes the reports generated from them
}

// Reading returns the report of a task under the given rules, limited to what a reader may see and prepared for display in parts.
func (s *Cache) Reading(ctx context.Context, id concordat.TaskID, rules report.Rules, in report.Language,
	see review.See) (*Reading, error) {
	if see == review.SeeNothing {
		return nil, fmt.Errorf("report of %s: %w", id, review.ErrNotShown)
	}
	key, err := json.Marshal(rules)
	if err != nil {
		return nil, fmt.Errorf("rules of %s: %w", id, err)
	}
	revision, err := s.Store.Checks.FindingsRevision(ctx, id)
	if err != nil {
		return nil, err
	}
	names, err := s.frame.Names(ctx)
	if err != nil {
		return nil, err
	}
	called, err := names.Digest()
	if err != nil {
		return nil, err
	}
	b := s.take(id)
	b.mu.Lock()
	defer b.mu.Unlock()
	if now := s.o.Now(); b.findings == nil || b.revision != revision || now.Sub(b.read) >= redactTime || now.Before(b.read) {
		f, revision, err := s.o.Site.FindingsAt(ctx, id)
		if err != nil {
			return nil, err
		}
		b.findings, b.prepared, b.revision, b.views, b.read = f, report.Prepare(f), revision, nil, s.o.Now()
	}
	got := b.view(string(see)+string(key)+called, in, rules, see, names.Names)
	s.resize(b, weight(b.findings)*(1+len(b.views)/2))
	return got, nil
}

// HasText reports whether the text of an ended check is still kept. While the report is being read, the answer comes from the cache
// without unpacking findings.
func (s *Cache) HasText(ctx context.Context, id concordat.TaskID) (bool, error) {
	revision, err := s.Store.Checks.FindingsRevision(ctx, id)
	if errors.Is(err, concordat.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if text, known := s.hasText(id, revision); known {
		return text, nil
	}
	return s.o.Site.HasText(ctx, id)
}

// hasText reports whether findings of this revision include their text; known is false if the findings are not in the cache.
func (s *Cache) hasText(id concordat.TaskID, revision int64) (text, known bool) {
	s.mu.Lock()
	i := slices.IndexFunc(s.entries, func(b *cachedReport) bool { return b.task == id })
	if i < 0 {
		s.mu.Unlock()
		return false, false
	}
	b := s.entries[i]
	s.mu.Unlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.findings == nil || b.revision != revision {
		return false, false
	}
	return b.findings.TextKept(), true
}

// view returns the cached view for the given rules and language. The key includes the rules, the reader's level of access, and the names.
func (b *cachedReport) view(key string, in report.Language, rules report.Rules, see review.See, names report.Names) *Reading {
	var same *report.Report
	for i, v := range b.views {
		if v.rules != key {
			continue
		}
		if v.language == in {
			b.views = append(append(b.views[:i:i], b.views[i+1:]...), v)
			return v
		}
		same = v.Report
	}
	if same == nil {
		same = see.Part(b.prepared.Build(rules))
	}
	rep := *same
	rep.Names = names
	rep.Language = in
	v := &Reading{rules: key, language: in, Report: &rep, view: html.NewView(&rep)}
	b.views = append(b.views, v)
	if len(b.views) > cacheViews {
		b.views = b.views[1:]
	}
	return v
}

// readsOn reports whether the visitor was recently recorded as a reader of the report.
func (s *Cache) readsOn(id concordat.TaskID, name string) bool {
	b := s.take(id)
	b.mu.Lock()
	defer b.mu.Unlock()
	now := s.o.Now()
	last, ok := b.readers[name]
	if ok && now.Sub(last) < readAgain {
		return true
	}
	b.readers[name] = now
	return false
}

// NoteRead records that someone reads a report. It records each whole page, and parts of a page at intervals.
func (s *Cache) NoteRead(ctx context.Context, v *pages.Visitor, id concordat.TaskID, part bool) {
	if !s.readsOn(id, v.Name) || !part {
		s.Audit(ctx, v.Name, "report_read", map[string]any{"task": id})
	}
}

// Forget drops a deleted check.
func (s *Cache) Forget(id concordat.TaskID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, b := range s.entries {
		if b.task == id {
			s.bytes -= b.bytes
			s.entries = slices.Delete(s.entries, i, i+1)
			return
		}
	}
}
