package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"concordat"
	siteanswer "concordat/site/answer"
	"concordat/store"
	"concordat/web/message"
	"concordat/web/pages"
)

// adminPages has the pages of administration.
type adminPages struct{ *Web }

// Administration holds the functions of the process that the administration pages call. All of them may be called concurrently; if a
// function is nil, the part of the pages that needs it is left out.
type Administration struct {
	Storage  func(ctx context.Context) (Storage, error)
	Schemes  func(ctx context.Context) (Schemes, error)
	Health   func(ctx context.Context) []HealthPart
	Settings func() []Setting
	// Set changes the values of keys while the site runs; nil: the pages cannot change any.
	Set func(ctx context.Context, values []Setting, notes ...store.AuditNote) error
	// Keys are the site's signing keys. LockedRoot returns the root key encrypted with a passphrase; the keystore keeps it. PutOffRoot
	// records that no one is to be asked about it again.
	Keys       func(ctx context.Context) (Keys, error)
	LockedRoot func(ctx context.Context, passphrase []byte, notes ...store.AuditNote) ([]byte, error)
	PutOffRoot func(ctx context.Context, notes ...store.AuditNote) error
	Joining    *Joining       // nil: partners are added by commands
	Meaning    MeaningControl // nil: how rewritten text is found is changed by commands
}

// Storage describes the disk and the index of a site.
type Storage struct {
	Folder     string        `json:"folder"`
	Free       int64         `json:"free_bytes"`
	All        int64         `json:"all_bytes"`
	LowWater   int64         `json:"low_water_bytes"` // space to be kept free
	Parts      []StoragePart `json:"parts"`
	Documents  int           `json:"documents"`
	Sentences  int           `json:"sentences"` // number of sentences, including repeated ones
	Distinct   int           `json:"distinct_entries"`
	Segments   int           `json:"segments"`
	Fresh      int           `json:"fresh_sentences"` // sentences that are not merged yet
	TableBytes int64         `json:"table_bytes"`     // memory for the table
}

// StoragePart is one part of the site's folder.
type StoragePart struct {
	Name  string `json:"name"` // index, store, originals, other
	Bytes int64  `json:"bytes"`
}

// Schemes are the fingerprint schemes of a site.
type Schemes struct {
	Recipe string                  `json:"recipe"`
	Scheme concordat.Scheme        `json:"scheme"` // scheme with its digest
	Keyed  bool                    `json:"keyed"`  // fingerprints have a key of the site's own
	Epochs []siteanswer.EpochState `json:"epochs"`
}

// HealthPart is one thing that was examined.
type HealthPart struct {
	Code   string `json:"code"` // store, index, disk, queue, partners, keys, ...; the language tables have words for it
	OK     bool   `json:"ok"`
	Detail string `json:"detail,omitempty"`
	// Failed is set for the part about failed checks: how many failed because of a fault of the site, and how many because of their input.
	Failed []int `json:"-"`

	key  string // of Detail in the language tables; empty: it has no words of its own
	args []any
}

// Told returns a part whose detail is a message of the language tables, with its arguments.
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

// Setting is one key of the configuration.
type Setting struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Origin string `json:"origin"` // default, FILE:LINE, $VARIABLE or --FLAG
	Live   bool   `json:"live"`   // a change takes effect without a restart
	Hidden bool   `json:"hidden"` // a secret: Value is empty
	// The other fields are for a page that changes the setting.
	Changeable bool     `json:"-"` // this page can change it: it is Live, and no variable or flag overrides it
	Words      []string `json:"-"` // the possible values; nil: any value of Kind
	Kind       string   `json:"-"` // kind of value, for example a number in a range
	Least      string   `json:"-"` // minimum of a number
	Most       string   `json:"-"`
	Doc        string   `json:"-"` // description in English
}

