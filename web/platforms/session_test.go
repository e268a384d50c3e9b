package platforms_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"concordat"
	"concordat/internal/ltitest"
	"concordat/store"
	"concordat/web/lti"
	"concordat/web/platforms"
)

// teaches returns the claims of a teacher's launch of a link.
func teaches(more map[string]any) map[string]any {
	out := map[string]any{"sub": "t1", "/message_type": lti.TypeResourceLink, "/roles": []string{membership + "Instructor"}}
	for k, v := range more {
		out[k] = v
	}
	return out
}

// change changes the platform as an administrator would.
func (c *course) change(f func(*store.LTIPlatform)) {
	c.t.Helper()
	p, err := c.db.LTI.LTIPlatform(c.t.Context(), "moodle")
	if err == nil {
		f(&p)
		err = c.db.LTI.PutLTIPlatform(c.t.Context(), p)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// TestLaunchOfDeployment: a launch started for one deployment cannot be completed for another, although the site knows both; a launch
// refused by the platform signs no one in.
func TestLaunchOfDeployment(t *testing.T) {
	t.Parallel()
	c := newCourse(t, platforms.Options{})
	c.change(func(p *store.LTIPlatform) { p.Deployments = append(p.Deployments, "2") })
	b := fresh(t)
	c.open(b, teaches(map[string]any{"/deployment_id": "2"}), http.StatusForbidden)
	c.get(b, "/lti/checks", http.StatusForbidden)
	resp := c.Launch(b, c.loginURL(), teaches(nil), func(f url.Values) { f.Set("error", "login_required") })
	resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("refused by the platform: %d", resp.StatusCode)
	}
	c.get(b, "/lti/checks", http.StatusForbidden)
}

// TestPlatformSessionsEnd: users from a platform lose access when the platform is disabled, its deployment is removed, or learners are no
// longer allowed; new launches are refused too.
func TestPlatformSessionsEnd(t *testing.T) {
	t.Parallel()
	c := newCourse(t, platforms.Options{Learners: true})
	teacher, learner := fresh(t), fresh(t)
	c.open(teacher, teaches(nil), http.StatusOK)
	c.open(learner, teaches(map[string]any{"sub": "u1", "/roles": []string{membership + "Learner"}}), http.StatusOK)
	want := func(b *http.Client, status int) {
		t.Helper()
		c.get(b, "/lti/checks", status)
	}
	want(teacher, http.StatusOK)
	want(learner, http.StatusOK)
	c.change(func(p *store.LTIPlatform) { p.Disabled = true })
	want(teacher, http.StatusForbidden)
	at := c.server.URL + "/lti/login?" + url.Values{"iss": {c.URL}, "client_id": {ltitest.Client}, "login_hint": {"user-7"}}.Encode()
	resp, err := fresh(t).Get(at)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("a launch from a platform that is switched off: %d", resp.StatusCode)
	}
	c.change(func(p *store.LTIPlatform) { p.Disabled, p.Deployments = false, []string{"2"} })
	want(teacher, http.StatusForbidden)
	c.change(func(p *store.LTIPlatform) { p.Deployments = []string{ltitest.Deployment} })
	want(teacher, http.StatusOK)
	c.options.Learners = false
	c.restart(true)
	want(teacher, http.StatusOK)
	want(learner, http.StatusForbidden)
}

