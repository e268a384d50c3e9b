package cluster_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/cluster"
	"concordat/cluster/coord"
	"concordat/cluster/replica"
	"concordat/internal/indextest"
)

// BenchmarkWrite is one document put after the other through a node of a site whose nodes share this process and disk.
func BenchmarkWrite(b *testing.B) {
	for copies := 1; copies <= 3; copies++ {
		b.Run(fmt.Sprint("copies=", copies), func(b *testing.B) {
			s := newSite(b, 1, copies, []coord.NodeID{"a", "b", "c"}[:copies]...)
			s.settle(60)
			var all []time.Duration
			for i := 0; b.Loop(); i++ {
				start := time.Now()
				s.must(s.nodes["a"].Put(b.Context(), profileOf(fmt.Sprint(i), "a short text")))
				all = append(all, time.Since(start))
			}
			b.ReportMetric(float64(percentile(all, 50).Microseconds()), "µs-p50")
			b.ReportMetric(float64(percentile(all, 99).Microseconds()), "µs-p99")
		})
	}
}

// BenchmarkCatchUp lets a node be away for 16 MiB of documents and measures how fast it gets them, from the log and,
// where the log does not reach back, as a snapshot.
func BenchmarkCatchUp(b *testing.B) {
	for _, from := range []string{"log", "snapshot"} {
		b.Run(from, func(b *testing.B) {
			s := newSite(b, 1, 2, "a", "b")
			s.settle(60)
			if from == "log" {
				s.keep = 1 << 30
				s.stop("a")
				s.start("a")
				s.settle(60)
			}
			g := indextest.NewGenerator(1, 50)
			text := strings.Repeat("some words of a text. ", 1000)
			n := 0
			for b.Loop() {
				b.StopTimer()
				s.stop("b")
				bytes := 0
				for bytes < 16<<20 {
					ps := make([]*concordat.Profile, 20)
					for i := range ps {
						ps[i] = g.Profile("l", concordat.DocumentID(fmt.Sprint(n)), 100)
						ps[i].Document.Text = text
						bytes += len(text) + 100*concordat.FingerprintBytes
						n++
					}
					s.must(s.nodes["a"].Put(b.Context(), ps...))
				}
				c, _ := s.nodes["a"].Copy(cluster.ShardName(0))
				st, err := c.Status()
				s.must(err)
				b.SetBytes(int64(bytes))
				b.StartTimer()
				s.start("b")
				s.must(s.copy("b", cluster.ShardName(0)).Await(b.Context(), func(x replica.Status) bool { return x.Applied >= st.Applied && x.InSync && !x.Meta.Damaged }))
			}
		})
	}
}
