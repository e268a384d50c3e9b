//go:build linux

package program

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"concordat"
	"concordat/cluster/coord"
	"concordat/cmd/cli"
	"concordat/daemon"
	"concordat/instance"
	"concordat/internal/ports"
	"concordat/internal/storetest"
	"concordat/internal/suite"
	"concordat/internal/zktest"
	"concordat/store"
)

// joinedNode is a process that runs one of several nodes of a site.
type joinedNode struct {
	place
	name     string
	listen   string // address for the other nodes
	partners string // address for partners
	process  *exec.Cmd
	log      *syncedLog
	pages    string // address, known once it listens
}

// syncedLog is a process's output so far.
type syncedLog struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *syncedLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *syncedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// joinedSite is a site of three nodes with a real ZooKeeper and a real PostgreSQL.
type joinedSite struct {
	t     *testing.T
	nodes []*joinedNode
	db    *store.DB
	to    atomic.Pointer[string] // the node to which door forwards
}

// door listens at the address for partners, like a load balancer, and forwards connections to one node.
func (s *joinedSite) door() string {
	s.t.Helper()
	s.to.Store(&s.nodes[0].partners)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = l.Close() }) // this ends the loop
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = in.Close() }() // the first side to close ends it
				out, err := net.Dial("tcp", *s.to.Load())
				if err != nil {
					return
				}
				defer func() { _ = out.Close() }()
				go func() {
					_, _ = io.Copy(out, in)
					_ = out.Close()
				}()
				_, _ = io.Copy(in, out)
			}()
		}
	}()
	return l.Addr().String()
}

func freeAddress(t *testing.T) string {
	t.Helper()
	return fmt.Sprintf("127.0.0.1:%d", ports.Free(t, 1)[0])
}

func (n *joinedNode) start() {
	n.t.Helper()
	n.log = &syncedLog{}
	n.process = program(n.t, n.dir, "serve", "--listen", "127.0.0.1:0")
	n.process.Stderr, n.process.Stdout = n.log, n.log
	if err := n.process.Start(); err != nil {
		n.t.Fatal(err)
	}
	for end := time.Now().Add(3 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		st, err := instance.Serving(n.t.Context(), n.dir)
		if err == nil && st.Process == n.process.Process.Pid {
			n.pages = st.Listen
			return
		}
		if time.Now().After(end) {
			n.t.Fatalf("node %s does not serve: %v\n%s", n.name, err, n.log)
		}
	}
}

func (n *joinedNode) kill() {
	if n.process != nil && n.process.ProcessState == nil {
		_ = n.process.Process.Kill()
		_ = n.process.Wait() // it was killed
	}
}

