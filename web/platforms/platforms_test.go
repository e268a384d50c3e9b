package platforms_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"concordat"
	"concordat/extract"
	"concordat/index"
	"concordat/internal/ltitest"
	"concordat/internal/webtest"
	"concordat/profile"
	"concordat/site"
	"concordat/store"
	"concordat/web"
	"concordat/web/api"
	"concordat/web/lti"
	"concordat/web/platforms"
)

// course is a site together with a platform that uses it.
type course struct {
	*ltitest.Platform
	t       *testing.T
	dir     string
	keys    *lti.Keys
	options platforms.Options
	server  *httptest.Server
	pages   *web.Web
	db      *store.DB
	stop    func()

	// Storing a file panics. Set it before start.
	broken   bool
	secure   bool         // the site is reached over https
	log      bytes.Buffer // log of the pages
	panicked atomic.Int32
}

// newCourse creates and starts a site with one library, and a platform registered with the site.
func newCourse(t *testing.T, o platforms.Options) *course {
	t.Helper()
	keys, err := lti.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	o.Keys, o.Private = keys, true
	if o.Retry == 0 {
		o.Retry = 5 * time.Millisecond
	}
	o.Poll = 5 * time.Millisecond
	c := &course{Platform: ltitest.New(t), t: t, dir: t.TempDir(), keys: keys, options: o}
	c.server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { c.pages.ServeHTTP(rw, r) }))
	c.start(true)
	webtest.After(t, func() { c.server.Close(); c.stop() })
	c.Tool(c.server.URL + "/lti/jwks")
	if err := c.db.LTI.PutLTIPlatform(t.Context(), store.LTIPlatform{ID: "moodle", Name: "Moodle", Issuer: c.URL, Client: ltitest.Client,
		AuthURL: c.AuthURL(), TokenURL: c.TokenURL(), KeysURL: c.KeysURL(),
		Deployments: []string{ltitest.Deployment}, Made: time.Now()}); err != nil {
		t.Fatal(err)
	}
	return c
}

// start starts the site with the contents of its folder. Unless working is set, nothing is fetched or checked.
func (c *course) start(working bool) {
	c.t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(c.t.Context()))
	must := func(err error) {
		c.t.Helper()
		if err != nil {
			c.t.Fatal(err)
		}
	}
	db, err := store.Open(ctx, filepath.Join(c.dir, "site.db"))
	must(err)
	p, err := profile.New(profile.Options{})
	must(err)
	shard, err := index.Open(filepath.Join(c.dir, "index"), index.Options{Site: "here", Scheme: p.Scheme(), Shard: "00"})
	must(err)
	s := site.New(site.Options{ID: "here", Index: shard, Store: db, Profiler: p})
	if err := db.Catalogue.CreateLibrary(ctx, store.Library{ID: "theses", Created: time.Now()}); err == nil {
		must(db.Catalogue.CreateLibrary(ctx, store.Library{ID: "empty", Created: time.Now()}))
		must(s.Ingest(ctx, "theses", func(yield func(site.Incoming, error) bool) {
			yield(site.Incoming{ID: "folios.txt", Title: "On folios", Text: webtest.Folios}, nil)
		}, func(site.Ingested) error { return nil }))
	} else if !errors.Is(err, concordat.ErrExists) {
		must(err)
	}
	files := store.OpenFiles(filepath.Join(c.dir, "originals"))
	q := s.NewQueue(site.QueueOptions{Store: db,
		Read: func(_ context.Context, j site.Job) ([]site.Item, error) {
			path, err := files.Path(j.File)
			if err != nil {
				return nil, err
			}
			b, err := os.ReadFile(path)
			if strings.HasSuffix(j.Name, ".exe") {
				return []site.Item{{Submission: site.Submission{ID: concordat.DocumentID(j.Name)},
					Err: &extract.Error{Code: extract.Binary, Detail: "not text, and no known format"}}}, nil
			}
			if strings.HasSuffix(j.Name, ".zip") {
				return []site.Item{{Submission: site.Submission{ID: "a.txt", Title: "a", Text: string(b)}},
					{Submission: site.Submission{ID: "b.txt", Title: "b",
						Text: "Something that nobody has ever written in this place before, I am quite sure of it."}}}, nil
			}
			return []site.Item{{Submission: site.Submission{ID: concordat.DocumentID(j.Name), Text: string(b)}}}, err
		},
		Options: func(_ context.Context, j site.Job) (site.CheckOptions, func(), error) {
			return site.CheckOptions{Libraries: j.Libraries}, nil, nil
		}})
	kept := files
	if c.broken {
		kept = nil
	}
	c.pages, err = web.New(web.Options{Site: s, Current: webtest.Current{Name: "Site"},
		Store: db, Queue: q, Files: kept, MaxUpload: 1 << 20, Base: c.server.URL, Secure: c.secure, Hashing: webtest.Cheap,
		Logger: slog.New(slog.NewTextHandler(&c.log, nil)), Panicked: func() { c.panicked.Add(1) },
		Choices: webtest.Choices{Sections: []string{"thesis"}}})
	must(err)
	tool := platforms.New(c.pages, c.options)
	api.Add(c.pages, tool, nil)
	c.db = db
	ran := make(chan error, 2)
	if working {
		run := func(f func(context.Context) error) {
			err := f(ctx)
			if ctx.Err() != nil && errors.Is(err, context.Canceled) { // stopped before it began
				err = nil
			}
			ran <- err
		}
		go run(q.Run)
		go run(tool.Run)
	} else {
		ran <- nil
		ran <- nil
	}
	c.stop = func() {
		cancel()
		if err := errors.Join(<-ran, <-ran, shard.Close(), db.Close()); err != nil {
			c.t.Error(err)
		}
	}
}

