package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"concordat"
	"concordat/harvest/fetch"
	"concordat/people"
	"concordat/report"
	"concordat/site"
	siteanswer "concordat/site/answer"
	"concordat/site/ask"
	"concordat/site/batch"
	"concordat/site/retain"
	"concordat/store"
	"concordat/web/limit"
	"concordat/web/message"
	"concordat/web/pages"
	"concordat/web/pages/accounts"
	"concordat/web/pages/admin"
	"concordat/web/pages/alerts"
	"concordat/web/pages/batches"
	"concordat/web/pages/cases"
	"concordat/web/pages/checks"
	"concordat/web/pages/deletions"
	"concordat/web/pages/harvests"
	"concordat/web/pages/hooks"
	"concordat/web/pages/intake"
	"concordat/web/pages/libraries"
	"concordat/web/pages/partners"
	"concordat/web/pages/reports"
	"concordat/web/pages/requests"
	"concordat/web/pages/settings"
	"concordat/web/pages/shares"
	"concordat/web/passwords"
	"concordat/web/progress"
	"concordat/web/review"
	"concordat/web/session"
	"concordat/web/static"
)

// Options configures the pages. A field is required unless its comment states what happens without it.
type Options struct {
	Site    *site.Site
	Answers *siteanswer.Answerer // answers partners
	Asks    *ask.Asker           // asks partners
	Current Current              // settings that can change while the site is served
	Store   *store.DB
	Queue   *site.Queue
	Files   *store.Files
	// ReportFiles writes reports to files; if nil, they are unsigned.
	ReportFiles reports.Writer
	// Originals renders the pages of submitted files; if nil, they are not shown.
	Originals reports.Originals
	// Choices lists the partners that a check can ask, and the section templates; if nil, there are none.
	Choices pages.Choices
	// Example contains documents for a new site in library/ and a thesis to check against them in submission/; if nil, no example is
	// offered.
	Example fs.FS
	// Adder adds documents to libraries; if nil, no documents can be added here.
	Adder intake.Adder
	// HookNetworks are the private networks that webhooks may reach.
	HookNetworks []netip.Prefix
	// Harvest reads sources of documents; if nil, no sources can be added here.
	Harvest *fetch.Client

	// Disk, if not nil, is checked before files are accepted and after every MiB, so that each of several concurrent uploads exceeds the
	// limit by at most that much. An error, for example concordat.ErrDiskFull, rejects the files.
	Disk     intake.Disk
	Machine  admin.Machine           // the process and its folder; if nil, the administration pages omit them
	Keystore admin.Keystore          // the site's signing keys; if nil, the pages show none
	Nodes    admin.Nodes             // the machines of the site; nil on a site of one machine
	Settings settings.Control        // if nil, the pages show no settings
	Meaning  settings.MeaningControl // if nil, only commands can change how rewritten text is found
	Joining  *partners.Joining       // if nil, partners are added with commands
	// Batches runs batches of documents and scheduled rechecks; if nil, there are none.
	Batches *batch.Queue
	// Partner connects to a partner to request passages; if nil, no partner can be asked.
	Partner   pages.Connector
	Policy    Policy           // who may do what, and how much
	Eraser    *retain.Eraser   // deletes permanently; if nil, the pages do not delete
	CaseTerms retain.CaseTerms // how long documents in shared cases are kept after decisions
	MaxUpload int64            // bytes of one file; the default is 256 MiB
	Base      string           // public address of the site, without a trailing slash; for Login.Providers and LTI
	Login     accounts.Login   // sign-in methods in addition to the password
	Hashing   passwords.Cost   // cost of hashing a password; zero means a site's default
	Secure    bool             // people reach the site over https, and cookies are bound to it
	Logger    *slog.Logger     // if nil, nothing is logged
	Panicked  func()           // called after each recovered panic of a request; if nil, panics are only logged
	Now       func() time.Time // the default is time.Now
}

// Current returns settings of the site that can change while it is served.
type Current interface {
	review.Current
	Title() string
	AgainDays() int // number of days after which submissions are checked again; if 0, only on schedule
}

