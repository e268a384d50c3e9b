package pdf

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"codeberg.org/go-pdf/fpdf"

	"concordat"
	"concordat/report"
)

// TestWordsStayWhole: each letter is a separate piece, and in a column wider than every word each line begins with a whole word.
func TestWordsStayWhole(t *testing.T) {
	fs, err := faces()
	if err != nil {
		t.Fatal(err)
	}
	d := &doc{faces: fs}
	text := "Some words of many letters stand (in brackets) here; 中文没有空格。\nA new paragraph of several words."
	ps := d.pieces([]run{body(text)})
	if letters := len([]rune(text)); len(ps) != letters {
		t.Errorf("%d pieces, want %d", len(ps), letters)
	}
	for w := 90.0; w < 300; w += 7 {
		before := piece{newRow: true}
		for _, l := range lines(ps, w) {
			if !before.newRow && !l[0].begins {
				t.Errorf("width %v: a line begins with %q within a word", w, l[0].text)
			}
			before = l[len(l)-1]
		}
	}
}

// TestSealNamesWhatItAdds: a sealed file lists its attachments, if any, with their types as PDF names.
func TestSealNamesWhatItAdds(t *testing.T) {
	pages, err := Write(report.Build(&report.Findings{Submission: concordat.Document{ID: "x", Text: "Words."}}, report.Rules{}), Options{})
	if err != nil {
		t.Fatal(err)
	}
	sign := &Signature{At: time.Unix(0, 0), Size: 40, Sign: func([]byte) ([]byte, error) { return []byte{0x30, 1, 2}, nil }}
	none, err := Seal(pages, nil, sign)
	if err != nil {
		t.Fatal(err)
	}
	if added := none[len(pages):]; bytes.Contains(added, []byte("/EmbeddedFiles")) || bytes.Contains(added, []byte("/AF [")) {
		t.Errorf("a file without attachments lists some:\n%s", added)
	}
	one, err := Seal(pages, []File{{Name: "a", Type: "x-9+0/json", Content: []byte("c")}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(one, []byte("/Subtype /x-9#2B0#2Fjson ")) || !bytes.Contains(one, []byte("/EmbeddedFiles")) {
		t.Errorf("the attachment is added as\n%s", one[len(pages):])
	}
}

// emptyPage returns a document with one page and the fonts, written without compression.
func emptyPage(t *testing.T) *doc {
	t.Helper()
	fs, err := faces()
	if err != nil {
		t.Fatal(err)
	}
	d := &doc{f: fpdf.New("P", "pt", "A4", ""), faces: fs}
	d.f.SetCompression(false)
	for _, x := range fs {
		d.f.AddUTF8FontFromBytes(x.name, "", x.bytes)
	}
	d.f.AddPage()
	return d
}

// TestNothingIsDrawnOverAnother: along a line, each run of letters begins where the previous one ended, and if the fonts lack a letter,
// its code point is inside its box with space on either side.
func TestNothingIsDrawnOverAnother(t *testing.T) {
	d := emptyPage(t)
	line := d.pieces([]run{body("before\U000f0000between\U000f0001\U000f0002after 中文 end")})
	d.draw(line, 50, 100, 12)
	var b bytes.Buffer
	if err := d.f.Output(&b); err != nil {
		t.Fatal(err)
	}
	type extent struct{ from, to float64 }
	var texts, boxes []extent
	number := func(s []byte) float64 {
		x, err := strconv.ParseFloat(string(s), 64)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	for _, m := range regexp.MustCompile(`(?m)^([\d.]+) \S+ (\S+) \S+ re|BT ([\d.]+) \S+ Td`).FindAllSubmatch(b.Bytes(), -1) {
		if m[1] != nil {
			boxes = append(boxes, extent{number(m[1]), number(m[1]) + number(m[2])})
		} else {
			texts = append(texts, extent{from: number(m[3])})
		}
	}
	shown := []string{"before", "[U+F0000]", "between", "[U+F0001]", "[U+F0002]", "after 中文 end"}
	if len(texts) != len(shown) || len(boxes) != 3 {
		t.Fatalf("%d runs of letters and %d boxes are drawn, want %d and 3", len(texts), len(boxes), len(shown))
	}
	const rounded = 0.05 // in points, because numbers have two decimals
	box := 0
	for i, s := range shown {
		texts[i].to = texts[i].from
		p := d.pieces([]run{body(strings.Trim(s, "[]"))})
		for _, r := range s {
			w, _ := p[0].face.width(r)
			texts[i].to += w * p[0].style.size / 1000
		}
		if i > 0 && texts[i].from < texts[i-1].to-rounded {
			t.Errorf("%q begins at %.2f, and %q before it ends at %.2f", s, texts[i].from, shown[i-1], texts[i-1].to)
		}
		if s[0] != '[' {
			continue
		}
		if x := boxes[box]; texts[i].from < x.from+rounded || texts[i].to > x.to-rounded {
			t.Errorf("%q is drawn from %.2f to %.2f, and its box from %.2f to %.2f", s, texts[i].from, texts[i].to, x.from, x.to)
		}
		if box++; i > 0 && boxes[box-1].from < texts[i-1].to-rounded {
			t.Errorf("the box of %q is drawn over %q", s, shown[i-1])
		}
	}
}

// TestWordsWithinHebrew: in a right-to-left line, several left-to-right words stand between their neighbours without overlapping them.
func TestWordsWithinHebrew(t *testing.T) {
	d := emptyPage(t)
	line := lines(d.pieces([]run{{"שלום abc defghi עולם", textStyle{size: 10, wording: true}}}), 10_000)[0]
	order(line) // assigns each piece its level
	var widths []float64
	for i, p := range line {
		if i == 0 || p.level != line[i-1].level || p.face != line[i-1].face {
			widths = append(widths, 0)
		}
		widths[len(widths)-1] += p.width
	}
	d.turn(line, 50, 100, 12)
	var b bytes.Buffer
	if err := d.f.Output(&b); err != nil {
		t.Fatal(err)
	}
	end := 50.0
	for _, w := range widths {
		end += w
	}
	drawn := regexp.MustCompile(`BT ([\d.]+) \S+ Td`).FindAllSubmatch(b.Bytes(), -1)
	if len(drawn) != len(widths) || len(drawn) < 3 || len(drawn) > 5 {
		t.Fatalf("%d runs of letters are drawn, want %d", len(drawn), len(widths))
	}
	for i, m := range drawn { // in reading order
		x, err := strconv.ParseFloat(string(m[1]), 64)
		if end -= widths[i]; err != nil || math.Abs(x-end) > 0.05 {
			t.Errorf("run %d begins at %.2f, want %.2f (%v)", i+1, x, end, err)
		}
	}
}

// TestChangedPageIsNamed: if any page of a report, or anything on it, is altered, exactly that page is named.
func TestChangedPageIsNamed(t *testing.T) {
	text := strings.Repeat("A sentence of a long submission, which needs some pages of its own. ", 400)
	b, err := Write(report.Build(&report.Findings{Submission: concordat.Document{ID: "x", Text: text}}, report.Rules{}),
		Options{Notes: []Note{{Kind: NoteComment, Text: text}}})
	if err != nil {
		t.Fatal(err)
	}
	list := &Objects{Objects: ObjectsOf(b)}
	pages := regexp.MustCompile(`<</Type /Page\n(?s:.*?)/Contents (\d+) 0 R`).FindAllSubmatchIndex(b, -1)
	if len(pages) < 3 {
		t.Fatalf("%d pages", len(pages))
	}
	for i, m := range pages {
		content := bytes.Index(b, fmt.Appendf(nil, "\n%s 0 obj\n", b[m[2]:m[3]]))
		stream := content + bytes.Index(b[content:], []byte("stream\n"))
		for what, at := range map[string]int{"the page": m[0] + len("<</Type /Page\n"), "its content": stream + 20} {
			altered := bytes.Clone(b)
			altered[at] ^= 1
			if named, other := list.Changed(altered); !slices.Equal(named, []int{i + 1}) || other {
				t.Errorf("page %d of %d, %s altered: pages %v are named, and others %v", i+1, len(pages), what, named, other)
			}
		}
	}
}

// TestAttachmentHasAName: a file with an attachment whose name contains an incomplete character does not come from a site, and is
// refused.
func TestAttachmentHasAName(t *testing.T) {
	pages, err := Write(report.Build(&report.Findings{Submission: concordat.Document{ID: "x", Text: "Words."}}, report.Rules{}), Options{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := Seal(pages, []File{{Name: "ab", Type: "t", Content: []byte("c")}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := Open(b); err != nil || len(s.Files) != 1 || s.Files[0].Name != "ab" {
		t.Fatalf("%+v, %v", s, err)
	}
	for _, name := range []string{"", "fe", "feff00610"} {
		if _, err := Open(bytes.Replace(b, []byte("/F <feff00610062>"), []byte("/F <"+name+">"), 1)); !errors.Is(err, concordat.ErrInvalid) {
			t.Errorf("name %q: %v", name, err)
		}
	}
}

// TestSealIsReadAsItSays: a signature lies between the bytes that it states, in angle brackets, and an attachment has its stated length;
// any other file is refused.
func TestSealIsReadAsItSays(t *testing.T) {
	pages, err := Write(report.Build(&report.Findings{Submission: concordat.Document{ID: "x", Text: "Words."}}, report.Rules{}), Options{})
	if err != nil {
		t.Fatal(err)
	}
	der := []byte{0x30, 1, 2}
	b, err := Seal(pages, []File{{Name: "ab", Type: "t", Content: []byte("content")}},
		&Signature{At: time.Unix(0, 0), Size: 40, Sign: func([]byte) ([]byte, error) { return der, nil }})
	if err != nil {
		t.Fatal(err)
	}
	m := byteRange.FindSubmatch(b)
	if m == nil {
		t.Fatal("no signature")
	}
	open, err := strconv.Atoi(string(m[1]))
	after, bad := strconv.Atoi(string(m[2]))
	if err = errors.Join(err, bad); err != nil {
		t.Fatal(err)
	}
	s, err := Open(b)
	if err != nil || !bytes.Equal(s.Signature, der) || s.Added != 0 || !bytes.Equal(s.Content, slices.Concat(b[:open], b[after:])) {
		t.Fatalf("read is %+v, %v", s, err)
	}
	with := func(at int) []byte {
		out := bytes.Clone(b)
		out[at] = ' '
		return out
	}
	for what, b := range map[string][]byte{"no bracket before the signature": with(open), "no bracket behind it": with(after - 1),
		"an attachment that is shorter": bytes.Replace(b, []byte("/Size 7 "), []byte("/Size 8 "), 1),
		"an attachment that is longer":  bytes.Replace(b, []byte("/Size 7 "), []byte("/Size 6 "), 1)} {
		if s, err := Open(b); !errors.Is(err, concordat.ErrInvalid) {
			t.Errorf("%s: read is %+v, %v", what, s, err)
		}
	}
}

// TestUsableWords: words in common count up to the ends of both sides of a passage, in order and no further; words that count are not
// marked as different.
func TestUsableWords(t *testing.T) {
	pair := func(from, to, sourceFrom, sourceTo int) concordat.SpanPair {
		return concordat.SpanPair{Span: concordat.Span{Start: from, End: to}, Source: concordat.Span{Start: sourceFrom, End: sourceTo}}
	}
	first, last := pair(10, 14, 100, 104), pair(15, 20, 105, 110)
	for name, x := range map[string]struct{ words, want []concordat.SpanPair }{
		"from end to end":         {[]concordat.SpanPair{first, last}, []concordat.SpanPair{first, last}},
		"beyond the source":       {[]concordat.SpanPair{first, pair(15, 20, 105, 111)}, []concordat.SpanPair{first}},
		"beyond the passage":      {[]concordat.SpanPair{first, pair(15, 21, 105, 110)}, []concordat.SpanPair{first}},
		"before the source":       {[]concordat.SpanPair{pair(10, 14, 99, 104), last}, []concordat.SpanPair{last}},
		"before the passage":      {[]concordat.SpanPair{pair(9, 14, 100, 104), last}, []concordat.SpanPair{last}},
		"in another order":        {[]concordat.SpanPair{last, first}, []concordat.SpanPair{last}},
		"ends before it begins":   {[]concordat.SpanPair{pair(14, 10, 100, 104), last}, []concordat.SpanPair{last}},
		"that of the source does": {[]concordat.SpanPair{pair(10, 14, 104, 100), last}, []concordat.SpanPair{last}},
	} {
		p := concordat.Passage{Span: concordat.Span{Start: 10, End: 20}, SourceSpan: concordat.Span{Start: 100, End: 110}, Text: "0123456789",
			Words: x.words}
		if got := usable(p, 30); !slices.Equal(got, x.want) {
			t.Errorf("%s: %v, want %v", name, got, x.want)
		}
		p.Text = ""
		if got := usable(p, 30); got != nil {
			t.Errorf("%s: %v of a source that is not shown", name, got)
		}
	}
}
