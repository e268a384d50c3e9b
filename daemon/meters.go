package daemon

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"concordat"
	"concordat/extract"
	"concordat/federation"
	"concordat/site"
)

// Meters counts events in a serving process, for Prometheus. Their labels have few values; routes are patterns, partners are sites that
// the administrator has added, and nothing identifies a person or a document. All methods accept nil and then count nothing; they are
// safe for concurrent use.
type Meters struct {
	requests, extracted, federated, asks, logged *prometheus.CounterVec
	took, stages, federatedTook, asksTook        *prometheus.HistogramVec
	wait, checks                                 prometheus.Histogram
	children                                     prometheus.Gauge
	panicked                                     prometheus.Counter

	mu    sync.Mutex // guards the fields below
	at    map[concordat.TaskID]stageAt
	begin map[concordat.TaskID]time.Time
	// panics is the number of panics since the start; panicAt is the time of the latest.
	panics  int
	panicAt time.Time
}

// stageAt is the current stage of a running task and the time when it began.
type stageAt struct {
	stage string
	since time.Time
}

// slow contains bucket bounds, in seconds, for work that takes from milliseconds to minutes.
var slow = []float64{.01, .03, .1, .3, 1, 3, 10, 30, 100, 300, 1000}

// NewMeters registers the meters.
func NewMeters(r prometheus.Registerer) *Meters {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "concordat_" + name, Help: help}, labels)
		r.MustRegister(c)
		return c
	}
	histogram := func(name, help string, labels ...string) *prometheus.HistogramVec {
		h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "concordat_" + name, Help: help, Buckets: slow}, labels)
		r.MustRegister(h)
		return h
	}
	m := &Meters{at: map[concordat.TaskID]stageAt{}, begin: map[concordat.TaskID]time.Time{},
		requests: counter("http_requests_total", "Requests to the pages and the HTTP interface.", "route", "code"),
		took:     histogram("http_request_duration_seconds", "How long requests took.", "route"),
		extracted: counter("extracted_texts_total",
			"Texts read from submitted files, by outcome: ok or the code of the failure.", "outcome"),
		federated:     counter("federation_answers_total", "Messages from partners, by outcome.", "partner", "outcome"),
		federatedTook: histogram("federation_answer_duration_seconds", "How long it took to answer partners.", "partner"),
		asks:          counter("federation_asks_total", "Calls to partners, by outcome.", "partner", "outcome"),
		asksTook:      histogram("federation_ask_duration_seconds", "How long partners took to answer.", "partner"),
		stages:        histogram("check_stage_duration_seconds", "How long the stages of checks took.", "stage"),
		logged:        counter("log_records_total", "Log records, by level.", "level"),
		wait: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "concordat_queue_wait_seconds",
			Help: "How long tasks waited before they started.", Buckets: slow}),
		checks: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "concordat_check_duration_seconds",
			Help: "How long tasks took from start to end.", Buckets: slow}),
		children: prometheus.NewGauge(prometheus.GaugeOpts{Name: "concordat_extraction_running", Help: "Files being read by reader processes."}),
		panicked: prometheus.NewCounter(prometheus.CounterOpts{Name: "concordat_http_panics_total",
			Help: "Panics in requests, checks, additions, batches, fingerprint sets and other work; each ended only that work."}),
	}
	r.MustRegister(m.wait, m.checks, m.children, m.panicked)
	for _, level := range []slog.Level{slog.LevelWarn, slog.LevelError} { // so that the first event is visible as an increase
		m.logged.WithLabelValues(levelName(level))
	}
	return m
}

// counted counts the requests answered by pages, and logs each with a number. The answer contains the number too, so that people can
// quote it when they report an error. Failures of the site are logged as warnings, and all other requests as debug messages. Paths,
// addresses and people are not logged because a path can contain the secret of a link.
func (m *Meters) counted(pages http.Handler, log *slog.Logger) http.Handler {
	router, ok := pages.(interface{ Route(*http.Request) string })
	if m == nil || !ok {
		return pages
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		route := router.Route(r)
		if route == "" {
			route = "none"
		}
		id := rand.Text()[:16]
		w.Header().Set("X-Request-Id", id)
		c := &codeWriter{ResponseWriter: w, code: http.StatusOK}
		defer func() { // also count an answer that a panic cuts short
			m.requests.WithLabelValues(route, codeClass(c.code)).Inc()
			m.took.WithLabelValues(route).Observe(time.Since(began).Seconds())
			level := slog.LevelDebug
			if c.code >= http.StatusInternalServerError {
				level = slog.LevelWarn
			}
			log.Log(r.Context(), level, "request", "request", id, "route", route, "status", c.code, "took", time.Since(began))
		}()
		pages.ServeHTTP(c, r)
	})
}

