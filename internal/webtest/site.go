package webtest

import (
	"context"
	"errors"
	"io"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"concordat"
	"concordat/extract"
	"concordat/harvest/fetch"
	"concordat/index"
	"concordat/profile"
	"concordat/report"
	"concordat/segment"
	"concordat/site"
	"concordat/site/answer"
	"concordat/site/ask"
	"concordat/site/batch"
	"concordat/site/retain"
	"concordat/store"
	"concordat/web"
	"concordat/web/api"
	"concordat/web/inbox"
	"concordat/web/pages"
	"concordat/web/pages/intake"
	"concordat/web/pages/reports"
	"concordat/web/passwords"
)

// textAdder adds plain-text files to libraries.
type textAdder struct{ s *site.Site }

// AddFile implements intake.Adder.
func (a textAdder) AddFile(ctx context.Context, lib concordat.LibraryID, f intake.AddedFile, content io.Reader) ([]intake.AddedDocument,
	error) {
	b, err := io.ReadAll(content)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(f.Name, ".bad") {
		return []intake.AddedDocument{{Ingested: site.Ingested{ID: f.ID}, Err: errors.New("damaged")}}, nil
	}
	var out []intake.AddedDocument
	err = a.s.Ingest(ctx, lib, func(yield func(site.Incoming, error) bool) {
		yield(site.Incoming{ID: f.ID, Title: f.Title, Author: f.Author, Text: string(b), Dated: f.Date, DatedBy: concordat.DateGiven}, nil)
	}, func(one site.Ingested) error {
		out = append(out, intake.AddedDocument{Ingested: one})
		return nil
	})
	return out, err
}

// disk is a disk that can be declared full.
type disk struct{ full *atomic.Bool }

// CheckDisk implements intake.Disk.
func (d disk) CheckDisk() error {
	if d.full.Load() {
		return concordat.ErrDiskFull
	}
	return nil
}

// newBatches returns the batch queue of a site, with the batches' folders below dir.
func newBatches(t testing.TB, s *site.Site, db *store.DB, files *store.Files, q *site.Queue, dir string) *batch.Queue {
	t.Helper()
	return batch.NewQueue(s, batch.QueueOptions{Store: db, Queue: q, Rules: func() report.Rules { return report.Rules{} },
		Open: func(_ context.Context, id string) (concordat.Index, func() error, error) {
			shard, err := index.Open(filepath.Join(dir, "batch-"+id), index.Options{Site: "here", Scheme: s.Scheme(), Shard: "00"})
			if err != nil {
				return nil, nil, err
			}
			return shard, shard.Close, nil
		},
		Read: func(_ context.Context, in store.BatchInput) ([]site.Item, error) {
			path, err := files.Path(in.Place)
			if err != nil {
				return nil, err
			}
			b, err := os.ReadFile(path)
			if strings.HasSuffix(in.Name, ".bad") {
				err = errors.New("damaged: the file ends in the middle")
			}
			one := site.Submission{ID: concordat.DocumentID(in.Name), Text: string(b)}
			if strings.HasSuffix(in.Name, ".white.txt") {
				one.Flags = []concordat.Flag{{Code: "white_text", Detail: "of a test", Count: 1, Span: &concordat.Span{End: 5}}}
			}
			return []site.Item{{Submission: one, Err: err}}, nil
		},
		Options: func(_ context.Context, j batch.Job) (site.CheckOptions, func(), error) {
			return site.CheckOptions{Libraries: j.Libraries}, nil, nil
		}})
}

// RunBatches runs the batches until the test ends.
func RunBatches(t testing.TB, b *batch.Queue) {
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- b.Run(ctx) }()
	After(t, func() {
		cancel()
		if err := <-ran; err != nil {
			t.Error(err)
		}
	})
}

// flagsIn returns flags of two kinds at words of Folios, and one of a third kind at a page break.
func flagsIn(text string) (out []concordat.Flag) {
	for _, c := range [][2]string{{"look_alike", "shutters"}, {"look_alike", "closed"}, {"white_text", "morning light"},
		{"hidden_text", ".\f%"}} {
		if i := strings.Index(text, c[1]); i >= 0 {
			at := concordat.Span{Start: i, End: i + len(c[1])}
			out = append(out, concordat.Flag{Code: c[0], Detail: "of a test", Count: 1, Span: &at})
		}
	}
	return out
}

