//go:build linux

package faults

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"concordat/cluster"
	"concordat/cluster/coord"
	"concordat/internal/scripttest"
	"concordat/internal/suite"
	"concordat/store"
)

const (
	storeMachine = "db"
	servedDisk   = 320 << 20
	servedShards = 3
	apiToken     = "ct_faults_faults_faults_faults_faults_faults"
)

// served is a site as users run it, with concordat serve on each machine and a PostgreSQL server on its own machine.
type served struct {
	*place
	programs map[coord.NodeID]string // changed only while the node is stopped
	cache    string
	db       *database
}

// newServed creates a site of three machines with the commands of doc/cluster.md, and returns when all copies are in sync.
func newServed(t *testing.T, r run, h *history) *served {
	t.Helper()
	s := &served{place: newMachines(t, copies, []string{storeMachine}, r.Timeout, h), programs: map[coord.NodeID]string{}, cache: r.Cache}
	s.runs, s.disks = s, servedDisk
	if err := syscall.Mount("proc", "/proc", "proc", 0, ""); err != nil { // for this process's own tree
		t.Fatal(err)
	}
	s.db = newDatabase(s.place)
	for _, n := range s.names {
		s.programs[n] = r.Program
		s.disk(n)
		s.setClock(n, 0)
	}
	s.concordat("a", "init", "--site", string(site), "--title", "Here", "--store", s.db.address())
	s.concordat("a", "library", "create", string(library))
	s.concordat("a", "cluster", "init", "--node", "a", "--listen", s.host("a")+":8422", "--shards", strconv.Itoa(servedShards),
		"--coordinator", fmt.Sprintf("zk://%s?timeout=%v", strings.Join(s.zk.Addresses(), ","), r.Timeout))
	s.start("a")
	s.ready("a")
	for _, n := range s.names[1:] {
		var token struct{ Token string }
		s.must(json.Unmarshal(s.concordat("a", "--json", "cluster", "token", string(n)), &token))
		s.concordat(n, "cluster", "join", token.Token, "--listen", s.host(n)+":8422")
		s.start(n)
		s.ready(n)
	}
	s.concordat("a", "cluster", "balance", "--wait")
	s.layout = cluster.Layout{Site: site, Shards: servedShards, Copies: copies}
	s.observe()
	s.account()
	s.settle()
	s.warm()
	return s
}

// account creates an account and a token for the clients.
func (s *served) account() {
	s.t.Helper()
	db, err := store.Open(s.t.Context(), s.db.address())
	s.must(err)
	now := time.Now()
	s.must(db.People.CreateAccount(s.t.Context(), store.Account{Name: "ada", Role: store.RoleAdministrator, Created: now}))
	s.must(db.People.PutToken(s.t.Context(), apiToken, store.Token{Purpose: store.PurposeAPI, Account: "ada", Name: "test",
		Scopes: []string{"read", "check", "documents", "erase"}, Made: now, Expires: now.Add(48 * time.Hour)}))
	s.must(db.Close())
}

// warm makes each node read a file and check a text, which take longer the first time.
func (s *served) warm() {
	s.t.Helper()
	for _, n := range s.names {
		_, err := s.check(n, []string{"warm"}, patience)
		s.must(err)
	}
}

func (s *served) clock(n coord.NodeID) string { return s.home(n) + ".clock" }

// setClock sets how far the clock of a node's machine is ahead, also for running processes.
func (s *served) setClock(n coord.NodeID, ahead time.Duration) {
	s.t.Helper()
	f, err := os.OpenFile(s.clock(n), os.O_WRONLY|os.O_CREATE, 0o600)
	s.must(err)
	_, err = f.Write(binary.LittleEndian.AppendUint64(nil, uint64(int64(ahead/time.Second))))
	s.must(errors.Join(err, f.Close()))
}

// run returns a command of the program on a node's machine.
func (s *served) run(n coord.NodeID, args ...string) *exec.Cmd {
	cmd := s.net.command(string(n), append([]string{s.programs[n], "--data", s.home(n)}, args...)...)
	cmd.Env = append(os.Environ(), clockEnv+"="+s.clock(n), "XDG_CACHE_HOME="+s.cache, "GOMAXPROCS=2",
		"CONCORDAT_SERVE_API_CALLS=1000000", "CONCORDAT_SERVE_LOW_WATER=8MiB", "CONCORDAT_MEANING_INDEX=false")
	return cmd
}