// adminRoutes adds the pages of administration. An administrator can change settings there; an auditor can only read.
func (w adminPages) adminRoutes() {
	w.AddPage("GET /admin", pages.Overseers, w.healthPage)
	w.AddPage("POST /admin/keys", pages.Administrators, w.exportRoot)
	w.AddPage("POST /admin/keys/later", pages.Administrators, w.putOffRoot)
	w.AddPage("GET /admin/design", pages.Administrators, w.designPage)
	w.AddPage("GET /admin/tasks", pages.Overseers, w.adminTasksPage)
	w.AddPage("POST /admin/tasks/{id}", pages.Administrators, w.changeTask)
	w.AddPage("GET /admin/storage", pages.Overseers, w.storagePage)
	w.AddPage("GET /admin/schemes", pages.Overseers, w.schemesPage)
	w.AddPage("GET /admin/settings", pages.Overseers, w.settingsPage)
	w.AddPage("POST /admin/settings", pages.Administrators, w.changeSettings)
	w.AddPage("POST /admin/meaning", pages.Administrators, w.Web.Meaning.change)
	w.partnerRoutes()
	w.AddPage("GET /admin/audit", pages.Overseers, w.auditPage)
	w.AddPage("POST /admin/audit", pages.Overseers, w.verifyAudit)
	w.AddPage("GET /admin/audit/export", pages.Overseers, w.exportAudit)
}

// adminFrame is the data common to every administration page.
type adminFrame struct{ MayChange bool }

func adminFor(v *Visitor) adminFrame { return adminFrame{v.Role == store.RoleAdministrator} }

var errNoAdmin = fmt.Errorf("this process does not report that: %w", concordat.ErrNotFound)