// Ledger and Keeper are texts of documents in batches. They share nothing.
const (
	Ledger = "Three surveyors measured the valley from end to end and wrote the height of every hill into a ledger bound in green leather. When the ledger was lost in a fire, the youngest of them wrote all of it down again from memory. "
	Keeper = "Nobody had asked the lighthouse keeper what he thought about the new timetable of the ferries that crossed the sound at night. "
)

// Folios is the text of the one document of a site.
const Folios = "The reading room of the old library kept its shutters closed until noon, because the paper of the folios had begun to fade in the morning light."

// Site is a site with its pages on a loopback server.
type Site struct {
	*httptest.Server
	Web        *web.Web
	Site       *site.Site
	Store      *store.DB
	Queue      *site.Queue
	Batches    *batch.Queue
	Unsignable *atomic.Bool // reports in JSON cannot be signed
	Full       *atomic.Bool // the disk is full
	Partner    *south       // the partner that is asked for passages
	Dir        string
	Inbox      *inbox.Inbox
}

// Cheap is argon2id's minimum cost, because most tests are about the steps after a password and not about the cost of guessing it.
var Cheap = passwords.Cost{Memory: 8, Passes: 1, Threads: 1}

// After is like t.Cleanup, but forgets f and everything that f refers to once it has run. Package testing keeps finished cleanups until
// all parallel tests have ended, and they would keep two hundred sites in memory.
func After(t testing.TB, f func()) {
	t.Helper()
	t.Cleanup(func() {
		run := f
		f = nil
		run()
	})
}

// template creates the folder of a site with a library of one document; copying it is cheaper than creating another.
var template = sync.OnceValues(func() (made string, err error) {
	if made, err = os.MkdirTemp(dir, "site-"); err != nil {
		return "", err
	}
	ctx := context.Background()
	db, shard, p, err := openSite(ctx, made)
	if err != nil {
		return "", err
	}
	s := site.New(site.Options{ID: "here", Index: shard, Store: db, Profiler: p,
		Sharing: answer.New(answer.Options{ID: "here", Index: shard, Store: db}).Shares})
	if err = db.Catalogue.CreateLibrary(ctx, store.Library{ID: "theses", Title: "All <theses>", Created: time.Now()}); err == nil {
		err = s.Ingest(ctx, "theses", func(yield func(site.Incoming, error) bool) {
			yield(site.Incoming{ID: "folios.txt", Title: "On folios", Text: Folios}, nil)
		}, func(site.Ingested) error { return nil })
	}
	return made, errors.Join(err, shard.Close(), db.Close())
})

// openSite opens or creates the store and the index of a site.
func openSite(ctx context.Context, dir string) (*store.DB, *index.Shard, *profile.Profiler, error) {
	db, err := store.Open(ctx, filepath.Join(dir, "site.db"))
	if err != nil {
		return nil, nil, nil, err
	}
	p, err := profile.New(profile.Options{})
	if err != nil {
		return nil, nil, nil, err
	}
	shard, err := index.Open(filepath.Join(dir, "index"), index.Options{Site: "here", Scheme: p.Scheme(), Shard: "00"})
	return db, shard, p, err
}

// signable writes reports as on a site without keys, but not in JSON while unsignable is true.
type signable struct {
	reports.Unsigned
	unsignable *atomic.Bool
}

// WriteJSON implements reports.Writer.
func (s signable) WriteJSON(out io.Writer, rep *report.Report) error {
	if s.unsignable.Load() {
		return errors.New("no key")
	}
	return s.Unsigned.WriteJSON(out, rep)
}

// New makes a site with one library of one document, whose queue runs unless idle.
func New(t testing.TB, idle bool) *Site { return NewWith(t, idle, nil) }

