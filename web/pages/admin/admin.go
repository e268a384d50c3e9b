// Package admin serves the pages about the state of a site to administrators and auditors: health, keys, storage, schemes, machines and
// audit. Start with admin.go. Package web/pages/settings serves the settings.
package admin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"concordat"
	"concordat/site"
	siteanswer "concordat/site/answer"
	"concordat/store"
	"concordat/web/message"
	"concordat/web/pages"
)

// Machine is the server process and its data folder. It is safe for concurrent use.
type Machine interface {
	Storage(ctx context.Context) (Storage, error)
	Schemes(ctx context.Context) (Schemes, error)
	Health(ctx context.Context) []HealthPart
}

// Options configures the pages. If Machine, Keystore or Nodes is nil, the pages omit the data that depends on it.
type Options struct {
	Store    *store.DB
	Queue    *site.Queue
	Machine  Machine
	Keystore Keystore
	Nodes    Nodes // nil on a site of one machine
	Logger   *slog.Logger
	Now      func() time.Time
}

// Admin shows the state of a site.
type Admin struct {
	pages.Auditor
	frame pages.Frame
	o     Options
}

// New adds the pages to a site.
func New(frame pages.Frame, o Options) Admin {
	w := Admin{pages.Auditor{Store: o.Store, Logger: o.Logger}, frame, o}
	frame.AddPage("GET /admin", pages.Overseers, w.healthPage)
	frame.AddPage("POST /admin/keys", pages.Administrators, w.exportRoot)
	frame.AddPage("POST /admin/keys/later", pages.Administrators, w.putOffRoot)
	frame.AddPage("GET /admin/design", pages.Administrators, w.designPage)
	frame.AddPage("GET /admin/storage", pages.Overseers, w.storagePage)
	frame.AddPage("GET /admin/schemes", pages.Overseers, w.schemesPage)
	frame.AddPage("GET /admin/cluster", pages.Overseers, w.clusterPage)
	frame.AddPage("GET /admin/audit", pages.Overseers, w.auditPage)
	frame.AddPage("POST /admin/audit", pages.Overseers, w.verifyAudit)
	frame.AddPage("GET /admin/audit/export", pages.Overseers, w.exportAudit)
	return w
}

// Storage describes disk and index usage.
type Storage struct {
	Folder     string        `json:"folder"`
	Free       int64         `json:"free_bytes"`
	All        int64         `json:"all_bytes"`
	LowWater   int64         `json:"low_water_bytes"` // space to keep free
	Parts      []StoragePart `json:"parts"`
	Documents  int           `json:"documents"`
	Sentences  int           `json:"sentences"` // number of sentences, including repeated ones
	Distinct   int           `json:"distinct_entries"`
	Segments   int           `json:"segments"`
	Fresh      int           `json:"fresh_sentences"` // sentences not yet merged
	TableBytes int64         `json:"table_bytes"`     // memory for the table
}

// StoragePart is one part of the site's folder.
type StoragePart struct {
	Name  string `json:"name"` // index, store, originals, other
	Bytes int64  `json:"bytes"`
}

// Schemes describes the fingerprint schemes of a site.
type Schemes struct {
	Recipe string                  `json:"recipe"`
	Scheme concordat.Scheme        `json:"scheme"` // scheme with its digest
	Keyed  bool                    `json:"keyed"`  // fingerprints depend on a key of the site
	Epochs []siteanswer.EpochState `json:"epochs"`
}

// HealthPart is the result of examining one part of the site.
type HealthPart struct {
	Code   string `json:"code"` // store, index, disk, queue, partners, keys, ...; the language tables contain its name
	OK     bool   `json:"ok"`
	Detail string `json:"detail,omitempty"`
	// Failed is set only for the part about failed checks. It contains the number of checks that failed because of a fault of the site,
	// and the number that failed because of their input.
	Failed []int `json:"-"`

	key  string // message key of Detail; empty if Detail is not translated
	args []any
}

// Told returns a part whose detail is a message of the language tables with the given arguments.
func Told(code string, ok bool, key string, args ...any) HealthPart {
	return HealthPart{Code: code, OK: ok, Detail: message.English.Say(key, args...), key: key, args: args}
}

// inLanguage returns the part with its detail in the given language.
func (p HealthPart) inLanguage(l message.Language) HealthPart {
	if p.key != "" {
		p.Detail = l.Say(p.key, p.args...)
	}
	return p
}

// Health examines all parts. The parts examined by the pages themselves come last.
func (w Admin) Health(ctx context.Context) []HealthPart {
	var out []HealthPart
	if w.o.Machine != nil {
		out = w.o.Machine.Health(ctx)
	}
	st := w.o.Queue.Status()
	part := HealthPart{Code: "queue", OK: st.Workers > 0 && st.Holding == nil}
	if errors.Is(st.Holding, concordat.ErrDiskFull) {
		part = Told("queue", false, "health.queue.disk")
	} else if st.Holding != nil {
		part.Detail = st.Holding.Error()
	}
	return append(out, part, w.lately(ctx))
}

