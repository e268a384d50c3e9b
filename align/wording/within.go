package wording

import (
	"slices"

	"concordat"
)

// Only returns the grams of w inside spans. A [Counter] of such grams recognises wording that several texts attribute to someone else.
// spans must be in text order without overlaps.
func (w *Words) Only(spans []concordat.Span) *Words {
	out := &Words{}
	for _, g := range w.grams {
		at := w.span(g.first, g.last)
		i, _ := slices.BinarySearchFunc(spans, at.Start, func(s concordat.Span, at int) int { return s.End - at - 1 })
		if i < len(spans) && spans[i].Start <= at.Start && at.End <= spans[i].End {
			out.grams = append(out.grams, g)
		}
	}
	return out
}

// mostlyHeld is the share of a span's words that must be found for the whole span to count, because a slot can be filled in.
const mostlyHeld = 0.8

// HeldIn returns the parts of a span of w that consist of grams in c. It returns the whole span if most of it does, and otherwise each
// run of at least leastWords words.
func (c *Common) HeldIn(w *Words, s concordat.Span) []concordat.Span {
	if c == nil || len(c.held) == 0 {
		return nil
	}
	var out []concordat.Span
	first, last := w.within(s)
	words, from, end := int32(0), int32(-1), int32(-1)
	add := func() {
		if from >= 0 && end-from >= leastWords {
			out = append(out, w.span(from, end))
		}
	}
	for i := first; i+gramWords <= last; i++ {
		g := w.grams[i]
		if c.held[g.hash] == 0 {
			continue
		}
		if from < 0 || g.first > end+maxSlot {
			add()
			from, end = g.first, g.first
		}
		words += g.last - max(end, g.first)
		end = g.last
	}
	add()
	if float64(words) >= mostlyHeld*float64(last-first) && last > first {
		return []concordat.Span{s}
	}
	return out
}

// RunsIn returns the stretches of a span of w in which every gram is in c. An empty line does not end a stretch, but a paragraph shorter
// than a gram does.
func (c *Common) RunsIn(w *Words, s concordat.Span) []concordat.Span {
	if c == nil || len(c.held) == 0 {
		return nil
	}
	var out []concordat.Span
	first, last := w.within(s)
	from, end := int32(-1), int32(0)
	for i := first; i+gramWords <= last; i++ {
		switch g := w.grams[i]; {
		case g.hash == noGram:
		case c.held[g.hash] == 0:
			from = -1
		default:
			if from < 0 || g.first > end {
				from = g.first
				out = append(out, concordat.Span{})
			}
			end = g.last
			out[len(out)-1] = w.span(from, end)
		}
	}
	return out
}
