//go:build linux

package program

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"concordat/cmd/cli"
	"concordat/instance"
	"concordat/internal/storetest"
	"concordat/internal/suite"
	"concordat/internal/zktest"
)

// machine is a node of a site with a service manager that restarts serve when it ends on request.
type machine struct {
	t    *testing.T
	data string

	mu      sync.Mutex // guards everything below
	process *exec.Cmd
	log     bytes.Buffer
	done    chan struct{} // closed when the service manager gives up
	starts  int
}

func serveMachine(t *testing.T, data string) *machine {
	t.Helper()
	m := &machine{t: t, data: data, done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		defer close(m.done)
		for {
			c := program(t, data, "serve", "--no-create", "--supervised", "--listen", "127.0.0.1:0")
			c.Stderr = &lockedWriter{m: m}
			m.mu.Lock()
			err := c.Start()
			m.process = c
			m.starts++
			first := m.starts == 1
			m.mu.Unlock()
			if first {
				started <- err
			}
			var exit *exec.ExitError
			if err != nil || !errors.As(c.Wait(), &exit) || exit.ExitCode() != cli.Restart {
				return
			}
		}
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.kill)
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if _, err := instance.Serving(t.Context(), data); err == nil {
			return m
		}
		select {
		case <-m.done:
			t.Fatalf("serve ended: %s", m.said())
		default:
		}
		if time.Now().After(end) {
			t.Fatalf("not served: %s", m.said())
		}
	}
}

type lockedWriter struct{ m *machine }

func (w *lockedWriter) Write(b []byte) (int, error) {
	w.m.mu.Lock()
	defer w.m.mu.Unlock()
	return w.m.log.Write(b)
}

func (m *machine) said() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.log.String()
}

func (m *machine) signal(s syscall.Signal) {
	m.mu.Lock()
	_ = m.process.Process.Signal(s) // it may already have ended
	m.mu.Unlock()
	<-m.done
}

func (m *machine) kill() { m.signal(syscall.SIGKILL) }

// found makes a cluster of a and the others, and passes flags to cluster init.
func (s *clusterLife) found(store string, others []string, flags ...string) {
	s.t.Helper()
	a := s.dir("a")
	if store != "" {
		output(s.t, 0, a, "init", "--site", "three", "--store", store)
		output(s.t, 0, a, "library", "create", "theses")
	}
	out, _ := output(s.t, 0, a, append([]string{"cluster", "init", "--listen", "127.0.0.1:0", "--zone", "east"}, flags...)...)
	if !strings.Contains(out, "first node a") {
		s.t.Error(out)
	}
	s.nodes["a"] = serveMachine(s.t, a)
	for _, n := range others {
		token, _ := output(s.t, 0, a, "cluster", "token", n)
		output(s.t, 0, s.dir(n), "cluster", "join", strings.TrimSpace(token), "--listen", "127.0.0.1:0", "--zone", "west")
		s.nodes[n] = serveMachine(s.t, s.dir(n))
	}
	out, _ = output(s.t, 0, a, "cluster", "balance", "--wait")
	if !strings.Contains(out, "on their planned nodes") {
		s.t.Error(out)
	}
}

type clusterLife struct {
	t     *testing.T
	root  string
	nodes map[string]*machine
}

func (s *clusterLife) dir(node string) string { return filepath.Join(s.root, node) }

// wants runs a command and requires words in its output.
func (s *clusterLife) wants(code int, node string, args []string, words ...string) string {
	s.t.Helper()
	out, errs := output(s.t, code, s.dir(node), args...)
	for _, w := range words {
		if !strings.Contains(out+errs, w) {
			s.t.Errorf("concordat %s: %q is not in:\n%s%s", strings.Join(args, " "), w, out, errs)
		}
	}
	return out
}

// upgradePlanned requests the plan of an upgrade until the copies that fell behind while documents arrived have caught up.
func (s *clusterLife) upgradePlanned(to string) {
	s.t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		out, err := program(s.t, s.dir("a"), "cluster", "upgrade", "--to", to, "--dry-run").CombinedOutput()
		switch {
		case err == nil && strings.Contains(string(out), "node c"):
			return
		case err == nil || !strings.Contains(string(out), "wait until other copies are in sync") || time.Now().After(end):
			s.t.Fatalf("cluster upgrade --dry-run: %v\n%s", err, out)
		}
	}
}

