package bench

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"concordat"
	"concordat/screen"
)

// JoinResult is the cost of joining two libraries.
type JoinResult struct {
	Probe     string  `json:"probe"`
	Sentences int     `json:"sentences"` // per library
	CPU       float64 `json:"cpu_s"`     // on one core
	Clock     float64 `json:"clock_s"`   // on all cores
	Cores     int     `json:"cores"`
	Pairs     int     `json:"pairs"`       // pairs of documents
	Missed    int     `json:"missed"`      // number of planted pairs within the guarantee that were missed
	TableCPU  float64 `json:"table_cpu_s"` // for the plain in-memory table, built from one library and queried with all of the other
	Ratio     float64 `json:"ratio"`       // CPU / TableCPU
	Peak      float64 `json:"peak_mb"`
}

// Join creates two libraries of n random fingerprints each, in documents of 200; one in 50 fingerprints of the second is a copy of one in
// the first with 0 to 12 changed bits. It finds the pairs of documents that have sentences within 12 bits of each other, on one core and
// then, like screening, on all cores.
func Join(n int, seed uint64, probe concordat.Probe,
	onAllCores func([]screen.Document, screen.JoinOptions) (screen.Joined, error)) (JoinResult, error) {
	r := JoinResult{Probe: probe.String(), Sentences: n}
	planted := map[[2]int]bool{}
	guarantee := concordat.Complete
	if probe == concordat.ProbeOne {
		guarantee = concordat.CompleteNibbles
	}
	a, _ := Prints(n, 1, seed)
	b, _ := Prints(n, 1, seed+1)
	rng := rand.New(rand.NewPCG(seed, 101))
	split := (n + perDocument - 1) / perDocument
	for i := 0; i < n; i += 50 {
		t, k := rng.IntN(n), rng.IntN(13)
		f := a[t]
		for _, bit := range rng.Perm(concordat.Bits)[:k] {
			f[bit/60] ^= 1 << (bit % 60)
		}
		b[i] = f
		if k <= guarantee {
			planted[[2]int{t / perDocument, split + i/perDocument}] = true
		}
	}
	docs := append(joinDocuments(a), joinDocuments(b)...)
	runtime.GC()
	start := cpu()
	o := screen.JoinOptions{Probe: probe, Split: split}
	joined, err := screen.Candidates(docs, o)
	if err != nil {
		return r, fmt.Errorf("join: %w", err)
	}
	r.CPU = (cpu() - start).Seconds()
	runtime.GC()
	clock := time.Now()
	again, err := onAllCores(docs, o)
	r.Clock, r.Cores = time.Since(clock).Seconds(), runtime.GOMAXPROCS(0)
	if err == nil && !slices.Equal(again.Pairs, joined.Pairs) {
		err = errors.New("the pairs found differ from those found on one core")
	}
	if err != nil {
		return r, fmt.Errorf("join on all cores: %w", err)
	}
	r.Pairs, r.Missed, r.Peak = len(joined.Pairs), len(planted), peak()
	for _, p := range joined.Pairs {
		if planted[p] {
			r.Missed--
		}
	}
	start = cpu()
	flat := newFlat(a)
	for _, f := range b {
		flat.ask(f, probe)
	}
	r.TableCPU = (cpu() - start).Seconds()
	r.Ratio = r.CPU / r.TableCPU
	return r, nil
}

func joinDocuments(prints []concordat.Fingerprint) []screen.Document {
	var out []screen.Document
	for from := 0; from < len(prints); from += perDocument {
		var d screen.Document
		for _, f := range prints[from:min(from+perDocument, len(prints))] {
			d.Indexed = append(d.Indexed, screen.Passage{Fingerprint: f, Gate: reportDistance})
		}
		out = append(out, d)
	}
	return out
}
