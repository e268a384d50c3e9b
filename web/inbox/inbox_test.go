package inbox_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"concordat"
	"concordat/harvest/fetch"
	"concordat/internal/webtest"
	"concordat/site"
	"concordat/store"
	views "concordat/view"
	"concordat/web"
)

const siteBase = "https://check.example.edu"

// repository simulates another program, with works and an inbox.
type repository struct {
	*httptest.Server
	mu    sync.Mutex
	got   []map[string]any // guarded by mu, like the fields below
	raw   [][]byte
	fail  int // status of the inbox's answers, if not 0
	asked map[string]int
}

func newRepository(t *testing.T) *repository {
	t.Helper()
	r := &repository{asked: map[string]int{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, q *http.Request) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.asked[q.URL.Path]++
		switch q.URL.Path {
		case "/robots.txt":
			_, _ = io.WriteString(rw, "User-agent: *\nDisallow: /\n")
		case "/paper/1":
			rw.Header().Set("Content-Type", "text/html; charset=utf-8")
			rw.Header().Set("Link", `</paper/1/text.txt>; rel="item"; type="text/plain", <http://169.254.169.254/x.pdf>; rel="item"; type="application/pdf"`)
			_, _ = io.WriteString(rw, "<title>A work</title>")
		case "/paper/2":
			rw.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(rw, `<meta name="citation_pdf_url" content="http://169.254.169.254/x.pdf">`)
		case "/paper/1/text.txt":
			rw.Header().Set("Content-Type", "text/plain")
			_, _ = io.WriteString(rw, webtest.Folios)
		case "/bitstreams/7/content": // as repositories serve files
			rw.Header().Set("Content-Type", "application/octet-stream")
			_, _ = io.WriteString(rw, webtest.Folios)
		case "/picture":
			rw.Header().Set("Content-Type", "image/png")
			_, _ = io.WriteString(rw, "x")
		case "/down.txt":
			rw.WriteHeader(http.StatusInternalServerError)
		case "/large.txt":
			rw.Header().Set("Content-Type", "text/plain")
			_, _ = rw.Write(make([]byte, 1<<20+1))
		case "/blank.txt":
			rw.Header().Set("Content-Type", "text/plain")
			_, _ = io.WriteString(rw, " \n ")
		case "/inbox":
			b, err := io.ReadAll(q.Body)
			one := map[string]any{}
			if err = errorsFirst(err, json.Unmarshal(b, &one)); err != nil || q.Method != http.MethodPost ||
				!strings.HasPrefix(q.Header.Get("Content-Type"), "application/ld+json") {
				t.Errorf("%s of %s: %v: %s", q.Method, q.Header.Get("Content-Type"), err, b)
			}
			if r.fail != 0 {
				rw.WriteHeader(r.fail)
				return
			}
			r.got, r.raw = append(r.got, one), append(r.raw, b)
			rw.WriteHeader(http.StatusCreated)
		default:
			http.NotFound(rw, q)
		}
	}))
	webtest.After(t, r.Close)
	return r
}

func errorsFirst(all ...error) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}

// answers returns the notifications that the inbox received since the last call.
func (r *repository) answers() []map[string]any {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.got
	r.got = nil
	return out
}

func (r *repository) failing(code int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fail = code
}

// types returns the types of activities, one word each.
func types(all []map[string]any) (out []string) {
	for _, a := range all {
		out = append(out, strings.Trim(strings.ReplaceAll(fmt.Sprint(a["type"]), "coar-notify:", ""), "[]"))
	}
	return out
}

// offer returns a request from the repository for a review.
func (r *repository) offer(id string, change ...func(map[string]any)) map[string]any {
	a := map[string]any{
		"@context": []string{"https://www.w3.org/ns/activitystreams", "https://coar-notify.net"},
		"id":       id, "type": []string{"Offer", "coar-notify:ReviewAction"},
		"actor":  map[string]any{"id": "https://orcid.org/0000-0002-1825-0097", "type": "Person", "name": "Secret Writer"},
		"origin": map[string]any{"id": r.URL + "/", "type": "Service", "inbox": r.URL + "/inbox"},
		"target": map[string]any{"id": siteBase, "type": "Service", "inbox": siteBase + "/api/v1/inbox"},
		"object": map[string]any{"id": r.URL + "/paper/1", "type": []string{"Page", "sorg:AboutPage"},
			"ietf:cite-as": "https://doi.org/10.5555/12345680"},
	}
	for _, c := range change {
		c(a)
	}
	return a
}

