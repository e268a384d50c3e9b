//go:build linux

package program

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.yaml.in/yaml/v3"

	"concordat/cluster/local"
	"concordat/daemon"
	"concordat/federation"
	"concordat/instance"
)

// query is a metric in an expression with its label selectors.
var (
	queryName  = regexp.MustCompile(`\b((?:concordat|go|process)_[a-z_]+)\b(?:\{([^}]*)\})?`)
	queryLabel = regexp.MustCompile(`([a-z_]+)\s*(?:=~|!=|!~|=)`)
	queryBy    = regexp.MustCompile(`\bby \(([^)]*)\)`)
)

// liveMetrics returns the metrics of a running site, including the ones that appear only with partners, with their labels.
func liveMetrics(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{"up": {"job", "instance"}}
	note := func(name string, labels ...string) {
		out[name] = append(out[name], labels...)
	}
	data := newSite(t)
	output(t, 0, data, "backup", t.TempDir()+"/backup", "--plain")
	s := serveSite(t, data, "CONCORDAT_SERVE_METRICS=127.0.0.1:0")
	if code, answer := s.submit("one", "essay.txt", prose(2000)); code != http.StatusAccepted {
		t.Fatalf("%d %s", code, answer)
	}
	s.only()
	st, err := instance.Serving(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	page := get(t, "http://"+st.Metrics+"/metrics")
	sample := regexp.MustCompile(`(?m)^([a-z_]+)(?:\{(.*)\})? `)
	for _, m := range sample.FindAllStringSubmatch(page, -1) {
		note(m[1])
		for _, l := range regexp.MustCompile(`([a-z_]+)="`).FindAllStringSubmatch(m[2], -1) {
			note(m[1], l[1])
		}
	}
	for _, m := range sample.FindAllStringSubmatch(clusterMetrics(t), -1) { // metrics of a node
		note(m[1])
		for _, l := range regexp.MustCompile(`([a-z_]+)="`).FindAllStringSubmatch(m[2], -1) {
			note(m[1], l[1])
		}
	}
	// Partners' metrics are registered under the same names in this process.
	r := prometheus.NewRegistry()
	m := daemon.NewMeters(r)
	m.Answered("p", federation.OutcomeAnswered, time.Second)
	m.Asked("p", federation.OutcomeRefused, time.Second)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, x := range f.Metric {
			for _, l := range x.Label {
				if f.GetType() == dto.MetricType_HISTOGRAM {
					for _, part := range []string{"_bucket", "_sum", "_count"} {
						note(f.GetName()+part, l.GetName(), "le")
					}
				} else {
					note(f.GetName(), l.GetName())
				}
			}
		}
	}
	note(regexp.MustCompile(`fqName: "([a-z_]+)"`).FindStringSubmatch(daemon.MetricCard.String())[1]) // appears once the site has a card
	return out
}

// clusterMetrics returns the metrics of the single node of a cluster.
func clusterMetrics(t *testing.T) string {
	t.Helper()
	var hub local.Hub
	h := local.NewServer(&hub, 4*time.Second)
	done := make(chan struct{})
	go func() { defer close(done); _ = h.Run(t.Context()) }() // fails because the state file does not exist
	coordinator := httptest.NewServer(h)
	t.Cleanup(func() { coordinator.CloseClientConnections(); coordinator.Close(); <-done })
	data := filepath.Join(t.TempDir(), "node")
	output(t, 0, data, "init", "--site", "many")
	output(t, 0, data, "cluster", "init", "--listen", "127.0.0.1:0", "--shards", "2", "--zone", "east", "--coordinator", coordinator.URL)
	serveSite(t, data, "CONCORDAT_SERVE_METRICS=127.0.0.1:0")
	for {
		st, err := instance.Serving(t.Context(), data)
		if err != nil {
			t.Fatal(err)
		}
		page := get(t, "http://"+st.Metrics+"/metrics")
		if strings.Contains(page, `concordat_cluster_shards{state="ok"} 2`) &&
			strings.Contains(page, `concordat_cluster_shard_master{shard="01"} 1`) {
			if !strings.Contains(page, `concordat_cluster_node_up{node="a",zone="east"} 1`) ||
				!strings.Contains(page, "concordat_cluster_coordinator_up 1") {
				t.Errorf("a cluster of one node tells:\n%s", page)
			}
			return page
		}
		time.Sleep(20 * time.Millisecond) // until both shards have a leader; the test's deadline ends the loop
	}
}

func get(t *testing.T, address string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(resp.Status, err)
	}
	return string(b)
}

// fitsMetrics fails if an expression names a metric or a label that does not exist.
func fitsMetrics(t *testing.T, where, expr string, live map[string][]string) {
	t.Helper()
	by := []string{}
	for _, g := range queryBy.FindAllStringSubmatch(expr, -1) {
		for l := range strings.SplitSeq(g[1], ",") {
			by = append(by, strings.TrimSpace(l))
		}
	}
	names := queryName.FindAllStringSubmatch(expr, -1)
	if len(names) == 0 && !strings.Contains(expr, "up{") {
		t.Errorf("%s: no metric in %s", where, expr)
	}
	for _, m := range names {
		labels, ok := live[m[1]]
		if !ok {
			t.Errorf("%s: there is no metric %s", where, m[1])
			continue
		}
		want := slices.Clone(by)
		for _, l := range queryLabel.FindAllStringSubmatch(m[2], -1) {
			want = append(want, l[1])
		}
		for _, l := range want {
			if !slices.Contains(labels, l) && l != "instance" && l != "job" { // added by Prometheus
				t.Errorf("%s: %s has no label %s, only %v", where, m[1], l, labels)
			}
		}
	}
	if strings.Count(expr, "(") != strings.Count(expr, ")") || strings.Count(expr, "{") != strings.Count(expr, "}") {
		t.Errorf("%s: %s is not closed", where, expr)
	}
}

// TestAlertsAndDashboard: every alert and panel uses metrics that a site has, and every metric of the program itself is shown.
func TestAlertsAndDashboard(t *testing.T) {
	t.Parallel()
	live := liveMetrics(t)
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	b, err := os.ReadFile("../../../deploy/prometheus/alerts.yaml")
	if err == nil {
		err = yaml.Unmarshal(b, &rules)
	}
	if err != nil || len(rules.Groups) != 1 || len(rules.Groups[0].Rules) < 10 {
		t.Fatalf("%+v, %v", rules, err)
	}
	for _, r := range rules.Groups[0].Rules {
		fitsMetrics(t, r.Alert, r.Expr, live)
		if _, err := time.ParseDuration(cmpOr(r.For, "0s")); err != nil || r.Labels["severity"] == "" || r.Annotations["action"] == "" {
			t.Errorf("%s: %+v", r.Alert, r)
		}
	}
	var board struct {
		Panels []struct {
			ID      int
			Title   string
			Targets []struct{ Expr string }
		}
	}
	all, err := os.ReadFile("../../../deploy/grafana/concordat.json")
	if err == nil {
		err = json.Unmarshal(all, &board)
	}
	if err != nil || len(board.Panels) < 10 {
		t.Fatalf("%d panels, %v", len(board.Panels), err)
	}
	for _, p := range board.Panels {
		for _, x := range p.Targets {
			fitsMetrics(t, p.Title, x.Expr, live)
		}
	}
	for name := range live {
		base := name
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			base = strings.TrimSuffix(base, suffix)
		}
		if strings.HasPrefix(name, "concordat_") && !strings.Contains(string(all), base) {
			t.Errorf("the dashboard does not show %s", base)
		}
	}
}

func cmpOr(a, b string) string {
	if a == "" {
		return b
	}
	return a
}