func (c *course) restart(working bool) {
	c.t.Helper()
	c.stop()
	c.start(working)
}

func (c *course) noticeURL() string { return c.server.URL + "/lti/notice" }

func (c *course) loginURL() string { return c.server.URL + "/lti/login" }

// send sends a notice with the claims and expects a status.
func (c *course) send(want int, claims map[string]any) {
	c.t.Helper()
	if got := c.Send(c.noticeURL(), c.Sign(claims)); got != want {
		c.t.Errorf("notice: %d, want %d", got, want)
	}
}

func (c *course) tasks() []store.Task {
	c.t.Helper()
	all, err := c.db.Checks.Tasks(c.t.Context(), 0, 0)
	if err != nil {
		c.t.Fatal(err)
	}
	return all
}

func fresh(t *testing.T) *http.Client {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Jar: jar}
}

const membership = "http://purl.imsglobal.org/vocab/lis/v2/membership#"

func review(asset, user, role string) map[string]any {
	return map[string]any{"sub": user, "name": "Person " + user, "/message_type": lti.TypeReview, "/roles": []string{membership + role},
		"/asset":            map[string]any{"id": asset},
		"/assetreport_type": "originality", "/for_user": map[string]any{"user_id": user}, "/activity": map[string]any{"id": "activity-1"}}
}

// open performs a launch and returns the final page.
func (c *course) open(b *http.Client, claims map[string]any, want int) (page string, at *url.URL) {
	c.t.Helper()
	resp := c.Launch(b, c.loginURL(), claims, nil)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	if resp.StatusCode != want {
		c.t.Errorf("launch of %v ends with %d, want %d\n%s", claims["/message_type"], resp.StatusCode, want, text)
	}
	return string(text), resp.Request.URL
}

func (c *course) get(b *http.Client, path string, want int) (string, http.Header) {
	c.t.Helper()
	resp, err := b.Get(c.server.URL + path)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	if resp.StatusCode != want {
		c.t.Errorf("GET %s: %d, want %d\n%s", path, resp.StatusCode, want, text)
	}
	return string(text), resp.Header
}

