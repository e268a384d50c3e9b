package daemon

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"concordat"
	"concordat/extract"
	"concordat/extract/sandbox"
	"concordat/instance"
	"concordat/site"
	"concordat/store"
	"concordat/web/pages/reports"
)

const (
	// pageWidth is the width of a page's image in pixels, which is a screen's width and twice as sharp as the text needs.
	pageWidth = 1200
	// maxPageBytes bounds the cached images and letters of pages.
	maxPageBytes = 64 << 20
	// maxPageReaders is the maximum number of child processes that render pages at the same time; further requests wait.
	maxPageReaders = 2
)

// originals renders pages of submitted files in child processes of the reader. It is safe for concurrent use.
type originals struct {
	files  *store.Files
	reader *instance.Reader
	office sandbox.OfficeOptions
	turn   chan struct{} // one element for each working child
	making chan struct{} // held while LibreOffice works
	unmade unmade

	mu    sync.Mutex // guards the fields below
	kept  map[string]any
	order []string // keys of kept, least recently used first
	bytes int
	sizes map[string]int
}

var _ reports.Originals = (*originals)(nil)

// newOriginals returns the originals of a site. The limits of extraction also apply to LibreOffice.
func newOriginals(files *store.Files, r *instance.Reader, limits sandbox.Options) *originals {
	office := sandbox.OfficeOptions{Wall: longestMaking, CPU: limits.CPU, Memory: limits.Memory, MaxOutput: limits.Extract.MaxInput}
	if limits.Wall > 0 {
		office.Wall = min(limits.Wall, longestMaking)
	}
	return &originals{files: files, reader: r, office: office, turn: make(chan struct{}, maxPageReaders), making: make(chan struct{}, 1),
		kept: map[string]any{}, sizes: map[string]int{}}
}

// Find implements reports.Originals.
func (o *originals) Find(ctx context.Context, file site.Part, text string, span concordat.Span, n int) (reports.Found, error) {
	pages, err := o.letters(ctx, file)
	if err != nil {
		return reports.Found{}, err
	}
	at := extract.Locate(pages, extract.Fold(span.In(text)), float64(span.Start)/float64(max(len(text), 1)))
	out := reports.Found{Sure: at.Sure()}
	if len(at.Spans) > 0 {
		out.Page = at.Spans[0].Page // if uncertain, show the best known page without a mark
	}
	for _, s := range at.Spans {
		if s.Page != n || !out.Sure {
			continue
		}
		page, err := o.page(ctx, file, n)
		if err != nil {
			return reports.Found{}, err
		}
		for _, b := range page.Marks(s.Start, s.End) {
			out.Marks = append(out.Marks, markOf(b))
		}
	}
	return out, nil
}

// letters returns the letters of each page.
func (o *originals) letters(ctx context.Context, file site.Part) ([]string, error) {
	return lookUp(ctx, o, "letters "+keyOf(file), func(s []string) int {
		n := 0
		for _, p := range s {
			n += len(p) + 16
		}
		return n
	}, func(r *sandbox.Runner, path string) ([]string, error) { return r.Letters(ctx, path) }, file)
}

// Page implements reports.Originals.
func (o *originals) Page(ctx context.Context, file site.Part, n int) (*reports.OriginalPage, error) {
	p, err := o.page(ctx, file, n)
	if err != nil {
		return nil, err
	}
	return &reports.OriginalPage{Number: p.Number, Pages: p.Pages, Width: p.Width, Height: p.Height, PNG: p.PNG}, nil
}

func (o *originals) page(ctx context.Context, file site.Part, n int) (*extract.Page, error) {
	return lookUp(ctx, o, fmt.Sprintf("page %d %s", n, keyOf(file)), func(p *extract.Page) int {
		return len(p.PNG) + len(p.Letters) +
			16*len(p.Boxes)
	},
		func(r *sandbox.Runner, path string) (*extract.Page, error) { return r.Page(ctx, path, n, pageWidth) }, file)
}

// lookUp returns the cached value, or reads it from the file and caches it.
func lookUp[T any](ctx context.Context, o *originals, key string, size func(T) int, read func(*sandbox.Runner, string) (T, error),
	file site.Part) (T, error) {
	if v, ok := o.get(key); ok {
		return v.(T), nil
	}
	var none T
	path, err := o.pdf(ctx, file)
	if err != nil {
		return none, err
	}
	select {
	case o.turn <- struct{}{}:
		defer func() { <-o.turn }()
	case <-ctx.Done():
		return none, ctx.Err()
	}
	if v, ok := o.get(key); ok { // another call read it while this one waited
		return v.(T), nil
	}
	r, err := o.reader.Start()
	if err != nil {
		return none, err
	}
	v, err := read(r, path)
	if err != nil {
		return none, ofFile(err)
	}
	o.put(key, v, size(v))
	return v, nil
}

// ofFile converts an error about a file to an error that pages understand: concordat.ErrNotFound if the file has no such page, and
// concordat.ErrInvalid if it cannot be read, with context.DeadlineExceeded if reading took too long.
func ofFile(err error) error {
	var bad *extract.Error
	switch {
	case errors.As(err, &bad) && bad.Code == extract.Unreadable:
		return fmt.Errorf("page: %w: %w", concordat.ErrNotFound, err)
	case errors.As(err, &bad) && bad.Code == extract.Timeout:
		return fmt.Errorf("page: %w: %w: %w", concordat.ErrInvalid, context.DeadlineExceeded, err)
	case errors.As(err, &bad):
		return fmt.Errorf("page: %w: %w", concordat.ErrInvalid, err)
	}
	return err
}

func (o *originals) get(key string) (any, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	v, ok := o.kept[key]
	if ok {
		o.touch(key)
	}
	return v, ok
}

// touch makes key the most recently used. The caller holds o.mu.
func (o *originals) touch(key string) {
	for i, k := range o.order {
		if k == key {
			o.order = append(append(o.order[:i:i], o.order[i+1:]...), key)
			return
		}
	}
	o.order = append(o.order, key)
}

func (o *originals) put(key string, v any, size int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, ok := o.kept[key]; ok || size > maxPageBytes {
		return
	}
	o.kept[key], o.sizes[key] = v, size
	o.bytes += size
	o.touch(key)
	for o.bytes > maxPageBytes {
		old := o.order[0]
		o.order = o.order[1:]
		o.bytes -= o.sizes[old]
		delete(o.kept, old)
		delete(o.sizes, old)
	}
}
