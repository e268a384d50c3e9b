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
	"concordat/internal/sitetest"
	"concordat/internal/storetest"
	"concordat/report"
	"concordat/site"
	"concordat/site/compare"
	"concordat/store"
)

// TestFingerprintingPanics: a panic while a batch's documents are fingerprinted in parallel, or while a new document is compared with
// standing checks, ends only that call.
func TestFingerprintingPanics(t *testing.T) {
	p := sitetest.NewSite(t, "a")
	db, script := storetest.Scripted(p.Store)
	n := &noted{}
	s := sitetest.Open(site.Options{ID: "here", Index: p.Index, Store: db, Profiler: p.Profiler})
	s.Site.TellPanics(n.panics())
	ingest := func(id concordat.DocumentID, text string) error {
		return s.Ingest(t.Context(), "a", sitetest.Docs(site.Incoming{ID: id, Text: text}), func(site.Ingested) error { return nil })
	}
	fault := new(*compare.Fault)
	script.On("DocumentRow", func() error { panic("row") })
	if err := ingest("one", sitetest.River); !errors.As(err, fault) {
		t.Errorf("got %v, want a fault", err)
	}
	n.once(t, "Script")
	script.On("DocumentRow", nil)
	sitetest.Must(t, ingest("one", sitetest.River))
	(&sitetest.Parts{Services: s, Store: p.Store, Index: p.Index, Profiler: p.Profiler}).Found(t, sitetest.Mine+sitetest.Essay,
		site.CheckOptions{Standing: true})
	script.On("FindingsAt", func() error { panic("findings") })
	if err := ingest("late", "Something else comes first here, and is long enough. "+sitetest.Bakery+sitetest.Orchard); !errors.As(err,
		fault) {
		t.Errorf("beside a standing check: got %v, want a fault", err)
	}
	script.On("FindingsAt", nil)
	sitetest.Must(t, ingest("late", "Something else comes first here, and is long enough. "+sitetest.Bakery+sitetest.Orchard))
}

// TestAskingPanics: a panic while partners are asked, or while their passages are compared, fails only that check.
func TestAskingPanics(t *testing.T) {
	text := sitetest.Mine + sitetest.Essay + " And I close it with a remark of my own as well."
	for name, spoil := range map[string]func(*sitetest.Partner){
		"asked":    func(p *sitetest.Partner) { p.Mangle = func(*concordat.SiteAnswer) { panic("asked") } },
		"outlined": func(p *sitetest.Partner) { p.Outlaws = func(*concordat.Outlines) { panic("outlined") } },
		"compared": func(p *sitetest.Partner) { p.EdgesPanic = true },
	} {
		t.Run(name, func(t *testing.T) {
			p := sitetest.NewHere(t, "")
			north := sitetest.NewPartner(t, "north")
			north.Form = concordat.OutlineWords
			north.Put(t, "lib", "both", "An introduction that the copier left out, about guilds and their seals and their quarrels. "+
				sitetest.Essay+" A closing word on other matters altogether stands at the end.")
			o := site.CheckOptions{Forward: site.ForwardAll, Partners: []site.PartnerLibraries{north.Libraries("lib")}}
			p.Found(t, text, o)
			spoil(north)
			var fault *compare.Fault
			if _, err := p.Check(t.Context(), site.Submission{ID: "sub", Text: text}, o); !errors.As(err, &fault) {
				t.Errorf("got %v, want a fault", err)
			}
			north.Mangle, north.Outlaws, north.EdgesPanic = nil, nil, false
			p.Found(t, text, o)
		})
	}
}