// TestSubmission covers the whole sequence: a notice, the file, a real check, progress reports, and the report, which only the teacher
// can open.
func TestSubmission(t *testing.T) {
	t.Parallel()
	c := newCourse(t, platforms.Options{})
	ctx := t.Context()
	essay := c.Put("a1", "essay.txt", []byte(webtest.Folios+" And here is a sentence of my own, which nobody has written before in this place."))
	clean := c.Put("a2", "own.txt",
		[]byte("Nothing of this has been written anywhere before; I made it up this very morning, over a cup of coffee."))
	odd := c.Put("a3", "odd.exe", []byte("MZ"))
	pack := c.Put("a4", "pack.zip", []byte(webtest.Folios))
	claims := c.Submission("u1", nil, essay, clean, odd, pack)
	notice := c.Sign(claims)
	if got := c.Send(c.noticeURL(), notice); got != http.StatusOK {
		t.Fatalf("notice: %d", got)
	}
	done := c.Await(ctx, "a1", lti.Processed, 0)
	if s := done["result"].(string); !strings.HasSuffix(s, "%") || s == "0%" || done["priority"].(float64) < 3 ||
		done["visibleToOwner"] != false {
		t.Errorf("report %v", done)
	}
	if r := c.Await(ctx, "a2", lti.Processed, 0); r["result"] != "0%" || r["priority"].(float64) != 0 {
		t.Errorf("report %v", r)
	}
	if r := c.Await(ctx, "a3", lti.Failed, 0); r["errorCode"] != lti.CodeUnsupported {
		t.Errorf("report %v", r)
	}
	if r := c.Await(ctx, "a4", lti.Processed, 0); r["result"] != "100%" {
		t.Errorf("report %v", r)
	}
	var order []string
	for _, r := range c.Reports("a1") {
		order = append(order, r["processingProgress"].(string))
	}
	if got := strings.Join(order, " "); got != "Pending Processing Processed" && got != "Pending Processed" {
		t.Errorf("the platform was told %s", got)
	}

	// Repetitions of the same notice change nothing.
	n := len(c.tasks())
	for range 3 {
		if got := c.Send(c.noticeURL(), notice, notice); got != http.StatusOK {
			t.Errorf("replay: %d", got)
		}
	}
	if got := len(c.tasks()); got != n {
		t.Errorf("a replay made %d checks of %d", got, n)
	}

	teacher := fresh(t)
	page, at := c.open(teacher, review("a1", "t1", "Instructor"), http.StatusOK)
	if !strings.Contains(page, "% of the compared text") || !strings.HasPrefix(at.Path, "/lti/checks/") {
		t.Errorf("teacher at %s:\n%s", at, page)
	}
	rep, header := c.get(teacher, at.Path+"/report", http.StatusOK)
	if !strings.Contains(rep, "On folios") || !strings.Contains(header.Get("Content-Security-Policy"), "frame-ancestors 'self' "+c.URL) ||
		!strings.Contains(header.Get("Content-Security-Policy"), "script-src 'sha256-") {
		t.Errorf("report with policy %q", header.Get("Content-Security-Policy"))
	}
	c.get(teacher, at.Path+"/report?format=json", http.StatusOK)
	c.get(teacher, at.Path+"/report?format=csv", http.StatusOK)
	if list, _ := c.get(teacher, "/lti/checks", http.StatusOK); !strings.Contains(list, "pack.zip") ||
		!strings.Contains(list, "Course &lt;1&gt;") {
		t.Errorf("list:\n%s", list)
	}
	if archive, _ := c.open(fresh(t), review("a4", "t1", "Instructor"), http.StatusOK); !strings.Contains(archive, "-1\">a</a>") {
		t.Errorf("archive:\n%s", archive)
	}
	c.open(fresh(t), review("a1", "u1", "Learner"), http.StatusForbidden) // forbidden by policy
	c.open(fresh(t), review("none", "t1", "Instructor"), http.StatusNotFound)

	// A teacher of another course cannot see anything of this course, not even with its address.
	other := fresh(t)
	elsewhere := review("a1", "t2", "Instructor")
	elsewhere["/context"] = map[string]any{"id": "course-2"}
	c.open(other, elsewhere, http.StatusForbidden)
	elsewhere["/message_type"] = lti.TypeResourceLink
	c.open(other, elsewhere, http.StatusOK)
	c.get(other, at.Path, http.StatusNotFound)
	c.get(other, at.Path+"/report", http.StatusNotFound)
	c.get(fresh(t), at.Path, http.StatusForbidden)
	// The audit contains each reading.
	audit, err := c.db.Audit.Audit(ctx, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	for _, a := range audit {
		if a.Action == "report_read" && a.Actor == "lti:moodle:t1" {
			read++
		}
	}
	if read < 3 {
		t.Errorf("%d readings in the audit", read)
	}
	// A disabled platform loses access immediately.
	p, err := c.db.LTI.LTIPlatform(ctx, "moodle")
	if err != nil {
		t.Fatal(err)
	}
	p.Disabled = true
	if err := c.db.LTI.PutLTIPlatform(ctx, p); err != nil {
		t.Fatal(err)
	}
	c.get(teacher, at.Path, http.StatusForbidden)
	c.send(http.StatusBadRequest, c.Submission("u1", nil, essay))
}

// TestLearners: if the site allows it, learners see only their own work.
func TestLearners(t *testing.T) {
	t.Parallel()
	c := newCourse(t, platforms.Options{Learners: true})
	c.send(http.StatusOK, c.Submission("u1", nil, c.Put("a1", "essay.txt", []byte(webtest.Folios))))
	if r := c.Await(t.Context(), "a1", lti.Processed, 0); r["visibleToOwner"] != true {
		t.Errorf("report %v", r)
	}
	_, at := c.open(fresh(t), review("a1", "u1", "Learner"), http.StatusOK)
	other := fresh(t)
	c.open(other, review("a1", "u2", "Learner"), http.StatusNotFound)
	if list, _ := c.get(other, "/lti/checks", http.StatusOK); strings.Contains(list, "essay.txt") {
		t.Errorf("somebody else's list:\n%s", list)
	}
	c.get(other, at.Path+"/report", http.StatusNotFound)
}

// TestForgedNotices: the site checks nothing that the platform has not signed for it, and contacts no other host.
func TestForgedNotices(t *testing.T) {
	t.Parallel()
	c := newCourse(t, platforms.Options{})
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	a := c.Put("a1", "essay.txt", []byte(webtest.Folios))
	with := func(more map[string]any) map[string]any { return c.Submission("u1", more, a) }
	if got := c.Send(c.noticeURL(), ltitest.SignWith(t, key, "key-1", with(nil))); got != http.StatusBadRequest {
		t.Errorf("forged: %d", got)
	}
	stranger := ltitest.New(t)
	if got := c.Send(c.noticeURL(), stranger.Sign(with(nil))); got != http.StatusBadRequest {
		t.Errorf("of another platform: %d", got)
	}
	for name, more := range map[string]map[string]any{
		"another deployment": {"/deployment_id": "2"}, "expired": {"exp": time.Now().Add(-time.Hour).Unix()},
		"another issuer": {"iss": stranger.URL},
		"another tool":   {"aud": "other"}, "no notice": {"/notice": nil}, "no place for reports": {"/assetreport": nil},
	} {
		if got := c.Send(c.noticeURL(), c.Sign(with(more))); got != http.StatusBadRequest {
			t.Errorf("%s: %d", name, got)
		}
	}
	for _, body := range []string{"", "{}", `{"notices":[]}`, `{"notices":[{"jwt":"x"}]}`, `{"notices":[` +
		strings.Repeat(`{"jwt":"x"},`, 200) + `{}]}`, strings.Repeat("x", 5<<20)} {
		resp, err := http.Post(c.noticeURL(), "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusBadRequest {
			t.Errorf("body of %d bytes: %d", len(body), resp.StatusCode)
		}
	}
	if got := len(c.tasks()); got > 0 {
		t.Errorf("%d checks were made", got)
	}
	all, err := c.db.LTI.LTIAssets(t.Context(), 0)
	if err != nil || len(all) > 0 {
		t.Errorf("assets %v, %v", all, err)
	}

	// A genuine notice can still refer to another host, or to a file that is too large or does not match its description.
	asked := make(chan string, 10)
	inside := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.URL.Path }))
	defer inside.Close()
	evil := map[string]any{"asset_id": "evil", "url": inside.URL + "/secret", "title": "x"}
	moved := c.Put("moved", "x.txt", []byte("x"))
	c.Move("moved", inside.URL+"/secret")
	huge := c.Put("huge", "x.txt", []byte(strings.Repeat("x", 2<<20)))
	empty := c.Put("empty", "x.txt", nil)
	gone := map[string]any{"asset_id": "gone", "url": c.URL + "/assets/gone", "title": "x"}
	c.send(http.StatusOK, c.Submission("u1", nil, evil, moved, huge, empty, gone))
	for asset, code := range map[string]string{"evil": lti.CodeDownload, "moved": lti.CodeDownload, "huge": lti.CodeTooLarge,
		"empty": lti.CodeTooSmall, "gone": lti.CodeDownload} {
		if r := c.Await(t.Context(), asset, lti.Failed, 0); r["errorCode"] != code {
			t.Errorf("%s: %v", asset, r)
		}
	}
	// Reports do not go to other hosts either.
	c.send(http.StatusOK, c.Submission("u1", map[string]any{"/assetreport": map[string]any{"report_url": inside.URL + "/reports"}},
		c.Put("a9", "x.txt", []byte(webtest.Folios))))
	c.awaitState("a9", store.LTIFailed)
	select {
	case path := <-asked:
		t.Errorf("another host was asked for %s", path)
	default:
	}
}