// Web serves the pages. It is safe for concurrent use.
type Web struct {
	pages.Auditor
	o        Options
	pages    pieces
	Mux      *http.ServeMux
	handler  http.Handler
	Calls    limit.Limiter // limits API calls per minute, by token or address
	access   []access
	progress *progress.Reader
	Streams  *progress.Streams // open event streams
	static   static.Files

	requestTime time.Duration // time limit of a request without files from a known caller

	// Handlers by subject. The API and the learning platforms use them too.
	Cache     *reports.Cache // recently read reports
	Reports   reports.Reports
	Tasks     checks.Control
	Intake    intake.Intake
	Accounts  accounts.Accounts
	Alerts    alerts.Alerts
	Batches   batches.Batches
	State     admin.Admin
	Settings  settings.Settings
	Harvests  harvests.Harvests
	Library   libraries.Libraries
	Reviews   *review.Reviews
	Hooks     hooks.Hooks
	Cases     cases.Cases
	Shares    shares.Shares
	Partners  partners.Partners
	Requests  requests.Requests
	Deletions deletions.Deletions

	People   *people.Registry // accounts, sessions, tokens and quotas
	Sessions *session.Sessions
	// protection rejects forms from pages of other sites.
	protection *http.CrossOriginProtection
	platforms  bool // learning platforms use the site
}

// Visitor is a signed-in person or a program.
type Visitor = pages.Visitor

var (
	_ pages.Frame   = (*Web)(nil)
	_ intake.Faults = (*Web)(nil)
)

const defaultUpload = 256 << 20

