package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"concordat"
	"concordat/extract"
	"concordat/extract/sandbox"
	"concordat/instance"
	"concordat/store"
	"concordat/web"
)

const (
	// pageWidth is the width of a page's picture in pixels: that of a screen, twice as sharp as its text needs.
	pageWidth = 1200
	// maxPageBytes bounds the cached pictures and letters of pages.
	maxPageBytes = 64 << 20
	// maxPageReaders bounds the children that draw pages at a time; others wait.
	maxPageReaders = 2
)

// originals draws pages of submitted files, in children of the reader. It is safe for concurrent use.
type originals struct {
	files  *store.Files
	reader *instance.Reader
	turn   chan struct{} // one for each child at work

	mu    sync.Mutex // guards what follows
	kept  map[string]any
	order []string // of kept, oldest use first
	bytes int
	sizes map[string]int
}

var _ web.Originals = (*originals)(nil)

func newOriginals(files *store.Files, r *instance.Reader) *originals {
	return &originals{files: files, reader: r, turn: make(chan struct{}, maxPageReaders), kept: map[string]any{}, sizes: map[string]int{}}
}

// pdfHead is how many bytes of a file are searched for the signature of PDF.
const pdfHead = 1024

// Paged implements web.Originals.
func (o *originals) Paged(ctx context.Context, file string) bool {
	path, err := o.files.Fetch(ctx, file)
	if err != nil {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // only read
	head, err := io.ReadAll(io.LimitReader(f, pdfHead))
	return err == nil && bytes.Contains(head, []byte("%PDF-"))
}

// Find implements web.Originals.
func (o *originals) Find(ctx context.Context, file, text string, span concordat.Span, n int) (web.Found, error) {
	pages, err := o.letters(ctx, file)
	if err != nil {
		return web.Found{}, err
	}
	at := extract.Locate(pages, extract.Fold(span.In(text)), float64(span.Start)/float64(max(len(text), 1)))
	out := web.Found{Sure: at.Sure()}
	if len(at.Spans) > 0 {
		out.Page = at.Spans[0].Page // unsure: the best place known, and no mark
	}
	for _, s := range at.Spans {
		if s.Page != n || !out.Sure {
			continue
		}
		page, err := o.page(ctx, file, n)
		if err != nil {
			return web.Found{}, err
		}
		for _, b := range page.Marks(s.Start, s.End) {
			out.Marks = append(out.Marks, markOf(b))
		}
	}
	return out, nil
}

// letters returns the letters of each page.
func (o *originals) letters(ctx context.Context, file string) ([]string, error) {
	return lookUp(ctx, o, "letters "+file, func(s []string) int {
		n := 0
		for _, p := range s {
			n += len(p) + 16
		}
		return n
	}, func(r *sandbox.Runner, path string) ([]string, error) { return r.Letters(ctx, path) }, file)
}

// Page implements web.Originals.
func (o *originals) Page(ctx context.Context, file string, n int) (*web.OriginalPage, error) {
	p, err := o.page(ctx, file, n)
	if err != nil {
		return nil, err
	}
	return &web.OriginalPage{Number: p.Number, Pages: p.Pages, Width: p.Width, Height: p.Height, PNG: p.PNG}, nil
}

func (o *originals) page(ctx context.Context, file string, n int) (*extract.Page, error) {
	return lookUp(ctx, o, fmt.Sprintf("page %d %s", n, file), func(p *extract.Page) int {
		return len(p.PNG) + len(p.Letters) +
			16*len(p.Boxes)
	},
		func(r *sandbox.Runner, path string) (*extract.Page, error) { return r.Page(ctx, path, n, pageWidth) }, file)
}

// lookUp returns the cached value, or reads it from the file and caches it.
func lookUp[T any](ctx context.Context, o *originals, key string, size func(T) int, read func(*sandbox.Runner, string) (T, error),
	file string) (T, error) {
	if v, ok := o.get(key); ok {
		return v.(T), nil
	}
	var none T
	path, err := o.files.Fetch(ctx, file)
	if err != nil {
		return none, err
	}
	select {
	case o.turn <- struct{}{}:
		defer func() { <-o.turn }()
	case <-ctx.Done():
		return none, ctx.Err()
	}
	if v, ok := o.get(key); ok { // read while this one waited
		return v.(T), nil
	}
	r, err := o.reader.Start()
	if err != nil {
		return none, err
	}
	v, err := read(r, path)
	var bad *extract.Error
	switch {
	case errors.As(err, &bad) && bad.Code == extract.Unreadable:
		return none, fmt.Errorf("page: %w: %w", concordat.ErrNotFound, err)
	case errors.As(err, &bad):
		return none, fmt.Errorf("page: %w: %w", concordat.ErrInvalid, err)
	case err != nil:
		return none, err
	}
	o.put(key, v, size(v))
	return v, nil
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

// touch makes key the most recently used. o.mu is held.
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