// awaitState waits until an asset is in the given state.
func (c *course) awaitState(asset, state string) store.LTIAsset {
	c.t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		a, err := c.db.LTI.FindLTIAsset(c.t.Context(), "moodle", ltitest.Deployment, asset, "")
		if err != nil {
			c.t.Fatal(err)
		}
		if a.State == state {
			return a
		}
		select {
		case <-tick.C:
		case <-c.t.Context().Done():
			c.t.Fatalf("asset %v", a)
		}
	}
}

// TestPlatformFails: temporary failures are retried, rejected tokens are renewed, and stopping the site at any point loses nothing.
func TestPlatformFails(t *testing.T) {
	t.Parallel()
	c := newCourse(t, platforms.Options{})
	ctx := t.Context()
	c.restart(false)
	c.Fail("/jwks", 1)
	claims := c.Submission("u1", nil, c.Put("a1", "essay.txt", []byte(webtest.Folios)))
	c.send(http.StatusServiceUnavailable, claims) // the platform should send it again
	c.send(http.StatusOK, claims)
	c.restart(true) // accepted, and performed later
	for _, path := range []string{"/token", "/assets/a1", "/reports/p1"} {
		c.Fail(path, 2)
	}
	c.Await(ctx, "a1", lti.Processed, 0)
	c.awaitState("a1", store.LTIDone)
	if got := len(c.tasks()); got != 1 {
		t.Errorf("%d checks", got)
	}
	c.RevokeTokens()
	c.Rotate("key-2")
	// If a teacher asks again, a new notice about the same file repeats the result without a new check.
	c.restart(true) // with the old process, the new key would be unknown for a while
	c.send(http.StatusOK, c.Submission("u1", nil, c.Put("a1", "essay.txt", []byte(webtest.Folios))))
	c.Await(ctx, "a1", lti.Processed, 1)
	if got := len(c.tasks()); got != 1 {
		t.Errorf("%d checks", got)
	}
	// A file that does not match the platform's description is not checked; it is fetched again until it does.
	named := c.Put("swap", "swap.txt", []byte(webtest.Folios))
	c.Put("swap", "swap.txt", []byte("something else"))
	before := len(c.tasks())
	c.send(http.StatusOK, c.Submission("u1", nil, named))
	for c.Requests("/assets/swap") < 3 {
		c.awaitState("swap", store.LTIFetch)
	}
	if got := len(c.tasks()); got != before {
		t.Errorf("%d checks of %d", got, before)
	}
	c.Put("swap", "swap.txt", []byte(webtest.Folios))
	c.Await(ctx, "swap", lti.Processed, 0)
	// A failed file is fetched again on request.
	gone := map[string]any{"asset_id": "late", "url": c.URL + "/assets/late", "title": "late.txt"}
	c.send(http.StatusOK, c.Submission("u1", nil, gone))
	c.Await(ctx, "late", lti.Failed, 0)
	c.awaitState("late", store.LTIFailed)
	c.send(http.StatusOK, c.Submission("u1", nil, c.Put("late", "late.txt", []byte(webtest.Folios))))
	c.Await(ctx, "late", lti.Processed, 0)
}

