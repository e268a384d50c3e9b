package xmltree_test

import (
	"strings"
	"testing"

	"concordat/harvest/xmltree"
)

// TestClean: text is decoded as declared or, failing that, as its bytes indicate, without characters that XML forbids.
func TestClean(t *testing.T) {
	for name, c := range map[string]struct{ in, encoding, want string }{
		"latin1 declared":    {"<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><a>\xe4</a>", "", "ä"},
		"latin1 by header":   {"<a>\xe4</a>", "iso-8859-1", "ä"},
		"UTF-8, says latin1": {"<?xml version='1.0' encoding='ISO-8859-1'?><a>ä</a>", "", "ä"},
		"broken UTF-8":       {"<a>\xe4\xff</a>", "utf-8", "\ufffd"},
		"mark":               {"\xef\xbb\xbf<a>ä</a>", "", "ä"},
		"control":            {"<a>x\x00\x0b\x1fy</a>", "", "xy"},
		"UTF-16":             {"\xff\xfe<\x00a\x00>\x00\xe4\x00<\x00/\x00a\x00>\x00", "", "ä"},
		"entities":           {"<a>&auml;&amp;&nosuch;</a>", "", "ä&&nosuch;"},
		"prefix":             {"<x:a>ä</x:a>", "", "ä"},
	} {
		n, err := xmltree.Parse(xmltree.Clean([]byte(c.in), c.encoding))
		if err != nil || n.Words() != c.want || n.Name != "a" {
			t.Errorf("%s: %v %q, %v, want %q", name, n, n.Words(), err, c.want)
		}
	}
}

// TestBounds: elements nested too deeply are rejected.
func TestBounds(t *testing.T) {
	for depth, want := range map[int]bool{100: true, 102: false} {
		_, err := xmltree.Parse([]byte(strings.Repeat("<a>", depth) + strings.Repeat("</a>", depth)))
		if (err == nil) != want {
			t.Errorf("depth %d: %v", depth, err)
		}
	}
}

// TestPieces: text in many pieces is joined completely, in linear time.
func TestPieces(t *testing.T) {
	const pieces = 1_000_000
	n, err := xmltree.Parse([]byte("<a>" + strings.Repeat("x<!---->", pieces) + "<b>y</b>z</a>"))
	if err != nil || n.Text != strings.Repeat("x", pieces)+"z" || n.First("b").Text != "y" {
		t.Errorf("got %d bytes, %v", len(n.Text), err)
	}
}

// FuzzParse: no text causes a panic.
func FuzzParse(f *testing.F) {
	f.Add([]byte("<a b=c><d>&auml;</d></a>"), "latin1")
	f.Add([]byte("\xff\xfe<"), "utf-16")
	f.Add([]byte("<?xml version='1.0' encoding='x'?></a>"), "")
	f.Fuzz(func(t *testing.T, b []byte, encoding string) {
		if n, err := xmltree.Parse(xmltree.Clean(b, encoding)); err == nil {
			n.Words()
			n.Find("a")
		}
	})
}
