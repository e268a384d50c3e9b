package extract

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// spanFlags tracks which stretches of the current paragraph need a flag, and raises the flags once the paragraph's place in the text is
// known.
type spanFlags struct {
	open []paraSpan
}

type paraSpan struct {
	code, detail string
	from, to     int // bytes of builder.para
}

// write appends s to the paragraph; code "" means no flag. Adjacent stretches with the same code are joined.
func (f *spanFlags) write(b *builder, s, code, detail string) {
	from := len(b.para)
	b.text(s)
	if code == "" || len(b.para) == from {
		return
	}
	f.add(code, detail, from, len(b.para))
}

// add records the stretch [from, to) of the paragraph.
func (f *spanFlags) add(code, detail string, from, to int) {
	if n := len(f.open); n > 0 && f.open[n-1].code == code && f.open[n-1].to+1 >= from {
		f.open[n-1].to = to
		return
	}
	if from < to && len(f.open) < maxFlags {
		f.open = append(f.open, paraSpan{code, detail, from, to})
	}
}

// show removes the flags from the paragraph's text after byte from, because a copy of that text is visible.
func (f *spanFlags) show(from int) {
	f.open = slices.DeleteFunc(f.open, func(s paraSpan) bool { return s.from >= from })
}

// raise raises the flags for a paragraph at offset at of the text, from which lead bytes before the first letter were removed.
func (f *spanFlags) raise(b *builder, at, lead, end int) {
	for _, s := range f.open {
		from, to := max(at+s.from-lead, at), min(at+s.to-lead, end)
		// White space dropped inside the paragraph shifts the following text by some bytes.
		for text := b.out.String(); from > at && from < end && !utf8.RuneStart(text[from]); {
			from--
		}
		for text := b.out.String(); to < end && to > at && !utf8.RuneStart(text[to]); {
			to++
		}
		if from < to {
			b.flag(Flag{Code: s.code, Detail: s.detail, Start: from, End: to})
		}
	}
	f.open = f.open[:0]
}

// unseenText is invisible text of one kind in a paragraph.
type unseenText struct {
	code, detail string
	text         []byte
}

// takeUnseen removes the flagged stretches from the current paragraph, unless they are all of it.
func (b *builder) takeUnseen() []unseenText {
	for i := range b.spans.open { // a line break may have removed blanks at the end
		s := &b.spans.open[i]
		s.to = min(s.to, len(b.para))
		s.from = min(s.from, s.to)
	}
	seen := false
	at := 0
	for _, s := range b.spans.open {
		seen = seen || len(bytes.TrimSpace(b.para[at:max(s.from, at)])) > 0
		at = max(at, s.to)
	}
	if !seen && len(bytes.TrimSpace(b.para[at:])) == 0 {
		return nil
	}
	var out []unseenText
	kept := make([]byte, 0, len(b.para))
	at = 0
	for _, s := range b.spans.open {
		if s.from < at {
			continue
		}
		kept = append(kept, b.para[at:s.from]...)
		if s.code == FlagWhite && len(kept) > 0 && kept[len(kept)-1] > ' ' && s.to < len(b.para) && b.para[s.to] > ' ' {
			kept = append(kept, ' ') // white letters separate words as a blank does
		}
		for i := range b.places {
			if p := &b.places[i]; p.at > at && p.at <= s.from {
				p.at += len(kept) - s.from
			}
		}
		out = addUnseen(out, s, bytes.TrimSpace(b.para[s.from:s.to]))
		at = s.to
	}
	for i := range b.places {
		if p := &b.places[i]; p.at > at {
			p.at += len(kept) - at
		}
	}
	b.para = append(b.para[:0], append(kept, b.para[at:]...)...)
	b.spans.open = b.spans.open[:0]
	return out
}

// addUnseen joins the pieces of one kind.
func addUnseen(out []unseenText, s paraSpan, text []byte) []unseenText {
	for i := range out {
		if u := &out[i]; u.code == s.code {
			u.text = append(append(u.text, ' '), text...)
			return out
		}
	}
	return append(out, unseenText{s.code, s.detail, bytes.Clone(text)})
}
