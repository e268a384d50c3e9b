package screening_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"concordat/cmd/cli"
	"concordat/cmd/concordat/program"
	"concordat/internal/scripttest"
	"concordat/internal/suite"
)

// testSite is a folder for running commands.
type testSite struct {
	t    *testing.T
	data string
	dir  string
}

func newTestSite(t *testing.T) *testSite {
	t.Helper()
	s := &testSite{t, filepath.Join(t.TempDir(), "site"), t.TempDir()}
	s.run(0, "init")
	return s
}

// run runs a command, requires its exit code, and returns both outputs.
func (s *testSite) run(want int, args ...string) (out, errs string) {
	s.t.Helper()
	var o, e bytes.Buffer
	if code := program.Run(s.t.Context(), append(args, "--data", s.data), strings.NewReader(""), &o, &e); code != want {
		s.t.Fatalf("concordat %s: exit %d, want %d\n%s%s", strings.Join(args, " "), code, want, o.String(), e.String())
	}
	return o.String(), e.String()
}

// add makes a library from rows of ID and text.
func (s *testSite) add(library string, rows [][2]string) {
	s.t.Helper()
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, "%s\t%s\n", r[0], r[1])
	}
	path := filepath.Join(s.dir, library+".tsv")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.run(0, "add", "--library", library, path)
}

// stories returns documents of random sentences; every third repeats sentences of an earlier one, and every ninth is an earlier one in
// capitals.
func stories(n int, seed uint64) [][2]string {
	rng := rand.New(rand.NewPCG(seed, 1))
	words := strings.Fields("river harbour engineer telescope library window forest committee bridge paint scholar brass spring water stone letter garden winter market silver copper village doctor museum teacher planet engine signal valley mountain")
	sentence := func() string {
		var w []string
		for range 22 {
			w = append(w, words[rng.IntN(len(words))]+fmt.Sprint(rng.IntN(9)))
		}
		return "The " + strings.Join(w, " ") + "."
	}
	var texts [][]string
	var out [][2]string
	for i := range n {
		var text []string
		for range 6 {
			text = append(text, sentence())
		}
		id := fmt.Sprintf("d%04d", i)
		if i%3 == 2 {
			copy(text[1:5], texts[rng.IntN(i)])
		}
		all := strings.Join(text, " ")
		if i%9 == 8 {
			text = texts[rng.IntN(i)]
			all = strings.ToUpper(strings.Join(text, " "))
		}
		texts = append(texts, text)
		out = append(out, [2]string{id, all})
	}
	return out
}

// titles returns the beginnings of stories; every third is an earlier one with a different end.
func titles(n int, seed uint64) [][2]string {
	out := stories(n, seed)
	for i := range out {
		out[i][1] = out[i][1][:90]
		if i%3 == 2 {
			out[i][1] = out[i/2][1][:85] + fmt.Sprint(" x", i)
		}
	}
	return out
}

// results returns a screening's results without details of the run.
func results(t *testing.T, out string) string {
	t.Helper()
	var b strings.Builder
	for line := range strings.Lines(out) {
		var v map[string]any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		delete(v, "resumed")
		j, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(j, '\n'))
	}
	return b.String()
}