// Health examines all parts. The parts that the pages themselves examine come last.
func (w adminPages) Health(ctx context.Context) []HealthPart {
	var out []HealthPart
	if w.o.Admin != nil && w.o.Admin.Health != nil {
		out = w.o.Admin.Health(ctx)
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

// maxFailed bounds how many failed tasks are examined.
const maxFailed = 500

// lately counts the checks of the last day that failed because of a fault of the site and, after a plus sign, those that failed because of
// their input or were cancelled.
func (w adminPages) lately(ctx context.Context) HealthPart {
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

func (w adminPages) healthPage(rw http.ResponseWriter, r *http.Request, v *Visitor) {
	w.showHealth(rw, r, v, http.StatusOK, "")
}

// showHealth shows the page. The message key says what is wrong with the given passphrase, and is empty if nothing is.
func (w adminPages) showHealth(rw http.ResponseWriter, r *http.Request, v *Visitor, status int, wrong string) {
	counts, err := w.o.Store.Checks.TaskCounts(r.Context())
	var keys *Keys
	if err == nil {
		keys, err = w.keysFor(r.Context())
	}
	if err != nil {
		w.Fail(rw, r, v, err)
		return
	}
	parts := w.Health(r.Context())
	for i := range parts {
		parts[i] = parts[i].inLanguage(message.LanguageOf(r))
	}
	p := struct {
		adminFrame
		Parts  []HealthPart
		States []concordat.State
		Counts map[concordat.State]int
		Keys   *Keys
		Wrong  string
	}{adminFor(v), parts, taskStates, counts, keys, wrong}
	w.Show(rw, r, v, status, "admin_health", "title.admin", p)
}

var taskStates = []concordat.State{concordat.TaskRunning, concordat.TaskQueued, concordat.TaskFailed, concordat.TaskPartial,
	concordat.TaskDone}

type adminTasks struct {
	adminFrame
	People pages.Names
	State  concordat.State // state of the listed tasks; empty: any
	Owner  string          // owner of the listed tasks; empty: any
	States []concordat.State
	Counts map[concordat.State]int
	Rows   []adminTask
	Older  string // address of the next page; empty: this is the last one
	Busy   bool
}

type adminTask struct {
	store.Task
	Now progress
}

// OneState returns a filter for one state, or for any if it is empty.
func OneState(s concordat.State) []concordat.State {
	if s == "" {
		return nil
	}
	return []concordat.State{s}
}

func (w adminPages) adminTasksPage(rw http.ResponseWriter, r *http.Request, v *Visitor) {
	q := r.URL.Query()
	p := adminTasks{adminFrame: adminFor(v), States: taskStates,
		State: concordat.State(q.Get("state")), Owner: q.Get("owner")}
	before, _ := strconv.ParseInt(q.Get("before"), 10, 64) // an invalid value starts at the newest
	tasks, err := w.o.Store.Checks.FilterTasks(r.Context(), store.TaskFilter{States: OneState(p.State), Owner: p.Owner}, before, TaskPage)
	if err == nil {
		p.Counts, err = w.o.Store.Checks.TaskCounts(r.Context())
	}
	if err == nil {
		p.People, err = w.Names(r.Context())
	}
	way := &onItsWay{w: w.Web, v: v, l: message.LanguageOf(r)}
	for _, t := range tasks {
		one := adminTask{Task: t}
		if err == nil && !Ended(t.State) {
			p.Busy = true
			one.Now, err = way.now(r.Context(), t)
		}
		p.Rows = append(p.Rows, one)
	}
	if err != nil {
		w.Fail(rw, r, v, err)
		return
	}
	if len(tasks) == TaskPage {
		q.Set("before", strconv.FormatInt(tasks[TaskPage-1].Seq, 10))
		p.Older = "/admin/tasks?" + q.Encode()
	}
	w.Show(rw, r, v, http.StatusOK, "admin_tasks", "title.admin", p)
}

// changeTask restarts a failed task, or cancels one that has not ended.
func (w adminPages) changeTask(rw http.ResponseWriter, r *http.Request, v *Visitor) {
	t, err := w.task(r, v)
	if err == nil {
		err = pages.ParseForm(rw, r)
	}
	if err == nil {
		switch action := r.PostForm.Get("action"); action {
		case "retry":
			err = w.RetryTask(r.Context(), v, t)
		case "cancel":
			err = w.Checks.CancelTask(r.Context(), v, t)
		default:
			err = fmt.Errorf("action %q: %w", action, concordat.ErrInvalid)
		}
	}
	if err != nil {
		w.Fail(rw, r, v, err)
		return
	}
	http.Redirect(rw, r, "/admin/tasks", http.StatusSeeOther)
}

func (w adminPages) RetryTask(ctx context.Context, v *Visitor, t store.Task) error {
	return w.o.Queue.Retry(ctx, t.ID, v.Note("check_retried", map[string]any{"task": t.ID}))
}

func (w adminPages) Storage(ctx context.Context) (Storage, error) {
	if w.o.Admin == nil || w.o.Admin.Storage == nil {
		return Storage{}, errNoAdmin
	}
	return w.o.Admin.Storage(ctx)
}

func (w adminPages) storagePage(rw http.ResponseWriter, r *http.Request, v *Visitor) {
	s, err := w.Storage(r.Context())
	if err != nil {
		w.Fail(rw, r, v, err)
		return
	}
	p := struct {
		adminFrame
		Storage
	}{adminFor(v), s}
	w.Show(rw, r, v, http.StatusOK, "admin_storage", "title.admin", p)
}

func (w adminPages) Schemes(ctx context.Context) (Schemes, error) {
	if w.o.Admin == nil || w.o.Admin.Schemes == nil {
		return Schemes{}, errNoAdmin
	}
	return w.o.Admin.Schemes(ctx)
}

func (w adminPages) schemesPage(rw http.ResponseWriter, r *http.Request, v *Visitor) {
	s, err := w.Schemes(r.Context())
	if err != nil {
		w.Fail(rw, r, v, err)
		return
	}
	p := struct {
		adminFrame
		Schemes
	}{adminFor(v), s}
	w.Show(rw, r, v, http.StatusOK, "admin_schemes", "title.admin", p)
}

// bytesWords formats a number of bytes for readers of a language.
func bytesWords(l message.Language, n int64) string {
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
	adminFrame
	Colours, Heat []string // names of colour tokens
	States        []concordat.State
	Stages        []store.CaseStage
	Icons         []string
	Shares        []float64
}

func (w adminPages) designPage(rw http.ResponseWriter, r *http.Request, v *Visitor) {
	w.Show(rw, r, v, http.StatusOK, "admin_design", "title.admin", designPage{adminFrame: adminFor(v),
		Colours: []string{"ink", "soft", "paper", "card", "line", "edge", "accent", "accent-wash", "good", "good-wash", "bad", "bad-wash",
			"wait", "wait-wash"},
		Heat:   []string{"heat-0", "heat-1", "heat-2", "heat-3", "heat-4", "heat-5"},
		States: taskStates, Stages: []store.CaseStage{store.StageNew, store.StageReview, store.StageDecided, store.StageSigned},
		Icons: []string{"upload", "folder", "library", "inbox", "search", "check", "circle-check", "rotate-ccw", "settings", "download",
			"trash-2", "plus", "layers", "file-text"},
		Shares: []float64{0, 0.01, 0.3, 0.75, 1}})
}
