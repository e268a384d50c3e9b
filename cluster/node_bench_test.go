package cluster_test

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"concordat"
	"concordat/cluster"
	"concordat/cluster/coord"
	"concordat/cluster/replica"
	"concordat/internal/cputime"
	"concordat/internal/indextest"
)

// BenchmarkWrite writes one document at a time through a node of a site whose nodes share this process and disk.
func BenchmarkWrite(b *testing.B) {
	for copies := 1; copies <= 3; copies++ {
		b.Run(fmt.Sprint("copies=", copies), func(b *testing.B) {
			s := newSite(b, 1, copies, []coord.NodeID{"a", "b", "c"}[:copies]...)
			s.settle(60)
			var all []time.Duration
			cpu := cputime.Used()
			for i := 0; b.Loop(); i++ {
				start := time.Now()
				s.must(s.nodes["a"].Put(b.Context(), profileOf(fmt.Sprint(i), "a short text")))
				all = append(all, time.Since(start))
			}
			cputime.Report(b, cpu, b.N, "op") // for all nodes, which share this process
			b.ReportMetric(float64(percentile(all, 50).Nanoseconds()), "p50-ns")
			b.ReportMetric(float64(percentile(all, 99).Nanoseconds()), "p99-ns")
		})
	}
}

// BenchmarkCatchUp stops a node while many documents are written and measures how fast it gets them, including the time to open its copy
// and to join the in-sync set. The documents come from the log or, if it no longer covers them, as a snapshot. The byte count is the size
// of the log or of the index. CONCORDAT_CATCHUP sets the number of documents, each with 100 sentences and 22 KB of text that does not
// compress well.
func BenchmarkCatchUp(b *testing.B) {
	for _, from := range []string{"log", "snapshot"} {
		b.Run("from="+from, func(b *testing.B) {
			docs := 2000
			if n, err := strconv.Atoi(os.Getenv("CONCORDAT_CATCHUP")); err == nil {
				docs = n
			}
			s := newSite(b, 1, 2, "a", "b")
			s.segment = 16 << 20
			if from == "log" {
				s.keep = 1 << 40
			}
			s.stop("a")
			s.start("a")
			s.settle(60)
			g := indextest.NewGenerator(1, 50)
			r := rand.New(rand.NewPCG(1, 1))
			n := 0
			for b.Loop() {
				b.StopTimer()
				s.stop("b")
				bytes := 0
				for i := 0; i < docs; i += 20 {
					ps := make([]*concordat.Profile, 20)
					for i := range ps {
						ps[i] = g.Profile("l", concordat.DocumentID(fmt.Sprint(n)), 100)
						ps[i].Document.Text = randomText(r, 22_000)
						for j := range ps[i].Indexed {
							ps[i].Indexed[j].Fingerprint = concordat.FingerprintFromHalves(r.Uint64(), r.Uint64())
						}
						bytes += 22_000 + 100*concordat.FingerprintBytes
						n++
					}
					s.must(s.nodes["a"].Put(b.Context(), ps...))
				}
				c, _ := s.nodes["a"].Copy(cluster.ShardName(0))
				st, err := c.Status()
				s.must(err)
				s.must(c.Index().Persist(b.Context()))
				if from == "snapshot" {
					bytes = treeSize(b, filepath.Join(s.dir, "a", "00", "store"))
				}
				b.SetBytes(int64(bytes))
				b.StartTimer()
				s.start("b")
				s.must(s.copy("b", cluster.ShardName(0)).Await(b.Context(), func(x replica.Status) bool {
					return x.Applied >= st.Applied &&
						x.InSync && !x.Meta.Damaged
				}))
			}
		})
	}
}

// randomText returns words of random letters.
func randomText(r *rand.Rand, n int) string {
	b := make([]byte, n)
	for i := range b {
		if b[i] = 'a' + byte(r.IntN(26)); r.IntN(6) == 0 {
			b[i] = ' '
		}
	}
	return string(b)
}

func treeSize(t testing.TB, dir string) (n int) {
	if err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if i, e := d.Info(); e == nil {
				n += int(i.Size())
			}
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return n
}
