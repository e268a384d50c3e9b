package eval

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"concordat"
	"concordat/align"
	"concordat/internal/corpora"
	"concordat/profile"
)

// pan13 unpacks the PAN 2013 training corpus below a temporary folder, of its pairs every nth of
// each kind, and returns the folder.
func pan13(t *testing.T, nth int) string {
	t.Helper()
	docs := map[string]string{}
	for _, d := range corpora.Tar(t, "pan13-train/pan13-train.tar.zst", "") {
		docs[d.Name] = d.Text
	}
	dir := t.TempDir()
	put := func(name string) { write(t, filepath.Join(dir, name), docs[name]) }
	var all []string
	for name, text := range docs {
		kind, file := filepath.Split(name)
		if file != "pairs" || kind == "" {
			continue
		}
		for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
			f := strings.Fields(line)
			xml := kind + stem(f[0]) + "-" + stem(f[1]) + ".xml"
			if i%nth != 0 {
				continue
			}
			all = append(all, line)
			put("susp/" + f[0])
			put("src/" + f[1])
			if docs[xml] != "" {
				put(xml)
			} else {
				write(t, filepath.Join(dir, xml), `<document reference="`+f[0]+`"></document>`)
			}
		}
	}
	write(t, dir+"/pairs", strings.Join(all, "\n"))
	t.Logf("%d pairs", len(all))
	return dir
}

// measured aligns the pairs below dir over a channel, logs the result and returns it.
func measured(t *testing.T, dir string, channel Channel) Result {
	t.Helper()
	out := t.TempDir()
	before := processTime()
	if err := Align(context.Background(), dir+"/pairs", dir+"/src", dir+"/susp", out, channel); err != nil {
		t.Fatal(err)
	}
	took := processTime() - before
	files, err := os.ReadDir(out)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Score(dir, out)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %.2f ms of CPU for each pair, with reading, preparing and writing", channel, took.Seconds()*1e3/float64(len(files)))
	t.Logf("%-28s %v", "all", r.Measure)
	for _, g := range []string{"01-no-plagiarism", "02-no-obfuscation", "03-random-obfuscation", "04-translation-obfuscation", "05-summary-obfuscation"} {
		t.Logf("%-28s %v", g, r.Groups[g])
	}
	return r
}

func processTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestPAN13Sample guards against regressions: a thirtieth of the pairs of each kind.
func TestPAN13Sample(t *testing.T) {
	dir := pan13(t, 30)
	for channel, least := range map[Channel]float64{ChannelText: 0.93, ChannelSketches: 0.915, ChannelFingerprints: 0.81} {
		r := measured(t, dir, channel)
		if r.Plagdet < least {
			t.Errorf("%s: plagdet %.4f, want at least %.2f", channel, r.Plagdet, least)
		}
		if r.Granularity > 1.02 {
			t.Errorf("%s: granularity %.4f, want at most 1.02", channel, r.Granularity)
		}
		if n := r.Groups["01-no-plagiarism"].Detections; n > 2 && channel != ChannelFingerprints {
			t.Errorf("%s: %d detections in %d clean pairs, want at most 2", channel, n, 34)
		}
	}
}

// TestPAN13 measures the whole training corpus; CONCORDAT_EVAL=all asks for it.
func TestPAN13(t *testing.T) {
	if os.Getenv("CONCORDAT_EVAL") != "all" {
		t.Skip("CONCORDAT_EVAL is not all: the whole corpus takes about half a minute")
	}
	dir := pan13(t, 1)
	for channel, least := range map[Channel]float64{ChannelText: 0.95, ChannelSketches: 0.935, ChannelFingerprints: 0.855} {
		if r := measured(t, dir, channel); r.Plagdet < least {
			t.Errorf("%s: plagdet %.4f, want at least %.3f", channel, r.Plagdet, least)
		}
	}
	r, pairs := nominated(t, dir)
	t.Logf("sketches of nominated documents, within 20 units of a hit: %d pairs nominated", pairs)
	t.Logf("%-28s %v", "all", r.Measure)
	if r.Plagdet < 0.86 {
		t.Errorf("nominated: plagdet %.4f, want at least 0.86", r.Plagdet)
	}
}

