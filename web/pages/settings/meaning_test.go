package settings_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"concordat"
	"concordat/internal/webtest"
	"concordat/store"
	"concordat/web"
	"concordat/web/pages/settings"
)

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

// TestMeaningPage: the settings show how rewritten text is found, with a button for each missing step, the progress of a step, and the
// next step after a failure. The buttons and the API request the same changes and add an audit entry.
func TestMeaningPage(t *testing.T) {
	t.Parallel()
	s := &webtest.Settable{Values: map[string]string{"meaning.leads": "off"}}
	m := &webtest.ScriptedMeaning{}
	d := webtest.NewWith(t, true, func(o *web.Options) {
		s.Use(o)
		m.DB, o.Meaning = o.Store, m
	})
	ada, audrey := d.SignedIn(t, "ada", store.RoleAdministrator), d.SignedIn(t, "audrey", store.RoleAuditor)
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
			[]string{"The index contains 3 of 5 documents"}, "101", false},
		{"stale", settings.Meaning{Leads: true, Index: settings.MeaningIndex{On: true, Documents: 5, Stale: 4},
			Encoder: settings.MeaningEncoder{State: settings.EncoderReady}},
			[]string{"The index contains all documents (5)", "earlier version: 4", "Renew the index"}, "100", false},
		{"half, and stale", settings.Meaning{Leads: true, Index: settings.MeaningIndex{On: true, Documents: 5, Lacking: 2, Stale: 3},
			Encoder: settings.MeaningEncoder{State: settings.EncoderReady}},
			[]string{"The index contains 3 of 5 documents", "earlier version: 3", "Renew the index"}, "101", false},
		{"stale nodes", settings.Meaning{Leads: true, Clustered: true, Index: settings.MeaningIndex{On: true, Documents: 5, Stale: 4},
			Encoder: settings.MeaningEncoder{State: settings.EncoderReady}},
			[]string{"earlier version: 4", "run concordat reindex on one machine"}, "000", false},
		{"making", settings.Meaning{Leads: true, Index: settings.MeaningIndex{On: true, Documents: 5, Lacking: 2, Making: true, Done: 3, All: 5},
			Encoder: settings.MeaningEncoder{State: settings.EncoderReady, Model: "e5"}},
			[]string{"3 of 5 documents finished", `max="5" value="3"`, "Running (e5)"}, "000", true},
		{"unmade", settings.Meaning{Leads: true, Index: settings.MeaningIndex{On: true, Documents: 5, Lacking: 2, Problem: "disk <x>"},
			Encoder: settings.MeaningEncoder{State: settings.EncoderReady}}, []string{"could not be completed", "disk &lt;x&gt;"}, "101", false},
		{"fetching", encoder(settings.MeaningEncoder{State: settings.EncoderFetching, Fetched: 20 << 20, Size: 72 << 20}),
			[]string{"Downloading: 20"}, "000", true},
		{"installing", encoder(settings.MeaningEncoder{State: settings.EncoderInstalling}), []string{"Checking and unpacking"}, "000", true},
		{"starting", encoder(settings.MeaningEncoder{State: settings.EncoderStarting}), []string{"Starting"}, "000", true},
		{"ready", encoder(settings.MeaningEncoder{State: settings.EncoderReady, Model: "e5"}),
			[]string{"The index contains all documents (5)", "Texts stay on this machine"}, "000", false},
		{"off", encoder(settings.MeaningEncoder{State: settings.EncoderOff}), []string{"Off. The embedded table"}, "011", false},
		{"server", encoder(settings.MeaningEncoder{State: settings.EncoderServer, Model: "m", Where: "e.example"}),
			[]string{"Sentences are sent to e.example"}, "000", false},
		{"python", encoder(settings.MeaningEncoder{State: settings.EncoderFailed, Problem: settings.EncoderPython}),
			[]string{"needs Python 3"}, "011", false},
		{"pip", encoder(settings.MeaningEncoder{State: settings.EncoderFailed, Problem: settings.EncoderPip}),
			[]string{"python3-pip"}, "011", false},
		{"fetch", encoder(settings.MeaningEncoder{State: settings.EncoderFailed, Problem: settings.EncoderFetch, Detail: "no <route>"}),
			[]string{"could not be downloaded", "no &lt;route&gt;"}, "011", false},
		{"wheel", encoder(settings.MeaningEncoder{State: settings.EncoderFailed, Problem: settings.EncoderWheel}),
			[]string{"not the one this program expects"}, "011", false},
		{"disk", encoder(settings.MeaningEncoder{State: settings.EncoderFailed, Problem: settings.EncoderDisk}),
			[]string{"free some space"}, "011", false},
		{"start", encoder(settings.MeaningEncoder{State: settings.EncoderFailed, Problem: settings.EncoderStart}),
			[]string{"installed but not running"}, "011", false},
		{"vectors", settings.Meaning{Leads: true, Index: settings.MeaningIndex{On: true, Documents: 5,
			Vectors: &settings.MeaningVectors{Making: true, Done: 2, All: 5}}, Encoder: settings.MeaningEncoder{State: settings.EncoderReady}},
			[]string{"Encoder vectors: 2 of 5 documents finished", `max="5" value="2"`}, "000", true},
		{"vectors made", settings.Meaning{Leads: true, Index: settings.MeaningIndex{On: true, Documents: 5,
			Vectors: &settings.MeaningVectors{Documents: 5, Problem: "refused <x>"}},
			Encoder: settings.MeaningEncoder{State: settings.EncoderReady}},
			[]string{"vectors for 5 documents are indexed", "it is resumed automatically", "refused &lt;x&gt;"}, "000", false},
		{"nodes", settings.Meaning{Clustered: true, Index: settings.MeaningIndex{Documents: 5, Lacking: 5},
			Encoder: settings.MeaningEncoder{State: settings.EncoderNone}},
			nil, "010", false},
	} {
		m.SetMeaning(c.now)
		page := ada.Get("/admin/settings", http.StatusOK)
		ada.Wants(page, c.words...)
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
		if page := audrey.Get("/admin/settings", http.StatusOK); strings.Contains(page, `action="/admin/meaning"`) {
			t.Errorf("%s: an auditor is offered a button", c.name)
		}
	}
	olga := d.SignedIn(t, "olga", store.RoleOfficer)
	for _, c := range []struct {
		now   settings.Meaning
		first string // words of a new site's first step
		check string // words on the form of a check
		left  bool   // the administrator still has something to do
	}{
		{settings.Meaning{Encoder: settings.MeaningEncoder{State: settings.EncoderNone}}, "One button downloads",
			"This site does not look for", true},
		{settings.Meaning{Leads: true, Encoder: settings.MeaningEncoder{State: settings.EncoderReady}}, "One button downloads",
			"only in documents that share", true},
		{encoder(settings.MeaningEncoder{State: settings.EncoderNone}), "One button downloads", "with the embedded table", true},
		{encoder(settings.MeaningEncoder{State: settings.EncoderStarting}), "Being set up", "translated text with an encoder", false},
		{encoder(settings.MeaningEncoder{State: settings.EncoderReady}), "On, with the meaning index", "translated text with an encoder", false},
	} {
		m.SetMeaning(c.now)
		ada.Wants(ada.Get("/checks", http.StatusOK), "Find rewritten and translated text", c.first)
		page := ada.Get("/checks/new", http.StatusOK)
		ada.Wants(page, c.check)
		const link = `href="/admin/settings#group-meaning"`
		if strings.Contains(page, link) != c.left {
			t.Errorf("%s: a link to the settings: %t", c.check, !c.left)
		}
		olga.Wants(olga.Get("/checks/new", http.StatusOK), c.check)
		if strings.Contains(olga.Get("/checks/new", http.StatusOK)+olga.Get("/checks", http.StatusOK), link) {
			t.Error("an officer is sent to the settings")
		}
	}
	m.SetMeaning(settings.Meaning{Encoder: settings.MeaningEncoder{State: settings.EncoderNone}})
	for _, action := range []string{"all", "index", "encoder"} {
		ada.Post("/admin/meaning", http.StatusOK, url.Values{"action": {action}})
	}
	m.SetMeaning(encoder(settings.MeaningEncoder{State: settings.EncoderReady}))
	ada.Post("/admin/meaning", http.StatusOK, url.Values{"action": {"all"}}) // there is one already
	ada.Post("/admin/meaning", http.StatusBadRequest, url.Values{"action": {"else"}})
	ada.Program("settings").JSON("PATCH", "/api/v1/admin/meaning", `{"index":true,"encoder":false}`, http.StatusAccepted, nil)
	ada.Program("settings").JSON("PATCH", "/api/v1/admin/meaning", `{}`, http.StatusBadRequest, nil)
	ada.Program("read").JSON("PATCH", "/api/v1/admin/meaning", `{"index":true}`, http.StatusForbidden, nil)
	var got settings.Meaning
	audrey.Program("read").Call("GET", "/api/v1/admin/meaning", http.StatusOK, &got)
	if got != m.Now {
		t.Errorf("the API says %+v", got)
	}
	want := []string{"leads=true index=true encoder=true", "index=true", "encoder=true", "leads=true index=true",
		"index=true encoder=false"}
	for i, c := range m.Asked {
		if i >= len(want) || wordsOf(c) != want[i] {
			t.Errorf("asked for %s", wordsOf(c))
		}
	}
	entries, err := d.Store.Audit.SearchAudit(t.Context(), store.AuditFilter{Action: "meaning_changed"}, 0, 10)
	if err != nil || len(entries) != len(want) || entries[0].Actor != "ada" ||
		!strings.Contains(string(entries[0].Detail), `"encoder":false`) {
		t.Errorf("the audit has %v, %v", entries, err)
	}
	m.Fail = fmt.Errorf("the settings of several machines: %w", concordat.ErrInvalid)
	ada.Post("/admin/meaning", http.StatusBadRequest, url.Values{"action": {"index"}})
}