// TestAssetPanics: a file that triggers a fault of the program fails once, without affecting others, and the platform is notified; if
// requested again, the file is checked.
func TestAssetPanics(t *testing.T) {
	t.Parallel()
	c := newCourse(t, platforms.Options{})
	ctx := t.Context()
	c.broken = true
	c.restart(true)
	c.send(http.StatusOK, c.Submission("u1", nil, c.Put("a1", "essay.txt", []byte(webtest.Folios))))
	c.Await(ctx, "a1", lti.Failed, 0)
	c.awaitState("a1", store.LTIFailed)
	c.broken = false
	c.restart(true)
	if n, told := c.panicked.Load(), c.log.String(); n != 1 || strings.Count(told, "msg=panic") != 1 || !strings.Contains(told, "download") {
		t.Errorf("%d panics were counted, want 1, logged with its stack:\n%s", n, told)
	}
	c.send(http.StatusOK, c.Submission("u1", nil, c.Put("a1", "essay.txt", []byte(webtest.Folios))))
	c.Await(ctx, "a1", lti.Processed, 0)
}

// TestLaunchAttacks: state and nonce belong to this browser and work only once, and roles come from the platform.
func TestLaunchAttacks(t *testing.T) {
	t.Parallel()
	c := newCourse(t, platforms.Options{})
	link := map[string]any{"sub": "t1", "/message_type": lti.TypeResourceLink, "/roles": []string{membership + "Instructor"}}
	status := func(b *http.Client, claims map[string]any, change func(url.Values)) int {
		t.Helper()
		resp := c.Launch(b, c.loginURL(), claims, change)
		resp.Body.Close()
		return resp.StatusCode
	}
	with := func(name string, v any) map[string]any {
		out := map[string]any{name: v}
		for k, v := range link {
			if k != name {
				out[k] = v
			}
		}
		return out
	}
	for name, claims := range map[string]map[string]any{
		"nonce": with("nonce", "another"), "deployment": with("/deployment_id", "2"),
		"learner": with("/roles", []string{membership + "Learner"}), "no role": with("/roles", nil),
		"audience": with("aud", "x"), "expired": with("exp", time.Now().Add(-time.Hour).Unix()),
	} {
		b := fresh(t)
		if got := status(b, claims, nil); got != http.StatusForbidden {
			t.Errorf("%s: %d", name, got)
		}
		c.get(b, "/lti/checks", http.StatusForbidden)
	}
	b := fresh(t)
	if got := status(b, link, func(f url.Values) { f.Set("state", "guess") }); got != http.StatusBadRequest {
		t.Errorf("guessed state: %d", got)
	}
	if got := status(b, link, func(f url.Values) { f.Set("id_token", "x.y.z") }); got != http.StatusBadRequest {
		t.Errorf("nonsense: %d", got)
	}
	if got := status(b, with("/message_type", "LtiStartProctoring"), nil); got != http.StatusBadRequest {
		t.Errorf("another message: %d", got)
	}
	// An answer works once, in the browser that requested it.
	at, form := c.Leave(b, c.loginURL(), link)
	send := func(b *http.Client) (int, string) {
		t.Helper()
		resp, err := b.PostForm(at, form)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(text)
	}
	if code, _ := send(b); code != http.StatusOK {
		t.Errorf("launch: %d", code)
	}
	if code, _ := send(b); code != http.StatusBadRequest {
		t.Errorf("replay: %d", code)
	}
	victim := fresh(t)
	status(victim, link, nil) // the victim now has another cookie
	_, form = c.Leave(b, c.loginURL(), link)
	if code, _ := send(victim); code != http.StatusForbidden {
		t.Errorf("in another browser: %d", code)
	}
	// A browser without cookies is shown a working alternative, and is not signed in.
	_, form = c.Leave(b, c.loginURL(), link)
	bare := fresh(t)
	code, page := send(bare)
	again := regexp.MustCompile(`href="(/lti/again\?key=[A-Z0-9]+)" target="_blank"`).FindStringSubmatch(page)
	if code != http.StatusOK || again == nil {
		t.Fatalf("without cookies: %d\n%s", code, page)
	}
	c.get(bare, "/lti/checks", http.StatusForbidden)
	bare.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if _, header := c.get(bare, again[1], http.StatusSeeOther); !strings.HasPrefix(header.Get("Location"), c.AuthURL()+"?") {
		t.Errorf("again leads to %s", header.Get("Location"))
	}
	c.get(bare, again[1], http.StatusNotFound)
	// Only known platforms can start a launch.
	for _, q := range []string{"", "?iss=https://evil.example&login_hint=x", "?iss=" + url.QueryEscape(c.URL) +
		"&client_id=other&login_hint=x", "?iss=" + url.QueryEscape(c.URL)} {
		resp, err := bare.Get(c.loginURL() + q)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusForbidden && resp.StatusCode != http.StatusBadRequest {
			t.Errorf("login%s: %d to %s", q, resp.StatusCode, resp.Header.Get("Location"))
		}
	}
}

