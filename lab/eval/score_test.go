package eval

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9 {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// The expected values come from the reference program's own tests.
func TestPlagdet(t *testing.T) {
	near(t, "R=1 P=1 g=2", plagdet(1, 1, 2), 0.6309297535714574)
	near(t, "R=0.25 P=0.75 g=2", plagdet(0.75, 0.25, 2), 0.23659865758929653)
	near(t, "R=0.5 P=1 g=1", plagdet(1, 0.5, 1), 2.0/3)
	near(t, "nothing", plagdet(0, 0, 1), 0)
}

func TestMeasured(t *testing.T) {
	c := func(off, n, soff, sn int) Annotation { return Annotation{"s.txt", "q.txt", off, n, soff, sn} }
	for name, x := range map[string]struct {
		cases, found              []Annotation
		precision, recall, detail float64
	}{
		"exact":           {[]Annotation{c(0, 10, 0, 10)}, []Annotation{c(0, 10, 0, 10)}, 1, 1, 1},
		"nothing at all":  {nil, nil, 1, 1, 1},
		"nothing found":   {[]Annotation{c(0, 10, 0, 10)}, nil, 0, 0, 1},
		"one side only":   {[]Annotation{c(0, 10, 0, 10)}, []Annotation{c(0, 10, 20, 10)}, 0, 0, 1},
		"half each side":  {[]Annotation{c(0, 10, 0, 10)}, []Annotation{c(5, 10, 5, 10)}, 0.5, 0.5, 1},
		"uneven":          {[]Annotation{c(0, 10, 0, 30)}, []Annotation{c(0, 10, 20, 20)}, 2.0 / 3, 0.5, 1},
		"two parts":       {[]Annotation{c(0, 10, 0, 10)}, []Annotation{c(0, 5, 0, 5), c(5, 5, 5, 5)}, 1, 1, 2},
		"parts overlap":   {[]Annotation{c(0, 10, 0, 10)}, []Annotation{c(0, 6, 0, 6), c(4, 4, 4, 4)}, 1, 0.8, 2},
		"one of two":      {[]Annotation{c(0, 10, 0, 10), c(50, 10, 50, 10)}, []Annotation{c(0, 10, 0, 10)}, 1, 0.5, 1},
		"touching only":   {[]Annotation{c(0, 10, 0, 10)}, []Annotation{c(10, 10, 10, 10)}, 0, 0, 1},
		"another source":  {[]Annotation{c(0, 10, 0, 10)}, []Annotation{{"s.txt", "p.txt", 0, 10, 0, 10}}, 0, 0, 1},
		"a false one too": {[]Annotation{c(0, 10, 0, 10)}, []Annotation{c(0, 10, 0, 10), c(80, 5, 80, 5)}, 0.5, 1, 1},
	} {
		m := Measured(x.cases, x.found)
		near(t, name+" precision", m.Precision, x.precision)
		near(t, name+" recall", m.Recall, x.recall)
		near(t, name+" granularity", m.Granularity, x.detail)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestScoreFolders(t *testing.T) {
	truth, found := t.TempDir(), t.TempDir()
	feature := func(name string) string {
		return `<feature name="` + name +
			`" this_offset="5" this_length="10" source_reference="source-1.txt" source_offset="0" source_length="10" />`
	}
	doc := func(susp, inner string) string { return `<document reference="` + susp + `">` + inner + `</document>` }
	write(t, truth+"/02-none/susp-1-source-1.xml", doc("susp-1.txt", feature("plagiarism")+feature("plagiarism")))
	write(t, truth+"/01-no/susp-2-source-1.xml", doc("susp-2.txt", `<feature name="about" title="x" />`))
	write(t, found+"/susp-1-source-1.xml", doc("susp-1.txt", feature("detected-plagiarism")))
	write(t, found+"/susp-2-source-1.xml", doc("susp-2.txt", feature("detected-plagiarism")))
	r, err := Score(truth, found, ScoreOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Cases != 1 || r.Detections != 2 {
		t.Errorf("got %d cases and %d detections, want 1 and 2", r.Cases, r.Detections)
	}
	near(t, "precision", r.Precision, 0.5)
	near(t, "recall", r.Recall, 1)
	near(t, "plagdet of 02", r.Groups["02-none"].Plagdet, 1)
	if r.Groups["01-no"].Detections != 1 {
		t.Errorf("01: got %+v, want one detection", r.Groups["01-no"])
	}
}

func TestPANRoundTrip(t *testing.T) {
	want := []Annotation{{`a"<&>.txt`, "b'.txt", 1, 2, 3, 4}, {`a"<&>.txt`, "b'.txt", 5, 6, 7, 8}}
	var b strings.Builder
	if err := WritePAN(&b, want[0].Susp, want); err != nil {
		t.Fatal(err)
	}
	got, err := ReadPAN(strings.NewReader(b.String()), detectionsName)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestReadPANRefuses(t *testing.T) {
	for _, bad := range []string{
		"", "<document", "<other/>",
		`<document reference="a"><feature name="plagiarism" source_reference="b" this_offset="-1" this_length="1" source_offset="0" source_length="1"/></document>`,
		`<document reference="a"><feature name="plagiarism" source_reference="b" this_offset="1" source_offset="0" source_length="1"/></document>`,
		`<document reference="a"><feature name="plagiarism" source_reference="b" this_offset="99999999999999999999" this_length="1" source_offset="0" source_length="1"/></document>`,
	} {
		if got, err := ReadPAN(strings.NewReader(bad), truthFeature); err == nil {
			t.Errorf("%q: got %v, want an error", bad, got)
		}
	}
}

func FuzzReadPAN(f *testing.F) {
	f.Add(`<document reference="a.txt"><feature name="plagiarism" this_offset="1" this_length="2" source_reference="b.txt" source_offset="3" source_length="4"/></document>`)
	f.Add(`<?xml version="1.0" encoding="UTF-8"?><document><!-- --><feature/></document>`)
	f.Add("<document><feature name='plagiarism' source_reference='x' this_offset='0x1'/></document>")
	f.Fuzz(func(t *testing.T, s string) {
		as, err := ReadPAN(strings.NewReader(s), truthFeature)
		if err != nil {
			return
		}
		for _, a := range as {
			if a.Offset < 0 || a.Length < 0 || a.SourceOffset < 0 || a.SourceSize < 0 {
				t.Fatalf("negative: %+v", a)
			}
		}
		Measured(as, as)
	})
}

func FuzzReadPairs(f *testing.F) {
	f.Add("a.txt b.txt\n\nc.txt d.txt\n")
	f.Add("../x y\n")
	f.Fuzz(func(t *testing.T, s string) {
		ps, err := ReadPairs(strings.NewReader(s))
		if err != nil {
			return
		}
		for _, p := range ps {
			if strings.ContainsAny(p.Susp+p.Source, "/\\") {
				t.Fatalf("a path: %+v", p)
			}
		}
	})
}

func TestRuneIndex(t *testing.T) {
	text := strings.Repeat("aé中😀\xff", 700)
	x := newRuneIndex(text)
	n := 0
	for i := range text {
		if got := x.at(i); got != n {
			t.Fatalf("byte %d: got %d code points, want %d", i, got, n)
		}
		n++
	}
	if got := x.at(len(text)); got != n {
		t.Errorf("end: got %d, want %d", got, n)
	}
}