// codeClass returns one of the five classes of a status.
func codeClass(code int) string {
	return string(rune('0'+min(max(code/100, 1), 5))) + "xx"
}

// codeWriter records the status. http.ResponseController finds the writer below it.
type codeWriter struct {
	http.ResponseWriter
	code  int
	wrote bool
}

// WriteHeader implements http.ResponseWriter.
func (c *codeWriter) WriteHeader(code int) {
	if !c.wrote {
		c.code, c.wrote = code, code >= 200
	}
	c.ResponseWriter.WriteHeader(code)
}

// Unwrap lets http.ResponseController find the writer below.
func (c *codeWriter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// panic counts a panic in a request or in other work of the site.
func (m *Meters) panic() {
	if m == nil {
		return
	}
	m.panicked.Inc()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.panics++
	m.panicAt = time.Now()
}

// panicsSoFar returns the number of panics since the start, and the time of the latest.
func (m *Meters) panicsSoFar() (int, time.Time) {
	if m == nil {
		return 0, time.Time{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.panics, m.panicAt
}

func (m *Meters) begun(wait time.Duration) {
	if m != nil {
		m.wait.Observe(max(wait, 0).Seconds())
	}
}

// stage measures the duration of a stage, which ends when the next stage begins. Questions to partners overlap and are measured
// separately.
func (m *Meters) stage(e site.Event) {
	if m == nil {
		return
	}
	now := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	was, known := m.at[e.Task]
	if e.Stage == was.stage {
		return
	}
	if known {
		m.stages.WithLabelValues(was.stage).Observe(now.Sub(was.since).Seconds())
	} else if e.Stage != site.StageEnded {
		m.begin[e.Task] = now
	}
	if e.Stage != site.StageEnded {
		m.at[e.Task] = stageAt{e.Stage, now}
		return
	}
	if began, ok := m.begin[e.Task]; ok {
		m.checks.Observe(now.Sub(began).Seconds())
	}
	delete(m.at, e.Task)
	delete(m.begin, e.Task)
}

// reading counts a file that is being read. The returned function counts the outcome.
func (m *Meters) reading() func([]site.Item, error) {
	if m == nil {
		return func([]site.Item, error) {}
	}
	m.children.Inc()
	return func(items []site.Item, err error) {
		m.children.Dec()
		if err != nil {
			m.extracted.WithLabelValues(extractOutcome(err)).Inc()
		}
		for _, i := range items {
			m.extracted.WithLabelValues(extractOutcome(i.Err)).Inc()
		}
	}
}

func extractOutcome(err error) string {
	var e *extract.Error
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &e):
		return string(e.Code)
	}
	return "failed"
}

// Answered counts a partner's question with its outcome.
func (m *Meters) Answered(partner concordat.SiteID, o federation.Outcome, took time.Duration) {
	if m == nil {
		return
	}
	if partner == "" {
		partner = "unknown" // requests from strangers must not create labels
	}
	m.federated.WithLabelValues(string(partner), string(o)).Inc()
	m.federatedTook.WithLabelValues(string(partner)).Observe(took.Seconds())
}

// Asked counts a question to a partner with its outcome.
func (m *Meters) Asked(partner concordat.SiteID, o federation.Outcome, took time.Duration) {
	if m == nil {
		return
	}
	m.asks.WithLabelValues(string(partner), string(o)).Inc()
	m.asksTook.WithLabelValues(string(partner)).Observe(took.Seconds())
}

// log returns a handler that counts the records and passes them to h.
func (m *Meters) log(h slog.Handler) slog.Handler { return countingHandler{h, m} }

type countingHandler struct {
	slog.Handler
	m *Meters
}

// Handle implements slog.Handler.
func (c countingHandler) Handle(ctx context.Context, r slog.Record) error {
	if c.m != nil {
		c.m.logged.WithLabelValues(levelName(r.Level)).Inc()
	}
	return c.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (c countingHandler) WithAttrs(as []slog.Attr) slog.Handler {
	return countingHandler{c.Handler.WithAttrs(as), c.m}
}

// WithGroup implements slog.Handler.
func (c countingHandler) WithGroup(name string) slog.Handler {
	return countingHandler{c.Handler.WithGroup(name), c.m}
}

// levelName returns one of the four names of levels.
func levelName(l slog.Level) string {
	switch {
	case l >= slog.LevelError:
		return "error"
	case l >= slog.LevelWarn:
		return "warn"
	case l >= slog.LevelInfo:
		return "info"
	}
	return "debug"
}
