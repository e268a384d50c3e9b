package site_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"concordat"
	"concordat/report"
	"concordat/site"
	"concordat/site/compare"
	"concordat/store"
)

// panicking is a store that panics where it is asked for something, as long as it is told to.
type panicking struct {
	*store.DB
	row, findings, keep bool

	compared atomic.Bool // of the members of a batch, once
	next     atomic.Bool // batch, once
	progress atomic.Bool // of a task, once

	kept chan []byte // findings of checks that go on, as they come; nil: nobody looks
}

func (p *panicking) PutFindings(ctx context.Context, id concordat.TaskID, data []byte) error {
	if p.kept != nil {
		p.kept <- data
	}
	if p.keep {
		panic("kept")
	}
	return p.DB.PutFindings(ctx, id, data)
}

func (p *panicking) DocumentRow(ctx context.Context, lib concordat.LibraryID, id concordat.DocumentID) (store.DocumentRow, error) {
	if p.row {
		panic("row")
	}
	return p.DB.DocumentRow(ctx, lib, id)
}

func (p *panicking) Compared(ctx context.Context, id string, member int) ([]int, error) {
	if p.compared.CompareAndSwap(true, false) {
		panic("compared")
	}
	return p.DB.Compared(ctx, id, member)
}

func (p *panicking) NextBatch(ctx context.Context, runner string) (store.Batch, error) {
	if p.next.CompareAndSwap(true, false) {
		panic("next")
	}
	return p.DB.NextBatch(ctx, runner)
}

func (p *panicking) PutTaskProgress(ctx context.Context, id concordat.TaskID, event json.RawMessage) error {
	if p.progress.CompareAndSwap(true, false) {
		panic("progress")
	}
	return p.DB.PutTaskProgress(ctx, id, event)
}

func (p *panicking) FindingsAt(ctx context.Context, task concordat.TaskID) ([]byte, int64, error) {
	if p.findings {
		panic("findings")
	}
	return p.DB.FindingsAt(ctx, task)
}

// TestFingerprintingPanics: a panic where the documents of a batch are fingerprinted side by side, or where a new one is
// compared with standing checks, ends that call alone.
func TestFingerprintingPanics(t *testing.T) {
	p := newSite(t, "a")
	db := &panicking{DB: p.store}
	n := &noted{}
	s := open(site.Options{ID: "here", Index: p.index, Store: db, Profiler: p.profiler})
	s.Site.TellPanics(n.panics())
	ingest := func(id concordat.DocumentID, text string) error {
		return s.Ingest(t.Context(), "a", docs(site.Incoming{ID: id, Text: text}), func(site.Ingested) error { return nil })
	}
	fault := new(*compare.Fault)
	db.row = true
	if err := ingest("one", river); !errors.As(err, fault) {
		t.Errorf("got %v, want a fault", err)
	}
	n.once(t, "panicking")
	db.row = false
	must(t, ingest("one", river))
	(&parts{services: s, store: p.store, index: p.index, profiler: p.profiler}).check(t, mine+essay, site.CheckOptions{Standing: true})
	db.findings = true
	if err := ingest("late", "Something else comes first here, and is long enough. "+bakery+orchard); !errors.As(err, fault) {
		t.Errorf("beside a standing check: got %v, want a fault", err)
	}
	db.findings = false
	must(t, ingest("late", "Something else comes first here, and is long enough. "+bakery+orchard))
}

// TestAskingPanics: a panic where partners are asked, or where what they show is compared,
// fails that check alone.
func TestAskingPanics(t *testing.T) {
	text := mine + essay + " And I close it with a remark of my own as well."
	for name, spoil := range map[string]func(*partner){
		"asked":    func(p *partner) { p.mangle = func(*concordat.SiteAnswer) { panic("asked") } },
		"outlined": func(p *partner) { p.outlaws = func(*concordat.Outlines) { panic("outlined") } },
		"compared": func(p *partner) { p.edgesPanic = true },
	} {
		t.Run(name, func(t *testing.T) {
			p := here(t, "")
			north := newPartner(t, "north")
			north.outline = concordat.OutlineWords
			north.put(t, "lib", "both", "An introduction that the copier left out, about guilds and their seals and their quarrels. "+
				essay+" A closing word on other matters altogether stands at the end.")
			o := site.CheckOptions{Forward: site.ForwardAll, Partners: []site.PartnerLibraries{north.libraries("lib")}}
			p.check(t, text, o)
			spoil(north)
			var fault *compare.Fault
			if _, err := p.Check(t.Context(), site.Submission{ID: "sub", Text: text}, o); !errors.As(err, &fault) {
				t.Errorf("got %v, want a fault", err)
			}
			north.mangle, north.outlaws, north.edgesPanic = nil, nil, false
			p.check(t, text, o)
		})
	}
}