// New returns the pages of a site.
func New(o Options) (*Web, error) {
	if o.MaxUpload == 0 {
		o.MaxUpload = defaultUpload
	}
	if o.Choices == nil {
		o.Choices = noChoices{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.ReportFiles == nil {
		o.ReportFiles = reports.Unsigned{}
	}
	w := &Web{Auditor: pages.Auditor{Store: o.Store, Logger: o.Logger}, requestTime: limit.RequestTime, o: o, Mux: http.NewServeMux(),
		Streams: progress.NewStreams(o.Logger), Calls: limit.Limiter{Now: o.Now, Window: time.Minute}}
	w.Tasks = checks.Control{Store: o.Store, Queue: o.Queue}
	w.Cache = reports.NewCache(w, reports.CacheOptions{Site: o.Site, Auditor: w.Auditor, Now: o.Now})
	var err error
	if w.static, err = assets(); err != nil {
		return nil, err
	}
	if w.pages, err = parsed(); err != nil {
		return nil, err
	}
	w.o.Policy.fill()
	w.People = people.New(people.Options{Store: o.Store, Now: o.Now, Policy: w.o.Policy.Accounts})
	w.Sessions = session.New(session.Options{Store: o.Store, People: w.People, Hashing: o.Hashing, Idle: w.o.Policy.SessionIdle,
		Proxies: o.Policy.Proxies, Secure: o.Secure, Now: o.Now})
	w.progress = progress.NewReader(progress.Options{Store: o.Store, Queue: o.Queue, Tasks: w, Choices: o.Choices, Logger: o.Logger})
	w.routes()
	// Requests for changes from pages of other sites are rejected because of their origin.
	w.protection = http.NewCrossOriginProtection()
	w.handler = w.Headers(w.guard(w.protection.Handler(w.Mux)))
	return w, nil
}

// noChoices offers neither partners nor section templates.
type noChoices struct{}

func (noChoices) Partners(context.Context) ([]pages.Partner, error) { return nil, nil }

func (noChoices) Templates() []string { return nil }

// UsePlatforms adds links to the pages about learning platforms, and accepts forms of other sites at the given patterns, because
// platforms send people there and the signature of each request is verified. It must be called before the first request.
func (w *Web) UsePlatforms(foreign ...string) {
	w.platforms = true
	for _, pattern := range foreign {
		w.protection.AddInsecureBypassPattern(pattern)
	}
}

// Options returns the options of the site, including defaults.
func (w *Web) Options() *Options { return &w.o }

// ServeHTTP answers one request.
func (w *Web) ServeHTTP(rw http.ResponseWriter, r *http.Request) { w.handler.ServeHTTP(rw, r) }

// Route returns the pattern of the page or call that handles the request, for example GET /checks/{id}. There are few patterns, so
// requests can be counted by pattern. It returns "" if there is none.
func (w *Web) Route(r *http.Request) string {
	_, pattern := w.Mux.Handler(r)
	return pattern
}

func (w *Web) routes() {
	m := w.Mux
	m.Handle("GET /static/", w.static)
	m.HandleFunc("GET /robots.txt", robots)
	w.Accounts = accounts.New(w, accounts.Options{Store: w.o.Store, People: w.People, Sessions: w.Sessions, Auditor: w.Auditor, Open: m,
		Settings: w.o.Settings, Title: w.o.Current.Title, Login: w.o.Login, Public: w.o.Policy.Public, Base: w.o.Base, Secure: w.o.Secure,
		Now: w.o.Now})
	w.AddPage("GET /{$}", pages.Everyone, func(rw http.ResponseWriter, r *http.Request, _ *Visitor) {
		http.Redirect(rw, r, "/checks", http.StatusSeeOther)
	})
	control := batches.Control{Store: w.o.Store, Queue: w.o.Batches}
	w.Deletions = deletions.New(w, deletions.Options{Store: w.o.Store, Eraser: w.o.Eraser, Checks: w.Tasks, Reports: w.Cache,
		Batches: control})
	w.State = admin.New(w, admin.Options{Store: w.o.Store, Queue: w.o.Queue, Machine: w.o.Machine, Keystore: w.o.Keystore, Nodes: w.o.Nodes,
		Logger: w.o.Logger, Now: w.o.Now})
	w.Settings = settings.New(w, settings.Options{Control: w.o.Settings, Meaning: w.o.Meaning, Logger: w.o.Logger})
	w.Shares = shares.Shares{Store: w.o.Store, Answers: w.o.Answers, Choices: w.o.Choices}
	w.Partners = partners.New(w, partners.Options{Store: w.o.Store, Asks: w.o.Asks, Shares: w.Shares, Joining: w.o.Joining,
		Logger: w.o.Logger, Now: w.o.Now})
	w.Reviews = review.New(review.Options{Store: w.o.Store, Site: w.o.Site, Queue: w.o.Queue, Reports: w.Cache, Deletions: w.Deletions,
		Current: w.o.Current, Now: w.o.Now, See: w.o.Policy.See, From: w.o.Policy.From})
	w.Batches = batches.New(w, control, batches.Options{Site: w.o.Site, Checks: batchChecks{w}, Reviews: w.Reviews,
		Streams: w.Streams, Auditor: w.Auditor, MayDelete: w.o.Eraser != nil, Logger: w.o.Logger, Now: w.o.Now})
	w.Intake = intake.New(w, intake.Options{Site: w.o.Site, Store: w.o.Store, Queue: w.o.Queue, Files: w.o.Files, People: w.People,
		Batches: w.Batches, Settings: w.Settings, Faults: w, Choices: w.o.Choices, Rules: w.o.Current.Rules,
		Disk: w.o.Disk, MaxUpload: w.o.MaxUpload, NoStore: w.o.Policy.NoStore, Logger: w.o.Logger})
	w.Library = libraries.New(w, libraries.Options{Store: w.o.Store, Intake: w.Intake, Tasks: w.Tasks, Progress: w.progress,
		Shares: w.Shares, Deletions: w.Deletions, Choices: w.o.Choices, MaxUpload: w.o.MaxUpload, Now: w.o.Now})
	example := intake.NewExample(w, intake.ExampleOptions{Intake: w.Intake, Libraries: w.Library, Deletions: w.Deletions,
		MayDelete: w.o.Eraser != nil, Files: w.o.Example, Adder: w.o.Adder})
	w.Harvests = harvests.New(w, harvests.Options{Store: w.o.Store, Fetch: w.o.Harvest, Now: w.o.Now})
	w.Hooks = hooks.New(w, hooks.Options{Store: w.o.Store, Networks: w.o.HookNetworks})
	checks.New(w, checks.Options{Control: w.Tasks, Reviews: w.Reviews, Settings: w.Settings, Batches: control, Example: example,
		Progress: w.progress, Streams: w.Streams})
	w.Requests = requests.New(w, requests.Options{Site: w.o.Site, Store: w.o.Store, Answers: w.o.Answers, Asks: w.o.Asks, Tasks: w,
		Partners: w.o.Partner, Logger: w.o.Logger})
	w.Alerts = alerts.New(w, alerts.Options{Site: w.o.Site, Store: w.o.Store, Asks: w.o.Asks, Tasks: w, Partners: w.o.Partner,
		Logger: w.o.Logger, Now: w.o.Now})
	w.Reports = reports.New(w, reports.Options{Site: w.o.Site, Auditor: w.Auditor, Cache: w.Cache, Tasks: w.Tasks, Reviews: w.Reviews,
		Alerts: w.Alerts, Progress: w.progress, Pieces: w.pages, Files: w.o.ReportFiles, Originals: w.o.Originals,
		MayDelete: w.o.Eraser != nil, MayAsk: w.o.Partner != nil, Now: w.o.Now})
	w.Cases = cases.New(w, cases.Options{Site: w.o.Site, Store: w.o.Store, Terms: w.o.CaseTerms})
	m.HandleFunc("/", w.as(pages.Everyone, func(rw http.ResponseWriter, r *http.Request, v *Visitor) {
		w.Fail(rw, r, v, fmt.Errorf("page %s: %w", r.URL.Path, concordat.ErrNotFound))
	}))
}

// Visible returns a check that the visitor may see.
func (w *Web) Visible(ctx context.Context, v *Visitor, id concordat.TaskID) (store.Task, error) {
	return w.Tasks.Visible(ctx, v, id)
}

// robots tells web crawlers to stay away because nothing here is public.
func robots(rw http.ResponseWriter, _ *http.Request) {
	rw.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = rw.Write([]byte("User-agent: *\nDisallow: /\n"))
}

// Names returns the names of people, sites and libraries for pages and reports.
func (w *Web) Names(ctx context.Context) (pages.Names, error) {
	n, err := site.Names(ctx, w.o.Store, w.o.Site.ID(), w.o.Current.Title())
	if err != nil {
		return pages.Names{Names: n}, err
	}
	asked, err := w.o.Choices.Partners(ctx)
	for _, p := range asked {
		n.Sites[p.Site] = pages.Visible(p.Name)
		for _, l := range p.Libraries {
			if title := pages.Visible(l.Title); title != "" {
				n.Libraries[report.LibraryPlace{Site: p.Site, Library: l.ID}] = title
			}
		}
	}
	return pages.Names{Names: n}, err
}

// AddPage adds a page for people with one of the roles, and records both for the test that tries every role on every page.
func (w *Web) AddPage(pattern string, roles []store.Role, page pages.Page) {
	w.access = append(w.access, access{pattern, roles})
	w.Mux.HandleFunc(pattern, w.as(roles, page))
}

// access maps each page to the roles that may open it.
type access struct {
	pattern string
	roles   []store.Role
}

// ContentPolicy is the Content-Security-Policy of a page, which allows the site's own resources and nothing inline.
const ContentPolicy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Headers sets the headers of every answer, including those of other handlers at the same address.
func (w *Web) Headers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		h := rw.Header()
		h.Set("Content-Security-Policy", ContentPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		if w.o.Secure { // RFC 6797; without subdomains, which may be other services
			h.Set("Strict-Transport-Security", "max-age=31536000")
		}
		if !strings.HasPrefix(r.URL.Path, "/static/") {
			h.Set("Cache-Control", "no-store")
		}
		if r.URL.Path == "/" || r.URL.Path == "/login" { // senders look for the inbox there (Linked Data Notifications, section 3.1)
			h.Set("Link", "<"+w.o.Base+APIPrefix+`/inbox>; rel="http://www.w3.org/ns/ldp#inbox"`)
		}
		next.ServeHTTP(rw, r)
	})
}