// object sets the address of a page and, if item is not empty, of its text.
func object(page, item string) func(map[string]any) {
	return func(a map[string]any) {
		o := map[string]any{"id": page, "type": []string{"Page", "sorg:AboutPage"}}
		if item != "" {
			o["ietf:item"] = map[string]any{"id": item, "mediaType": "text/plain", "type": []string{"Article", "sorg:ScholarlyArticle"}}
		}
		a["object"] = o
	}
}

// notify sends a notification and returns its address.
func notify(p *webtest.Program, a any, want int, change ...func(*http.Request)) string {
	p.T.Helper()
	b, err := json.Marshal(a)
	if err != nil {
		p.T.Fatal(err)
	}
	r, err := http.NewRequestWithContext(p.T.Context(), http.MethodPost, p.Base+"/api/v1/inbox", strings.NewReader(string(b)))
	if err != nil {
		p.T.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+p.Token)
	r.Header.Set("Content-Type", `application/ld+json;profile="https://www.w3.org/ns/activitystreams"`)
	for _, c := range change {
		c(r)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		p.T.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, _ := io.ReadAll(resp.Body) // only for the error message
	if resp.StatusCode != want {
		p.T.Errorf("%s: %d, want %d: %s", b, resp.StatusCode, want, text)
	}
	return strings.TrimPrefix(resp.Header.Get("Location"), siteBase)
}

// newInboxSite creates a site to which a repository may send notifications.
func newInboxSite(t *testing.T, idle bool, change ...func(*web.Options)) (*webtest.Site, *repository, *webtest.Person, *webtest.Program) {
	t.Helper()
	d := webtest.NewWith(t, idle, func(o *web.Options) {
		o.Base = siteBase
		o.Harvest = fetch.New(fetch.Options{Agent: "concordat/test", Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
		for _, c := range change {
			c(o)
		}
	})
	r := newRepository(t)
	eve := d.SignedIn(t, "eve", store.RoleSubmitter)
	return d, r, eve, eve.ProgramOf(url.Values{"name": {"repository"}, "scope": {"inbox"}, "origins": {r.URL}})
}

// Settle does everything that is due, and waits for the checks.
func Settle(t *testing.T, d *webtest.Site) map[string]concordat.TaskID {
	t.Helper()
	d.Inbox.Step(t.Context())
	ids := d.Await(t)
	d.Inbox.Step(t.Context())
	return ids
}

// TestInboxChecks: a repository finds the inbox and requests a review. It is notified first that the request is tentatively accepted,
// then that it is accepted, and finally of the check's address. The check belongs to the token's account.
func TestInboxChecks(t *testing.T) {
	t.Parallel()
	d, r, eve, prog := newInboxSite(t, false)
	resp, err := http.Head(d.URL + "/login")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if got, want := resp.Header.Get("Link"), `<`+siteBase+`/api/v1/inbox>; rel="http://www.w3.org/ns/ldp#inbox"`; got != want {
		t.Errorf("Link is %s, want %s", got, want)
	}
	at := notify(prog, r.offer("urn:uuid:1"), http.StatusCreated)
	if again := notify(prog, r.offer("urn:uuid:1"), http.StatusCreated); again != at || at == "" {
		t.Errorf("first at %q, then at %q", at, again)
	}
	ids := Settle(t, d)
	got := r.answers()
	if d := fmt.Sprint(types(got)); d != "[TentativeAccept Accept Announce ReviewAction]" {
		t.Fatalf("answers: %s", d)
	}
	if len(ids) == 0 {
		t.Fatal("no check")
	}
	tasks, err := d.Store.Checks.Tasks(t.Context(), 0, 0)
	if err != nil || len(tasks) != 1 || tasks[0].Owner != "eve" {
		t.Fatalf("got %+v, %v", tasks, err)
	}
	for i, a := range got {
		if a["inReplyTo"] != "urn:uuid:1" || a["origin"].(map[string]any)["inbox"] != siteBase+"/api/v1/inbox" ||
			a["target"].(map[string]any)["inbox"] != r.URL+"/inbox" {
			t.Errorf("answer %d: %v", i, a)
		}
	}
	if id := got[2]["object"].(map[string]any)["id"]; id != siteBase+"/checks/"+string(tasks[0].ID) {
		t.Errorf("the check is at %v", id)
	}
	if of := got[2]["context"].(map[string]any)["ietf:cite-as"]; of != "https://doi.org/10.5555/12345680" {
		t.Errorf("the review is of %v", got[2]["context"])
	}
	if of := got[1]["object"].(map[string]any); of["id"] != "urn:uuid:1" || of["@context"] != nil {
		t.Errorf("accepted is %v", of)
	}
	eve.Get("/checks/"+string(tasks[0].ID), http.StatusOK)
	var list struct{ Contains []string }
	prog.Call(http.MethodGet, "/api/v1/inbox", http.StatusOK, &list)
	if len(list.Contains) != 1 || list.Contains[0] != siteBase+at {
		t.Errorf("the inbox holds %v", list)
	}
	var one map[string]any
	prog.Call(http.MethodGet, at, http.StatusOK, &one)
	if one["id"] != "urn:uuid:1" {
		t.Errorf("got %v", one)
	}
	if n := d.Actions(t); n["notification"] != 1 || n["check_submitted"] != 1 {
		t.Errorf("actions: %v", n)
	}
	validate(t, r.raw)
	// Deleting the check also deletes the record of the request's sender and object.
	if _, err := d.Store.Retention.EraseTask(t.Context(), tasks[0].ID); err != nil {
		t.Fatal(err)
	}
	prog.Call(http.MethodGet, at, http.StatusNotFound, nil)
}

// validate checks the site's messages with another implementation of the protocol (coarnotify on PyPI), if CONCORDAT_COARNOTIFY is the
// path of a Python that has it installed.
func validate(t *testing.T, all [][]byte) {
	t.Helper()
	python := os.Getenv("CONCORDAT_COARNOTIFY")
	if python == "" {
		return
	}
	for i, b := range all {
		name := filepath.Join(t.TempDir(), "notification.json")
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), python, "-c", `import json, sys
from coarnotify.factory import COARNotifyFactory
n = COARNotifyFactory.get_by_object(json.load(open(sys.argv[1])))
n.validate()
print(type(n).__name__)`, name).CombinedOutput()
		t.Logf("message %d: %s", i, out)
		if err != nil {
			t.Errorf("message %d is refused: %v\n%s\n%s", i, err, out, b)
		}
	}
}

// TestInboxRefuses: anything that a token does not list or the protocol does not allow is refused, immediately or in an answer.
func TestInboxRefuses(t *testing.T) {
	t.Parallel()
	d, r, eve, prog := newInboxSite(t, false)
	without := func(key string) func(map[string]any) { return func(a map[string]any) { delete(a, key) } }
	origin := func(id, inbox string) func(map[string]any) {
		return func(a map[string]any) { a["origin"] = map[string]any{"id": id, "inbox": inbox, "type": "Service"} }
	}
	for _, key := range []string{"@context", "id", "type", "origin", "target", "object"} {
		notify(prog, r.offer("urn:uuid:x", without(key)), http.StatusBadRequest)
	}
	for _, bad := range []func(map[string]any){
		origin("https://elsewhere.example", r.URL+"/inbox"), origin(r.URL, "https://elsewhere.example/inbox"),
		origin(r.URL+"0/x", r.URL+"/inbox"), origin(strings.Replace(r.URL, "http:", "https:", 1), r.URL+"/inbox"),
		origin(r.URL+"@elsewhere.example/", r.URL+"/inbox"),
	} {
		notify(prog, r.offer("urn:uuid:x", bad), http.StatusForbidden)
	}
	notify(prog, r.offer("no URI", func(map[string]any) {}), http.StatusBadRequest)
	notify(prog, []string{"x"}, http.StatusUnprocessableEntity)
	notify(prog, r.offer("urn:uuid:x"), http.StatusUnsupportedMediaType, func(q *http.Request) { q.Header.Set("Content-Type", "text/turtle") })
	notify(prog, r.offer("urn:uuid:x"), http.StatusUnauthorized, func(q *http.Request) { q.Header.Del("Authorization") })
	if n, err := d.Store.Notifications.ListNotifications(t.Context(), "", 0, 0); err != nil || len(n) > 0 {
		t.Errorf("taken: %+v, %v", n, err)
	}
	// For programs that cannot set headers, the address can contain the token, but only if the token permits nothing else.
	inAddress := func(token string) func(*http.Request) {
		return func(q *http.Request) {
			q.Header.Del("Authorization")
			q.URL.RawQuery = url.Values{"key": {token}}.Encode()
		}
	}
	notify(prog, r.offer("urn:uuid:key"), http.StatusCreated, inAddress(prog.Token))
	more := eve.ProgramOf(url.Values{"name": {"more"}, "scope": {"inbox", "read"}, "origins": {r.URL}})
	notify(more, r.offer("urn:uuid:key2"), http.StatusForbidden, inAddress(more.Token))
	q, err := http.Get(d.URL + "/api/v1/inbox?key=" + prog.Token)
	if err != nil {
		t.Fatal(err)
	}
	_ = q.Body.Close()
	if q.StatusCode != http.StatusUnauthorized {
		t.Errorf("reading with the token in the address: %d", q.StatusCode)
	}
	Settle(t, d)
	r.answers()

	for name, c := range map[string]struct {
		change func(map[string]any)
		want   string
		words  string
	}{
		"gone":     {object(r.URL+"/nowhere", ""), "[TentativeAccept Reject]", "404"},
		"private":  {object("http://169.254.169.254/latest", ""), "[TentativeAccept Reject]", "not public"},
		"indirect": {object(r.URL+"/paper/2", ""), "[TentativeAccept Reject]", "not public"},
		"large":    {object(r.URL+"/paper/9", r.URL+"/large.txt"), "[TentativeAccept Reject]", ""},
		"stated":   {object(r.URL+"/paper/9", r.URL+"/bitstreams/7/content"), "[TentativeAccept Accept Announce ReviewAction]", ""},
		"unstated": {object(r.URL+"/bitstreams/7/content", ""), "[TentativeAccept Reject]", "cannot be read as text: application/octet-stream"},
		"several": {func(a map[string]any) {
			o := map[string]any{"id": r.URL + "/nowhere", "type": "Page"}
			o["ietf:item"] = []any{map[string]any{"id": r.URL + "/picture"}, r.URL + "/gone.pdf"}
			a["object"] = o
		}, "[TentativeAccept Reject]", r.URL + "/picture cannot be read as text: image/png. " + r.URL + "/gone.pdf cannot be read: the server responded with 404 Not Found. " +
			r.URL + "/nowhere cannot be read: the server responded with 404 Not Found."},
		"blank":   {object(r.URL+"/paper/9", r.URL+"/blank.txt"), "[TentativeAccept Accept Announce ReviewAction]", ""},
		"no text": {object("urn:isbn:1", ""), "[Flag UnprocessableNotification]", "neither a text"},
		"announce": {func(a map[string]any) { a["type"] = []string{"Announce", "coar-notify:ReviewAction"} },
			"[Flag UnprocessableNotification]", "accepts requests"},
		"ingest": {func(a map[string]any) { a["type"] = []string{"Offer", "coar-notify:IngestAction"} },
			"[Flag UnprocessableNotification]", "accepts requests"},
		"undo of nothing": {func(a map[string]any) { a["type"], a["object"] = "Undo", "urn:uuid:never" },
			"[Flag UnprocessableNotification]", "No request"},
		"flag":   {func(a map[string]any) { a["type"] = []string{"Flag", "coar-notify:UnprocessableNotification"} }, "[]", ""},
		"accept": {func(a map[string]any) { a["type"] = "Accept" }, "[]", ""},
		"endorsement": {func(a map[string]any) { a["type"] = []string{"Offer", "coar-notify:EndorsementAction"} },
			"[TentativeAccept Accept Announce ReviewAction]", ""},
	} {
		notify(prog, r.offer("urn:uuid:"+url.PathEscape(name), c.change), http.StatusCreated)
		Settle(t, d)
		got := r.answers()
		if s := fmt.Sprint(types(got)); s != c.want {
			t.Errorf("%s: %s, want %s", name, s, c.want)
		} else if c.words != "" && !strings.Contains(fmt.Sprint(got[len(got)-1]["summary"]), c.words) {
			t.Errorf("%s: %v", name, got[len(got)-1]["summary"])
		}
	}
	validate(t, r.raw)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asked["/robots.txt"] > 0 {
		t.Error("the sender's own robots.txt was asked")
	}
}

// TestInboxScopes: another account's token permits only the use of the inbox, and shows only that account's notifications.
func TestInboxScopes(t *testing.T) {
	t.Parallel()
	d, r, _, prog := newInboxSite(t, false)
	at := notify(prog, r.offer("urn:uuid:1"), http.StatusCreated)
	Settle(t, d)
	tasks, err := d.Store.Checks.Tasks(t.Context(), 0, 0)
	if err != nil || len(tasks) != 1 {
		t.Fatalf("got %+v, %v", tasks, err)
	}
	id := string(tasks[0].ID)
	for _, path := range []string{"/me", "/checks", "/checks/" + id, "/checks/" + id + "/report", "/libraries", "/tokens", "/webhooks"} {
		prog.Call(http.MethodGet, "/api/v1"+path, http.StatusForbidden, nil)
	}
	mallory := d.SignedIn(t, "mallory", store.RoleOfficer)
	other := mallory.ProgramOf(url.Values{"name": {"x"}, "scope": {"inbox"}, "origins": {r.URL}})
	other.Call(http.MethodGet, at, http.StatusNotFound, nil)
	var list struct{ Contains []string }
	if other.Call(http.MethodGet, "/api/v1/inbox", http.StatusOK, &list); len(list.Contains) > 0 {
		t.Errorf("another account sees %v", list)
	}
	// Another account can neither withdraw the request nor object to other accounts' answers.
	notify(other, r.offer("urn:uuid:u", func(a map[string]any) { a["type"], a["object"] = "Undo", "urn:uuid:1" }), http.StatusCreated)
	reader := mallory.Program("read", "check", "review", "documents", "tokens", "hooks")
	for _, path := range []string{"/api/v1/inbox", at} {
		reader.Call(http.MethodGet, path, http.StatusForbidden, nil)
	}
	notify(reader, r.offer("urn:uuid:2"), http.StatusForbidden)
	// The scope requires origins, and other scopes must not have any; a token cannot grant an origin that it lacks.
	for _, f := range []url.Values{{"name": {"x"}, "scope": {"inbox"}}, {"name": {"x"}, "scope": {"read"}, "origins": {r.URL}},
		{"name": {"x"}, "scope": {"inbox"}, "origins": {"repository.example"}},
		{"name": {"x"}, "scope": {"inbox"}, "origins": {"https://a@b.example"}}} {
		mallory.Post("/account/tokens", http.StatusBadRequest, f)
	}
	maker := mallory.ProgramOf(url.Values{"name": {"x"}, "scope": {"inbox", "tokens"}, "origins": {r.URL}})
	maker.Exchange(http.MethodPost, "/tokens", `{"name":"y","scopes":["inbox"],"origins":["https://elsewhere.example"]}`, http.StatusForbidden)
	maker.Exchange(http.MethodPost, "/tokens", `{"name":"y","scopes":["inbox"],"origins":["`+r.URL+`/"]}`, http.StatusCreated)
}

// TestInboxUndo: a withdrawn request is neither checked nor answered.
func TestInboxUndo(t *testing.T) {
	t.Parallel()
	d, r, eve, prog := newInboxSite(t, false)
	undo := func(id, of string) map[string]any {
		o := r.offer(of)
		delete(o, "@context")
		return r.offer(id, func(a map[string]any) {
			a["type"], a["object"], a["inReplyTo"], a["summary"] = "Undo", o, of, "A mistake"
		})
	}
	at := notify(prog, r.offer("urn:uuid:1"), http.StatusCreated)
	// Another origin of the same account cannot withdraw it.
	both := eve.ProgramOf(url.Values{"name": {"both"}, "scope": {"inbox"}, "origins": {r.URL + " https://other.example"}})
	foreign := undo("urn:uuid:0", "urn:uuid:1")
	foreign["origin"] = map[string]any{"id": "https://other.example/", "type": "Service", "inbox": r.URL + "/inbox"}
	notify(both, foreign, http.StatusCreated)
	notify(prog, undo("urn:uuid:2", "urn:uuid:1"), http.StatusCreated)
	Settle(t, d)
	if got := r.answers(); len(got) != 1 || got[0]["inReplyTo"] != "urn:uuid:0" {
		t.Errorf("answers: %v", got)
	}
	n, err := d.Store.Notifications.Notification(t.Context(), strings.TrimPrefix(at, "/api/v1/inbox/"))
	if err != nil || n.State != store.NotificationWithdrawn || n.Cause != "A mistake" {
		t.Errorf("got %+v, %v", n, err)
	}
	if tasks, err := d.Store.Checks.Tasks(t.Context(), 0, 0); err != nil || len(tasks) > 0 {
		t.Errorf("checks: %+v, %v", tasks, err)
	}
	notify(prog, undo("urn:uuid:2b", "urn:uuid:1"), http.StatusCreated) // a repetition is not an error
	if Settle(t, d); len(r.answers()) > 0 {
		t.Error("a second withdrawal is answered")
	}
	notify(prog, r.offer("urn:uuid:3"), http.StatusCreated)
	Settle(t, d)
	notify(prog, undo("urn:uuid:4", "urn:uuid:3"), http.StatusCreated)
	Settle(t, d)
	got := r.answers()
	if s := types(got); len(s) != 4 || s[3] != "Flag UnprocessableNotification" ||
		got[3]["summary"] != "The request has ended and can no longer be withdrawn." {
		t.Errorf("answers: %v", got)
	}
	validate(t, r.raw)
}

// TestInboxUndoAgain: if a check could not be cancelled when its request was withdrawn, it is cancelled when the withdrawal is repeated.
func TestInboxUndoAgain(t *testing.T) {
	t.Parallel()
	d, r, _, prog := newInboxSite(t, true)
	notify(prog, r.offer("urn:uuid:1"), http.StatusCreated)
	d.Inbox.Step(t.Context())
	tasks, err := d.Store.Checks.Tasks(t.Context(), 0, 0)
	if err != nil || len(tasks) != 1 {
		t.Fatalf("got %+v, %v", tasks, err)
	}
	undo := r.offer("urn:uuid:2", func(a map[string]any) { a["type"], a["object"] = "Undo", "urn:uuid:1" })
	d.SQL(t, `ALTER TABLE task RENAME TO away`)
	notify(prog, undo, http.StatusInternalServerError)
	d.SQL(t, `ALTER TABLE away RENAME TO task`)
	if n, err := d.Store.Notifications.NotificationOf(t.Context(), "eve", "urn:uuid:1"); err != nil || n.State != store.NotificationWithdrawn {
		t.Fatalf("got %+v, %v", n, err)
	}
	notify(prog, undo, http.StatusCreated)
	if got, err := d.Store.Checks.Task(t.Context(), tasks[0].ID); err != nil || got.Cause.Code != store.CauseCancelled {
		t.Errorf("got %+v, %v", got, err)
	}
}

// TestInboxPages: the page of the inbox links to earlier notifications.
func TestInboxPages(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	ada := d.SignedIn(t, "ada", store.RoleAdministrator)
	for i := range 101 {
		n := store.Notification{ID: fmt.Sprint("n", i), Account: "ada", Activity: fmt.Sprint("urn:uuid:", i), Kind: "Announce",
			Object: fmt.Sprintf("https://repository.example.edu/items/%d", 1000+i), Body: []byte(`{}`), State: store.NotificationNoted,
			Made: time.Now()}
		if _, _, err := d.Store.Notifications.TakeNotification(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	first := ada.Get("/admin/inbox", http.StatusOK)
	if n := strings.Count(first, "/items/1"); n != 100 || strings.Contains(first, "/items/1000") {
		t.Errorf("%d on the first page", n)
	}
	at := regexp.MustCompile(`rel="next" href="([^"]+)"`).FindStringSubmatch(first)
	if at == nil {
		t.Fatalf("no way to earlier ones:\n%s", first)
	}
	if second := ada.Get(at[1], http.StatusOK); strings.Count(second, "/items/1") != 1 || !strings.Contains(second, "/items/1000") ||
		strings.Contains(second, `rel="next"`) {
		t.Errorf("the second page:\n%s", second)
	}
}

// TestInboxAnswersAgain: an answer that is not delivered is retried, in order, then abandoned and shown on a page, and finally resent on
// request.
func TestInboxAnswersAgain(t *testing.T) {
	t.Parallel()
	d, r, _, prog := newInboxSite(t, false)
	ada := d.SignedIn(t, "ada", store.RoleAdministrator)
	r.failing(http.StatusServiceUnavailable)
	at := strings.TrimPrefix(notify(prog, r.offer("urn:uuid:1"), http.StatusCreated), "/api/v1/inbox/")
	Settle(t, d)
	rs, err := d.Store.Notifications.NotificationAnswers(t.Context(), at)
	if err != nil || len(rs) != 3 || rs[0].Attempts != 1 || rs[1].Attempts != 0 || rs[0].Status != http.StatusServiceUnavailable ||
		rs[0].State != store.DeliveryPending || !rs[0].Due.After(time.Now()) {
		t.Fatalf("got %+v, %v", rs, err)
	}
	if page := ada.Get("/admin/inbox", http.StatusOK); !strings.Contains(page, "503") || !strings.Contains(page, ">tentatively accepted<") ||
		!strings.Contains(page, "asks for a review") || strings.Contains(page, ">TentativeAccept<") ||
		strings.Contains(page, "Send again") {
		t.Errorf("the page:\n%s", page)
	}
	r.failing(http.StatusGone)
	d.SQL(t, `UPDATE notification_answer SET due = 0`)
	Settle(t, d)
	if rs, err = d.Store.Notifications.NotificationAnswers(t.Context(), at); err != nil || slices.ContainsFunc(rs,
		func(r store.NotificationAnswer) bool { return r.State != store.DeliveryDead }) {
		t.Errorf("got %+v, %v", rs, err)
	}
	if page := ada.Get("/admin/inbox", http.StatusOK); !strings.Contains(page, "Send again") {
		t.Errorf("the page:\n%s", page)
	}
	admin := ada.Program("read", "settings")
	var list struct{ Notifications []views.Notification }
	admin.Call(http.MethodGet, "/api/v1/admin/inbox", http.StatusOK, &list)
	if all := list.Notifications; len(all) != 1 || all[0].ID != at || all[0].Account != "eve" || !all[0].Dead() || all[0].Check == "" ||
		all[0].Answers[0].Status != http.StatusGone {
		t.Errorf("got %+v", all)
	}
	var one views.Notification
	admin.Call(http.MethodPost, "/api/v1/admin/inbox/"+at+"/replay", http.StatusAccepted, &one)
	if one.Dead() || len(one.Answers) != 3 || one.Answers[0].State != store.DeliveryPending {
		t.Errorf("got %+v", one)
	}
	Settle(t, d)
	admin.Call(http.MethodGet, "/api/v1/admin/inbox/"+at, http.StatusOK, &one)
	if !one.Dead() {
		t.Errorf("got %+v", one)
	}
	admin.Call(http.MethodPost, "/api/v1/admin/inbox/none/replay", http.StatusNotFound, nil)
	r.failing(0)
	ada.Post("/admin/inbox", http.StatusOK, url.Values{"action": {"replay"}, "id": {at}})
	ada.Post("/admin/inbox", http.StatusNotFound, url.Values{"action": {"replay"}, "id": {"none"}})
	Settle(t, d)
	var none webtest.Problem
	admin.Call(http.MethodPost, "/api/v1/admin/inbox/"+at+"/replay", http.StatusConflict, &none)
	if !strings.Contains(none.Detail, "nothing to send again") {
		t.Errorf("a notification of which no answer was given up: %+v", none)
	}
	if got := fmt.Sprint(types(r.answers())); got != "[TentativeAccept Accept Announce ReviewAction]" {
		t.Errorf("answers: %s", got)
	}
	d.SignedIn(t, "una", store.RoleAuditor).Get("/admin/inbox", http.StatusOK)
}

// TestInboxGivesUp: a request that keeps failing is eventually refused, with the kind of reason but no details.
func TestInboxGivesUp(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text  string
		bytes int64 // quota of the account
		full  bool  // the disk is full
		want  string
	}{
		"text":  {"/down.txt", 0, false, "The text could not be fetched."},
		"quota": {"/paper/1/text.txt", 10, false, "The account has reached a limit."},
		"disk":  {"/paper/1/text.txt", 0, true, "The request could not be completed."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, r, _, prog := newInboxSite(t, true, func(o *web.Options) { o.Policy.Accounts.Quota.Bytes = c.bytes })
			d.Full.Store(c.full)
			notify(prog, r.offer("urn:uuid:1", object(r.URL+"/paper/9", r.URL+c.text)), http.StatusCreated)
			d.SQL(t, `UPDATE notification SET attempts = 11`)
			d.Inbox.Step(t.Context())
			got := r.answers()
			if s := fmt.Sprint(types(got)); s != "[TentativeAccept Reject]" || got[1]["summary"] != c.want {
				t.Errorf("%s: %v", s, got)
			}
		})
	}
}

// TestInboxCheckFails: a failed check is answered with a refusal and the reason; nothing is sent while the account is disabled.
func TestInboxCheckFails(t *testing.T) {
	t.Parallel()
	d, r, _, prog := newInboxSite(t, true)
	ctx := t.Context()
	notify(prog, r.offer("urn:uuid:1"), http.StatusCreated)
	d.Inbox.Step(ctx)
	if got := fmt.Sprint(types(r.answers())); got != "[TentativeAccept Accept]" {
		t.Errorf("answers: %s", got)
	}
	tasks, err := d.Store.Checks.Tasks(ctx, 0, 0)
	if err != nil || len(tasks) != 1 {
		t.Fatalf("got %+v, %v", tasks, err)
	}
	if err := d.Queue.Cancel(ctx, tasks[0].ID, store.Cause{Code: store.CauseCancelled, Who: "ada"}); err != nil {
		t.Fatal(err)
	}
	for _, disabled := range []bool{true, false} {
		if err := d.Store.People.UpdateAccount(ctx, store.Account{Name: "eve", Role: store.RoleSubmitter, Disabled: disabled}); err != nil {
			t.Fatal(err)
		}
		d.Inbox.Step(ctx)
		got := r.answers()
		if disabled && len(got) > 0 || !disabled && (len(got) != 1 || got[0]["summary"] != "The text was not checked: cancelled by ada.") {
			t.Errorf("disabled %v: %v", disabled, got)
		}
	}
}

// TestInboxResumes: if the process ends between choosing a check's ID and recording it, no second check is created.
func TestInboxResumes(t *testing.T) {
	t.Parallel()
	d, r, _, prog := newInboxSite(t, true)
	ctx := t.Context()
	at := strings.TrimPrefix(notify(prog, r.offer("urn:uuid:1"), http.StatusCreated), "/api/v1/inbox/")
	n, err := d.Store.Notifications.Notification(ctx, at)
	if err == nil {
		n.Task = "named"
		err = d.Store.Notifications.KeepNotification(ctx, n.State, n)
	}
	if err == nil {
		err = d.Queue.SubmitAs(ctx, n.Task, "eve", "", site.Job{Name: "text.txt", Text: webtest.Folios})
	}
	if err != nil {
		t.Fatal(err)
	}
	d.Inbox.Step(ctx)
	tasks, err := d.Store.Checks.Tasks(ctx, 0, 0)
	if err != nil || len(tasks) != 1 || fmt.Sprint(types(r.answers())) != "[TentativeAccept Accept]" {
		t.Errorf("checks: %+v, %v", tasks, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asked["/paper/1/text.txt"] > 0 {
		t.Error("the text was fetched again")
	}
}
