package extract

import (
	"sort"
	"strings"
)

// edit is a change to the finished text that replaces bytes [from, to) with text, and raises a flag unless code is empty.
type edit struct {
	from, to           int
	text, code, detail string
}

// asSeen replaces what the file stores with what a reader sees if they differ in more than appearance: letters under a direction
// override, and letters and blanks that resemble others.
func (b *builder) asSeen() {
	if isASCII([]byte(b.res.Text)) {
		return
	}
	if !b.garbled {
		b.rewrite(reordered(b.res.Text))
	}
	b.rewrite(turned(b.res.Text, b.directed))
	if !b.garbled { // otherwise, the characters are not the letters they appear to be
		b.rewrite(undisguised(b.res.Text))
	}
}

// rewrite applies the edits, which must be in text order without overlaps, and moves places and flags with the text.
func (b *builder) rewrite(edits []edit) {
	if len(edits) == 0 {
		return
	}
	s := b.res.Text
	var out strings.Builder
	out.Grow(len(s))
	starts := make([]int, len(edits)) // start of each edit in the new text
	at := 0
	for i, e := range edits {
		out.WriteString(s[at:e.from])
		starts[i] = out.Len()
		out.WriteString(e.text)
		at = e.to
	}
	out.WriteString(s[at:])
	moved := func(p int, end bool) int {
		i := sort.Search(len(edits), func(i int) bool { return edits[i].to > p }) // first edit that ends after p
		if i < len(edits) && (p > edits[i].from || p == edits[i].from && !end && edits[i].to > p) {
			if end {
				return starts[i] + len(edits[i].text)
			}
			return starts[i]
		}
		if i == 0 {
			return p
		}
		return p - edits[i-1].to + starts[i-1] + len(edits[i-1].text)
	}
	b.res.Text = out.String()
	for i := range b.res.Places {
		b.res.Places[i].Offset = moved(b.res.Places[i].Offset, false)
	}
	for i := range b.res.Flags {
		if f := &b.res.Flags[i]; f.End > 0 {
			f.Start, f.End = moved(f.Start, false), moved(f.End, true)
			if f.Start >= f.End { // none of the flagged text remains
				f.Start, f.End = 0, 0
			}
		}
	}
	for i, e := range edits {
		if e.code != "" {
			f := Flag{Code: e.code, Detail: e.detail, Start: starts[i], End: starts[i] + len(e.text)}
			if e.code == FlagMarks {
				f.Letters = max(0, characters(s[e.from:e.to])-characters(e.text))
			}
			if e.text == "" {
				f.Start, f.End = 0, 0
			}
			b.flag(f)
		}
	}
}