// concordat runs a command until it ends and returns its output.
func (s *served) concordat(n coord.NodeID, args ...string) []byte {
	s.t.Helper()
	cmd := s.run(n, args...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		s.t.Fatalf("concordat %s on %s: %v\n%s%s", strings.Join(args, " "), n, err, out, &errs)
	}
	return out
}

func (s *served) command(n coord.NodeID) *exec.Cmd {
	return s.run(n, "serve", "--no-create", "--listen", s.host(n)+":8080")
}

func (s *served) copies(n coord.NodeID) string { return filepath.Join(s.home(n), "index", "cluster") }

func (s *served) sound(*coord.View) bool {
	return !slices.ContainsFunc(s.names, func(n coord.NodeID) bool { return !s.isReady(n) })
}

// isReady reports whether a node states that it is ready.
func (s *served) isReady(n coord.NodeID) bool {
	code, _, err := s.call(n, http.MethodGet, "/readyz", "", nil, 5*time.Second)
	return err == nil && code == http.StatusOK
}

func (s *served) ready(n coord.NodeID) {
	s.t.Helper()
	for end := time.Now().Add(patience); !s.isReady(n); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			s.logs(4000)
			s.t.Fatalf("node %s does not serve", n)
		}
	}
}

// call sends a request to a node and returns the whole answer.
func (s *served) call(n coord.NodeID, method, path, media string, body io.Reader, wait time.Duration) (int, []byte, error) {
	r, err := http.NewRequest(method, "http://"+s.host(n)+":8080"+path, body)
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Authorization", "Bearer "+apiToken)
	if media != "" {
		r.Header.Set("Content-Type", media)
	}
	client := *s.client
	client.Timeout = wait
	resp, err := client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = resp.Body.Close() }() // it has been read to its end
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, b, err
}

// TestServed breaks sites as users run them, concordat serve with PostgreSQL and ZooKeeper, for three rounds, or for the number set by
// CONCORDAT_FAULTS.
func TestServed(t *testing.T) {
	if words := os.Getenv(insideEnv); words != "" {
		insideServed(t, words)
		return
	}
	suite.Rest(t, "builds the program and runs it in networks of its own")
	if why := missingServed(); why != "" {
		t.Skip(why)
	}
	base := run{Program: current(t), Cache: scripttest.CacheDir()}
	if os.Getenv(roundsEnv) == "" {
		base.Seed, base.Rounds, base.Timeout, base.Kinds = 1, 3, 2*time.Second, []string{"snapshot-first", "store-kill", "lossy"}
		outside(t, base)
		return
	}
	long(t, base, servedKinds)
}

// missingServed is like missing, but for served sites.
func missingServed() string {
	if why := missing(); why != "" {
		return why
	}
	if _, err := databasePrograms(); err != nil {
		return err.Error()
	}
	if os.Geteuid() != 0 {
		return "PostgreSQL needs a user of its own, which root alone can give it"
	}
	f, err := tap("t-try")
	if err != nil {
		return err.Error()
	}
	_ = f.Close() // this removes the device
	return ""
}

func insideServed(t *testing.T, words string) {
	begin(t)
	var r run
	if err := json.Unmarshal([]byte(words), &r); err != nil {
		t.Fatal(err)
	}
	t.Logf("seed %d: %d rounds, session timeout %v", r.Seed, r.Rounds, r.Timeout)
	h := opened(t, r)
	start := time.Now()
	s := newServed(t, r, h)
	c := s.load(r.Seed)
	n := &nemesis{p: s.place, site: s, r: rand.New(rand.NewPCG(r.Seed, 1)), kinds: r.Kinds}
	time.Sleep(time.Second) // load before the first fault
	for i := range r.Rounds {
		n.round(i + 1)
	}
	s.settle()
	c.end()
	s.collect(c.all())
	finished(t, r, s.place, start)
}

// collect checks everything ever written at each node, in texts of many documents each.
func (s *served) collect(docs []string) {
	s.t.Helper()
	s.settle()
	s.erased()
	for _, n := range s.names {
		e := entry{Kind: "copy", At: s.h.now(), Node: n, Shard: "all", Docs: map[string]int{}, Complete: true}
		for some := range slices.Chunk(docs, 40) {
			f, err := s.lastCheck(n, some)
			if err != nil {
				s.t.Errorf("last check at %s: %v", n, err)
				e.Complete = false
			}
			for doc, rev := range f.Docs {
				e.Docs[doc] = rev
			}
		}
		if e.Complete { // what was not read is not lost
			s.h.add(e)
		}
	}
}

