package webtest

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"os"
	"strings"

	"concordat"
	"concordat/site"
	"concordat/store"
	"concordat/web/pages/reports"
)

// Paged is a PDF of three pages with Folios on the second.
const Paged = "%PDF-1.7 a first page on which nothing stands that anybody else has said before.\f" + Folios + "\fA last page."

// plainOriginals accepts files that begin like a PDF, with form feeds between pages. A letter is one point wide, and a page is a hundred
// points wide.
type plainOriginals struct{ files *store.Files }

func (o plainOriginals) read(file string) []string {
	path, err := o.files.Path(file)
	if err != nil {
		return nil
	}
	b, err := os.ReadFile(path)
	if err != nil || !bytes.HasPrefix(b, []byte("%PDF-")) {
		return nil
	}
	return strings.Split(string(b), "\f")
}

func (o plainOriginals) Paged(_ context.Context, file site.Part) reports.Pages {
	switch {
	case o.read(file.File) != nil:
		return reports.PagesShown
	case strings.HasSuffix(file.Name, ".odt"):
		return reports.PagesNoOffice
	}
	return reports.PagesNone
}

func (o plainOriginals) Find(_ context.Context, file site.Part, text string, span concordat.Span, n int) (reports.Found, error) {
	for i, p := range o.read(file.File) {
		if at := strings.Index(p, strings.TrimSpace(span.In(text))); at >= 0 {
			f := reports.Found{Page: i + 1, Sure: true}
			if n == i+1 {
				f.Marks = []reports.Mark{{X: float64(at % 100), Y: 10, Width: 20, Height: 5}, {X: 1, Y: 16, Width: 90, Height: 5}}
			}
			return f, nil
		}
	}
	return reports.Found{}, nil
}

func (o plainOriginals) Page(_ context.Context, file site.Part, n int) (*reports.OriginalPage, error) {
	pages := o.read(file.File)
	if n < 1 || n > len(pages) {
		return nil, fmt.Errorf("page %d: %w", n, concordat.ErrNotFound)
	}
	paper := image.NewGray(image.Rect(0, 0, 100, 100))
	for i := range paper.Pix {
		if y := i / paper.Stride; y%6 >= 2 || y < 9 || y > 90 {
			paper.Pix[i] = 0xff
		}
	}
	var b bytes.Buffer
	err := png.Encode(&b, paper)
	return &reports.OriginalPage{Number: n, Pages: len(pages), Width: 100, Height: 100, PNG: b.Bytes()}, err
}

func (o plainOriginals) Layout(_ context.Context, file site.Part, text string, spans []concordat.Span,
	from, n int) (*reports.Layout, error) {
	pages := o.read(file.File)
	if from < 1 || from > len(pages) {
		return nil, fmt.Errorf("page %d: %w", from, concordat.ErrNotFound)
	}
	l := &reports.Layout{Pages: len(pages), Begins: make([]int, len(spans))}
	for i := from; i < from+n && i <= len(pages); i++ {
		l.Shown = append(l.Shown, reports.LaidOut{Number: i, Width: 100, Height: 100})
	}
	for i, s := range spans {
		for k, p := range pages {
			if at := strings.Index(p, strings.TrimSpace(s.In(text))); at >= 0 && s.Len() > 0 {
				l.Begins[i] = k + 1
				if k+1 >= from && k+1-from < len(l.Shown) {
					shown := &l.Shown[k+1-from]
					shown.Marks = append(shown.Marks, reports.LaidOutMark{Span: i, Begins: true,
						Boxes: []reports.Mark{{X: float64(at%50) + 40, Y: 10, Width: 20, Height: 5}, {X: 1, Y: 16, Width: 90, Height: 5}}})
				}
				break
			}
		}
	}
	return l, nil
}