// maxFailed bounds the number of failed tasks examined.
const maxFailed = 500

// lately counts the checks of the last day that failed because of a fault of the site, and those that failed because of their input or
// were cancelled.
func (w Admin) lately(ctx context.Context) HealthPart {
	p := HealthPart{Code: "failed"}
	tasks, err := w.o.Store.Checks.FilterTasks(ctx, store.TaskFilter{States: []concordat.State{concordat.TaskFailed}}, 0, maxFailed)
	if err != nil {
		p.Detail = err.Error()
		return p
	}
	n, all := 0, 0
	for _, t := range tasks {
		if w.o.Now().Sub(t.Finished) >= 24*time.Hour {
			continue
		}
		all++
		if message.IsSiteFault(t.Cause) {
			n++
		}
	}
	p.OK, p.Detail = n == 0, strconv.Itoa(n)
	if all > 0 {
		p.Failed = []int{n, all - n}
	}
	if all > n {
		p.Detail = fmt.Sprintf("%d + %d", n, all-n)
	}
	return p
}

func (w Admin) healthPage(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	w.showHealth(rw, r, v, http.StatusOK, "")
}

// showHealth shows the page. The message key states what is wrong with the given passphrase, and is empty if nothing is.
func (w Admin) showHealth(rw http.ResponseWriter, r *http.Request, v *pages.Visitor, status int, wrong string) {
	counts, err := w.o.Store.Checks.TaskCounts(r.Context())
	var keys *Keys
	if err == nil {
		keys, err = w.keysFor(r.Context())
	}
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	parts := w.Health(r.Context())
	for i := range parts {
		parts[i] = parts[i].inLanguage(message.LanguageOf(r))
	}
	p := struct {
		pages.Administration
		Parts  []HealthPart
		States []concordat.State
		Counts map[concordat.State]int
		Keys   *Keys
		Wrong  string
	}{pages.AdministrationFor(v), parts, TaskStates, counts, keys, wrong}
	w.frame.Show(rw, r, v, status, "admin_health", "title.admin", p)
}

// TaskStates are the states of checks in display order.
var TaskStates = []concordat.State{concordat.TaskRunning, concordat.TaskQueued, concordat.TaskFailed, concordat.TaskPartial,
	concordat.TaskDone}

// Storage returns disk and index usage. It fails with pages.ErrNoProcess if this process has no access to them.
func (w Admin) Storage(ctx context.Context) (Storage, error) {
	if w.o.Machine == nil {
		return Storage{}, pages.ErrNoProcess
	}
	return w.o.Machine.Storage(ctx)
}

func (w Admin) storagePage(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	s, err := w.Storage(r.Context())
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	p := struct {
		pages.Administration
		Storage
	}{pages.AdministrationFor(v), s}
	w.frame.Show(rw, r, v, http.StatusOK, "admin_storage", "title.admin", p)
}

// Schemes returns the fingerprint schemes. It fails under the same condition as Storage.
func (w Admin) Schemes(ctx context.Context) (Schemes, error) {
	if w.o.Machine == nil {
		return Schemes{}, pages.ErrNoProcess
	}
	return w.o.Machine.Schemes(ctx)
}

func (w Admin) schemesPage(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	s, err := w.Schemes(r.Context())
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	p := struct {
		pages.Administration
		Schemes
	}{pages.AdministrationFor(v), s}
	w.frame.Show(rw, r, v, http.StatusOK, "admin_schemes", "title.admin", p)
}

// BytesWords formats a number of bytes in a language.
func BytesWords(l message.Language, n int64) string {
	for _, u := range []struct {
		name string
		size int64
	}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= u.size {
			number := strconv.FormatFloat(float64(n)/float64(u.size), 'f', 1, 64)
			return strings.Replace(number, ".", l.Say("language.decimal"), 1) + " " + u.name
		}
	}
	return strconv.FormatInt(n, 10) + " B"
}

// designPage shows every component of the pages in all its states, for developers. No page links to it.
type designPage struct {
	pages.Administration
	Colours, Heat []string // names of colour tokens
	States        []concordat.State
	Stages        []store.CaseStage
	Icons         []string
	Shares        []float64
}

func (w Admin) designPage(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	w.frame.Show(rw, r, v, http.StatusOK, "admin_design", "title.admin", designPage{Administration: pages.AdministrationFor(v),
		Colours: []string{"ink", "soft", "paper", "card", "line", "edge", "accent", "accent-wash", "good", "good-wash", "bad", "bad-wash",
			"wait", "wait-wash"},
		Heat:   []string{"heat-0", "heat-1", "heat-2", "heat-3", "heat-4", "heat-5"},
		States: TaskStates, Stages: []store.CaseStage{store.StageNew, store.StageReview, store.StageDecided, store.StageSigned},
		Icons: []string{"upload", "folder", "library", "inbox", "search", "check", "circle-check", "rotate-ccw", "settings", "download",
			"trash-2", "plus", "layers", "file-text"},
		Shares: []float64{0, 0.01, 0.3, 0.75, 1}})
}
