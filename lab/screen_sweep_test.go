package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"concordat/cmd/cli"
	"concordat/cmd/concordat/screening"
)

// TestSweepOptions: every option of screen sweep changes its output, or is refused if it would change nothing.
func TestSweepOptions(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "site")
	sweep := func(args ...string) (int, string) {
		var out, errs bytes.Buffer
		code := run(t.Context(), append([]string{"screen", "sweep", "--data", data}, args...), strings.NewReader(""), &out, &errs)
		return code, out.String() + errs.String()
	}
	write := func(name string, lines ...string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	words := strings.Fields("the river carried logs and barges from northern forests to a harbour while engineers were measuring rusted bridges " +
		"beneath fresh paint for seven committees that had been meeting monthly in the library of an old observatory")
	text := func(i int) string {
		var b strings.Builder
		for j := range 60 {
			b.WriteString(words[(i*i*7+j*j*(i%5+1)+j)%len(words)])
			if b.WriteString(" "); j%9 == 8 {
				b.WriteString("stop. The ")
			}
		}
		return b.String()
	}
	var rows, pairs, truth []string
	for i := range 24 {
		rows = append(rows, fmt.Sprintf("d%d\t%s", i, text(i)), fmt.Sprintf("e%d\t%s", i, strings.Replace(text(i), "the", "some rusty", 2)))
		truth = append(truth, fmt.Sprintf("d%d\te%d\t0.%d", i, i, i%9+1))
		pairs = append(pairs, fmt.Sprintf("%s\t%s\t1\t0\t%s", text(i), strings.Replace(text(i), "the", "some rusty", 2), text(i+40)),
			fmt.Sprintf("%s\t%s\t0\t1\t%s", text(i), text(i+1), text(i)))
	}
	if err := newLibrary(t.Context(), data, rows); err != nil {
		t.Fatal(err)
	}
	p, q := write("pairs.tsv", pairs...), write("truth.tsv", truth...)
	idf := filepath.Join(dir, "l.idf")
	site := &cli.Site{Terminal: cli.Terminal{Stdout: io.Discard, Stderr: io.Discard}, Data: data}
	args := []string{"frequencies", "--library", "l", "--out", idf}
	if code := cli.Execute(t.Context(), screening.Command(site), args, &site.Terminal); code != 0 {
		t.Fatalf("frequencies: exit %d", code)
	}

	// figures returns the lines of a sweep without the time that it took.
	figures := func(args ...string) string {
		t.Helper()
		var out strings.Builder
		code, lines := sweep(append([]string{"--json"}, args...)...)
		if code != 0 {
			t.Fatalf("sweep %s: exit %d\n%s", strings.Join(args, " "), code, lines)
		}
		for line := range strings.Lines(lines) {
			var v map[string]any
			if err := json.Unmarshal([]byte(line), &v); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			delete(v, "text_ns")
			b, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			out.Write(append(b, '\n'))
		}
		return out.String()
	}
	onPairs, onTruth := []string{"--pairs", p}, []string{"--library", "l", "--truth", q}
	onPlanted := []string{"--library", "l", "--planted", "20"}
	type option struct {
		of      []string // where it has an effect
		values  []string // each yields different figures
		without []string // refused with these, because it would have no effect
	}
	options := map[string]option{
		"hash":       {onPairs, []string{"mix", "xxhash", "md5", "sha1", "sha256"}, append(onPairs, "--vary", "hash")},
		"features":   {onPairs, []string{"words", "words1-3", "letters3", "sentences"}, append(onPairs, "--vary", "features")},
		"stop-words": {onPairs, []string{"drop", "keep"}, append(onPairs, "--features", "letters3")},
		"stem":       {onPairs, []string{"true", "false"}, append(onPairs, "--features", "letters3")},
		"tf":         {onPairs, []string{"log", "count", "once"}, append(onPairs, "--vary", "tf")},
		"idf":        {onPairs, []string{"none", "collection", idf}, append(onPairs, "--vary", "idf")},
		"widths":     {onPairs, []string{"32", "64", "256"}, append(onPairs, "--vary", "bits")},
		"vary":       {onPairs, []string{"hash", "bits", "features", "stop-words", "stem", "tf", "idf"}, append(onPairs, "--widths", "64,128")},
		"columns":    {onPairs, []string{"1,2,3", "1,5,4"}, onTruth},
		"header":     {onPairs, []string{"true", "false"}, onTruth},
		"least":      {onTruth, []string{"0.2", "0.8"}, onPlanted},
		"share":      {onPlanted, []string{"0.1", "0.5"}, onTruth},
		"pairs":      {nil, []string{p}, onTruth},
		"library":    {[]string{"--truth", q}, []string{"l"}, onPairs},
		"truth":      {[]string{"--library", "l"}, []string{q}, onPairs},
		"exact":      {[]string{"--library", "l"}, []string{"letters8", "words5"}, onTruth},
		"planted":    {[]string{"--library", "l"}, []string{"5", "10"}, onTruth},
	}
	(&lab{}).sweepCommand().LocalFlags().VisitAll(func(f *pflag.Flag) {
		o, ok := options[f.Name]
		switch {
		case f.Name == "svg": // screen.txtar writes this one
			return
		case !ok:
			t.Errorf("this test does not know --%s", f.Name)
			return
		}
		delete(options, f.Name)
		seen := map[string]string{}
		for _, v := range o.values {
			got := figures(append(o.of, "--"+f.Name+"="+v)...)
			if twin, twice := seen[got]; twice {
				t.Errorf("--%s %s gives the figures of %s", f.Name, v, twin)
			}
			seen[got] = v
		}
		code, out := sweep(append([]string{"--" + f.Name + "=" + o.values[0]}, o.without...)...)
		if code != cli.Misused {
			t.Errorf("--%s with %q: exit %d, want it refused\n%s", f.Name, o.without, code, out)
		}
	})
	for name := range options {
		t.Errorf("screen sweep has no --%s", name)
	}
}
