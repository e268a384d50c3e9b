package screen_test

import (
	"encoding/xml"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"concordat/screen"
)

// elements parses a picture and returns its number of elements of each name.
func elements(t *testing.T, picture string) map[string]int {
	t.Helper()
	out := map[string]int{}
	d := xml.NewDecoder(strings.NewReader(picture))
	for {
		tok, err := d.Token()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatalf("%v in %s", err, picture)
		}
		if e, ok := tok.(xml.StartElement); ok {
			out[e.Name.Local]++
			for _, a := range e.Attr {
				if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
					t.Errorf("%s has %s=%q", e.Name.Local, a.Name.Local, a.Value)
				}
			}
		}
	}
}

func TestPictures(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var d screen.Distribution
	empty := d
	for range 1000 {
		d.Add(rng.Uint64())
	}
	nodes := make([]screen.Node, 70)
	for i := range nodes {
		nodes[i].Label = fmt.Sprintf("<doc %d & more>", i)
	}
	for _, c := range []struct {
		name  string
		write func(io.Writer) error
		want  string
		n     int
	}{
		{"distribution", d.WriteSVG, "rect", 192},
		{"empty distribution", empty.WriteSVG, "rect", 192},
		{"curves", func(w io.Writer) error {
			var s screen.Sweep
			s.Add(screen.Labelled{Distance: 3, Same: true})
			return screen.WriteCurves(w, "a<b", []screen.Series{{Name: "x", Bits: 64, Points: s.Curve(30)}, {}})
		}, "polyline", 4},
		{"cluster", func(w io.Writer) error {
			return screen.WriteCluster(w, "c", nodes, []screen.Link{{A: 0, B: 5, Resemblance: 1}, {A: 7, B: 2}, {A: 1, B: 69, Resemblance: 0.5}})
		}, "path", 2},
		{"one", func(w io.Writer) error { return screen.WriteCluster(w, "c", nodes[:1], nil) }, "circle", 1},
		{"overview", func(w io.Writer) error { return screen.WriteOverview(w, []int{500, 3, 2}) }, "a", 3},
		{"no clusters", func(w io.Writer) error { return screen.WriteOverview(w, nil) }, "a", 0},
	} {
		var b strings.Builder
		if err := c.write(&b); err != nil {
			t.Fatal(err)
		}
		if got := elements(t, b.String())[c.want]; got != c.n {
			t.Errorf("%s: %d of %s, want %d", c.name, got, c.want, c.n)
		}
	}
	d.AddSorted(1, 2, 3)
	if s := d.String(); !strings.Contains(s, "leading bit") || !strings.Contains(s, "1000 fingerprints") {
		t.Errorf("text of a distribution:\n%s", s)
	}
}