// TestChecksOfOneCourse: users from a course see only the checks of that course. For them, the checks of another platform, deployment,
// course or learner do not exist, either as a page or as a report, even if the deployment and course numbers are the same.
func TestChecksOfOneCourse(t *testing.T) {
	t.Parallel()
	c := newCourse(t, platforms.Options{Learners: true})
	p, err := c.db.LTI.LTIPlatform(t.Context(), "moodle")
	if err != nil {
		t.Fatal(err)
	}
	p.ID, p.Client = "other", "another client"
	if err := c.db.LTI.PutLTIPlatform(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	own := store.LTICheck{Platform: "moodle", Deployment: ltitest.Deployment, Context: "course-1", Learner: "u1"}
	checks := map[concordat.TaskID]store.LTICheck{"own": own}
	for id, change := range map[concordat.TaskID]func(*store.LTICheck){
		"platform":   func(k *store.LTICheck) { k.Platform = "other" },
		"deployment": func(k *store.LTICheck) { k.Deployment = "2" },
		"course":     func(k *store.LTICheck) { k.Context = "course-2" },
		"learner":    func(k *store.LTICheck) { k.Learner = "u2" },
	} {
		k := own
		change(&k)
		checks[id] = k
	}
	for id, k := range checks {
		k.Task = id
		if err := c.db.Checks.CreateTask(t.Context(), store.Task{Task: concordat.Task{ID: id, Title: "thesis"}}); err != nil {
			t.Fatal(err)
		}
		if err := c.db.LTI.PutLTICheck(t.Context(), k); err != nil {
			t.Fatal(err)
		}
	}
	in := map[string]any{"id": "course-1"}
	teacher, learner := fresh(t), fresh(t)
	c.open(teacher, teaches(map[string]any{"/context": in}), http.StatusOK)
	c.open(learner, teaches(map[string]any{"sub": "u1", "/context": in, "/roles": []string{membership + "Learner"}}), http.StatusOK)
	for id := range checks {
		for b, sees := range map[*http.Client]bool{teacher: id == "own" || id == "learner", learner: id == "own"} {
			page := http.StatusNotFound
			if sees {
				page = http.StatusOK
			}
			c.get(b, "/lti/checks/"+string(id), page)
			if !sees {
				c.get(b, "/lti/checks/"+string(id)+"/report?format=json", http.StatusNotFound)
			}
		}
	}
}

// TestKeysForPlatforms: the site publishes its public keys as JSON in a form that strict platforms accept.
func TestKeysForPlatforms(t *testing.T) {
	t.Parallel()
	c := newCourse(t, platforms.Options{})
	text, header := c.get(fresh(t), "/lti/jwks", http.StatusOK)
	if header.Get("Content-Type") != "application/json" || !strings.Contains(text, `"keys"`) {
		t.Errorf("%s: %s", header.Get("Content-Type"), text)
	}
}

// TestConfigureOfLaunch: a teacher makes choices with the key of a launch of the same course. The choices must be existing templates and
// libraries, and the activity must be named by the platform.
func TestConfigureOfLaunch(t *testing.T) {
	t.Parallel()
	c := newCourse(t, platforms.Options{Learners: true})
	settings := func(course, role string) map[string]any {
		return teaches(map[string]any{"/message_type": lti.TypeSettings, "/roles": []string{membership + role},
			"/context": map[string]any{"id": course}, "/custom": map[string]any{"concordat_processor": "p1"}})
	}
	c.open(fresh(t), settings("course-1", "Learner"), http.StatusForbidden)
	teacher, other := fresh(t), fresh(t)
	_, at := c.open(teacher, settings("course-1", "Instructor"), http.StatusOK)
	c.open(other, settings("course-2", "Instructor"), http.StatusOK)
	key := at.Query().Get("key")
	post := func(b *http.Client, key, template string) int {
		t.Helper()
		resp, err := b.PostForm(c.server.URL+"/lti/configure", url.Values{"key": {key}, "template": {template}})
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	c.get(other, "/lti/configure?key="+key, http.StatusForbidden)
	if got := post(other, key, "thesis"); got != http.StatusForbidden {
		t.Errorf("with the key of another course: %d", got)
	}
	if got := post(teacher, key, "nonsense"); got != http.StatusBadRequest {
		t.Errorf("an unknown template: %d", got)
	}
	resp, err := teacher.Post(c.server.URL+"/lti/configure", "application/x-www-form-urlencoded",
		strings.NewReader(url.Values{"key": {key}, "template": {"thesis"}}.Encode()+"&rules=%zz"))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusBadRequest {
		t.Errorf("a form that came damaged: %d", resp.StatusCode)
	}
	if _, err := c.db.LTI.LTIChoices(t.Context(), "moodle", "p1", "course-1"); err == nil {
		t.Error("choices of a damaged form are kept")
	}
	if got := post(teacher, key, "thesis"); got != http.StatusOK {
		t.Errorf("a teacher of the course: %d", got)
	}
	if _, err := c.db.LTI.LTIChoices(t.Context(), "moodle", "p1", "course-1"); err != nil {
		t.Error(err)
	}
	if _, err := c.db.LTI.LTIChoices(t.Context(), "moodle", "p1", "course-2"); err == nil {
		t.Error("the choices count in another course")
	}
	nameless := settings("course-1", "Instructor")
	delete(nameless, "/custom")
	_, at = c.open(teacher, nameless, http.StatusOK)
	if got := post(teacher, at.Query().Get("key"), "thesis"); got != http.StatusBadRequest {
		t.Errorf("for no activity: %d", got)
	}
}

// TestPlatformCookies: the cookies set for platforms by a site with https work within the platforms' frames, are sent only over https,
// are separate for each platform and cannot be read by scripts.
func TestPlatformCookies(t *testing.T) {
	t.Parallel()
	c := newCourse(t, platforms.Options{})
	for _, secure := range []bool{false, true} {
		c.stop()
		c.secure = secure
		c.start(true)
		b := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		resp, err := b.Get(c.LoginAt(c.loginURL()))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		all := resp.Cookies()
		if len(all) != 1 || !all[0].HttpOnly || all[0].Secure != secure || all[0].Partitioned != secure ||
			strings.HasPrefix(all[0].Name, "__Host-") != secure || (all[0].SameSite == http.SameSiteNoneMode) != secure {
			t.Errorf("by HTTPS %v: %v", secure, all)
		}
	}
}