// lastCheck repeats a check until it is complete, a few times at most: the machine that runs all of the site can be too busy for one.
func (s *served) lastCheck(n coord.NodeID, docs []string) (f found, err error) {
	for range 4 {
		f, err = s.check(n, docs, patience)
		if err == nil && f.Complete {
			return f, nil
		}
		s.t.Logf("last check at %s: complete %v, %v", n, f.Complete, err)
	}
	return f, errors.Join(err, errors.New("no complete answer"))
}

// erased waits until all deletions have been performed, including those that the site answered with 503 and resumes by itself: otherwise
// they could happen between reading one node and the next.
func (s *served) erased() {
	s.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(200 * time.Millisecond) {
		code, b, err := s.call("a", http.MethodGet, "/api/v1/deletions?limit=500", "", nil, readWait)
		if err == nil && code == http.StatusOK && !bytes.Contains(b, []byte(`"state":"asked"`)) &&
			!bytes.Contains(b, []byte(`"state":"deleted"`)) {
			return
		}
		if time.Now().After(end) {
			s.t.Errorf("deletions are not done: %d %s %v", code, b[max(0, len(b)-2000):], err)
			return
		}
	}
}

// inject begins a fault that only served sites can have.
func (s *served) inject(n *nemesis, kind string, node coord.NodeID) string {
	switch kind {
	case "store-kill":
		s.db.kill()
		n.heal(s.db.start)
	case "store-stop":
		s.db.signal(syscall.SIGSTOP)
		n.heal(func() { s.db.signal(syscall.SIGCONT) })
	case "clock", "clock-all":
		return s.moveClocks(n, kind, node)
	case "snapshot", "snapshot-first":
		return s.snapshot(n, kind, node)
	case "token":
		return s.token(n, node)
	}
	return ""
}

// moveClocks sets clocks forward or back by a second to two days, and later corrects them.
func (s *served) moveClocks(n *nemesis, kind string, node coord.NodeID) string {
	nodes := []coord.NodeID{node}
	if kind == "clock-all" {
		nodes = s.names
	}
	var words []string
	for _, m := range nodes {
		by := []time.Duration{time.Second, 30 * time.Second, 10 * time.Minute, 3 * time.Hour, 40 * time.Hour}[n.r.IntN(5)]
		if n.r.IntN(2) == 0 {
			by = -by
		}
		s.setClock(m, by)
		n.heal(func() { s.setClock(m, 0) })
		words = append(words, fmt.Sprintf("%s %v", m, by))
	}
	return strings.Join(words, ", ")
}

// snapshot resets a node's disk to its contents at one moment while the node was running. With snapshot-first, all nodes lose power, and
// that node starts first and is alone for longer than a session.
func (s *served) snapshot(n *nemesis, kind string, node coord.NodeID) string {
	snap := filepath.Join(s.dir, "snapshot")
	s.must(os.RemoveAll(snap))
	s.hang(node, true)
	s.must(copyTree(s.home(node), snap))
	s.hang(node, false)
	time.Sleep(n.between(time.Second, 3*time.Second)) // load
	down := []coord.NodeID{node}
	if kind == "snapshot-first" {
		down = s.names
	}
	for _, m := range down {
		s.kill(m)
	}
	entries, err := os.ReadDir(s.home(node))
	s.must(err)
	for _, e := range entries {
		s.must(os.RemoveAll(filepath.Join(s.home(node), e.Name())))
	}
	s.must(copyTree(snap, s.home(node)))
	n.heal(func() { s.start(node) })
	if kind == "snapshot-first" {
		n.heal(func() { time.Sleep(s.timeout * 5 / 2) })
		for _, m := range s.names {
			if m != node {
				n.heal(func() { s.start(m) })
			}
		}
	}
	return ""
}

// copyTree copies files with their times and modes.
func copyTree(from, to string) error {
	if out, err := exec.Command("cp", "-aT", from, to).CombinedOutput(); err != nil {
		return fmt.Errorf("cp: %w: %s", err, out)
	}
	return nil
}