// startJoined creates the site according to doc/cluster.md.
func startJoined(t *testing.T) *joinedSite {
	t.Helper()
	e, pg := zktest.Start(t, 1), storetest.Postgres(t)
	address := pg.Schema(t)
	s := &joinedSite{t: t}
	for _, name := range []string{"a", "b", "c"} {
		s.nodes = append(s.nodes, &joinedNode{place: place{t, filepath.Join(t.TempDir(), name)}, name: name, listen: freeAddress(t),
			partners: freeAddress(t)})
	}
	t.Cleanup(func() {
		for _, n := range s.nodes {
			n.kill()
			if t.Failed() && n.log != nil {
				t.Logf("node %s:\n%s", n.name, n.log)
			}
		}
	})
	a := s.nodes[0]
	a.command(cli.Done, "init", "--site", "north", "--title", "University of north", "--store", address)
	withoutMeaning(t, a.dir) // the tests turn it on
	a.command(cli.Done, "library", "create", "theses")
	a.command(cli.Done, "site", "key", "init")
	a.command(cli.Done, "site", "card", "--url", "https://"+s.door())
	account := filepath.Join(t.TempDir(), "account")
	if err := os.WriteFile(account, []byte("site:secret9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	coordinator := "zk://" + strings.Join(e.Addresses(), ",") + "?timeout=4s&account=" + account
	a.command(cli.Done, "cluster", "init", "--node", "a", "--listen", a.listen, "--coordinator", coordinator, "--shards", "2")
	conf, err := os.ReadFile(filepath.Join(a.dir, instance.ConfigName))
	if err == nil {
		err = os.WriteFile(filepath.Join(a.dir, instance.ConfigName), append(conf, "federation:\n  listen: "+a.partners+"\n"...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	a.start()
	for _, n := range s.nodes[1:] {
		token := a.json("cluster", "token", n.name)["token"].(string)
		n.command(cli.Done, "cluster", "join", token, "--listen", n.listen, "--partners", n.partners)
		n.start()
	}
	a.command(cli.Done, "cluster", "balance", "--wait")
	if s.db, err = store.Open(t.Context(), address); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.db.Close(); err != nil {
			t.Error(err)
		}
	})
	s.signIn()
	now := time.Now()
	if err := s.db.People.CreateAccount(t.Context(), store.Account{Name: "ada", Role: store.RoleAdministrator, Created: now}); err != nil {
		t.Fatal(err)
	}
	if err := s.db.People.PutToken(t.Context(), servedToken, store.Token{Purpose: store.PurposeAPI, Account: "ada", Name: "test",
		Scopes: []string{"read", "check", "library", "admin", "erase"}, Made: now, Expires: now.Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	return s
}

// pause is the time between two requests to a node; a minute of them stays far below the limit per token.
const pause = 200 * time.Millisecond

// until waits until done is true.
func (s *joinedSite) until(what string, done func() bool) {
	s.t.Helper()
	for end := time.Now().Add(3 * time.Minute); !done(); time.Sleep(pause) {
		if time.Now().After(end) {
			s.t.Fatalf("%s: not within three minutes", what)
		}
	}
}

// call calls a node's API and requires a status.
func (n *joinedNode) call(want int, method, path, contentType string, body io.Reader, out any) {
	n.t.Helper()
	r, err := http.NewRequestWithContext(n.t.Context(), method, "http://"+n.pages+"/api/v1"+path, body)
	if err != nil {
		n.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+servedToken)
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		n.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }() // the body was read to its end
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != want {
		n.t.Fatalf("%s %s at node %s: %d %s, %v; want %d", method, path, n.name, resp.StatusCode, b, err, want)
	}
	if out != nil {
		if err := json.Unmarshal(b, out); err != nil {
			n.t.Fatalf("%s %s: %v in %s", method, path, err, b)
		}
	}
}

// upload submits files at an API path.
func (n *joinedNode) upload(path string, files map[string]string) string {
	n.t.Helper()
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	for name, text := range files {
		f, err := m.CreateFormFile("file", name)
		if err == nil {
			_, err = io.WriteString(f, text)
		}
		if err != nil {
			n.t.Fatal(err)
		}
	}
	if err := m.Close(); err != nil {
		n.t.Fatal(err)
	}
	var out struct {
		ID     string
		Checks []struct{ ID string }
	}
	n.call(http.StatusAccepted, http.MethodPost, path, m.FormDataContentType(), &b, &out)
	if len(out.Checks) > 0 {
		return out.Checks[0].ID
	}
	return out.ID
}

type checkState struct {
	ID    string
	State concordat.State
	Cause string
}

// await waits at a node for a check that was submitted at any node.
func (n *joinedNode) await(s *joinedSite, kind, id string) (c checkState) {
	n.t.Helper()
	s.until(kind+" "+id, func() bool {
		n.call(http.StatusOK, http.MethodGet, "/"+kind+"/"+id, "", nil, &c)
		return c.State != concordat.TaskQueued && c.State != concordat.TaskRunning
	})
	return c
}

// follow reads a check's events to the last one at a node, whichever node runs the check.
func (n *joinedNode) follow(id string) {
	n.t.Helper()
	r, err := http.NewRequestWithContext(n.t.Context(), http.MethodGet, "http://"+n.pages+"/api/v1/checks/"+id+"/events", nil)
	if err != nil {
		n.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+servedToken)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		n.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }() // the body was read to its end
	b, err := io.ReadAll(resp.Body)
	if err != nil || !strings.Contains(string(b), `"finally":true`) {
		n.t.Errorf("events at node %s: %s %s, %v", n.name, resp.Status, b, err)
	}
}

// sources returns the documents named in a report.
func (n *joinedNode) sources(id string) string {
	n.t.Helper()
	var rep struct {
		Sources []struct{ Document string }
	}
	n.call(http.StatusOK, http.MethodGet, "/checks/"+id+"/report?format=json", "", nil, &rep)
	var out []string
	for _, x := range rep.Sources {
		out = append(out, x.Document)
	}
	return strings.Join(out, " ")
}

// TestJoinedSite: any of a site's three machines can do what the site does, and the death of a machine loses nothing.
func TestJoinedSite(t *testing.T) {
	t.Parallel()
	suite.Rest(t, "three real nodes with ZooKeeper and PostgreSQL")
	s := startJoined(t)
	began := time.Now()
	step := func(what string) {
		t.Logf("%s: %v", what, time.Since(began).Round(time.Millisecond))
		began = time.Now()
	}
	a, b, c := s.nodes[0], s.nodes[1], s.nodes[2]

	// A document added at one node is found by the others, and a check submitted at one node can be read at another.
	doc := filepath.Join(t.TempDir(), "ice.txt")
	if err := os.WriteFile(doc, []byte(iceText), 0o600); err != nil {
		t.Fatal(err)
	}
	a.command(cli.Done, "add", "--library", "theses", doc)
	check := b.upload("/checks", map[string]string{"essay.txt": iceText + "And some words of our own."})
	for _, n := range s.nodes {
		n.follow(check)
	}
	if got := c.await(s, "checks", check); got.State != concordat.TaskDone {
		t.Fatalf("check: %+v", got)
	}
	if got := a.sources(check); got != "ice.txt" {
		t.Errorf("sources %q", got)
	}
	step("check")
	s.central()
	step("settings")
	s.withoutKeys()
	step("backup without keys")
	south := s.partner()
	for _, n := range s.nodes {
		s.answers(south, n)
	}
	step("partner")
	s.erase()
	step("deletions")
	s.takeOver().start() // and the dead node returns
	step("a node dies")
	for _, n := range s.nodes {
		s.answers(south, n)
	}
	step("it comes back")
}

// signIn sets the first administrator's password at one node and uses the session at all of them.
func (s *joinedSite) signIn() {
	s.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	client := &http.Client{Jar: jar}
	key := regexp.MustCompile(`/first\?key=(\w+)`)
	var m []string
	s.until("a link for the first administrator", func() bool {
		m = key.FindStringSubmatch(s.nodes[2].log.String())
		return m != nil
	})
	post := func(n *joinedNode, path string, form url.Values) *http.Response {
		s.t.Helper()
		resp, err := client.PostForm("http://"+n.pages+path, form)
		if err != nil {
			s.t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp
	}
	const password = "a long enough password"
	if resp := post(s.nodes[1], "/first", url.Values{"key": {m[1]}, "name": {"bea"}, "password": {password},
		"again": {password}}); resp.StatusCode != http.StatusOK {
		s.t.Fatalf("first administrator: %s", resp.Status)
	}
	for _, n := range s.nodes {
		resp, err := client.Get("http://" + n.pages + "/admin")
		if err != nil {
			s.t.Fatal(err)
		}
		page, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK || strings.Contains(string(page), `action="/login"`) {
			s.t.Errorf("node %s does not know the session: %s, %v", n.name, resp.Status, err)
		}
	}
}

// setting returns the effective value of a configuration key at a node, with its origin.
func (n *joinedNode) setting(key string) (value, origin string) {
	n.t.Helper()
	var out struct {
		Settings []struct{ Key, Value, Origin string }
	}
	n.call(http.StatusOK, http.MethodGet, "/admin/settings", "", nil, &out)
	for _, x := range out.Settings {
		if x.Key == key {
			return x.Value, x.Origin
		}
	}
	n.t.Fatalf("no key %s in %+v", key, out)
	return "", ""
}

// central changes settings for all nodes and requires that they take effect on each, without a restart unless one is needed.
func (s *joinedSite) central() {
	s.t.Helper()
	policy := filepath.Join(s.t.TempDir(), "policy.json")
	if err := os.WriteFile(policy, []byte(`{"forward":"none","keep_days":400}`), 0o600); err != nil {
		s.t.Fatal(err)
	}
	said := s.nodes[1].command(cli.Done, "cluster", "zookeeper", "set", "check.threshold=0.25", "quota.documents=7", "--policy",
		"theses="+policy, "--policy", "essays="+policy)
	if !strings.Contains(said, "quota.documents takes effect at the next start") || strings.Contains(said, "check.threshold takes") {
		s.t.Errorf("set said %s", said)
	}
	for _, n := range s.nodes {
		s.until("settings at node "+n.name, func() bool {
			value, origin := n.setting("check.threshold")
			return value == "0.25" && origin == "cluster, version 1"
		})
		if value, origin := n.setting("quota.documents"); value != "0" || !strings.Contains(origin, "at the next start 7, cluster, version 1") {
			s.t.Errorf("node %s: quota.documents %s, %s", n.name, value, origin)
		}
		if out := n.command(cli.Done, "config", "check"); !strings.Contains(out, "cluster, version 1") {
			s.t.Errorf("config check at node %s: %s", n.name, out)
		}
	}
	s.until("policies", func() bool {
		l, err := s.db.Catalogue.Library(s.t.Context(), "essays")
		return err == nil && l.Policy.KeepDays == 400 && l.Policy.Central == 1
	})
	if out := s.nodes[2].command(cli.Failed, "library", "set", "theses", "--keep-days", "5"); !strings.Contains(out,
		"version 1 of the cluster's settings") {
		s.t.Errorf("a policy of the cluster was changed at a node: %s", out)
	}
	s.nodes[0].command(cli.Done, "cluster", "zookeeper", "set", "--unset", "library/theses")
	s.until("a policy that is let go", func() bool {
		l, err := s.db.Catalogue.Library(s.t.Context(), "theses")
		return err == nil && l.Policy.KeepDays == 400 && l.Policy.Central == 0
	})
	s.nodes[2].command(cli.Done, "library", "set", "theses", "--keep-days", "0")
}

// partner makes another site that is allowed to query this site's library.
func (s *joinedSite) partner() place {
	s.t.Helper()
	north, south := s.nodes[0], newPlace(s.t, "south")
	south.command(cli.Done, "site", "card", "--url", "https://127.0.0.1:1")
	id := south.json("site", "key", "show")["site"].(string)
	inv := north.json("peer", "invite", "--library", "theses:passage")["invitation"].(string)
	words := south.json("peer", "redeem", inv, "--name", "north")["words"].(string)
	south.command(cli.Done, "peer", "confirm", "north", "--words", words)
	north.command(cli.Done, "peer", "confirm", id, "--words", words)
	north.command(cli.Done, "federation", "create", "health")
	north.command(cli.Done, "federation", "invite", "health", id)
	south.command(cli.Done, "federation", "join", "health", "north")
	return south
}

// answers requires that one node answers the partner's question.
func (s *joinedSite) answers(south place, n *joinedNode) {
	s.t.Helper()
	essay := filepath.Join(s.t.TempDir(), "essay.txt")
	if err := os.WriteFile(essay, []byte(iceText+"And some words of our own."), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.to.Store(&n.partners)
	taken := strings.Count(n.log.String(), `msg="partner answered"`)
	s.until("answer of node "+n.name, func() bool {
		rep := south.json("check", essay, "--partner", "north/theses")
		return len(rep["evidence"].([]any)) == 1
	})
	// The log line appears after the answer was sent.
	s.until("node "+n.name+" says that it answered", func() bool { return strings.Count(n.log.String(), `msg="partner answered"`) > taken })
}

// erase deletes a document at a node without a copy of it, and requires that no node finds it.
func (s *joinedSite) erase() {
	s.t.Helper()
	holder := storetest.Holder(s.t, s.db, daemon.TaskMaintenance, time.Now().UnixMicro())
	other := s.nodes[slices.IndexFunc(s.nodes, func(n *joinedNode) bool { return instance.NodeWorker(coord.NodeID(n.name)) != holder })]
	path := filepath.Join(s.t.TempDir(), "bell.txt")
	if err := os.WriteFile(path, []byte(bellText), 0o600); err != nil {
		s.t.Fatal(err)
	}
	other.command(cli.Done, "add", "--library", "theses", path)
	var r struct {
		ID      string
		Receipt struct{ Done time.Time }
	}
	other.call(http.StatusOK, http.MethodPost, "/deletions", "application/json",
		strings.NewReader(`{"library":"theses","documents":["bell.txt"],"reason":"withdrawn"}`), &r)
	s.until("receipt of a deletion at another node", func() bool { // on a busy machine the first request may come too early
		other.call(http.StatusOK, http.MethodGet, "/deletions/"+r.ID, "", nil, &r)
		return !r.Receipt.Done.IsZero()
	})
	for _, n := range s.nodes {
		id := n.upload("/checks", map[string]string{"bell.txt": bellText})
		if got := n.await(s, "checks", id); got.State != concordat.TaskDone || n.sources(id) != "" {
			s.t.Errorf("a check at node %s after the deletion: %+v, %s", n.name, got, n.sources(id))
		}
	}
}

// takeOver kills the node that runs a batch and a check, and returns it.
func (s *joinedSite) takeOver() *joinedNode {
	s.t.Helper()
	ctx := s.t.Context()
	files := map[string]string{}
	for i := range 8 {
		files[fmt.Sprintf("member-%02d.txt", i)] = fmt.Sprintf("Member %d wrote this. ", i) + prose(140<<10) + iceText
	}
	batch := s.nodes[1].upload("/batches", files)
	holder := ""
	s.until("batch at work", func() bool {
		got, err := s.db.Batches.Batch(ctx, batch)
		if err == nil {
			holder = storetest.Holder(s.t, s.db, daemon.TaskBatches, time.Now().UnixMicro())
		}
		if err != nil {
			s.t.Fatal(err)
		}
		return got.State == concordat.TaskRunning
	})
	victim := s.nodes[slices.IndexFunc(s.nodes, func(n *joinedNode) bool { return instance.NodeWorker(coord.NodeID(n.name)) == holder })]
	running := func() (out []store.Task) {
		ts, err := s.db.Checks.Tasks(ctx, 0, 0)
		if err != nil {
			s.t.Fatal(err)
		}
		return slices.DeleteFunc(ts, func(t store.Task) bool { return t.State != concordat.TaskRunning || t.Worker != holder })
	}
	// A node looks for a check at once if the check was submitted there.
	var checks []string
	for i := 0; len(running()) == 0; i++ {
		if i%10 == 0 {
			checks = append(checks, victim.upload("/checks", map[string]string{fmt.Sprintf("long-%d.txt", i): fmt.Sprintf("Number %d. ", i) +
				prose(1<<20)}))
		}
		if i > 3000 {
			s.t.Fatalf("node %s runs no check", victim.name)
		}
		time.Sleep(20 * time.Millisecond)
	}
	victim.kill()
	began := time.Now()
	orphans := running()
	if got, err := s.db.Batches.Batch(ctx, batch); err != nil || got.State != concordat.TaskRunning {
		s.t.Fatalf("the batch ended before node %s was killed: %+v, %v", victim.name, got, err)
	}
	other := s.nodes[(slices.Index(s.nodes, victim)+1)%len(s.nodes)]
	for _, o := range orphans {
		got := other.await(s, "checks", string(o.ID))
		task, err := s.db.Checks.Task(ctx, o.ID)
		if err != nil || got.State != concordat.TaskDone || task.Worker == holder || task.Attempts != 2 {
			s.t.Errorf("check of the dead node: %+v, by %s at attempt %d, %v", got, task.Worker, task.Attempts, err)
		}
		s.t.Logf("a check of the dead node ended %v after it died", time.Since(began).Round(time.Millisecond))
	}
	if len(orphans) == 0 {
		s.t.Error("the dead node ran no check")
	}
	if got := other.await(s, "batches", batch); got.State != concordat.TaskDone {
		s.t.Errorf("batch: %+v", got)
	}
	s.t.Logf("the batch ended %v after the node that ran it died", time.Since(began).Round(time.Millisecond))
	for _, id := range checks {
		if got := other.await(s, "checks", id); got.State != concordat.TaskDone {
			s.t.Errorf("check %+v", got)
		}
	}
	return victim
}
