package webtest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"concordat"
	"concordat/report"
	"concordat/site/answer"
	"concordat/store"
	"concordat/view"
	"concordat/web"
	"concordat/web/pages"
	"concordat/web/pages/admin"
	"concordat/web/pages/settings"
	"concordat/web/review"
)

// Machine is a process with fixed answers.
type Machine struct{}

func (Machine) Storage(context.Context) (admin.Storage, error) {
	return admin.Storage{Folder: "/srv/site", Free: 5 << 30, All: 9 << 30, LowWater: 128 << 20, Documents: 1, Sentences: 7,
		Parts: []admin.StoragePart{{Name: "index", Bytes: 3 << 20}, {Name: "originals", Bytes: 17}}}, nil
}

func (Machine) Schemes(context.Context) (admin.Schemes, error) {
	return admin.Schemes{Recipe: "natural", Scheme: "natural@0123456789abcdef", Keyed: true, Epochs: []answer.EpochState{
		{Epoch: concordat.Epoch{Federation: "health", Number: 3}, Scheme: "natural@fedc",
			Libraries: []answer.EpochLibraryState{{Library: "theses", Held: 1, Documents: 2}}}}}, nil
}

func (Machine) Health(context.Context) []admin.HealthPart {
	return []admin.HealthPart{{Code: "store", OK: true}, {Code: "disk", Detail: "3 MiB left"},
		admin.Told("index", false, "health.index.less", 6, 7)}
}

// Current are settings that do not change. Submissions are not added unless Add says otherwise, and rules are the default ones.
type Current struct {
	Name string
	Add  func() review.Adding
}

// Title implements web.Current.
func (c Current) Title() string { return c.Name }

// Rules implements web.Current.
func (c Current) Rules() report.Rules { return report.Rules{} }

// Adding implements web.Current.
func (c Current) Adding() review.Adding {
	if c.Add == nil {
		return review.Adding{Rule: review.AddNever}
	}
	return c.Add()
}

// AgainDays implements web.Current.
func (c Current) AgainDays() int { return 0 }

// Choices are partners and section templates that do not change.
type Choices struct {
	Sites    []pages.Partner
	Sections []string
}

// Partners implements pages.Choices.
func (c Choices) Partners(context.Context) ([]pages.Partner, error) { return c.Sites, nil }

// Templates implements pages.Choices.
func (c Choices) Templates() []string { return c.Sections }

// FixedSettings are settings that no page can change.
type FixedSettings []settings.Setting

func (f FixedSettings) Settings() []settings.Setting { return f }

func (f FixedSettings) Set(context.Context, []view.Setting, ...store.AuditNote) error { return nil }

// ReadOnlySettings are the settings of a test site: none can be changed, and one is a secret.
var ReadOnlySettings = FixedSettings{{Setting: view.Setting{Key: "serve.listen", Value: "127.0.0.1:8420", Origin: "--listen"}},
	{Setting: view.Setting{Key: "check.short", Value: "true", Origin: "site.yaml:3", Live: true}},
	{Setting: view.Setting{Key: "oidc.client_secret", Value: "hunter2", Origin: "$CONCORDAT_OIDC_CLIENT_SECRET"}}}

// Machines is a cluster with a bit of everything.
func Machines() (admin.Cluster, error) {
	set := &admin.ClusterVersion{Version: 7, Set: time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)}
	return admin.Cluster{Site: "alpha", Cluster: "0011aabb", Config: set,
		Nodes: []admin.ClusterNode{{ID: "n1", Live: true, Zone: "east", Address: "10.0.0.1:7000", Version: "v1", Free: 3 << 30, Copies: 2,
			Leads: 1}, {ID: "n2", Copies: 2, Drained: true}, {ID: "n3", Live: true, Version: "v2"}},
		Shards: []admin.ClusterShard{{ID: "00", State: admin.ShardFewer, Master: "n1", Epoch: 5, InSync: []string{"n1"},
			Replicas: []string{"n1", "n2"}, Coming: []string{"n2"}, Leaving: []string{"n9"}},
			{ID: "01", State: admin.ShardNoMaster, Epoch: 9, InSync: []string{"n2"}, Hold: []string{"n2"}, Replicas: []string{"n1", "n2"}}}}, nil
}

