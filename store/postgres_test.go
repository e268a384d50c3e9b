package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"concordat"
	"concordat/internal/suite"
	"concordat/store"
)

func TestPostgres(t *testing.T) {
	s := postgres(t)
	runSuite(t, func(t *testing.T) place {
		url := s.Database(t)
		return func(o store.Options) (*store.DB, error) { return o.Open(t.Context(), url) }
	})
}

// TestWritersTogether: two processes with several goroutines each spend, claim and append concurrently. No limit is exceeded, no task is
// claimed twice, and there is one audit chain.
func TestWritersTogether(t *testing.T) {
	place := postgres(t).Database(t)
	ctx := t.Context()
	const tasks = 30
	var dbs []*store.DB
	for range 3 {
		dbs = append(dbs, open(t, place, store.Options{Busy: time.Minute}))
	}
	for i := range tasks {
		must(t, dbs[0].Checks.CreateTask(ctx, store.Task{Task: concordat.Task{ID: concordat.TaskID(fmt.Sprint("t", i))}}))
	}
	var spent, claimed, appended atomic.Int64
	var seen sync.Map
	var wg sync.WaitGroup
	for w := range 9 {
		db := dbs[w%3]
		wg.Go(func() {
			for range 10 {
				err := db.People.Charge(ctx, store.Charge{Who: "ada", Kind: "words", Amount: 7, Most: 200, Within: time.Hour})
				if err == nil {
					spent.Add(7)
				} else if !errors.Is(err, concordat.ErrRefused) {
					t.Error(err)
				}
				if _, err := db.Audit.AppendAudit(ctx, fmt.Sprint(w), "spend", nil); err != nil {
					t.Error(err)
				} else {
					appended.Add(1)
				}
				x, err := db.Checks.ClaimTask(ctx, allLanes, fmt.Sprint("w", w), time.Hour)
				if errors.Is(err, concordat.ErrNotFound) {
					continue
				}
				if _, twice := seen.LoadOrStore(x.ID, true); twice || err != nil {
					t.Errorf("task %s claimed again, %v", x.ID, err)
				}
				claimed.Add(1)
			}
		})
	}
	wg.Wait()
	head, err := dbs[1].Audit.VerifyAudit(ctx)
	must(t, err)
	if spent.Load() != 196 || claimed.Load() != tasks || head.Seq != appended.Load() {
		t.Errorf("spent %d of 200 by sevens, claimed %d of %d tasks, %d entries of %d", spent.Load(), claimed.Load(), tasks, head.Seq,
			appended.Load())
	}
}

// TestPostgresBusy: while another process's transaction writes, writers wait and then return an error, and readers continue.
func TestPostgresBusy(t *testing.T) {
	place := postgres(t).Database(t)
	db := open(t, place, store.Options{Busy: 20 * time.Millisecond})
	other := open(t, place, store.Options{})
	held, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		store.Hold(t.Context(), other, held)
	}()
	held <- struct{}{}
	wantErr(t, db.SetSetting(t.Context(), "a", "b"), concordat.ErrUnavailable)
	_, err := db.Catalogue.Libraries(t.Context())
	must(t, err)
	held <- struct{}{}
	<-done
	must(t, db.SetSetting(t.Context(), "a", "b"))
}