// nominated aligns as two sites do: a document is nominated by a sentence of the asker that a
// one-hash probe finds within the gate, and its owner hands over the sketch around the hits.
func nominated(t *testing.T, dir string) (Result, int) {
	t.Helper()
	f, err := os.Open(dir + "/pairs")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	pairs, err := ReadPairs(f)
	if err != nil {
		t.Fatal(err)
	}
	profiler, err := profile.New(profile.Options{Recipe: profile.Natural})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var found []Annotation
	n := 0
	err = overPairs(t.Context(), pairs, dir+"/src", dir+"/susp", func(p DocumentPair, susp, source *Side) error {
		hits, err := hitSpans(profiler, susp.Source, source.Source)
		if err != nil || len(hits) == 0 {
			return err
		}
		whole, err := source.Text.Sketch(sketchKey, align.DefaultSketchBits)
		if err != nil {
			return err
		}
		b, err := whole.Near(hits, 20).Text()
		if err != nil {
			return err
		}
		a, err := sketched(susp.Text)
		if err != nil {
			return err
		}
		o := AsPAN(align.Options{})
		passages, err := edges(susp.Text, source.Text, align.Literal(a, b, o), o, func() []align.Passage { return align.Pair(a, b, o) })
		mu.Lock()
		defer mu.Unlock()
		found = append(found, annotated(p, susp, source, passages)...)
		n++
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	truth, err := readFolder(dir, truthFeature)
	if err != nil {
		t.Fatal(err)
	}
	return score(truth, found), n
}

// hitSpans returns the sentences of source that a one-hash probe finds from susp, within the gate.
func hitSpans(profiler *profile.Profiler, susp, source string) ([]concordat.Span, error) {
	a, err := profiler.Profile(concordat.Document{Text: susp}, nil)
	if err != nil {
		return nil, err
	}
	b, err := profiler.Profile(concordat.Document{Text: source}, nil)
	if err != nil {
		return nil, err
	}
	var out []concordat.Span
	for _, y := range b.Indexed {
		for _, x := range a.Questions() {
			if x.Fingerprint.NibbleDistance(y.Fingerprint) <= 14 && probed(x.Fingerprint, y.Fingerprint) {
				out = append(out, y.Span)
				break
			}
		}
	}
	return out, nil
}

// probed reports whether some band of the two differs in one hash at most.
func probed(a, b concordat.Fingerprint) bool {
	for k := range concordat.Bands {
		differ := 0
		for x := a.Band(k) ^ b.Band(k); x != 0; x >>= 4 {
			if x&15 != 0 {
				differ++
			}
		}
		if differ <= 1 {
			return true
		}
	}
	return false
}

// BenchmarkPairTime measures the processor time of a pair of documents of 3,000 words.
func BenchmarkPairTime(b *testing.B) {
	var texts [2]string
	for _, d := range corpora.Tar(b, "pan13-train/pan13-train.tar.zst", ".txt") {
		side := 0
		if strings.HasPrefix(d.Name, "src/") {
			side = 1
		}
		if len(strings.Fields(texts[side])) < 3000 {
			texts[side] += d.Text + "\n\n"
		}
	}
	for i := range texts {
		texts[i] = strings.Join(strings.Fields(texts[i])[:3000], " ")
	}
	x, y := align.Prepare(texts[0]+texts[1][:3000]), align.Prepare(texts[1])
	b.Run("pair", func(b *testing.B) {
		before := processTime()
		for b.Loop() {
			align.Pair(x, y, align.Options{})
		}
		b.ReportMetric(float64((processTime()-before).Microseconds())/float64(b.N), "cpu_us/op")
	})
	b.Run("prepare", func(b *testing.B) {
		before := processTime()
		for b.Loop() {
			align.Prepare(texts[1])
		}
		b.ReportMetric(float64((processTime()-before).Microseconds())/float64(b.N), "cpu_us/op")
	})
}
