package settings_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"concordat/internal/webtest"
	"concordat/report"
	"concordat/store"
)

// TestSettingsAreChanged: an administrator's change of a setting adds an audit entry; errors are shown next to the form, and changes made
// by others in the meantime are preserved.
func TestSettingsAreChanged(t *testing.T) {
	t.Parallel()
	s := &webtest.Settable{Values: map[string]string{"site.title": "North", "check.short": "false"}}
	d := webtest.NewWith(t, true, s.Use)
	ada, audrey := d.SignedIn(t, "ada", store.RoleAdministrator), d.SignedIn(t, "audrey", store.RoleAuditor)
	if page := audrey.Get("/admin/settings", http.StatusOK); strings.Contains(page, `name="value:`) {
		t.Error("an auditor is shown a form")
	}
	f := url.Values{"was:site.title": {"North"}, "value:site.title": {"South"}, "was:check.short": {"false"}, "value:check.short": {"false"}}
	s.Values["check.short"] = "true" // changed by someone else
	if page := ada.Post("/admin/settings", http.StatusOK, f); !strings.Contains(page, "now in effect") || s.Value("site.title") != "South" {
		t.Errorf("the title is %q", s.Value("site.title"))
	}
	// The browser returns to the setting, where the confirmation is shown.
	for from, to := range map[string]string{"site": "group-site", "": "all-keys", "nothing\" onclick=": "all-keys"} {
		f.Set("group", from)
		page := ada.Post("/admin/settings", http.StatusOK, f)
		_, after, _ := strings.Cut(page, `id="`+to+`"`)
		own, _, _ := strings.Cut(after, "</section>")
		if strings.Count(page, "now in effect") != 1 || !strings.Contains(own, "now in effect") {
			t.Errorf("saved from %q, it is not said in %s", from, to)
		}
	}
	if s.Value("check.short") != "true" {
		t.Error("a setting that the form did not change was put back")
	}
	entries, err := d.Store.Audit.SearchAudit(t.Context(), store.AuditFilter{Action: "settings_changed"}, 0, 10)
	if err != nil || len(entries) != 1 || !strings.Contains(string(entries[0].Detail), "South") {
		t.Error("the audit has", entries, err)
	}
	f.Set("was:site.title", "South")
	f.Set("value:site.title", "nonsense")
	if page := ada.Post("/admin/settings", http.StatusBadRequest, f); !strings.Contains(page, "want something else") ||
		!strings.Contains(page, `value="nonsense"`) {
		t.Error("a bad value is not said, or not shown again")
	}
	ada.Post("/admin/settings", http.StatusBadRequest, url.Values{"value:serve.listen": {":1"}})
	if s.Value("serve.listen") != "" {
		t.Error("a setting of the start was changed")
	}
}

// TestSettingsInWords: the page shows settings in groups, shares as percentages, and booleans as checkboxes. A form's change is stored in
// the configuration's format. Keys without a description are shown only in the list of all keys.
func TestSettingsInWords(t *testing.T) {
	t.Parallel()
	s := &webtest.Settable{Values: map[string]string{"site.title": "North", "check.threshold": "0.3", "check.short": "true",
		"report.common_above": "20", "report.exclude_kinds": "near", "report.exclude_quotes": "false",
		"meaning.leads": "off", "log.level": "info"}}
	d := webtest.NewWith(t, true, s.Use)
	ada := d.SignedIn(t, "ada", store.RoleAdministrator)
	page := ada.Get("/admin/settings", http.StatusOK)
	ada.Wants(page, "Rewritten and translated text", `name="percent:check.threshold" type="number" min="0" max="100" step="any" value="30"`,
		"deserves a close reading", "Count common wording", "Kinds of match that count",
		`name="on:report.exclude_quotes" aria-describedby="how-report.exclude_quotes" checked`,
		`name="item:report.exclude_kinds" value="summary" checked`, `name="item:report.exclude_kinds" value="near"><label`,
		`id="all-keys"`, `name="value:log.level"`)
	words, keys, _ := strings.Cut(page, `id="all-keys"`)
	if strings.Contains(words, "<code>") || strings.Contains(words, ">true<") || strings.Contains(words, `max=""`) {
		t.Error("the groups show keys or values as the configuration has them, or a bound that is none")
	}
	ada.Wants(keys, "check.threshold", "0.3", "serve.listen")
	for _, c := range []struct {
		key  string
		form url.Values
		want string
	}{
		{"check.threshold", url.Values{"was:check.threshold": {"0.3"}, "percent:check.threshold": {"12.5"}}, "0.125"},
		{"check.threshold", url.Values{"was:check.threshold": {"0.125"}, "percent:check.threshold": {"7"}}, "0.07"},
		{"check.short", url.Values{"was:check.short": {"true"}, "box:check.short": {"1"}}, "false"},
		{"check.short", url.Values{"was:check.short": {"false"}}, "false"}, // no checkbox, since a different group was sent
		{"check.short", url.Values{"was:check.short": {"false"}, "box:check.short": {"1"}, "on:check.short": {"on"}}, "true"},
		{"meaning.leads", url.Values{"was:meaning.leads": {"off"}, "box:meaning.leads": {"1"}, "on:meaning.leads": {"on"}}, "on"},
		{"report.common_above", url.Values{"was:report.common_above": {"20"}, "number:report.common_above": {"20"},
			"never:report.common_above": {"on"}}, "-1"},
		{"report.common_above", url.Values{"was:report.common_above": {"-1"}, "number:report.common_above": {""}}, "0"},
		{"report.exclude_kinds", url.Values{"was:report.exclude_kinds": {"near"}, "list:report.exclude_kinds": {"1"},
			"item:report.exclude_kinds": kindsBut("near", "summary")}, "near, summary"},
		{"report.exclude_kinds", url.Values{"was:report.exclude_kinds": {"near, summary"}, "list:report.exclude_kinds": {"1"},
			"item:report.exclude_kinds": kindsBut()}, ""},
		{"report.exclude_quotes", url.Values{"was:report.exclude_quotes": {"false"}, "box:report.exclude_quotes": {"1"}}, "true"},
		{"report.exclude_quotes", url.Values{"was:report.exclude_quotes": {"true"}, "box:report.exclude_quotes": {"1"},
			"on:report.exclude_quotes": {"on"}}, "false"},
	} {
		ada.Post("/admin/settings", http.StatusOK, c.form)
		if got := s.Value(c.key); got != c.want {
			t.Errorf("%v makes %s %q, want %q", c.form, c.key, got, c.want)
		}
	}
	for _, wrong := range []string{"150", "-1", "many", ""} {
		f := url.Values{"was:check.threshold": {"0.07"}, "percent:check.threshold": {wrong}}
		ada.Wants(ada.Post("/admin/settings", http.StatusBadRequest, f), "is not a percentage")
	}
	if got := s.Value("check.threshold"); got != "0.07" {
		t.Error("a bad percentage made it", got)
	}
}

// kindsBut returns the kinds of match in the table of rules except the given ones.
func kindsBut(some ...string) (out []string) {
	for _, r := range report.RuleTable() {
		if r.Name == "exclude_kinds" {
			out = append(out, r.Words...)
		}
	}
	return slices.DeleteFunc(out, func(k string) bool { return slices.Contains(some, k) })
}