// frame is the data for the part of every page around its content.
type frame struct {
	Language message.Language
	Site     string
	Title    string // message key
	Path     string
	Next     string   // address for reloading the page, for example in another language
	Visitor  *Visitor // nil if the visitor has not signed in
	LTI      bool     // learning platforms are used
	Idle     []string // places omitted from the navigation
	Waiting  int      // number of partners' requests that wait for a decision here
	Pending  int      // number of partners that an administrator has to confirm
	Unread   int      // number of unread alerts
	Page     any
}

// Others returns the languages other than the page's.
func (f frame) Others() []message.Language {
	return slices.DeleteFunc(message.Languages(), func(l message.Language) bool { return l == f.Language })
}

// Show writes a page.
func (w *Web) Show(rw http.ResponseWriter, r *http.Request, v *Visitor, code int, name, title string, page any) {
	l := message.LanguageOf(r)
	var b bytes.Buffer
	if err := w.pages[l][name].Execute(&b, frame{Language: l, Site: w.o.Current.Title(), Title: title, Path: r.URL.Path, Next: rereadAt(r),
		Visitor: v, LTI: w.platforms, Idle: idlePlaces(r.Context(), w, v, r.URL.Path), Waiting: w.Requests.Waiting(r.Context(), v),
		Pending: w.Partners.Unconfirmed(r.Context(), v), Unread: w.Alerts.Unread(r.Context(), v), Page: page}); err != nil {
		w.o.Logger.Error("page", "page", name, "error", err)
		http.Error(rw, l.Say("error.fault"), http.StatusInternalServerError)
		return
	}
	static.Send(rw, r, code, b.Bytes())
}