// NewWith is like New, with other options of the pages.
func NewWith(t testing.TB, idle bool, change func(*web.Options)) *Site {
	t.Helper()
	dir := t.TempDir()
	ctx := t.Context()
	made, err := template()
	if err == nil {
		err = os.CopyFS(dir, os.DirFS(made))
	}
	if err != nil {
		t.Fatal(err)
	}
	db, shard, p, err := openSite(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	answers := answer.New(answer.Options{ID: "here", Index: shard, Store: db})
	s := site.New(site.Options{ID: "here", Index: shard, Store: db, Profiler: p, Sharing: answers.Shares})
	asks := ask.New(s, ask.Options{Store: db})
	files := store.OpenFiles(filepath.Join(dir, "originals"))
	eraser := retain.New(s, retain.Options{Store: db, Answers: answers, Areas: []retain.Area{files}})
	var w *web.Web
	q := s.NewQueue(site.QueueOptions{Store: db, Discard: eraser.Discard,
		Admit: func(ctx context.Context, t store.Task, j site.Job, items []site.Item) error {
			return w.Intake.Admit(ctx, t, j, items)
		},
		Read: func(_ context.Context, j site.Job) ([]site.Item, error) {
			path, err := files.Path(j.File)
			if err != nil {
				return nil, err
			}
			b, err := os.ReadFile(path)
			if strings.HasSuffix(j.Name, ".many") { // an archive with a document for each word
				var items []site.Item
				for _, word := range strings.Fields(string(b)) {
					items = append(items, site.Item{Submission: site.Submission{ID: concordat.DocumentID(word), Title: word, Text: word}})
				}
				return items, err
			}
			if strings.HasSuffix(j.Name, ".bad") {
				return []site.Item{{Submission: site.Submission{ID: concordat.DocumentID(j.Name)},
					Err: &extract.Error{Code: extract.Damaged, Detail: "the file ends in the middle"}}}, nil
			}
			one := site.Submission{ID: concordat.DocumentID(j.Name), Text: string(b)}
			if strings.HasSuffix(j.Name, ".titled") {
				one.Title = "Of the document"
			}
			if strings.HasSuffix(j.Name, ".flagged.pdf") {
				one.Flags = flagsIn(one.Text)
			}
			return []site.Item{{Submission: one}}, err
		},
		Options: func(_ context.Context, j site.Job) (site.CheckOptions, func(), error) {
			o := site.CheckOptions{Libraries: j.Libraries, Exclude: j.Exclude}
			if j.Template == "thesis" {
				o.Template = &segment.Template{Name: j.Template, Headings: []segment.Heading{{Section: "annexes",
					Pattern: regexp.MustCompile("^Annexes$")}}}
			}
			return o, nil, nil
		}})
	batches := newBatches(t, s, db, files, q, dir)
	unsignable, full := new(atomic.Bool), new(atomic.Bool)
	partner := new(south)
	o := web.Options{Eraser: eraser, Site: s, Answers: answers, Asks: asks,
		Current: Current{Name: "North <University>"}, Store: db, Queue: q, Files: files,
		Batches:   batches,
		MaxUpload: 1 << 20, Originals: plainOriginals{files},
		ReportFiles: signable{unsignable: unsignable},
		Choices: Choices{Sections: []string{"thesis"}, Sites: []pages.Partner{{Site: "SOUTH", Name: "South <Site>",
			Libraries: []concordat.OpenLibrary{{ID: "theses", Level: concordat.ShowOverlap}}}, {Site: "WEST", Name: "West"}}},
		Harvest: fetch.New(fetch.Options{Agent: "concordat/test"}),
		Adder:   textAdder{s}, HookNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		Disk:    disk{full},
		Machine: Machine{}, Settings: ReadOnlySettings, Nodes: Nodes(Machines), Hashing: Cheap,
		Partner: partner}
	if change != nil {
		change(&o)
	}
	if w, err = web.New(o); err != nil {
		t.Fatal(err)
	}
	in := inbox.New(w, inbox.Options{Retry: time.Minute})
	api.Add(w, nil, in)
	d := &Site{httptest.NewServer(w), w, s, db, q, batches, unsignable, full, partner, dir, in}
	ctx, cancel := context.WithCancel(ctx)
	ran := make(chan error, 1)
	go func() {
		if idle {
			<-ctx.Done()
			ran <- nil
			return
		}
		ran <- q.Run(ctx)
	}()
	After(t, func() {
		d.Close()
		cancel()
		if err := errors.Join(<-ran, shard.Close(), db.Close()); err != nil {
			t.Error(err)
		}
	})
	if !idle {
		RunBatches(t, batches)
	}
	return d
}
