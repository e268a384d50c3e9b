package program

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"concordat/cmd/cli"
	"concordat/internal/scripttest"
)

// screenAbroad screens the library calls against the north.
func (s *served) screenAbroad(code int, args ...string) (out map[string][]map[string]any, errs string) {
	s.t.Helper()
	var o, e bytes.Buffer
	all := append([]string{"--data", s.dir, "--quiet", "--json", "screen", "--library", "calls", "--partner", "north"}, args...)
	if got := Run(s.t.Context(), all, strings.NewReader(""), &o, &e); got != code {
		s.t.Fatalf("exit code %d, want %d\n%s%s", got, code, o.String(), e.String())
	}
	return scripttest.Lines(s.t, o.String()), e.String()
}

// TestScreenAcrossSites compares a library with a partner's, which sees only fingerprints. A used-up budget stops the screening, which
// later continues where it stopped.
func TestScreenAcrossSites(t *testing.T) {
	t.Parallel()
	first := newPlace(t, "north")
	first.command(cli.Done, "library", "create", "theses")
	north, south := first.serve(time.Hour), newPlace(t, "south").serve(time.Hour)
	north.add("ice", iceText)
	north.add("bell", bellText)
	enrol(t, north, south)
	south.command(cli.Done, "library", "create", "calls")
	const own = "Nobody else has written these words about the tide tables of a small northern harbour, nor about its two pilots. "
	rows := "copy\tA copy\t" + iceText + "\nagain\tThe same again\t" + iceText + "\nhalf\tHalf of it\t" + bellText + own +
		strings.ReplaceAll(own, "tide", "harvest") + "\nown\tOur own\t" + own + "\n"
	path := filepath.Join(t.TempDir(), "calls.tsv")
	if err := os.WriteFile(path, []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	south.command(cli.Done, "add", "--library", "calls", path)

	// With a budget of one text, the next text must wait.
	north.command(cli.Done, "library", "share", "theses", "--with", south.id, "--sentences", "64")
	_, errs := south.screenAbroad(cli.Failed)
	if !strings.Contains(errs, "budget") || !strings.Contains(errs, "asked about 1 of 3 texts; repeat the command") {
		t.Fatalf("budget used up: %s", errs)
	}
	before := north.asked(south.id)
	north.command(cli.Done, "library", "share", "theses", "--with", south.id, "--sentences", "-1")
	out := filepath.Join(t.TempDir(), "out")
	got, _ := south.screenAbroad(cli.Done, "--out", out)
	if north.asked(south.id) == before {
		t.Error("nothing was asked after the budget was raised")
	}
	if n := len(got["pair"]); n != 3 {
		t.Fatalf("%d pairs, want 3: %v", n, got["pair"])
	}
	for _, p := range got["pair"] {
		a, r := p["a"].(string), p["resemblance"].(float64)
		if p["b_site"] != north.id || p["b_library"] != "theses" || p["method"] != "fingerprint" {
			t.Errorf("pair %v", p)
		}
		switch in := p["containment_a"].(float64); {
		case a == "copy" || a == "again":
			if r < 0.9 || in < 0.9 {
				t.Errorf("a copy has resemblance %v, %v of it there", r, in)
			}
		case a != "half" || r < 0.4 || r > 0.9 || in > 0.7 || p["containment_b"].(float64) < 0.9:
			t.Errorf("half: %v", p)
		}
	}
	sum := got["summary"][0]
	if sum["sent"].(float64) == 0 || sum["distinct"].(float64) != 3 || len(got["cluster"]) != 2 || len(got["removable"]) != 0 {
		t.Errorf("summary %v, %d clusters, %d to remove", sum, len(got["cluster"]), len(got["removable"]))
	}
	page, err := os.ReadFile(filepath.Join(out, "index.html"))
	if err != nil || !bytes.Contains(page, []byte("University of north/theses")) || bytes.Contains(page, []byte("Vostok")) {
		t.Errorf("page: %v\n%.2000s", err, page)
	}

	// Libraries that the partner does not open are reported and do not count as results.
	north.command(cli.Done, "library", "unshare", "theses", "--with", south.id)
	if got, errs := south.screenAbroad(cli.Done, "--threshold", "0.25"); len(got["pair"]) != 0 ||
		!strings.Contains(errs, "not compared with") {
		t.Errorf("a library that is not open: %v %s", got["pair"], errs)
	}
	for _, bad := range [][]string{{"--method", "shingle"}, {"--against", "calls"}, {"--deadline", "0s"}, {"--partner", "nobody"}} {
		if code := Run(t.Context(), append([]string{"--data", south.dir, "screen", "--library", "calls", "--partner", "north"}, bad...),
			strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{}); code != cli.Misused {
			t.Errorf("%v: exit code %d", bad, code)
		}
	}
}
