package extract_test

import (
	"fmt"
	"strings"
	"testing"

	"concordat/extract"
)

// proseColumn contains the lines of a column of text written for these tests.
var proseColumn = []string{
	"The harbour office worked out the tide", "tables of the island in spring and then", "handed them to the fishermen, who kept",
	"them in their boats under the bench, dry", "and out of the wind. The daughter of the", "keeper copied the figures into her book",
	"and wrote down when the moon rose and", "from where the wind blew. Later the book", "was found in a box that the town bought",
	"with the house, and the scholars who read", "it learned how high the water had stood",
}

// drawn collects the contents of a page that draws text in given places.
type drawn struct{ s strings.Builder }

func (d *drawn) put(x, y, size float64, text string) {
	fmt.Fprintf(&d.s, "BT /F1 %.1f Tf 1 0 0 1 %.1f %.1f Tm (%s) Tj ET\n", size, x, y, escapePDF(text))
}

// TestPDFOrder: a page is read in the order of its layout, whatever the order of drawing, and the flag shows the difference.
func TestPDFOrder(t *testing.T) {
	left, right := proseColumn, make([]string, len(proseColumn))
	for i, l := range left { // different words of the same lengths
		right[i] = strings.NewReplacer("e", "o", "a", "i", "T", "D", "s", "r").Replace(l)
	}
	flow := func(columns ...[]string) string {
		var all []string
		for _, c := range columns {
			all = append(all, c...)
		}
		return strings.Join(all, " ")
	}
	at := func(i int) float64 { return 700 - 12*float64(i) }
	cases := []struct {
		name string
		draw func(d *drawn)
		want string
		flag bool
	}{
		{"one column", func(d *drawn) {
			for i, l := range left {
				d.put(72, at(i), 10, l)
			}
		}, flow(left), false},
		{"two columns, one after the other", func(d *drawn) {
			for c, lines := range [][]string{left, right} {
				for i, l := range lines {
					d.put(50+265*float64(c), at(i), 10, l)
				}
			}
		}, flow(left, right), false},
		{"two columns, row by row", func(d *drawn) {
			for i := range left {
				d.put(50, at(i), 10, left[i])
				d.put(315, at(i), 10, right[i])
			}
		}, flow(left, right), true},
		{"narrow gutter, row by row", func(d *drawn) {
			for i := range left {
				d.put(50, at(i), 10, left[i])
				d.put(50+6*41+11, at(i), 10, right[i])
			}
		}, flow(left, right), true},
		{"words shuffled", func(d *drawn) {
			type word struct {
				x, y float64
				s    string
			}
			var all []word
			for i, l := range left {
				x := 72.0
				for _, w := range strings.Fields(l) {
					all = append(all, word{x, at(i), w})
					x += 6 * float64(len(w)+1)
				}
			}
			for k := range all {
				w := all[k*17%len(all)]
				d.put(w.x, w.y, 10, w.s)
			}
		}, flow(left), true},
		{"lines from the bottom", func(d *drawn) {
			for i := range left {
				k := len(left) - 1 - i
				d.put(72, at(k), 10, left[k])
			}
		}, flow(left), true},
		{"lines upwards", func(d *drawn) {
			for i, l := range left {
				fmt.Fprintf(&d.s, "BT /F1 10 Tf 0 1 -1 0 %d 100 Tm (%s) Tj ET\n", 100+12*i, escapePDF(l))
			}
		}, flow(left), false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var d drawn
			c.draw(&d)
			r := readPDF(t, pdfFile([]string{d.s.String()}))
			if got := strings.Join(strings.Fields(r.Text), " "); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
			if got := strings.Contains(fmt.Sprint(r.Flags), extract.FlagOrder); got != c.flag {
				t.Errorf("flags %+v, want one of the order: %v", r.Flags, c.flag)
			}
		})
	}
}

// TestPDFTableStaysRows: a table whose cells are drawn row by row is read row by row.
func TestPDFTableStaysRows(t *testing.T) {
	var d drawn
	for i := range 12 {
		y := 700 - 14*float64(i)
		d.put(72, y, 10, fmt.Sprintf("Sample number %d", i))
		d.put(300, y, 10, fmt.Sprintf("%d.5 mm", 3*i))
		d.put(420, y, 10, "Measured twice")
	}
	r := readPDF(t, pdfFile([]string{d.s.String()}))
	if a, b := strings.Index(r.Text, "3.5 mm"), strings.Index(r.Text, "Sample number 2"); a < 0 || a > b {
		t.Errorf("the second row does not stand before the third: %q", r.Text)
	}
	if strings.Contains(fmt.Sprint(r.Flags), extract.FlagOrder) {
		t.Errorf("flags %+v", r.Flags)
	}
}

// TestPDFLineNumbers: line numbers in a margin are left out and counted, but numbers in the text are not.
func TestPDFLineNumbers(t *testing.T) {
	text := strings.Join(proseColumn, " ")
	for _, c := range []struct {
		name    string
		x       float64
		step    int
		numbers int
	}{{"left", 50, 1, 11}, {"right", 340, 1, 11}, {"every second", 50, 2, 5}, {"close", 58, 1, 11}} {
		t.Run(c.name, func(t *testing.T) {
			var d drawn
			for i, l := range proseColumn {
				y := 700 - 12*float64(i)
				if n := i + 1; n%c.step == 0 {
					d.put(c.x, y, 8, fmt.Sprint(n))
				}
				d.put(72, y, 10, l)
			}
			r := readPDF(t, pdfFile([]string{d.s.String()}))
			if got := strings.Join(strings.Fields(r.Text), " "); got != text {
				t.Errorf("got %q", got)
			}
			for _, f := range r.Flags {
				if f.Code == extract.FlagHeaders && f.Count == c.numbers {
					return
				}
			}
			t.Errorf("flags %+v, want %d line numbers", r.Flags, c.numbers)
		})
	}
	var d drawn
	for i, l := range proseColumn {
		d.put(72, 700-12*float64(i), 10, fmt.Sprint(1950+7*i)+" "+l)
	}
	r := readPDF(t, pdfFile([]string{d.s.String()}))
	if !strings.Contains(r.Text, "1957") || len(r.Flags) > 0 {
		t.Errorf("years at the beginning of lines: %q, %+v", r.Text, r.Flags)
	}
}

// TestPDFStamps: a line in small type that recurs among the lines of the text is left out and counted.
func TestPDFStamps(t *testing.T) {
	var d drawn
	for i, l := range proseColumn {
		d.put(72, 700-20*float64(i), 10, l)
		d.put(90, 690-20*float64(i), 6, "Fetched on 2024-05-01 by reader 17")
	}
	r := readPDF(t, pdfFile([]string{d.s.String()}))
	if strings.Contains(r.Text, "Fetched") || !strings.Contains(fmt.Sprint(r.Flags), extract.FlagHeaders) {
		t.Errorf("got %q, %+v", r.Text, r.Flags)
	}
}
