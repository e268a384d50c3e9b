package daemon

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"concordat"
	"concordat/federation"
	"concordat/site"
)

// TestMeters: meters count what they are given, and a nil Meters counts nothing.
func TestMeters(t *testing.T) {
	t.Parallel()
	r := prometheus.NewRegistry()
	for _, m := range []*Meters{NewMeters(r), nil} {
		h := m.counted(routed{http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })},
			slog.New(slog.DiscardHandler))
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/x?key=secret", nil))
		if rec.Code != http.StatusTeapot || m != nil && len(rec.Header().Get("X-Request-Id")) != 16 {
			t.Errorf("%d %v", rec.Code, rec.Header())
		}
		m.begun(time.Minute)
		for _, stage := range []string{site.StageRead, "match", "match", site.StageEnded} {
			m.stage(site.Event{Task: "t", Progress: site.Progress{Stage: stage}})
		}
		m.stage(site.Event{Task: "cancelled", Progress: site.Progress{Stage: site.StageEnded}})
		m.reading()([]site.Item{{}, {Err: errors.New("x")}}, nil)
		m.Answered("", federation.OutcomeRejected, time.Second)
		m.Asked(concordat.SiteID("p"), federation.OutcomeAnswered, time.Second)
		slog.New(m.log(slog.DiscardHandler)).Error("x") // discarded before counting, since no one sees it
	}
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, x := range f.Metric {
			name := f.GetName()
			for _, l := range x.Label {
				name += " " + l.GetValue()
			}
			if h := x.GetHistogram(); h != nil {
				got[name] = float64(h.GetSampleCount())
			} else {
				got[name] = x.GetCounter().GetValue() + x.GetGauge().GetValue()
			}
		}
	}
	for name, want := range map[string]float64{
		"concordat_http_requests_total 4xx GET /x": 1, "concordat_http_request_duration_seconds GET /x": 1, "concordat_queue_wait_seconds": 1,
		"concordat_check_stage_duration_seconds read": 1, "concordat_check_stage_duration_seconds match": 1,
		"concordat_check_duration_seconds":   1,
		"concordat_extracted_texts_total ok": 1, "concordat_extracted_texts_total failed": 1, "concordat_extraction_running": 0,
		"concordat_federation_answers_total rejected unknown": 1, "concordat_federation_asks_total answered p": 1,
	} {
		if v, ok := got[name]; !ok || v != want {
			t.Errorf("%s is %v, want %v; all %v", name, v, want, got)
		}
	}
}

// TestPanics: a panic is counted with the time of the latest, and appears in the metrics.
func TestPanics(t *testing.T) {
	m := NewMeters(prometheus.NewRegistry())
	if n, at := m.panicsSoFar(); n != 0 || !at.IsZero() {
		t.Errorf("without a panic: %d, %v", n, at)
	}
	before := time.Now()
	m.panic()
	m.panic()
	if n, at := m.panicsSoFar(); n != 2 || at.Before(before) {
		t.Errorf("after two: %d, %v", n, at)
	}
	var metric dto.Metric
	if err := m.panicked.Write(&metric); err != nil || metric.GetCounter().GetValue() != 2 {
		t.Errorf("the metric says %v, %v", &metric, err)
	}
}

// routed is a handler with one route.
type routed struct{ http.Handler }

func (routed) Route(*http.Request) string { return "GET /x" }