// TestScreenGoesOn stops a screening after its work is done, damages the end of the stored state, and requires that the same command
// continues to the same answer. Then it changes the library and requires the answer of a new screening.
func TestScreenGoesOn(t *testing.T) {
	suite.Rest(t, "kills screening by every method")
	for _, method := range []string{"fingerprint", "shingle", "simhash", "short"} {
		t.Run(method, func(t *testing.T) {
			documents := stories
			if method == "short" {
				documents = titles
			}
			s := newTestSite(t)
			s.run(0, "library", "create", "l")
			s.add("l", documents(150, 7))
			work, blocked := filepath.Join(s.dir, "work"), filepath.Join(s.dir, "blocked")
			if err := os.WriteFile(blocked, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			args := []string{"screen", "--library", "l", "--method", method, "--work", work, "--json"}
			want, _ := s.run(0, args...)
			if n := len(scripttest.Lines(t, want)["pair"]); n < 15 {
				t.Fatalf("%d pairs, want some", n)
			}
			if left, _ := filepath.Glob(filepath.Join(work, "*")); len(left) > 0 {
				t.Fatalf("work is left: %q", left)
			}
			stop := func() string {
				s.run(cli.Failed, append(args, "--out", blocked)...)
				kept, _ := filepath.Glob(filepath.Join(work, "*"))
				if len(kept) != 1 {
					t.Fatalf("kept %q", kept)
				}
				return kept[0]
			}
			dir := stop()
			for name, cut := range map[string]int64{"texts": 5, "found": 3} {
				info, err := os.Stat(filepath.Join(dir, name))
				if err != nil {
					t.Fatal(err)
				}
				if err := os.Truncate(filepath.Join(dir, name), info.Size()-cut); err != nil {
					t.Fatal(err)
				}
			}
			got, errs := s.run(0, args...)
			if results(t, got) != results(t, want) {
				t.Errorf("going on gave another answer:\n%s\nwant\n%s", got, want)
			}
			if n := scripttest.Lines(t, got)["summary"][0]["resumed"].(float64); n != 149 || !strings.Contains(errs, "149 documents are already") {
				t.Errorf("%v documents of the earlier run: %s", n, errs)
			}
			stop()
			got, _ = s.run(0, args...)
			if n := scripttest.Lines(t, got)["summary"][0]["resumed"].(float64); n != 150 || results(t, got) != results(t, want) {
				t.Errorf("all %v documents of the earlier run: another answer", n)
			}
			stop()
			s.add("l", documents(30, 8)) // different documents under the same names
			got, _ = s.run(0, args...)
			fresh, _ := s.run(0, args...)
			if results(t, got) != results(t, fresh) || results(t, got) == results(t, want) {
				t.Error("the library has changed: the answer is not that of a new run")
			}
		})
	}
}

// TestScreenInLittleMemory requires the same pairs when the work must be divided and written to disk.
func TestScreenInLittleMemory(t *testing.T) {
	suite.Rest(t, "megabytes of text")
	s := newTestSite(t)
	s.run(0, "library", "create", "l")
	s.run(0, "library", "create", "m")
	s.add("l", stories(500, 9))
	s.add("m", stories(300, 9)[200:])
	for _, args := range [][]string{{"--method", "fingerprint"}, {"--method", "shingle", "--sketch", "200"},
		{"--method", "fingerprint", "--against", "m"}, {"--method", "shingle", "--against", "m", "--sketch", "200"}} {
		args = append([]string{"screen", "--library", "l", "--json"}, args...)
		much, _ := s.run(0, args...)
		little, _ := s.run(0, append(args, "--memory", "1")...)
		pairs := func(out string) (keys []string) {
			for _, p := range scripttest.Lines(t, out)["pair"] {
				keys = append(keys, fmt.Sprint(p["a"], p["b"], p["resemblance"]))
			}
			slices.Sort(keys)
			return keys
		}
		if a, b := pairs(much), pairs(little); !slices.Equal(a, b) || len(a) < 40 {
			t.Errorf("%q: %d pairs in little memory, %d in much", args, len(b), len(a))
		}
	}
}

// TestScreenOnFullDisk fills the disk of the work folder. The screening reports this, and continues once there is space.
func TestScreenOnFullDisk(t *testing.T) {
	suite.Rest(t, "fills a disk")
	if runtime.GOOS != "linux" {
		t.Skip("needs tmpfs")
	}
	s := newTestSite(t)
	s.run(0, "library", "create", "l")
	s.add("l", stories(400, 7))
	work := t.TempDir()
	if err := syscall.Mount("concordat-test", work, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("cannot mount a small file system: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(work, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	args := []string{"screen", "--library", "l", "--work", work, "--json"}
	_, errs := s.run(cli.Failed, args...)
	if !strings.Contains(errs, "disk full") || !strings.Contains(errs, work) {
		t.Errorf("a full disk says %s", errs)
	}
	if err := syscall.Mount("concordat-test", work, "tmpfs", syscall.MS_REMOUNT, "size=16m"); err != nil {
		t.Fatal(err)
	}
	got, _ := s.run(0, args...)
	if n := scripttest.Lines(t, got)["summary"][0]["resumed"].(float64); n == 0 || n == 400 {
		t.Errorf("%v documents of the earlier run", n)
	}
	if want, _ := s.run(0, args...); results(t, got) != results(t, want) {
		t.Error("going on gave another answer")
	}
}

// TestScreenOut reads the files written by --out, with sections, dates and the removal list.
func TestScreenOut(t *testing.T) {
	const (
		x = "The river carried heavy logs from the northern forests down to the old harbour every spring. "
		y = "A committee of engineers measured seven bridges and found rust beneath fresh paint on four of them. "
		v = "Several farmers complained that wild geese had eaten nearly all of their young barley before dawn. "
		w = "An old printer kept wooden letters of nineteen alphabets in the drawers of a cupboard without doors. "
		z = "Nobody remembered which scholar had donated the brass telescope standing beside the library window. "
	)
	s := newTestSite(t)
	s.run(0, "library", "create", "l")
	write := func(name, text string) string {
		path := filepath.Join(s.dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	s.run(0, "add", "--library", "l", write("=a.txt", "Abstract\n"+x+y+v+w+"\nConclusion\n"+z), write("b<i>.txt", "Abstract\n"+z+"\nConclusion\n"+x+y+v+w+"\nDiscussion\nSomebody had also sorted the maps of the eastern provinces by colour, which pleased nobody at all. "), write("c.txt", "ABSTRACT "+x+y+v+w+" CONCLUSION "+z))
	dates := write("dates.tsv", "=a.txt\t2021-05\nb<i>.txt\t2019\nc.txt\t2020-01-02\n")
	out := filepath.Join(s.dir, "out")
	// The site's key is random and determines whether one sentence counts as edited, so the result is 0.89 or 0.90.
	got, _ := s.run(0, "screen", "--library", "l", "--dates", dates, "--out", out, "--template", "thesis", "--removal-threshold", "0.85",
		"--json")
	l := scripttest.Lines(t, got)
	if len(l["pair"]) != 3 || len(l["cluster"]) != 1 || len(l["removable"]) != 2 {
		t.Fatalf("got %s", got)
	}
	if oldest := l["cluster"][0]["oldest"].(map[string]any)["document"]; oldest != "b<i>.txt" {
		t.Errorf("the oldest is %v", oldest)
	}
	if l["pair"][0]["method"] != "exact" || !strings.Contains(fmt.Sprint(l["pair"][1]["sections"]), "abstract") {
		t.Errorf("pairs %v", l["pair"])
	}
	for _, n := range l["cluster"][0]["documents"].([]any) {
		n := n.(map[string]any)
		from, _ := n["from"].(map[string]any)
		if want := map[any]any{"=a.txt": "c.txt", "c.txt": "b<i>.txt", "b<i>.txt": nil}[n["document"]]; from["document"] != want {
			t.Errorf("%v comes from %v, want %v", n["document"], from["document"], want)
		}
	}
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if text := read("removal.txt"); text != "l\t=a.txt\nl\tc.txt\n" {
		t.Errorf("removal list %q", text)
	}
	if text := read("result.jsonl"); text != got {
		t.Errorf("result.jsonl is not what was printed:\n%s", text)
	}
	if text := read("pairs.csv"); strings.Count(text, "\r\n") != 4 || !strings.Contains(text, `,"'=a.txt",`) {
		t.Errorf("pairs.csv:\n%s", text)
	}
	if text := read("clusters.csv"); strings.Count(text, "\r\n") != 4 || !strings.Contains(text, "2021-05-01T00:00:00Z") {
		t.Errorf("clusters.csv:\n%s", text)
	}
	if text := read("index.html"); strings.Contains(text, "<i>") || strings.Count(text, "<svg") != 2 ||
		!strings.Contains(text, "(representative)") || !strings.Contains(text, " of abstract in ") {
		t.Errorf("index.html:\n%s", text)
	}
	text, _ := s.run(0, "screen", "--library", "l", "--keep", "newest", "--removal-threshold", "1", "--dates", dates)
	if !strings.Contains(text, "keeping only the newest of documents") || !strings.Contains(text, "1 document could be removed") {
		t.Errorf("got %s", text)
	}
	for _, bad := range []string{"a.txt 2019", "a.txt\tyesterday"} {
		s.run(cli.Misused, "screen", "--library", "l", "--dates", write("bad.tsv", bad))
	}
}

// cancelling cancels a context when it is written to.
type cancelling struct {
	bytes.Buffer
	cancel func()
}

func (c *cancelling) Write(b []byte) (int, error) {
	c.cancel()
	return c.Buffer.Write(b)
}

// TestScreenInterrupted: an interrupted screening ends with exit code 1, keeps its results so far, and continues next time.
func TestScreenInterrupted(t *testing.T) {
	s := newTestSite(t)
	s.run(0, "library", "create", "l")
	s.add("l", stories(60, 7))
	blocked := filepath.Join(s.dir, "blocked")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"screen", "--library", "l", "--json"}
	s.run(cli.Failed, append(args, "--out", blocked)...) // leaves its work behind, as the next run reports
	ctx, cancel := context.WithCancel(t.Context())
	errs := cancelling{cancel: cancel}
	var out bytes.Buffer
	if code := program.Run(ctx, append(args, "--data", s.data), strings.NewReader(""), &out, &errs); code != cli.Failed ||
		!strings.Contains(errs.String(), "interrupted") || out.Len() > 0 {
		t.Fatalf("exit %d\n%s%s", code, out.String(), errs.String())
	}
	got, _ := s.run(0, args...)
	if n := scripttest.Lines(t, got)["summary"][0]["resumed"].(float64); n != 60 {
		t.Errorf("%v documents of the earlier run", n)
	}
	if _, err := os.Stat(filepath.Join(s.data, "screen")); !os.IsNotExist(err) {
		t.Errorf("work is left: %v", err)
	}
}

// TestScreenOddInput tests empty documents and documents of one word, one sentence, a million letters, and one letter a million times.
func TestScreenOddInput(t *testing.T) {
	suite.Rest(t, "megabytes of text")
	s := newTestSite(t)
	s.run(0, "library", "create", "l")
	long := strings.Builder{}
	for _, r := range stories(600, 3) {
		long.WriteString(r[1] + " ")
	}
	if long.Len() < 1<<20 {
		long.WriteString(long.String())
	}
	s.add("l", [][2]string{{"blank", "..."}, {"blank too", "!"}, {"word", "river"},
		{"one", "The river carried heavy logs from the northern forests down to the harbour."},
		{"long", long.String()}, {"long copy", strings.ToLower(long.String())}, {"letters", strings.Repeat("a", 1<<20)},
		{"words", strings.Repeat("a ", 1<<19)}})
	for _, method := range []string{"fingerprint", "shingle", "simhash", "short"} {
		out, _ := s.run(0, "screen", "--library", "l", "--method", method, "--json")
		for _, p := range scripttest.Lines(t, out)["pair"] {
			switch pair := fmt.Sprint(p["a"], " ", p["b"]); pair {
			case "long long copy", "blank blank too":
			case "letters words": // they consist of the same letters
			default:
				t.Errorf("%s: %s at %v", method, pair, p["resemblance"])
			}
		}
		if n := len(scripttest.Lines(t, out)["pair"]); n < 2 {
			t.Errorf("%s: %d pairs", method, n)
		}
	}
}
