package store_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"concordat"
	"concordat/store"
)

// cost reports what one unit of work took, in CPU time of the process, which other work on the
// machine does not change.
func cost(b *testing.B, units int, unit string, from time.Duration) {
	b.ReportMetric(float64((cpuTime()-from).Microseconds())/float64(b.N*units), "cpu-µs/"+unit)
}

func BenchmarkPutDocuments(b *testing.B) {
	for _, size := range []int{1, 100, 5000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			db := open(b, filepath.Join(b.TempDir(), "store.db"), store.Options{})
			rows := make([]store.DocumentRow, size)
			n := 0
			b.ReportAllocs()
			from := cpuTime()
			for b.Loop() {
				for i := range rows {
					rows[i] = document(fmt.Sprintf("%08x", uint32(n)*2654435761)) // in no order
					n++
				}
				must(b, db.PutDocuments(b.Context(), rows))
			}
			cost(b, size, "document", from)
		})
	}
}

// catalogue opens a store with n documents and n source states.
func catalogue(b *testing.B, n int) *store.DB {
	b.Helper()
	db := open(b, filepath.Join(b.TempDir(), "store.db"), store.Options{})
	for i := 0; i < n; i += 5000 {
		var rows []store.DocumentRow
		var states []store.SourceState
		for j := i; j < min(n, i+5000); j++ {
			d := document(fmt.Sprintf("%08d", j))
			rows = append(rows, d)
			states = append(states, store.SourceState{Library: "a", Path: d.Source, Size: d.Bytes})
		}
		must(b, db.PutDocuments(b.Context(), rows))
		must(b, db.PutSourceState(b.Context(), states...))
	}
	return db
}

func BenchmarkSourceState(b *testing.B) {
	db := catalogue(b, 100_000)
	b.ReportAllocs()
	i := 0
	from := cpuTime()
	for b.Loop() {
		_, err := db.SourceState(b.Context(), "a", fmt.Sprintf("in/%08d", i%100_000))
		must(b, err)
		i += 7919
	}
	cost(b, 1, "file", from)
}

func BenchmarkLibraries(b *testing.B) {
	db := catalogue(b, 100_000)
	from := cpuTime()
	for b.Loop() {
		ls, err := db.Libraries(b.Context())
		if err != nil || ls[0].Documents != 100_000 {
			b.Fatal(ls, err)
		}
	}
	cost(b, 1, "call", from)
}

func BenchmarkTask(b *testing.B) {
	db := open(b, filepath.Join(b.TempDir(), "store.db"), store.Options{})
	i := 0
	from := cpuTime()
	for b.Loop() {
		must(b, db.CreateTask(b.Context(), store.Task{Task: concordat.Task{ID: concordat.TaskID(fmt.Sprint(i))}}))
		x, err := db.ClaimTask(b.Context(), "w", time.Minute)
		must(b, err)
		must(b, db.FinishTask(b.Context(), x, concordat.TaskDone, ""))
		i++
	}
	cost(b, 1, "task", from)
}

func BenchmarkAppendAudit(b *testing.B) {
	db := open(b, filepath.Join(b.TempDir(), "store.db"), store.Options{})
	from := cpuTime()
	for b.Loop() {
		_, err := db.AppendAudit(b.Context(), "admin", "library.create", []byte(`{"library":"a"}`))
		must(b, err)
	}
	cost(b, 1, "entry", from)
}