// rereadAt returns the address for reloading the answer to r.
func rereadAt(r *http.Request) string {
	if r.Method == http.MethodGet {
		return r.URL.RequestURI()
	}
	return r.URL.Path
}

// errorPage describes an error with the message keys Title and Key and with Detail, which is in language In or, if In is empty, in the
// language of the page.
type errorPage struct {
	Title, Key, Detail, In string
	SignedIn               bool
}

// Fail shows an error in the visitor's language. It logs details that only an administrator can use.
func (w *Web) Fail(rw http.ResponseWriter, r *http.Request, v *Visitor, err error) {
	code, key, detail := w.FaultOf(rw, r, err)
	w.o.Logger.Info("refused", "path", r.URL.Path, "status", code, "error", err)
	title := "title.error"
	if key == "error.absent" {
		title = "title.absent"
	}
	page := errorPage{Title: title, Key: key, Detail: detail, In: message.LanguageOf(r).Other(err), SignedIn: v != nil}
	w.Show(rw, r, v, code, "error", title, page)
}

// FaultOf returns the status of an answer to err, the key of its message, and further details; it sets the headers that belong to the
// status.
func (w *Web) FaultOf(rw http.ResponseWriter, r *http.Request, err error) (code int, key, detail string) {
	of := refusalOf(err)
	code, key = of.status, of.key
	most, detail, retry, limited := Limits(message.LanguageOf(r), w.o.Now(), err)
	var crowded *limit.Busy
	switch {
	case code == http.StatusTooManyRequests && limited:
		key = most
		limit.RetryAfter(rw.Header(), retry)
	case code == http.StatusServiceUnavailable && errors.As(err, &crowded):
		limit.RetryAfter(rw.Header(), crowded.Retry)
	}
	if p := (*message.Error)(nil); code == http.StatusForbidden && errors.As(err, &p) {
		key = "error.barred"
		detail, _ = message.LanguageOf(r).Reason(err)
	}
	switch code {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusConflict:
		if errors.Is(err, concordat.ErrInvalid) { // the form is wrong, for example because it refers to something that does not exist
			key = "error.invalid"
			detail, _ = message.LanguageOf(r).Reason(err)
		}
	}
	return code, key, detail
}

// day formats a date for a form; it returns "" for the zero time.
func day(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format(time.DateOnly)
}
