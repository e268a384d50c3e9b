package extract

import "unicode/utf8"

// spanFlags remembers which stretches of the paragraph being written need a flag, and raises the
// flags when the paragraph's place in the text is known.
type spanFlags struct {
	open []paraSpan
}

type paraSpan struct {
	code, detail string
	from, to     int // bytes of builder.para
}

// write appends s to the paragraph; code "" needs no flag. Neighbouring stretches of one code join.
func (f *spanFlags) write(b *builder, s, code, detail string) {
	from := len(b.para)
	b.text(s)
	if code == "" || len(b.para) == from {
		return
	}
	f.add(code, detail, from, len(b.para))
}

// add notes the stretch [from, to) of the paragraph.
func (f *spanFlags) add(code, detail string, from, to int) {
	if n := len(f.open); n > 0 && f.open[n-1].code == code && f.open[n-1].to+1 >= from {
		f.open[n-1].to = to
		return
	}
	if from < to && len(f.open) < mostFlags {
		f.open = append(f.open, paraSpan{code, detail, from, to})
	}
}

// raise raises the flags of a paragraph that stands at offset at of the text and lost lead bytes
// before its first letter.
func (f *spanFlags) raise(b *builder, at, lead, end int) {
	for _, s := range f.open {
		from, to := max(at+s.from-lead, at), min(at+s.to-lead, end)
		// White space dropped inside the paragraph moves what follows by some bytes.
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
