package store_test

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"concordat"
	"concordat/internal/cputime"
	"concordat/store"
)

func BenchmarkPutDocuments(b *testing.B) {
	for _, size := range []int{1, 100, 5000} {
		b.Run(fmt.Sprint("documents=", size), func(b *testing.B) {
			db := open(b, filepath.Join(b.TempDir(), "store.db"), store.Options{})
			rows := make([]store.DocumentRow, size)
			n := 0
			b.ReportAllocs()
			from := cputime.Used()
			for b.Loop() {
				for i := range rows {
					rows[i] = document(fmt.Sprintf("%08x", uint32(n)*2654435761)) // in random order
					n++
				}
				must(b, db.Catalogue.PutDocuments(b.Context(), rows))
			}
			cputime.Report(b, from, b.N*size, "document")
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
		must(b, db.Catalogue.PutDocuments(b.Context(), rows))
		must(b, db.Catalogue.PutSourceState(b.Context(), states...))
	}
	return db
}

func BenchmarkSourceState(b *testing.B) {
	db := catalogue(b, 100_000)
	b.ReportAllocs()
	i := 0
	from := cputime.Used()
	for b.Loop() {
		_, err := db.Catalogue.SourceState(b.Context(), "a", fmt.Sprintf("in/%08d", i%100_000))
		must(b, err)
		i += 7919
	}
	cputime.Report(b, from, b.N, "file")
}

func BenchmarkLibraries(b *testing.B) {
	db := catalogue(b, 100_000)
	from := cputime.Used()
	for b.Loop() {
		ls, err := db.Catalogue.Libraries(b.Context())
		if err != nil || ls[0].Documents != 100_000 {
			b.Fatal(ls, err)
		}
	}
	cputime.Report(b, from, b.N, "call")
}

func BenchmarkTask(b *testing.B) {
	db := open(b, filepath.Join(b.TempDir(), "store.db"), store.Options{})
	i := 0
	from := cputime.Used()
	for b.Loop() {
		must(b, db.Checks.CreateTask(b.Context(), store.Task{Task: concordat.Task{ID: concordat.TaskID(fmt.Sprint(i))}}))
		x, err := db.Checks.ClaimTask(b.Context(), allLanes, "w", time.Minute)
		must(b, err)
		must(b, db.Checks.FinishTask(b.Context(), x, concordat.TaskDone, store.Cause{}))
		i++
	}
	cputime.Report(b, from, b.N, "task")
}

func BenchmarkAppendAudit(b *testing.B) {
	db := open(b, filepath.Join(b.TempDir(), "store.db"), store.Options{})
	from := cputime.Used()
	for b.Loop() {
		_, err := db.Audit.AppendAudit(b.Context(), "admin", "library.create", []byte(`{"library":"a"}`))
		must(b, err)
	}
	cputime.Report(b, from, b.N, "entry")
}

// BenchmarkTakeMessage accepts partners' requests, one at a time and 16 at once. With reply= it also writes a row of a reply's size, as a
// table of replies would; compare federation.BenchmarkReplays.
func BenchmarkTakeMessage(b *testing.B) {
	for _, together := range []int{1, 16} {
		for _, size := range []int{0, 100 << 10} {
			b.Run(fmt.Sprintf("together=%d/reply=%d", together, size), func(b *testing.B) {
				db := open(b, filepath.Join(b.TempDir(), "store.db"), store.Options{})
				reply := strings.Repeat("x", size)
				work := make(chan string, b.N)
				for range b.N {
					work <- rand.Text()
				}
				close(work)
				until := time.Now().Add(time.Hour)
				var wg sync.WaitGroup
				from := cputime.Used()
				b.ResetTimer()
				for range together {
					wg.Go(func() {
						for id := range work {
							first, err := db.Answers.TakeMessage(b.Context(), "north", []byte(id), until)
							if err == nil && size > 0 {
								err = db.SetSetting(b.Context(), id, reply)
							}
							if err != nil || !first {
								b.Errorf("first %v, error %v", first, err)
								return
							}
						}
					})
				}
				wg.Wait()
				cputime.Report(b, from, b.N, "request")
			})
		}
	}
}

// BenchmarkEngines measures the store operations of a check and an ingest on both engines. The database is at address
// $CONCORDAT_POSTGRES, where the benchmark fills a schema; it should be as durable as in production. Without the variable, the PostgreSQL
// benchmark is skipped.
func BenchmarkEngines(b *testing.B) {
	for _, engine := range []string{"SQLite", "PostgreSQL"} {
		b.Run("engine="+engine, func(b *testing.B) {
			place := filepath.Join(b.TempDir(), "store.db")
			if engine == "PostgreSQL" {
				if place = os.Getenv("CONCORDAT_POSTGRES"); place == "" {
					b.Skip("CONCORDAT_POSTGRES names no database")
				}
			}
			db := open(b, place, store.Options{})
			run := func(name string, rows int, f func(n int) error) {
				b.Run("op="+name, func(b *testing.B) {
					from := cputime.Used()
					n := 0
					for b.Loop() {
						must(b, f(n))
						n++
					}
					cputime.Report(b, from, b.N*rows, "row")
					b.ReportMetric(float64(rows*b.N)/b.Elapsed().Seconds(), "rows/s")
				})
			}
			id := rand.Text()[:8] // different documents for each run, in random order
			put := func(n int) error {
				rows := make([]store.DocumentRow, 500)
				for i := range rows {
					rows[i] = document(fmt.Sprintf("%08x-%s", uint32(n*500+i)*2654435761, id))
				}
				return db.Catalogue.PutDocuments(b.Context(), rows)
			}
			must(b, put(0))
			run("put", 500, func(n int) error { return put(n + 1) })
			run("row", 1, func(n int) error {
				_, err := db.Catalogue.DocumentRow(b.Context(), "a", concordat.DocumentID(fmt.Sprintf("%08x-%s", uint32(n%500)*2654435761, id)))
				return err
			})
			run("audit", 1, func(int) error {
				_, err := db.Audit.AppendAudit(b.Context(), "ada", "read", nil)
				return err
			})
			findings := make([]byte, 50_000)
			run("check", 1, func(int) error { // writes of the queue for one check, without the search
				t := store.Task{Task: concordat.Task{ID: concordat.TaskID(rand.Text())}, Request: []byte("{}")}
				if err := db.Checks.CreateTask(b.Context(), t); err != nil {
					return err
				}
				t, err := db.Checks.ClaimTask(b.Context(), allLanes, "w", time.Hour)
				if err == nil {
					err = db.Checks.PutFindings(b.Context(), t.ID, findings)
				}
				if err == nil {
					err = db.Checks.PutResults(b.Context(), t.ID, twenty())
				}
				if err == nil {
					err = db.Checks.FinishTask(b.Context(), t, concordat.TaskDone, store.Cause{})
				}
				return err
			})
		})
	}
}

// twenty returns twenty results.
func twenty() []store.Result {
	out := make([]store.Result, 20)
	for i := range out {
		out[i] = store.Result{Kind: concordat.KindNear, Similarity: 0.5, Source: concordat.Ref{Site: "s", Library: "l", Document: "d"}}
	}
	return out
}