// TestKeptMeanwhile: while a partner is asked there are findings to read that say who has not answered, and a panic where they
// are kept fails that check alone.
func TestKeptMeanwhile(t *testing.T) {
	text := mine + essay + " And I close it with a remark of my own as well."
	p := newSite(t, "a")
	db := &panicking{DB: p.store}
	s := open(site.Options{ID: "here", Index: p.index, Store: db, Profiler: p.profiler})
	north := newPartner(t, "north")
	north.put(t, "lib", "both", essay)
	check := func(o site.CheckOptions) (meanwhile report.Findings, err error) {
		db.kept = make(chan []byte, 100)
		var once sync.Once
		north.mangle = func(*concordat.SiteAnswer) {
			once.Do(func() {
				select {
				case data := <-db.kept:
					must(t, json.Unmarshal(data, &meanwhile))
				case <-time.After(time.Minute):
					t.Error("nothing is kept while a partner is asked")
				}
			})
		}
		o.Partners = []site.PartnerLibraries{north.libraries("lib")}
		_, err = s.Check(t.Context(), site.Submission{ID: "sub", Text: text}, o)
		return meanwhile, err
	}
	f, err := check(site.CheckOptions{Forward: site.ForwardAll})
	must(t, err)
	if got := line(t, &f, "north", "lib"); got.Err != "has not answered yet" || f.Task == "" || len(f.Passages) != 0 {
		t.Errorf("meanwhile the partner's line is %+v, of task %q with %d passages", got, f.Task, len(f.Passages))
	}
	db.keep = true
	var fault *compare.Fault
	if _, err := check(site.CheckOptions{Forward: site.ForwardAll}); !errors.As(err, &fault) {
		t.Errorf("got %v, want a fault", err)
	}
}

// TestSharingPanics: a panic where other processes are told how far a check is ends the telling alone; the check is done.
func TestSharingPanics(t *testing.T) {
	p, n := newSite(t, "a"), &noted{}
	db := &panicking{DB: p.store}
	db.progress.Store(true)
	s := open(site.Options{ID: "here", Index: p.index, Store: db, Profiler: p.profiler, Shared: true})
	panics := n.panics()
	q := s.NewQueue(site.QueueOptions{Store: db, Logger: panics.Logger, Panicked: panics.Counted,
		Read: func(ctx context.Context, _ site.Job) ([]site.Item, error) {
			for end := time.Now().Add(5 * time.Minute); n.count.Load() == 0 && time.Now().Before(end) && ctx.Err() == nil; {
				time.Sleep(time.Millisecond)
			}
			return []site.Item{{Submission: site.Submission{ID: "x", Text: folios}}}, nil
		},
		Options: func(context.Context, site.Job) (site.CheckOptions, func(), error) {
			return site.CheckOptions{}, nil, nil
		}})
	start(t, q)
	id := submit(t, q, site.Job{Name: "one", File: strings.Repeat("0", 64), Libraries: []concordat.LibraryID{"a"}})
	if state, cause := await(t, p, q, id); state != concordat.TaskDone {
		t.Errorf("the check is %s, %q", state, cause)
	}
	n.once(t, "panicking")
}

// TestSetPanics: a panic where a set for partners is filled ends that filling alone, and the next one fills it.
func TestSetPanics(t *testing.T) {
	o, n := newOwner(t, "theses"), &noted{}
	o.Answerer.TellPanics(n.panics())
	o.share(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata, Matches: 1})
	must(t, o.Ingest(t.Context(), "theses", docs(site.Incoming{ID: "a", Text: river}), func(site.Ingested) error { return nil }))
	o.index.panics = true
	var fault *compare.Fault
	if err := o.CatchUp(t.Context()); !errors.As(err, &fault) {
		t.Errorf("where a document is read: got %v, want a fault", err)
	}
	o.index.panics, o.set.putPanics = false, true
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- o.KeepEpochs(ctx) }()
	for end := time.Now().Add(5 * time.Minute); n.count.Load() == 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	stop()
	must(t, <-ended)
	if !strings.Contains(n.log.String(), "faulty") {
		t.Errorf("no panic with its stack in the log:\n%s", n.log.String())
	}
	o.set.putPanics = false
	must(t, o.CatchUp(t.Context()))
	if tell := o.answer(t, "north", o.ask(t, river, concordat.ShowMetadata, "theses")); len(tell.Documents) != 1 {
		t.Errorf("%d documents are told of, want 1", len(tell.Documents))
	}
}
