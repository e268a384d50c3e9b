package site_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"concordat"
	"concordat/internal/storetest"
	"concordat/report"
	"concordat/site"
	"concordat/site/compare"
	"concordat/store"
)

// TestFingerprintingPanics: a panic where the documents of a batch are fingerprinted side by side, or where a new one is
// compared with standing checks, ends that call alone.
func TestFingerprintingPanics(t *testing.T) {
	p := newSite(t, "a")
	db, script := storetest.Scripted(p.store)
	n := &noted{}
	s := open(site.Options{ID: "here", Index: p.index, Store: db, Profiler: p.profiler})
	s.Site.TellPanics(n.panics())
	ingest := func(id concordat.DocumentID, text string) error {
		return s.Ingest(t.Context(), "a", docs(site.Incoming{ID: id, Text: text}), func(site.Ingested) error { return nil })
	}
	fault := new(*compare.Fault)
	script.On("DocumentRow", func() error { panic("row") })
	if err := ingest("one", river); !errors.As(err, fault) {
		t.Errorf("got %v, want a fault", err)
	}
	n.once(t, "Script")
	script.On("DocumentRow", nil)
	must(t, ingest("one", river))
	(&parts{services: s, store: p.store, index: p.index, profiler: p.profiler}).check(t, mine+essay, site.CheckOptions{Standing: true})
	script.On("FindingsAt", func() error { panic("findings") })
	if err := ingest("late", "Something else comes first here, and is long enough. "+bakery+orchard); !errors.As(err, fault) {
		t.Errorf("beside a standing check: got %v, want a fault", err)
	}
	script.On("FindingsAt", nil)
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
	db, script := storetest.Scripted(p.store)
	s := open(site.Options{ID: "here", Index: p.index, Store: db, Profiler: p.profiler})
	north := newPartner(t, "north")
	north.put(t, "lib", "both", essay)
	var kept chan struct{}
	check := func(o site.CheckOptions, seen func()) error {
		kept = make(chan struct{}, 100)
		var once sync.Once
		north.mangle = func(*concordat.SiteAnswer) {
			once.Do(func() {
				select {
				case <-kept:
					seen()
				case <-time.After(time.Minute):
					t.Error("nothing is kept while a partner is asked")
				}
			})
		}
		o.Partners = []site.PartnerLibraries{north.libraries("lib")}
		_, err := s.Check(t.Context(), site.Submission{ID: "sub", Text: text}, o)
		return err
	}
	script.On("PutFindings", func() error { kept <- struct{}{}; return nil })
	var f report.Findings
	must(t, check(site.CheckOptions{Forward: site.ForwardAll}, func() {
		tasks, err := p.store.Checks.Tasks(t.Context(), 0, 1)
		must(t, err)
		var data []byte
		for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) { // it is about to be kept
			if data, err = p.store.Checks.Findings(t.Context(), tasks[0].ID); !errors.Is(err, concordat.ErrNotFound) || time.Now().After(end) {
				break
			}
		}
		must(t, err)
		must(t, json.Unmarshal(data, &f))
	}))
	if got := line(t, &f, "north", "lib"); got.Err != "has not answered yet" || f.Task == "" || len(f.Passages) != 0 {
		t.Errorf("meanwhile the partner's line is %+v, of task %q with %d passages", got, f.Task, len(f.Passages))
	}
	script.On("PutFindings", func() error { kept <- struct{}{}; panic("kept") })
	var fault *compare.Fault
	if err := check(site.CheckOptions{Forward: site.ForwardAll}, func() {}); !errors.As(err, &fault) {
		t.Errorf("got %v, want a fault", err)
	}
}

// TestSharingPanics: a panic where other processes are told how far a check is ends the telling alone; the check is done.
func TestSharingPanics(t *testing.T) {
	p, n := newSite(t, "a"), &noted{}
	db, script := storetest.Scripted(p.store)
	script.On("PutTaskProgress", once("progress"))
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
	n.once(t, "Script")
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