// TestKeptMeanwhile: while a partner is being asked, findings that name the partners without an answer can be read; a panic while these
// findings are stored fails only that check.
func TestKeptMeanwhile(t *testing.T) {
	text := sitetest.Mine + sitetest.Essay + " And I close it with a remark of my own as well."
	p := sitetest.NewSite(t, "a")
	db, script := storetest.Scripted(p.Store)
	s := sitetest.Open(site.Options{ID: "here", Index: p.Index, Store: db, Profiler: p.Profiler})
	north := sitetest.NewPartner(t, "north")
	north.Put(t, "lib", "both", sitetest.Essay)
	var kept chan struct{}
	check := func(o site.CheckOptions, seen func()) error {
		kept = make(chan struct{}, 100)
		var once sync.Once
		north.Mangle = func(*concordat.SiteAnswer) {
			once.Do(func() {
				select {
				case <-kept:
					seen()
				case <-time.After(time.Minute):
					t.Error("nothing is kept while a partner is asked")
				}
			})
		}
		o.Partners = []site.PartnerLibraries{north.Libraries("lib")}
		_, err := s.Check(t.Context(), site.Submission{ID: "sub", Text: text}, o)
		return err
	}
	script.On("PutFindings", func() error { kept <- struct{}{}; return nil })
	var f report.Findings
	sitetest.Must(t, check(site.CheckOptions{Forward: site.ForwardAll}, func() {
		tasks, err := p.Store.Checks.Tasks(t.Context(), 0, 1)
		sitetest.Must(t, err)
		var data []byte
		for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) { // waits until it is about to be stored
			if data, err = p.Store.Checks.Findings(t.Context(), tasks[0].ID); !errors.Is(err, concordat.ErrNotFound) || time.Now().After(end) {
				break
			}
		}
		sitetest.Must(t, err)
		sitetest.Must(t, json.Unmarshal(data, &f))
	}))
	if got := sitetest.LineOf(t, &f, "north", "lib"); got.Err != "has not answered yet" || f.Task == "" || len(f.Passages) != 0 {
		t.Errorf("meanwhile the partner's line is %+v, of task %q with %d passages", got, f.Task, len(f.Passages))
	}
	script.On("PutFindings", func() error { kept <- struct{}{}; panic("kept") })
	var fault *compare.Fault
	if err := check(site.CheckOptions{Forward: site.ForwardAll}, func() {}); !errors.As(err, &fault) {
		t.Errorf("got %v, want a fault", err)
	}
}

// TestSharingPanics: a panic while a check's progress is reported to other processes ends only that report, and the check completes.
func TestSharingPanics(t *testing.T) {
	p, n := sitetest.NewSite(t, "a"), &noted{}
	db, script := storetest.Scripted(p.Store)
	script.On("PutTaskProgress", once("progress"))
	s := sitetest.Open(site.Options{ID: "here", Index: p.Index, Store: db, Profiler: p.Profiler, Shared: true})
	panics := n.panics()
	q := s.NewQueue(site.QueueOptions{Store: db, Logger: panics.Logger, Panicked: panics.Counted,
		Read: func(ctx context.Context, _ site.Job) ([]site.Item, error) {
			for end := time.Now().Add(5 * time.Minute); n.count.Load() == 0 && time.Now().Before(end) && ctx.Err() == nil; {
				time.Sleep(time.Millisecond)
			}
			return []site.Item{{Submission: site.Submission{ID: "x", Text: sitetest.Folios}}}, nil
		},
		Options: func(context.Context, site.Job) (site.CheckOptions, func(), error) {
			return site.CheckOptions{}, nil, nil
		}})
	sitetest.StartQueue(t, q)
	id := sitetest.Submit(t, q, site.Job{Name: "one", File: strings.Repeat("0", 64), Libraries: []concordat.LibraryID{"a"}})
	if state, cause := sitetest.Await(t, p, q, id); state != concordat.TaskDone {
		t.Errorf("the check is %s, %q", state, cause)
	}
	n.once(t, "Script")
}

// TestSetPanics: a panic while a partner set is being filled ends only that attempt, and the next attempt fills the set.
func TestSetPanics(t *testing.T) {
	o, n := sitetest.NewOwner(t, "theses"), &noted{}
	o.Answerer.Sets.TellPanics(n.panics())
	o.ShareWith(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata, Matches: 1})
	sitetest.Must(t, o.Ingest(t.Context(), "theses", sitetest.Docs(site.Incoming{ID: "a", Text: sitetest.River}),
		func(site.Ingested) error { return nil }))
	o.Index.Panics = true
	var fault *compare.Fault
	if err := o.Sets.CatchUp(t.Context()); !errors.As(err, &fault) {
		t.Errorf("where a document is read: got %v, want a fault", err)
	}
	o.Index.Panics, o.Set.PutPanics = false, true
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- o.Sets.KeepEpochs(ctx) }()
	for end := time.Now().Add(5 * time.Minute); n.count.Load() == 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	stop()
	sitetest.Must(t, <-ended)
	if !strings.Contains(n.log.String(), "Faulty") {
		t.Errorf("no panic with its stack in the log:\n%s", n.log.String())
	}
	o.Set.PutPanics = false
	sitetest.Must(t, o.Sets.CatchUp(t.Context()))
	if tell := o.Told(t, "north", o.Question(t, sitetest.River, concordat.ShowMetadata, "theses")); len(tell.Documents) != 1 {
		t.Errorf("%d documents are told of, want 1", len(tell.Documents))
	}
}