// TestConfigure makes the site a processor of an activity; the teacher's choices apply to submissions to the activity.
func TestConfigure(t *testing.T) {
	t.Parallel()
	c := newCourse(t, platforms.Options{})
	ctx := t.Context()
	ask := map[string]any{"sub": "t1", "/message_type": lti.TypeDeepLinking, "/roles": []string{membership + "Instructor"},
		"https://purl.imsglobal.org/spec/lti-dl/claim/deep_linking_settings": map[string]any{"deep_link_return_url": c.URL + "/return",
			"accept_types": []string{lti.ItemProcessor}, "data": "d"},
		"/platformnotificationservice": map[string]any{"platform_notification_service_url": c.URL +
			"/notices", "notice_types_supported": []string{lti.NoticeSubmission}, "scope": []string{lti.ScopeNotices}}}
	teacher := fresh(t)
	page, at := c.open(teacher, ask, http.StatusOK)
	if !strings.Contains(page, `value="theses"`) || c.Handler(lti.NoticeSubmission) != c.noticeURL() {
		t.Fatalf("at %s, notices to %q:\n%s", at, c.Handler(lti.NoticeSubmission), page)
	}
	post := func(b *http.Client, f url.Values, want int) string {
		t.Helper()
		resp, err := b.PostForm(c.server.URL+"/lti/configure", f)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != want {
			t.Fatalf("%d, want %d, %v\n%s", resp.StatusCode, want, err, text)
		}
		if want == http.StatusOK && strings.Contains(string(text), `name="JWT"`) &&
			!strings.Contains(resp.Header.Get("Content-Security-Policy"), "form-action "+c.URL) {
			t.Errorf("policy %q", resp.Header.Get("Content-Security-Policy"))
		}
		return string(text)
	}
	f := url.Values{"key": {at.Query().Get("key")}, "library": {"none"}}
	post(teacher, f, http.StatusBadRequest)
	f["library"] = []string{"empty"}
	post(fresh(t), f, http.StatusForbidden)
	page = post(teacher, f, http.StatusOK)
	raw := regexp.MustCompile(`name="JWT" value="([^"]+)"`).FindStringSubmatch(page)
	var got map[string]any
	if raw == nil || !strings.Contains(page, `action="`+c.URL+`/return"`) {
		t.Fatalf("no answer:\n%s", page)
	}
	if err := c.FromTool(ctx, raw[1], &got); err != nil {
		t.Fatal(err)
	}
	item := got["https://purl.imsglobal.org/spec/lti-dl/claim/content_items"].([]any)[0].(map[string]any)
	custom := item["custom"].(map[string]any)
	if item["type"] != lti.ItemProcessor || got["https://purl.imsglobal.org/spec/lti-dl/claim/data"] != "d" {
		t.Errorf("answer %v", got)
	}

	// A comparison with an empty library finds nothing; then the choice is changed.
	c.send(http.StatusOK, c.Submission("u1", map[string]any{"/custom": custom}, c.Put("a1", "essay.txt", []byte(webtest.Folios))))
	if r := c.Await(ctx, "a1", lti.Processed, 0); r["result"] == "100%" {
		t.Errorf("report %v", r)
	}
	_, at = c.open(teacher, map[string]any{"sub": "t1", "/message_type": lti.TypeSettings, "/roles": ask["/roles"], "/custom": custom},
		http.StatusOK)
	post(teacher, url.Values{"key": {at.Query().Get("key")}, "library": {"theses"}, "template": {"thesis"}}, http.StatusOK)
	c.send(http.StatusOK, c.Submission("u1", map[string]any{"/custom": custom}, c.Put("a2", "essay.txt", []byte(webtest.Folios))))
	if r := c.Await(ctx, "a2", lti.Processed, 0); r["result"] != "100%" {
		t.Errorf("report %v", r)
	}

	for name, change := range map[string]map[string]any{
		"learner": {"/roles": []string{membership + "Learner"}},
		"other kinds": {"https://purl.imsglobal.org/spec/lti-dl/claim/deep_linking_settings": map[string]any{"deep_link_return_url": c.URL,
			"accept_types": []string{"link"}}},
		"another host": {"https://purl.imsglobal.org/spec/lti-dl/claim/deep_linking_settings": map[string]any{"deep_link_return_url": "https://evil.example/", "accept_types": []string{lti.ItemProcessor}}},
		"no notices":   {"/platformnotificationservice": nil},
		"notices inside": {"/platformnotificationservice": map[string]any{"platform_notification_service_url": "http://127.0.0.1:1/",
			"notice_types_supported": []string{lti.NoticeSubmission}}},
	} {
		claims := map[string]any{}
		for k, v := range ask {
			claims[k] = v
		}
		for k, v := range change {
			claims[k] = v
		}
		resp := c.Launch(fresh(t), c.loginURL(), claims, nil)
		resp.Body.Close()
		if resp.StatusCode/100 != 4 {
			t.Errorf("%s: %d", name, resp.StatusCode)
		}
	}
}

