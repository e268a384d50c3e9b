package platforms_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"concordat/internal/webtest"
	"concordat/store"
	"concordat/web/lti"
	"concordat/web/platforms"
)

// TestCourseSays: the page of a course states the maximum file size, and a submission that cannot be read is rejected on a page. Changes
// to an unknown platform are refused and not recorded in the audit.
func TestCourseSays(t *testing.T) {
	t.Parallel()
	c := newCourse(t, platforms.Options{})
	b := fresh(t)
	c.open(b, teaches(nil), http.StatusOK)
	if page, _ := c.get(b, "/lti/checks", http.StatusOK); !strings.Contains(page, " of up to 1 MiB each") {
		t.Errorf("the page does not say that files may have 1 MiB:\n%s", page)
	}
	teacher := &webtest.Person{T: t, Client: b, Base: c.server.URL}
	for _, part := range []string{`name="text"`, `name="file"; filename="a.txt"`} {
		r := teacher.Request(http.MethodPost, "/lti/checks", strings.NewReader("--b\r\nContent-Disposition: form-data; "+part+"\r\n\r\nno end"))
		r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
		if page := teacher.Send(r, http.StatusBadRequest); !strings.Contains(page, "Only part of the form arrived") {
			t.Errorf("a form that ends within the part %s:\n%s", part, page)
		}
	}
	admin := (&webtest.Site{Server: c.server, Store: c.db}).SignedIn(t, "adam", store.RoleAdministrator)
	for _, action := range []string{"enable", "disable", "deployments"} {
		admin.Post("/platforms", http.StatusNotFound, url.Values{"action": {action}, "id": {"none"}, "deployments": {"1"}})
	}
	entries, err := c.db.Audit.Audit(t.Context(), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Action, "lti_platform_") {
			t.Errorf("the audit has %s: %s", e.Action, e.Detail)
		}
	}
}

// TestPlatformQueueIsQuiet: an idle platform queue is not logged as an error; a message about one file does not concern others.
func TestPlatformQueueIsQuiet(t *testing.T) {
	t.Parallel()
	c := newCourse(t, platforms.Options{})
	for _, id := range []string{"a1", "a2", "a3"} {
		c.send(http.StatusOK, c.Submission("u1", nil, c.Put(id, id+".txt", []byte(webtest.Folios))))
		if r := c.Await(t.Context(), id, lti.Processed, 0); r["comment"] != nil && r["comment"] != "" {
			t.Errorf("%s: the platform is told %q", id, r["comment"])
		}
		c.awaitState(id, store.LTIDone)
	}
	c.send(http.StatusOK, c.Submission("u1", nil, c.Put("a4", "pack.zip", []byte(webtest.Folios))))
	if r := c.Await(t.Context(), "a4", lti.Processed, 0); r["comment"] != "The highest of 2 files." {
		t.Errorf("of an archive the platform is told %q", r["comment"])
	}
	c.stop()
	c.stop = func() {}
	if log := c.log.String(); strings.Contains(log, "level=ERROR") {
		t.Errorf("the log:\n%s", log)
	}
}
