package daemon

import (
	"context"
	"net/http"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"concordat"
	"concordat/instance"
	"concordat/meaning/managed"
	"concordat/site"
	"concordat/store"
)

// metrics returns the handler for Prometheus and the process supervisor. Its separate address is not public and requires no sign-in.
func (s *Daemon) metrics(q *site.Queue) http.Handler {
	r := s.registry
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		&siteCollector{s: s, queue: q})
	m := http.NewServeMux()
	m.Handle("GET /metrics", promhttp.HandlerFor(r, promhttp.HandlerOpts{}))
	m.HandleFunc("GET /readyz", s.readyz)
	m.HandleFunc("GET /healthz", s.healthz)
	return m
}

// siteCollector reads the metrics of a site on request. The metrics do not identify libraries, people or texts.
type siteCollector struct {
	s     *Daemon
	queue *site.Queue
}

var _ prometheus.Collector = (*siteCollector)(nil)

func metric(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("concordat_"+name, help, labels, nil)
}

var (
	metricTasks     = metric("tasks", "Tasks by state.", "state")
	metricWorkers   = metric("queue_workers", "Running workers of the queue.")
	metricRunning   = metric("queue_running", "Tasks being processed.")
	metricHeld      = metric("queue_held", "1 while something holds up the queue, such as a full disk.")
	metricDocuments = metric("index_documents", "Documents in the index.")
	metricMeant     = metric("index_meant_documents", "Documents in the index that contain words and whose meaning cells are known.")
	metricSentences = metric("index_sentences", "Sentences in the index, including repeats.")
	metricSegments  = metric("index_segments", "Segments in the index.")
	metricFresh     = metric("index_fresh_sentences", "Sentences not merged yet.")
	metricTable     = metric("index_table_bytes", "Bytes of memory used by the table derived from the index.")
	metricDisk      = metric("index_disk_bytes", "Bytes of the index on disk.")
	metricFree      = metric("disk_free_bytes", "Bytes free on the site's disk.")
	metricLow       = metric("disk_low_water_bytes", "Bytes to keep free on the site's disk.")
	metricDeliver   = metric("webhook_deliveries", "Stored webhook deliveries, by state.", "state")
	metricOldest    = metric("queue_oldest_seconds", "How long the oldest queued task has waited; 0 if the queue is empty.")
	metricLevels    = metric("index_levels", "Levels of the table derived from the index: batches that are not merged yet.")
	metricLatency   = metric("store_answer_seconds", "How long the store took to count the tasks for this response.")
	metricBuild     = metric("build_info", "Always 1; the labels identify the program.", "version", "go")
	MetricCard      = metric("card_expires_seconds", "When the site's card expires, in seconds since 1970; absent if the site has no card.")
	metricBackup    = metric("backup_made_seconds", "When the last backup was made, in seconds since 1970; absent if none was ever made.")
	metricEncoder   = metric("encoder_up", "1 while the site's own encoder answers; absent if the site does not run one.")
	metricEncoderAt = metric("encoder_restarts", "How often the site's own encoder was restarted.")
	metricUp        = metric("store_up", "1 while the store answers.")
)

// Describe describes the metrics that Collect sends.
func (c *siteCollector) Describe(out chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, out) }

// Collect reads the metrics and omits those that cannot be read.
func (c *siteCollector) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), instance.StatusTime)
	defer cancel()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	began := time.Now()
	counts, err := c.s.o.Store.Checks.TaskCounts(ctx)
	gauge(metricUp, yes(err == nil))
	gauge(metricLatency, time.Since(began).Seconds())
	gauge(metricBuild, 1, instance.Version(), runtime.Version())
	c.collectStore(ctx, gauge)
	for _, state := range []concordat.State{concordat.TaskQueued, concordat.TaskRunning, concordat.TaskDone, concordat.TaskPartial,
		concordat.TaskFailed} {
		if err == nil {
			gauge(metricTasks, float64(counts[state]), string(state))
		}
	}
	q := c.queue.Status()
	gauge(metricWorkers, float64(q.Workers))
	gauge(metricRunning, float64(len(q.Running)))
	gauge(metricHeld, yes(q.Holding != nil))
	st := c.s.o.Stats()
	gauge(metricDocuments, float64(st.Documents))
	gauge(metricMeant, float64(st.Meant))
	gauge(metricSentences, float64(st.Sentences))
	gauge(metricLevels, float64(st.Levels))
	gauge(metricSegments, float64(st.Segments))
	gauge(metricFresh, float64(st.Fresh))
	gauge(metricTable, float64(st.TableBytes))
	gauge(metricDisk, float64(st.DiskBytes))
	if left, _, err := instance.FreeSpace(c.s.o.Dir); err == nil {
		gauge(metricFree, float64(left))
	}
	if e, ok := c.s.o.Encoding.Current().(*managed.Encoder); ok {
		status := e.Status()
		gauge(metricEncoder, yes(status.Phase == managed.Ready))
		gauge(metricEncoderAt, float64(status.Restarts))
	}
	gauge(metricLow, float64(c.s.o.Live.Now().Serve.LowWater))
	c.collectCluster(gauge, out)
}

// collectStore reads metrics from the store.
func (c *siteCollector) collectStore(ctx context.Context, gauge func(*prometheus.Desc, float64, ...string)) {
	if deliveries, err := c.s.o.Store.Webhooks.DeliveryCounts(ctx); err == nil {
		for _, state := range []store.DeliveryState{store.DeliveryPending, store.DeliveryDelivered, store.DeliveryDead} {
			gauge(metricDeliver, float64(deliveries[state]), string(state))
		}
	}
	if oldest, err := c.s.o.Store.Checks.OldestQueued(ctx); err == nil {
		waited := 0.0
		if !oldest.IsZero() {
			waited = max(0, time.Since(oldest).Seconds())
		}
		gauge(metricOldest, waited)
	}
	if made, err := instance.LastBackup(ctx, c.s.o.Store); err == nil && !made.IsZero() {
		gauge(metricBackup, float64(made.Unix()))
	}
	if p := c.s.Partners.Load(); p != nil {
		id, _ := p.Self()
		if card, err := instance.OwnCard(ctx, c.s.o.Store, id); err == nil && card != nil {
			gauge(MetricCard, float64(card.NotAfter.Unix()))
		}
	}
}

func yes(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