// TestHandInWithinCourse: on a platform without asset processors, teachers submit through a link.
func TestHandInWithinCourse(t *testing.T) {
	t.Parallel()
	c := newCourse(t, platforms.Options{})
	b := fresh(t)
	c.open(b, map[string]any{"sub": "t1", "/message_type": lti.TypeResourceLink, "/roles": []string{membership + "Instructor"}}, http.StatusOK)
	teacher := &webtest.Person{T: t, Client: b, Base: c.server.URL}
	r := teacher.Request(http.MethodPost, "/lti/checks",
		strings.NewReader("--b\r\nContent-Disposition: form-data; name=\"text\"\r\n\r\n"+webtest.Folios+"\r\n--b\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\nMine\r\n--b--\r\n"))
	r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
	if page := teacher.Send(r, http.StatusOK); !strings.Contains(page, "Mine") {
		t.Errorf("list:\n%s", page)
	}
	r = teacher.Request(http.MethodPost, "/lti/checks", strings.NewReader("--b--\r\n"))
	r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
	teacher.Send(r, http.StatusBadRequest)
	r = teacher.Request(http.MethodPost, "/lti/checks", nil)
	r.Header.Set("Origin", "https://evil.example")
	teacher.Send(r, http.StatusForbidden)
}

// TestRegisterPlatform registers a platform by hand, and lets a platform register itself with a single-use link.
func TestRegisterPlatform(t *testing.T) {
	t.Parallel()
	c := newCourse(t, platforms.Options{})
	p := ltitest.New(t)
	admin := (&webtest.Site{Server: c.server, Store: c.db}).SignedIn(t, "adam", store.RoleAdministrator)
	page := admin.Post("/platforms", http.StatusOK, url.Values{"action": {"link"}})
	link := regexp.MustCompile(`/lti/register\?key=([A-Z0-9]+)`).FindStringSubmatch(page)
	if link == nil {
		t.Fatalf("no link:\n%s", page)
	}
	offer := p.URL + "/.well-known/openid-configuration"
	nobody := &webtest.Person{T: t, Client: fresh(t), Base: c.server.URL}
	nobody.Get("/lti/register?key=guess&openid_configuration="+url.QueryEscape(offer), http.StatusNotFound)
	if page := nobody.Get(link[0]+"&registration_token=register-me&openid_configuration="+url.QueryEscape(offer),
		http.StatusOK); !strings.Contains(page, p.URL) {
		t.Errorf("no question:\n%s", page)
	}
	f := url.Values{"key": {link[1]}, "openid_configuration": {offer}, "registration_token": {"register-me"}}
	nobody.Post("/lti/register", http.StatusOK, f)
	nobody.Post("/lti/register", http.StatusNotFound, f)
	found, err := c.db.LTI.LTIIssuer(t.Context(), p.URL, ltitest.Client)
	if err != nil || len(found) != 1 || found[0].Deployments[0] != ltitest.Deployment {
		t.Fatalf("found %v, %v", found, err)
	}
	id := found[0].ID
	by := url.Values{"action": {"add"}, "id": {"canvas"}, "issuer": {"https://canvas.example.com"}, "client": {"100"},
		"auth_url":  {"https://sso.example.com/a"},
		"token_url": {"https://sso.example.com/t"}, "keys_url": {"https://sso.example.com/k"}, "deployments": {"1:a, 2:b"}}
	admin.Post("/platforms", http.StatusOK, by)
	admin.Post("/platforms", http.StatusBadRequest, by)
	by.Set("keys_url", "nonsense")
	by.Set("id", "other")
	if page := admin.Post("/platforms", http.StatusBadRequest, by); !strings.Contains(page, "https://canvas.example.com") {
		t.Errorf("what was typed is gone:\n%s", page)
	}
	admin.Post("/platforms", http.StatusOK, url.Values{"action": {"disable"}, "id": {id}})
	admin.Post("/platforms", http.StatusOK, url.Values{"action": {"deployments"}, "id": {id}, "deployments": {"7"}})
	if p, err := c.db.LTI.LTIPlatform(t.Context(), id); err != nil || !p.Disabled || p.Deployments[0] != "7" {
		t.Errorf("platform %v, %v", p, err)
	}
	admin.Post("/platforms", http.StatusOK, url.Values{"action": {"remove"}, "id": {id}})
	// Programs do the same with a token of that scope.
	prog := admin.Program("platforms")
	body := `{"id":"brightspace","issuer":"https://d2l.example.edu","client":"7","auth_url":"https://d2l.example.edu/a","token_url":"https://d2l.example.edu/t","keys_url":"https://d2l.example.edu/k","deployments":["d"]}`
	prog.Exchange(http.MethodPost, "/lti/platforms", body, http.StatusCreated)
	prog.Exchange(http.MethodPost, "/lti/platforms", body, http.StatusConflict)
	if got := prog.Exchange(http.MethodPatch, "/lti/platforms/brightspace", `{"disabled":true,"deployments":["x"]}`,
		http.StatusOK); got["disabled"] != true || got["deployments"].([]any)[0] != "x" {
		t.Errorf("changed to %v", got)
	}
	if got := prog.Exchange(http.MethodGet, "/lti/platforms?limit=1", "", http.StatusOK); got["next"] == nil ||
		len(got["platforms"].([]any)) != 1 {
		t.Errorf("got %v", got)
	}
	prog.Exchange(http.MethodDelete, "/lti/platforms/brightspace", "", http.StatusNoContent)
	prog.Exchange(http.MethodDelete, "/lti/platforms/brightspace", "", http.StatusNotFound)
	officer := (&webtest.Site{Server: c.server, Store: c.db}).SignedIn(t, "olga", store.RoleOfficer)
	officer.Program("platforms").Exchange(http.MethodGet, "/lti/platforms", "", http.StatusForbidden)
	officer.Get("/platforms", http.StatusForbidden)
	officer.Post("/platforms", http.StatusForbidden, by)
}
