package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"

	"concordat"
	"concordat/extract"
	"concordat/extract/sandbox"
	"concordat/site"
	"concordat/web/pages/reports"
)

// Layout implements reports.Originals.
func (o *originals) Layout(ctx context.Context, file site.Part, text string, spans []concordat.Span, from, n int) (*reports.Layout, error) {
	placed, err := o.placed(ctx, file, text, spans)
	if err != nil {
		return nil, err
	}
	pages, err := lookUp(ctx, o, fmt.Sprintf("placed %d+%d %s", from, n, keyOf(file)), func(ps []*extract.Page) int {
		size := 0
		for _, p := range ps {
			size += 128 + len(p.Letters) + 16*len(p.Boxes)
		}
		return size
	}, func(r *sandbox.Runner, path string) ([]*extract.Page, error) { return r.Pages(ctx, path, from, n) }, file)
	if err != nil {
		return nil, err
	}
	out := &reports.Layout{Pages: pages[0].Pages, Begins: make([]int, len(spans))}
	for _, p := range pages {
		out.Shown = append(out.Shown, reports.LaidOut{Number: p.Number, Width: p.Width, Height: p.Height})
	}
	for i, at := range placed {
		if len(at) == 0 {
			continue
		}
		out.Begins[i] = at[0].Page
		for _, s := range at {
			k := s.Page - from
			if k < 0 || k >= len(pages) {
				continue
			}
			var boxes []reports.Mark
			for _, b := range pages[k].Marks(s.Start, s.End) {
				boxes = append(boxes, markOf(b))
			}
			if boxes == nil {
				continue
			}
			shown := &out.Shown[k]
			if last := len(shown.Marks) - 1; last >= 0 && shown.Marks[last].Span == i {
				shown.Marks[last].Boxes = append(shown.Marks[last].Boxes, boxes...)
				continue
			}
			shown.Marks = append(shown.Marks, reports.LaidOutMark{Span: i, Begins: s == at[0], Boxes: boxes})
		}
	}
	return out, nil
}

func markOf(b extract.Box) reports.Mark {
	return reports.Mark{X: float64(b.Left), Y: float64(b.Top), Width: float64(b.Right - b.Left), Height: float64(b.Bottom - b.Top)}
}

// placed returns the positions of spans of a text on the pages of its file. It omits spans that are not found with certainty.
func (o *originals) placed(ctx context.Context, file site.Part, text string, spans []concordat.Span) ([][]extract.PageSpan, error) {
	key := "spans " + spansDigest(text, spans) + " " + keyOf(file)
	if v, ok := o.get(key); ok {
		return v.([][]extract.PageSpan), nil
	}
	letters, err := o.letters(ctx, file)
	if err != nil {
		return nil, err
	}
	placer, ok := o.get("placer " + keyOf(file))
	if !ok {
		p := extract.NewPlacer(letters)
		o.put("placer "+keyOf(file), p, p.Bytes())
		placer = p
	}
	out, size := make([][]extract.PageSpan, len(spans)), 0
	for i, s := range spans {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if s.Len() <= 0 {
			continue
		}
		if at := locate(placer.(*extract.Placer), text, s); at.Sure() {
			out[i] = filled(at.Spans)
		}
		size += 24 + 24*len(out[i])
	}
	o.put(key, out, size)
	return out, nil
}

const (
	// shortLetters is the number of letters below which a span is found with the text around it: a word, or a flagged letter.
	shortLetters = 60
	// aroundLetters is the number of letters of that text on each side, and aroundBytes bounds the bytes read for them.
	aroundLetters = 80
	aroundBytes   = 600
)

// locate finds a span of a text on the pages. A short span is found by the text around it, since the same word occurs in many places.
func locate(p *extract.Placer, text string, s concordat.Span) extract.Located {
	want, near := extract.Fold(s.In(text)), float64(s.Start)/float64(len(text))
	if len([]rune(want)) >= shortLetters {
		return p.Locate(want, near)
	}
	before := []rune(extract.Fold(strings.ToValidUTF8(text[max(s.Start-aroundBytes, 0):s.Start], "")))
	after := []rune(extract.Fold(strings.ToValidUTF8(text[s.End:min(s.End+aroundBytes, len(text))], "")))
	switch {
	case want != "":
	case len(after) > 0: // invisible characters are marked at the letter that follows them
		want, after = string(after[:1]), after[1:]
	case len(before) > 0:
		want, before = string(before[len(before)-1:]), before[:len(before)-1]
	}
	before, after = before[max(len(before)-aroundLetters, 0):], after[:min(aroundLetters, len(after))]
	at := p.LocateWithin(string(before), want, string(after), max(near-float64(len(string(before)))/float64(len(text)), 0))
	if !at.Sure() {
		at = p.Locate(want, near)
	}
	return at
}

// spansDigest returns a digest that identifies spans of a text.
func spansDigest(text string, spans []concordat.Span) string {
	h := sha256.New()
	_, _ = h.Write([]byte(text)) // a hash accepts everything
	for _, s := range spans {
		_ = binary.Write(h, binary.BigEndian, [2]int64{int64(s.Start), int64(s.End)})
	}
	return string(h.Sum(nil))
}

// smallGap is the maximum number of letters in a gap that is marked together with the parts of a passage around it, for example a word
// that is read differently on the page.
const smallGap = 40

// filled joins stretches of a page separated only by a small gap.
func filled(at []extract.PageSpan) []extract.PageSpan {
	out := at[:1:1]
	for _, s := range at[1:] {
		if last := &out[len(out)-1]; last.Page == s.Page && s.Start >= last.End && s.Start-last.End <= smallGap {
			last.End = s.End
			continue
		}
		out = append(out, s)
	}
	return out
}