// Nodes describes the machines of a site.
type Nodes func() (admin.Cluster, error)

// Cluster implements admin.Nodes.
func (n Nodes) Cluster(context.Context) (admin.Cluster, error) { return n() }

// ScriptedMeaning is a process that gives scripted answers and records the requests.
type ScriptedMeaning struct {
	Mu    sync.Mutex // guards the fields below
	Now   settings.Meaning
	Asked []settings.MeaningChange
	DB    *store.DB
	Fail  error
}

func (s *ScriptedMeaning) Meaning(context.Context) (settings.Meaning, error) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	return s.Now, nil
}

func (s *ScriptedMeaning) ChangeMeaning(ctx context.Context, c settings.MeaningChange, notes ...store.AuditNote) error {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	if s.Fail != nil {
		return s.Fail
	}
	s.Asked = append(s.Asked, c)
	return s.DB.Audit.Notes(ctx, notes...)
}

func (s *ScriptedMeaning) SetMeaning(m settings.Meaning) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	s.Now = m
}

// south is a partner that shows words immediately, and passages after a person there agrees.
type south struct {
	pages.Connection
	State atomic.Value // string
	Asks  atomic.Int32
}

func (p *south) Site() concordat.SiteID { return "SOUTH" }

// Connect returns the partner itself; it is the only one that can be reached.
func (p *south) Connect(_ context.Context, id concordat.SiteID) (pages.Connection, func(), error) {
	if id != p.Site() {
		return nil, nil, concordat.ErrNotFound
	}
	return p, func() {}, nil
}

func (p *south) Reveal(_ context.Context, a *concordat.RevealAsk) (*concordat.Revealed, error) {
	p.Asks.Add(1)
	out := &concordat.Revealed{State: concordat.DisclosureGranted}
	if a.Level == concordat.ShowPassage {
		out.State = p.State.Load().(string)
		out.Until = time.Now().Add(24 * time.Hour)
	}
	if out.State != concordat.DisclosureGranted {
		return out, nil
	}
	for _, one := range a.Passages {
		r := concordat.RevealedPassage{Shared: []concordat.Span{{Start: 0, End: 11}}}
		if a.Level == concordat.ShowPassage {
			r.Text = strings.Repeat("theirs ", one.Span.Len()/7)
		}
		out.Passages = append(out.Passages, r)
	}
	return out, nil
}

// Settable is a process whose settings the pages can change.
type Settable struct {
	Current
	DB     *store.DB
	mu     sync.Mutex
	Values map[string]string
}

func (s *Settable) Use(o *web.Options) {
	s.DB, o.Settings, o.Current = o.Store, s, s
}

// Title implements web.Current.
func (s *Settable) Title() string { return s.Value("site.title") }

// Settings implements settings.Control.
func (s *Settable) Settings() []settings.Setting {
	changeable := func(key string, words ...string) settings.Setting {
		at := view.Setting{Key: key, Value: s.Value(key), Origin: "default", Live: true}
		return settings.Setting{Setting: at, Changeable: true, Words: words}
	}
	return []settings.Setting{
		changeable("site.title"), changeable("check.short", "true", "false"), changeable("check.threshold"),
		changeable("report.common_above"), changeable("report.exclude_kinds"), changeable("report.exclude_quotes", "true", "false"),
		changeable("meaning.leads", "off", "on"), changeable("log.level", "debug", "info", "warn", "error"),
		{Setting: view.Setting{Key: "serve.listen", Value: "127.0.0.1:8420", Origin: "--listen"}}}
}

// Set implements settings.Control.
func (s *Settable) Set(ctx context.Context, values []view.Setting, notes ...store.AuditNote) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range values {
		if v.Value == "nonsense" {
			return fmt.Errorf("%w: %s: want something else", concordat.ErrInvalid, v.Key)
		}
		s.Values[v.Key] = v.Value
	}
	return s.DB.Audit.Notes(ctx, notes...)
}

func (s *Settable) Value(key string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Values[key]
}
