package index

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"concordat/internal/cputime"
)

// TestPrefetch: the layouts assumed by the instructions match the types, and the instructions accept any group and any span. Answers
// cannot depend on them; TestTable runs with them and, with the tag purego, without.
func TestPrefetch(t *testing.T) {
	var s span
	if unsafe.Sizeof(s) != 16 || unsafe.Offsetof(s.lo) != 0 || unsafe.Offsetof(s.hi) != 4 || recBytes != 10 || unsafe.Sizeof(group{}) != 20 {
		t.Fatal("prefetch_amd64.s expects another layout")
	}
	g := make([]group, groups)
	for _, at := range []uint32{0, 1, groups / 2, groups - 1} {
		touchGroups(g, at)
		loadGroups(g, at)
	}
	recs := make([]byte, 100*recBytes)
	for _, at := range [][]*byte{nil, {&recs[0]}, {&recs[0], &recs[999]}} {
		touch(at)
		loadLines(at)
	}
	for _, spans := range [][]span{nil, {{0, 1, 0, 0}}, {{99, 100, 0, 0}, {0, 100, 0, 0}}} {
		touchSpans(recs, spans)
		loadSpans(recs, spans)
	}
}

// BenchmarkTouch compares the instructions with loads, using the groups and spans of random look-ups, and scans what they fetch.
func BenchmarkTouch(b *testing.B) {
	l := benchTable(1_000_000)
	for _, by := range []struct {
		name   string
		groups func([]group, uint32) byte
		spans  func([]byte, []span) byte
	}{{"own", touchGroups, touchSpans}, {"loads", loadGroups, loadSpans}} {
		b.Run("by="+by.name, func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 1))
			k := &lookup{cap: defaultBandCap}
			i, start := 0, cputime.Used()
			for b.Loop() {
				f := randomFingerprint(r)
				for n := range l.bands {
					k.touch += by.groups(l.bands[n].groups, f.Band(n)>>4)
				}
				for n := range l.bands {
					k.used[n] = k.nearSpans(&l.bands[n], f.Band(n), k.spans[n][:0:cap(k.spans[n])])
				}
				for n := range l.bands {
					k.touch += by.spans(l.bands[n].recs, k.spans[n][:k.used[n]])
				}
				k.most = 12
				for n := range l.bands {
					k.scan(l, n, f, 0)
				}
				k.out = k.out[:0]
				i++
			}
			cputime.Report(b, start, i, "query")
		})
	}
}
