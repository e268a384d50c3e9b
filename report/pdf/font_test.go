package pdf

import (
	"strings"
	"testing"
	"unicode"
)

// TestCoverage: the fonts cover the characters of the languages of reports.
func TestCoverage(t *testing.T) {
	fs, err := faces()
	if err != nil {
		t.Fatal(err)
	}
	has := func(r rune) bool {
		for _, f := range fs {
			if _, ok := f.width(r); ok {
				return true
			}
		}
		return false
	}
	for name, x := range map[string]struct {
		from, to rune
		most     int // number of letters that may be missing
	}{
		"ASCII": {' ' + 1, '~', 0}, "Latin-1": {0xa1, 0xff, 1}, "Latin extended": {0x100, 0x17f, 0}, "Vietnamese": {0x1ea0, 0x1ef9, 0},
		"Greek": {0x391, 0x3c9, 1}, "Cyrillic": {0x400, 0x45f, 0}, "Armenian": {0x531, 0x556, 0}, "Georgian": {0x10d0, 0x10f0, 0},
		"kana": {0x3041, 0x30fe, 8}, "Hangul": {0xac00, 0xd7a3, 0}, "Han": {0x4e00, 0x9fa5, 0}, "full width": {0xff01, 0xff5e, 0},
	} {
		lacking := 0
		for r := x.from; r <= x.to; r++ {
			if unicode.IsGraphic(r) && !has(r) {
				lacking++
			}
		}
		if lacking > x.most {
			t.Errorf("%s: %d letters are lacking, want at most %d", name, lacking, x.most)
		}
	}
	for _, r := range []rune{0xe123, 0x13a0, 0xfffe} {
		if w, ok := fs[0].width(r); ok && r == 0xfffe {
			t.Errorf("%U has the width %v", r, w)
		}
	}
}

// TestLinesLoseNothing: line breaking loses no piece at any width, and only the first piece of a line can be wider than the line.
func TestLinesLoseNothing(t *testing.T) {
	fs, err := faces()
	if err != nil {
		t.Fatal(err)
	}
	d := &doc{faces: fs}
	text := "Some words, “quoted” and (in brackets); 中文没有空格，所以到处都可以换行。 Averyveryverylongwordthatfitsnowhere 𠀀 e\u0301\n\nnew paragraph\n"
	ps := d.pieces([]run{body(text[:20]), faint(text[20:])})
	for w := 5.0; w < 600; w += 7 {
		n := 0
		for _, l := range lines(ps, w) {
			used := 0.0
			for i, p := range l {
				if p.text != ps[n].text {
					t.Fatalf("width %v: piece %d is %q, want %q", w, n, p.text, ps[n].text)
				}
				n++
				if !p.space {
					if used += p.width; used > w && i > 0 {
						t.Fatalf("width %v: a line has %v", w, used)
					}
				} else {
					used += p.width
				}
			}
		}
		if n != len(ps) {
			t.Fatalf("width %v: %d pieces of %d", w, n, len(ps))
		}
	}
}

// FuzzLines: the pieces of any text are its characters in order, and lines consist of those pieces.
func FuzzLines(f *testing.F) {
	fs, err := faces()
	if err != nil {
		f.Fatal(err)
	}
	f.Add("Some words, “quoted”; 中文 𠀀 e\u0301\n\nmore\t\x00\u200b", 40.0)
	f.Add("\u0301\u0301 ", 0.0)
	f.Add("بلا שלום (abc) 12", 30.0)
	f.Fuzz(func(t *testing.T, text string, w float64) {
		if len(text) > 5000 {
			return
		}
		d := &doc{faces: fs}
		ps := d.pieces([]run{body(text[:len(text)/2]), faint(text[len(text)/2:])})
		var got, want strings.Builder
		for _, p := range ps {
			if p.newRow {
				got.WriteByte('\n')
			}
			got.WriteString(p.raw)
		}
		for _, half := range []string{text[:len(text)/2], text[len(text)/2:]} {
			for _, r := range half {
				switch {
				case r == '\r':
				case r == '\n':
					want.WriteByte('\n')
				case r == '\t':
					want.WriteByte(' ')
				case !d.piece(r, &textStyle{size: 1}).escape:
					want.WriteRune(r)
				default:
					want.WriteString(escape(r))
				}
			}
		}
		if got.String() != want.String() {
			t.Fatalf("got  %q\nwant %q", got.String(), want.String())
		}
		n := 0
		for _, l := range lines(ps, w) {
			n += len(l)
		}
		if n != len(ps) {
			t.Fatalf("%d pieces in lines, of %d", n, len(ps))
		}
	})
}