// token requests a token for the name of a live node, which must be refused.
func (s *served) token(n *nemesis, node coord.NodeID) string {
	at := n.other(node)
	cmd := s.run(at, "cluster", "token", string(node))
	kill := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	out, err := cmd.CombinedOutput()
	kill.Stop()
	if err == nil {
		s.t.Errorf("node %s gave a token for node %s, which is live: %s", at, node, out)
	}
	return strings.TrimSpace(string(out[:min(len(out), 160)]))
}

// database is a PostgreSQL server on its own machine.
type database struct {
	p    *place
	dir  string
	bin  string
	cmd  *exec.Cmd
	done chan struct{}
	mu   sync.Mutex // guards cmd and done
}

func databasePrograms() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		return "", errors.New("no PostgreSQL to test with: apt-get install postgresql")
	}
	slices.Sort(found)
	return filepath.Dir(found[len(found)-1]), nil
}

func newDatabase(p *place) *database {
	p.t.Helper()
	bin, err := databasePrograms()
	p.must(err)
	d := &database{p: p, dir: "/run/store", bin: bin}
	p.must(os.Mkdir(d.dir, 0o755))
	p.must(syscall.Mount("tmpfs", d.dir, "tmpfs", 0, "size=512m,mode=0777"))
	out, err := d.as("initdb", "-D", d.data(), "-U", "concordat", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync",
		"--no-instructions").CombinedOutput()
	if err != nil {
		p.t.Fatalf("initdb: %v: %s", err, out)
	}
	f, err := os.OpenFile(filepath.Join(d.data(), "pg_hba.conf"), os.O_APPEND|os.O_WRONLY, 0)
	p.must(err)
	_, err = fmt.Fprintf(f, "host all all %s0/24 trust\n", subnet)
	p.must(errors.Join(err, f.Close()))
	d.start()
	p.t.Cleanup(d.kill)
	return d
}

func (d *database) data() string { return filepath.Join(d.dir, "data") }

func (d *database) address() string {
	return fmt.Sprintf("postgres://concordat@%s:5432/postgres?sslmode=disable", address(d.p.net.num[storeMachine]))
}

// as returns one of PostgreSQL's programs on its machine, run by the user that its package creates.
func (d *database) as(program string, args ...string) *exec.Cmd {
	cmd := d.p.net.command(storeMachine, append([]string{"setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups",
		filepath.Join(d.bin, program)}, args...)...)
	cmd.Dir = d.dir
	return cmd
}

// start starts the server and returns once it accepts connections.
func (d *database) start() {
	for end := time.Now().Add(patience); ; time.Sleep(200 * time.Millisecond) {
		if d.running() == nil {
			cmd := d.as("postgres", "-D", d.data(), "-k", d.dir, "-c", "listen_addresses=*", "-c", "fsync=off", "-c", "full_page_writes=off",
				"-c", "max_connections=300", "-c", "shared_buffers=32MB", "-c", "log_min_messages=fatal")
			done := make(chan struct{})
			d.p.must(cmd.Start())
			d.mu.Lock()
			d.cmd, d.done = cmd, done
			d.mu.Unlock()
			go func() {
				_ = cmd.Wait() // it was killed, or leftovers of the last server are still there
				close(done)
			}()
		}
		if d.as("pg_isready", "-q", "-h", d.dir).Run() == nil {
			return
		}
		if time.Now().After(end) {
			d.p.t.Error("PostgreSQL does not start")
			return
		}
	}
}

// running returns the server, or nil if it has ended.
func (d *database) running() *exec.Cmd {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cmd == nil {
		return nil
	}
	select {
	case <-d.done:
		return nil
	default:
		return d.cmd
	}
}

// signal sends a signal to the server and to its processes, each of them in its own group.
func (d *database) signal(sig syscall.Signal) {
	cmd := d.running()
	if cmd == nil {
		return
	}
	pids := []int{cmd.Process.Pid}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		b, _ := os.ReadFile(path) // it might have ended
		fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
		if len(fields) > 1 && fields[1] == strconv.Itoa(cmd.Process.Pid) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			if err == nil {
				pids = append(pids, pid)
			}
		}
	}
	for _, pid := range pids {
		_ = syscall.Kill(pid, sig) // it might have ended
	}
}

// kill ends the server and its processes without warning.
func (d *database) kill() {
	cmd := d.running()
	if cmd == nil {
		return
	}
	d.signal(syscall.SIGKILL)
	d.mu.Lock()
	done := d.done
	d.mu.Unlock()
	<-done
}

var _ software = (*served)(nil)