// TestServerRestarts: the server restarts while processes write, first in an orderly way and then after a crash. Every acknowledged
// change is there, calls in progress return an error, and work continues without reopening the store.
func TestServerRestarts(t *testing.T) {
	s := postgres(t)
	for name, how := range map[string]syscall.Signal{"stop": syscall.SIGINT, "crash": syscall.SIGQUIT} {
		t.Run(name, func(t *testing.T) {
			db := open(t, s.Database(t), store.Options{Busy: time.Minute})
			must(t, db.SetSetting(t.Context(), "before", name))
			disturbed(t, db, func() {
				must(t, s.Stop(how))
				must(t, s.Start())
			})
			if got, err := db.Setting(t.Context(), "before"); err != nil || got != name {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

// TestConnectionsCut: the administrator terminates connections.
func TestConnectionsCut(t *testing.T) {
	s := postgres(t)
	db := open(t, s.Database(t), store.Options{Busy: time.Minute})
	disturbed(t, db, func() {
		for range 5 {
			s.Exec(t, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'concordat'`)
		}
	})
}

// disturbed appends to the audit until some entries follow the return of disturb, and checks the result.
func disturbed(t *testing.T, db *store.DB, disturb func()) {
	t.Helper()
	ctx := t.Context()
	over := make(chan struct{})
	var acknowledged, refused int64
	var wg sync.WaitGroup
	started := make(chan struct{})
	wg.Go(func() {
		for after := 0; after < 20; {
			_, err := db.Audit.AppendAudit(ctx, "a", "b", nil)
			switch {
			case err == nil:
				if acknowledged++; acknowledged == 5 {
					close(started)
				}
			case errors.Is(err, concordat.ErrUnavailable):
				refused++
			default:
				t.Errorf("got %v, want it done or unavailable", err)
				return
			}
			if _, err := db.Catalogue.Libraries(ctx); err != nil && !errors.Is(err, concordat.ErrUnavailable) {
				t.Error(err)
			}
			select {
			case <-over:
				after++
			default:
			}
		}
	})
	<-started
	disturb()
	close(over)
	wg.Wait()
	head, err := db.Audit.VerifyAudit(ctx)
	must(t, err)
	if head.Seq < acknowledged || head.Seq > acknowledged+refused {
		t.Errorf("%d entries, %d were acknowledged and %d refused", head.Seq, acknowledged, refused)
	}
	must(t, db.Check(ctx))
}

func TestPostgresMaxBytes(t *testing.T) {
	fill(t, postgres(t).Database(t), store.Options{MaxBytes: 2 << 20})
}

// TestPostgresDiskFull fills the disk of the tables.
func TestPostgresDiskFull(t *testing.T) {
	suite.Rest(t, "fills a disk")
	s := postgres(t)
	dir := s.Folder(t)
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=12m"); err != nil {
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	s.Give(t, dir)
	s.Exec(t, `CREATE TABLESPACE small LOCATION '`+dir+`'`)
	place := s.Schema(t)
	fill(t, place+"&default_tablespace=small", store.Options{})
	u, err := url.Parse(place)
	must(t, err)
	raw(t, place, `DROP SCHEMA `+u.Query().Get("search_path")+` CASCADE`, `DROP TABLESPACE small`)
}

func TestPostgresUnreachable(t *testing.T) {
	_, err := store.Options{Busy: time.Millisecond}.Open(t.Context(), "postgres://ada:hush@/site?host="+t.TempDir())
	wantErr(t, err, concordat.ErrUnavailable)
	if bytes.Contains([]byte(err.Error()), []byte("hush")) {
		t.Errorf("the error shows the password: %v", err)
	}
	s := postgres(t)
	_, err = store.Open(t.Context(), s.URL("nowhere"))
	wantErr(t, err, concordat.ErrInvalid)
}

// TestPostgresPurge: deleted rows leave no byte in the files of the tables. The server's log can still contain them, so the purge does
// not report that nothing is left.
func TestPostgresPurge(t *testing.T) {
	suite.Rest(t, "rewrites every table")
	s := postgres(t)
	place := s.Schema(t)
	db := open(t, place, store.Options{})
	ctx := t.Context()
	r := rand.New(rand.NewPCG(1, 2))
	const marked = "QZXWVKJ9-of-a-row"
	for i := range 50 {
		request := make([]byte, 1000) // too short for separate storage, and incompressible
		for j := range request {
			request[j] = byte(r.Uint32())
		}
		if i == 25 {
			request = append([]byte(marked), request...)
		}
		must(t, db.Checks.CreateTask(ctx, store.Task{Task: concordat.Task{ID: concordat.TaskID(fmt.Sprint("t", i))}, Request: request}))
	}
	found := func() (n int) {
		raw(t, place, `CHECKPOINT`)
		must(t, filepath.WalkDir(s.Tables(), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return nil // the file was removed in the meantime
			}
			b, _ := os.ReadFile(path)
			n += bytes.Count(b, []byte(marked))
			return nil
		}))
		return n
	}
	if found() == 0 {
		t.Fatal("nothing is to be found before")
	}
	_, err := db.Retention.EraseTask(ctx, "t25")
	must(t, err)
	if purged, err := db.Purge(ctx, true); purged || err != nil {
		t.Fatal(purged, err)
	}
	if n := found(); n != 0 {
		t.Errorf("still there %d times", n)
	}
	must(t, db.Check(ctx))
}

// TestCopy: a store is copied row by row from SQLite to PostgreSQL and back, and numbering continues where it stopped.
func TestCopy(t *testing.T) {
	ctx := t.Context()
	from := open(t, filepath.Join(t.TempDir(), "store.db"), store.Options{})
	must(t, from.Catalogue.PutDocuments(ctx, []store.DocumentRow{withPieces("1", piece("abc", 0, 1, 2, 3)),
		withPieces("2", piece("abé", 5, 1, 0xffffffff))}))
	for i := range 1200 { // more than one statement can insert
		d := document(fmt.Sprintf("Ä%d", i*7919%1200))
		must(t, from.Catalogue.PutDocuments(ctx, []store.DocumentRow{d}))
	}
	for i := range 3 {
		id := concordat.TaskID(fmt.Sprint("t", i))
		must(t, from.Checks.CreateTask(ctx, store.Task{Task: concordat.Task{ID: id, Title: "种"}, Request: []byte{0, 1, 0xff}}))
		must(t, from.Checks.PutFindings(ctx, id, bytes.Repeat([]byte{byte(i)}, 3<<20)))
		must(t, from.Checks.PutResults(ctx, id, []store.Result{{Similarity: 0.1 * float64(i),
			Source: concordat.Ref{Site: "s", Library: "l", Document: "d"}}}))
		_, err := from.Audit.AppendAudit(ctx, "a", "b", nil)
		must(t, err)
	}
	must(t, from.Checks.DeleteTask(ctx, "t2"))

	to := emptyPostgres(t)
	steps := 0
	first, err := from.CopyTo(ctx, to, store.Copy{Report: func(string, int64, int64) { steps++ }})
	must(t, err)
	for _, name := range []string{"file", "file_part"} {
		if !slices.ContainsFunc(first, func(x store.Copied) bool { return x.Table == name }) {
			t.Errorf("the copy of all leaves out table %s", name)
		}
	}
	_, err = from.CopyTo(ctx, to, store.Copy{})
	wantErr(t, err, concordat.ErrExists)
	back, err := store.Open(ctx, filepath.Join(t.TempDir(), "back.db"))
	must(t, err)
	defer back.Close()
	second, err := to.CopyTo(ctx, back, store.Copy{})
	must(t, err)
	if d := cmp.Diff(first, second); d != "" || steps < len(first) {
		t.Errorf("%d steps; %s", steps, d)
	}
	for _, db := range []*store.DB{to, back} {
		must(t, db.Check(ctx))
		head, err := db.Audit.VerifyAudit(ctx)
		must(t, err)
		must(t, db.Checks.CreateTask(ctx, store.Task{Task: concordat.Task{ID: "next"}}))
		x, err := db.Checks.Task(ctx, "next")
		must(t, err)
		if x.Seq != 4 || head.Seq != 3 {
			t.Errorf("task %d comes next, want 4; %d entries", x.Seq, head.Seq)
		}
		must(t, db.Catalogue.PutDocuments(ctx, []store.DocumentRow{withPieces("3", piece("xyz", 0, 9))}))
	}
	copied := filepath.Join(t.TempDir(), "backup.db")
	must(t, backup(t, to, copied))
	again := open(t, copied, store.Options{})
	if l, err := again.Catalogue.Library(ctx, "a"); err != nil || l.Documents != 1203 {
		t.Errorf("the backup has %d documents, %v", l.Documents, err)
	}
}

// emptyPostgres returns an empty store, without the library that open creates.
func emptyPostgres(t *testing.T) *store.DB {
	t.Helper()
	db, err := store.Open(t.Context(), postgres(t).Database(t))
	must(t, err)
	t.Cleanup(func() { db.Close() })
	return db
}

// TestLateMigration: a migration is applied even if its number is lower than the last applied migration's.
func TestLateMigration(t *testing.T) {
	engines(t, func(t *testing.T, place string) {
		must(t, open(t, place, store.Options{}).Close())
		raw(t, place, `DROP TABLE quota`, `DELETE FROM schema_version WHERE version_id = 66`, `ALTER TABLE account DROP COLUMN public`)
		db := open(t, place, store.Options{})
		must(t, db.People.Charge(t.Context(), store.Charge{Who: "ada", Kind: "words", Amount: 1, Most: 2, Within: time.Hour}))
	})
}

func TestEngine(t *testing.T) {
	engines(t, func(t *testing.T, place string) {
		db := open(t, place, store.Options{})
		e, err := db.Engine(t.Context())
		must(t, err)
		if e.Version == "" || e.Bytes < 100_000 || (e.Name == "PostgreSQL") != store.IsURL(place) {
			t.Errorf("got %+v", e)
		}
		// The test server is not durable, and the tests run as its superuser.
		if all := strings.Join(e.Warnings, "; "); store.IsURL(place) != (strings.Contains(all, "fsync") &&
			strings.Contains(all, "superuser")) || strings.Contains(all, "clock") {
			t.Errorf("warnings: %s", all)
		}
	})
}

// TestOldReceipts: deletions in receipts of earlier versions are recognised.
func TestOldReceipts(t *testing.T) {
	engines(t, func(t *testing.T, place string) {
		db := open(t, place, store.Options{})
		for i, receipt := range []string{"", `{"documents": null}`, `{"documents": [{"name": "aa11"}, {"name": "bb22"}]}`,
			`{"documents": [{"name": "aa11"}, {}]}`} {
			id := fmt.Sprint(i)
			must(t, db.Retention.AskErasure(t.Context(), store.Erasure{ID: id, Made: time.Now(), Actor: "ada", Reason: "asked",
				Target: []byte("{}")}))
			if receipt != "" {
				must(t, db.Retention.StepErasure(t.Context(), id, store.ErasureDeleted, []byte(receipt)))
			}
		}
		must(t, db.Close())
		raw(t, place, `DROP TABLE intake`, `DROP TABLE gone_document`, `DELETE FROM schema_version WHERE version_id = 100`)
		db = open(t, place, store.Options{})
		for name, want := range map[string]bool{"aa11": true, "bb22": true, "cc33": false} {
			if got, err := db.Catalogue.WasDeletedAs(t.Context(), name); err != nil || got != want {
				t.Errorf("%s: %v, %v, want %v", name, got, err, want)
			}
		}
	})
}