// TestClusterLife: a site of three real processes, with PostgreSQL and ZooKeeper, is restarted node by node while documents arrive,
// loses a node, is backed up, destroyed with its database and its ZooKeeper, and restored.
func TestClusterLife(t *testing.T) {
	t.Parallel()
	suite.Rest(t, "three processes, a database and a ZooKeeper server, restarted again and again")
	database := storetest.Postgres(t)
	z := zktest.Start(t, 1)
	s := &clusterLife{t: t, root: t.TempDir(), nodes: map[string]*machine{}}
	account := filepath.Join(s.root, "account")
	if err := os.WriteFile(account, []byte("site:secret9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.found(database.Schema(t), []string{"b", "c"}, "--shards", "3", "--coordinator", "zk://"+z.Addresses()[0]+"/first?account="+account)
	table := bigTable(t, 60)
	if sum := addTheses(t, s.dir("b"), table); sum.Added != 60 {
		t.Errorf("%+v", sum)
	}

	// The nodes restart one after the other while documents arrive; no document is refused.
	s.wants(0, "a", []string{"cluster", "restart", "--dry-run"}, "would hand over", "node c: would")
	stop, added := make(chan struct{}), make(chan error, 1)
	go func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				added <- nil
				return
			default:
			}
			if err := addOne(t, s.dir("c"), i); err != nil {
				added <- fmt.Errorf("document %d: %w", i, err)
				return
			}
		}
	}()
	steps := s.wants(0, "c", []string{"--json", "cluster", "restart", "a", "b"}, `"step":"done"`, `"node":"b"`)
	close(stop)
	if err := <-added; err != nil {
		t.Error(err)
	}
	if n := strings.Count(steps, `"step":"done"`); n != 2 || s.nodes["b"].starts != 2 {
		t.Errorf("%d nodes are done, b was started %d times", n, s.nodes["b"].starts)
	}
	s.wants(2, "a", []string{"cluster", "restart", "x"}, `no node "x"`)
	s.upgradePlanned("v9")
	s.wants(1, "a", []string{"cluster", "restart", "c", "--command", "false"}, "false: exit status 1")
	s.wants(0, "b", []string{"cluster", "renew"}, "is valid until")

	// A node that joined later makes the backup.
	documents := s.wants(0, "b", []string{"--json", "library", "list"})
	backup, key := filepath.Join(s.root, "backup"), newBackupKey(s.t)
	s.wants(0, "b", []string{"backup", backup, "--recipient", key.recipient}, "3 shards")
	s.wants(0, "b", []string{"backup", "verify", backup, "--identity", key.file}, "are intact")
	list, err := os.ReadFile(mustGlob(t, filepath.Join(backup, "state-*", "files.sha256")))
	if err != nil {
		t.Fatal(err)
	}
	for _, twin := range []string{"node.json", "zookeeper.json", "ca-key.pem", "node-key.pem", "replica.json", ".wal"} {
		if strings.Contains(string(list), twin) {
			t.Errorf("%s is in the backup", twin)
		}
	}

	// A node is drained, stopped and removed, and its machine cannot rejoin.
	s.wants(1, "a", []string{"cluster", "remove", "c"}, "drain the node first")
	s.wants(0, "a", []string{"cluster", "drain", "c", "--wait"})
	s.wants(1, "a", []string{"cluster", "remove", "c"}, "stop concordat serve on that node first")
	s.nodes["c"].signal(syscall.SIGTERM)
	s.wants(0, "a", []string{"cluster", "remove", "c", "--dry-run"}, "would remove")
	s.wants(0, "a", []string{"cluster", "remove", "c"}, "node c is removed")
	s.wants(1, "c", []string{"serve", "--no-create"}, "was removed or has never joined")

	// Everything is destroyed.
	for _, n := range []string{"a", "b"} {
		s.nodes[n].kill()
	}
	for _, n := range []string{"a", "b", "c"} {
		if err := os.RemoveAll(s.dir(n)); err != nil {
			t.Fatal(err)
		}
	}
	fresh := database.Schema(t)
	s.wants(0, "a", []string{"restore", backup, "--store", fresh, "--identity", key.file}, "cluster init")
	s.wants(2, "z", []string{"restore", backup, "--store", fresh, "--identity", key.file}, "is not empty")
	s.wants(2, "a", []string{"add", "-l", "theses", table}, "concordat cluster init")
	s.found("", []string{"b"}, "--coordinator", "zk://"+z.Addresses()[0]+"/second?account="+account)
	if got := s.wants(0, "b", []string{"--json", "library", "list"}); got != documents {
		t.Errorf("after the restore %s, before %s", got, documents)
	}
	for _, n := range []string{"a", "b"} {
		s.wants(0, n, []string{"doctor", "--offline"}, "ok       cluster", "ok       index")
	}
	if sum := addTheses(t, s.dir("b"), table); sum.Added+sum.Replaced != 0 {
		t.Errorf("%+v: the restored site does not know its documents", sum)
	}
}

func mustGlob(t *testing.T, pattern string) string {
	t.Helper()
	all, err := filepath.Glob(pattern)
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	return all[0]
}

func addOne(t *testing.T, data string, i int) error {
	path := filepath.Join(t.TempDir(), fmt.Sprintf("one-%d.txt", i))
	if err := os.WriteFile(path, []byte(prose(300+i)), 0o600); err != nil {
		return err
	}
	c := program(t, data, "add", "-l", "theses", path)
	out, err := c.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return err
}

// addTheses adds a table and returns the totals.
func addTheses(t *testing.T, data, table string) (sum totals) {
	t.Helper()
	out, _ := output(t, 0, data, "add", "-l", "theses", table, "--json")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &sum); err != nil {
		t.Fatal(err)
	}
	return sum
}
