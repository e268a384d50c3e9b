//go:build linux

package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"concordat"
	"concordat/cluster"
	"concordat/cluster/coord"
	"concordat/cluster/replica"
	"concordat/cluster/zk"
	"concordat/internal/zktest"
)

const (
	copies    = 3
	diskBytes = 96 << 20 // size of each node's file system, which is in memory
	lowWater  = 8 << 20
	patience  = 3 * time.Minute // time limit for complete recovery
)

// place is a site of several processes, each on its own machine.
type place struct {
	t       testing.TB
	dir     string
	timeout time.Duration
	names   []coord.NodeID
	runs    software
	disks   int // size of each node's disk in bytes
	layout  cluster.Layout
	net     *network
	zk      *zktest.Ensemble
	watch   *zk.Session
	h       *history
	client  *http.Client

	services []string // machines that are not nodes

	mu      sync.Mutex // guards the fields below
	running map[coord.NodeID]*process
	stopped map[coord.NodeID]bool // by SIGSTOP
	view    coord.View
	news    chan struct{}
}

// software runs on the nodes of a place.
type software interface {
	// command returns a node's process.
	command(coord.NodeID) *exec.Cmd
	// copies returns the folder of a node's copies.
	copies(coord.NodeID) string
	// sound reports whether each node itself states that its copies are complete. The coordinator might not know yet that a process has
	// died.
	sound(*coord.View) bool
}

// bare nodes are processes with a cluster.Node and no site, controlled over HTTP.
type bare struct{ p *place }

type process struct {
	cmd    *exec.Cmd
	killed bool // killed by the test; otherwise, it is restarted
	ended  chan struct{}
}

func nodeNames(n int) (out []coord.NodeID) {
	for i := range n {
		out = append(out, coord.NodeID(string(rune('a'+i))))
	}
	return out
}

// newMachines starts the nodes' machines, the machines with ZooKeeper, and further machines without any software.
func newMachines(t testing.TB, nodes int, more []string, timeout time.Duration, h *history) *place {
	p := &place{t: t, dir: t.TempDir(), timeout: timeout, names: nodeNames(nodes), disks: diskBytes, h: h,
		running: map[coord.NodeID]*process{}, stopped: map[coord.NodeID]bool{}, news: make(chan struct{})}
	p.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 32}}
	num := map[string]int{}
	for i, n := range p.names {
		num[string(n)] = 10 + i
	}
	for i, m := range more {
		num[m] = 200 + i
	}
	var hosts []zktest.Host
	for i := range 3 {
		name := fmt.Sprintf("z%d", i)
		num[name] = 100 + i
		hosts = append(hosts, zktest.Host{Address: address(num[name]), Run: []string{"ip", "netns", "exec", name}})
	}
	p.net = newNetwork(t, num)
	p.services = append([]string{"z0", "z1", "z2"}, more...)
	p.zk = zktest.StartAt(t, hosts)
	t.Cleanup(func() {
		for _, n := range p.names {
			p.kill(n)
		}
	})
	return p
}

// newPlace starts ZooKeeper and bare nodes and returns when all copies are in sync.
func newPlace(t testing.TB, nodes, shards int, timeout time.Duration, h *history) *place {
	p := newMachines(t, nodes, nil, timeout, h)
	p.runs = bare{p}
	p.layout = cluster.Layout{Cluster: "faults", Site: site, Scheme: scheme, Shards: shards, Copies: copies,
		Members: map[coord.NodeID]cluster.Member{}}
	for _, n := range p.names {
		p.layout.Members[n] = cluster.Member{}
	}
	p.found()
	for i, n := range p.names {
		p.disk(n)
		p.must(os.Mkdir(p.trust(n), 0o700))
		if i == 0 {
			p.must(cluster.NewAuthority(p.trust(n), p.layout.Cluster, time.Now()))
			p.must(cluster.FoundTrust(p.trust(n), p.layout.Cluster, n, time.Now()))
		} else {
			p.letIn(n)
		}
		p.start(n)
	}
	p.settle()
	return p
}

func (p *place) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// found creates the cluster and starts watching it.
func (p *place) found() {
	ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
	defer cancel()
	var err error
	p.watch, err = zk.Open(ctx, zk.Options{Servers: p.zk.Addresses(), Site: site, Scheme: string(scheme), Found: true, Timeout: p.timeout})
	p.must(err)
	p.t.Cleanup(func() { _ = p.watch.Close() }) // the test is over
	p.must(cluster.Found(ctx, p.watch, p.layout))
	p.follow()
}

// observe starts watching again after a change of coordinator.
func (p *place) observe() {
	ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
	defer cancel()
	var err error
	p.watch, err = zk.Open(ctx, zk.Options{Servers: p.zk.Addresses(), Site: p.layout.Site, Scheme: string(p.layout.Scheme),
		Timeout: p.timeout})
	p.must(err)
	p.t.Cleanup(func() { _ = p.watch.Close() }) // the test is over
	p.follow()
}

func (p *place) follow() {
	watch := p.watch
	go func() {
		for v := range watch.View() {
			p.mu.Lock()
			p.view = v
			close(p.news)
			p.news = make(chan struct{})
			p.mu.Unlock()
		}
	}()
}

func (p *place) home(n coord.NodeID) string  { return filepath.Join(p.dir, string(n)) }
func (p *place) trust(n coord.NodeID) string { return filepath.Join(p.home(n), "cluster") }
func (p *place) host(n coord.NodeID) string  { return address(p.net.num[string(n)]) }

// disk gives the node its own disk.
func (p *place) disk(n coord.NodeID) {
	p.must(os.MkdirAll(p.home(n), 0o700))
	p.must(syscall.Mount("tmpfs", p.home(n), "tmpfs", 0, fmt.Sprintf("size=%d", p.disks)))
	p.t.Cleanup(func() { _ = syscall.Unmount(p.home(n), syscall.MNT_DETACH) }) // unmounted at the latest when this process ends
}

// letIn gives the node its certificate, as an operator would.
func (p *place) letIn(n coord.NodeID) {
	p.t.Helper()
	first := p.names[0]
	token, err := cluster.NewToken(p.trust(first), p.layout.Cluster, n, p.host(first)+":8422", time.Now())
	p.must(err)
	for end := time.Now().Add(patience); ; time.Sleep(200 * time.Millisecond) {
		if _, err = cluster.Join(p.t.Context(), p.trust(n), token, ""); err == nil {
			return
		}
		if !errors.Is(err, concordat.ErrUnavailable) || time.Now().After(end) {
			p.t.Fatalf("node %s: %v", n, err)
		}
	}
}

// others returns the machines other than node, with the nodes' machines first.
func (p *place) others(node coord.NodeID) (out []string) {
	for _, m := range p.names {
		if m != node {
			out = append(out, string(m))
		}
	}
	return append(out, p.services...)
}

func (p *place) spec(n coord.NodeID) nodeSpec {
	return nodeSpec{Name: n, Dir: p.home(n), Address: p.host(n) + ":8422", Control: p.host(n) + ":8080", Zookeeper: p.zk.Addresses(),
		Timeout: p.timeout, Site: site, Scheme: scheme, Skew: skew[n]}
}

// skew is the error of the nodes' clocks.
var skew = map[coord.NodeID]time.Duration{"b": time.Hour, "c": -time.Hour}

// process returns the process of a bare node on the machine of node n.
func (p *place) process(n coord.NodeID, spec nodeSpec) *exec.Cmd {
	p.t.Helper()
	words, err := json.Marshal(spec)
	p.must(err)
	cmd := p.net.command(string(n), os.Args[0])
	cmd.Env = append(os.Environ(), nodeEnv+"="+string(words), "GOMAXPROCS=2")
	return cmd
}

func (b bare) command(n coord.NodeID) *exec.Cmd { return b.p.process(n, b.p.spec(n)) }
func (b bare) copies(n coord.NodeID) string     { return filepath.Join(b.p.home(n), "copies") }

// launch starts a process.
func (p *place) launch(cmd *exec.Cmd, logTo string) *process {
	p.t.Helper()
	log, err := os.OpenFile(logTo, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	p.must(err)
	cmd.Stdout, cmd.Stderr = log, log
	p.must(cmd.Start())
	pr := &process{cmd: cmd, ended: make(chan struct{})}
	go func() {
		_ = cmd.Wait()  // its state contains the error
		_ = log.Close() // lost lines do no harm
		close(pr.ended)
	}()
	return pr
}

// start starts the node's process, and restarts it whenever it ends by itself, like an init system.
func (p *place) start(n coord.NodeID) {
	p.t.Helper()
	pr := p.launch(p.runs.command(n), p.home(n)+".log")
	p.mu.Lock()
	p.running[n] = pr
	p.mu.Unlock()
	go func() {
		<-pr.ended
		p.mu.Lock()
		killed := pr.killed
		p.mu.Unlock()
		if !killed && p.t.Context().Err() == nil {
			p.h.add(entry{Kind: "note", At: p.h.now(), Node: n, Words: "the process ended by itself: " + pr.cmd.ProcessState.String()})
			time.Sleep(time.Second)
			p.mu.Lock()
			again := p.running[n] == pr && !pr.killed
			p.mu.Unlock()
			if again {
				p.start(n)
			}
		}
	}()
}

// kill ends the process without warning.
func (p *place) kill(n coord.NodeID) {
	p.mu.Lock()
	pr := p.running[n]
	delete(p.running, n)
	delete(p.stopped, n)
	if pr != nil {
		pr.killed = true
		_ = pr.cmd.Process.Kill() // it might have ended
	}
	p.mu.Unlock()
	if pr != nil {
		<-pr.ended
	}
}

// end asks the process to end and waits until it does.
func (p *place) end(n coord.NodeID) {
	p.mu.Lock()
	pr := p.running[n]
	delete(p.running, n)
	if pr != nil {
		pr.killed = true
		_ = pr.cmd.Process.Signal(syscall.SIGTERM) // it might have ended
	}
	p.mu.Unlock()
	if pr == nil {
		return
	}
	select {
	case <-pr.ended:
	case <-time.After(patience):
		p.t.Errorf("node %s does not end", n)
		_ = pr.cmd.Process.Kill()
		<-pr.ended
	}
}

// hang suspends the process or lets it continue.
func (p *place) hang(n coord.NodeID, stop bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	pr, s := p.running[n], syscall.SIGCONT
	if p.stopped[n] = stop; stop {
		s = syscall.SIGSTOP
	}
	if pr != nil {
		_ = pr.cmd.Process.Signal(s) // it might have ended
	}
}

// down reports whether the process is not running.
func (p *place) down(n coord.NodeID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.running[n] == nil || p.stopped[n]
}

// settled reports whether all nodes are live and all copies in sync.
func (p *place) settled(v *coord.View) bool {
	for i := range p.layout.Shards {
		s := v.Shards[cluster.ShardName(i)]
		if len(s.ISR) != copies || len(s.Hold) > 0 || !v.Leads(s.State) || len(v.Live) < len(p.names) {
			return false
		}
		for _, n := range s.Replicas {
			if !slices.Contains(s.ISR, n) {
				return false
			}
		}
	}
	return true
}

// sound reports whether the software reports no fault.
func (p *place) sound(v *coord.View) bool {
	return p.watch.Online() && p.runs.sound(v) // without a connection, the view is outdated
}

func (b bare) sound(v *coord.View) bool {
	p := b.p
	for i := range p.layout.Shards {
		id := cluster.ShardName(i)
		for _, n := range v.Shards[id].ISR {
			var st replica.Status
			err := p.ask(n, "/status", url.Values{"shard": {string(id)}}, time.Second, &st)
			if err != nil || !st.InSync || st.Offline || st.Meta.Damaged || st.Quarantined || st.Installing || st.Shard.Epoch != v.Shards[id].Epoch {
				return false
			}
		}
	}
	return true
}

func (p *place) isSettled() bool {
	p.mu.Lock()
	v := p.view
	p.mu.Unlock()
	return p.settled(&v) && p.sound(&v)
}

// settle waits until the place is settled and sound.
func (p *place) settle() {
	p.t.Helper()
	timeout := time.After(patience)
	for {
		p.mu.Lock()
		v, news := p.view, p.news
		p.mu.Unlock()
		if p.settled(&v) && p.sound(&v) {
			return
		}
		select {
		case <-news:
		case <-time.After(200 * time.Millisecond): // no view includes the nodes' own statements about their copies
		case <-timeout:
			p.lament(&v)
			p.t.Fatalf("the cluster did not recover within %v", patience)
		}
	}
}

// lament describes a cluster that does not recover.
func (p *place) lament(v *coord.View) {
	for n := range v.Live {
		p.t.Logf("live: %s", n)
	}
	for i := range p.layout.Shards {
		id := cluster.ShardName(i)
		p.t.Logf("shard %s: %+v", id, v.Shards[id])
		for _, n := range p.names {
			var st replica.Status
			err := p.ask(n, "/status", url.Values{"shard": {string(id)}}, 2*time.Second, &st)
			p.t.Logf("  on %s: %+v %v", n, st, err)
		}
	}
	p.logs(6000)
}

var finishedCheck = regexp.MustCompile("(?m)^.* msg=check .*\n")

// logs shows the end of each node's log, without the lines on finished checks, which would leave no room for others.
func (p *place) logs(most int) {
	for _, n := range p.names {
		b, err := os.ReadFile(p.home(n) + ".log")
		b = finishedCheck.ReplaceAll(b, nil)
		p.t.Logf("log of %s: %v\n%s", n, err, b[max(0, len(b)-most):])
	}
}

// keepLogs copies the nodes' logs to files whose names begin with prefix.
func (p *place) keepLogs(prefix string) {
	for _, n := range p.names {
		b, err := os.ReadFile(p.home(n) + ".log")
		if err == nil {
			err = os.WriteFile(fmt.Sprintf("%s-%s.log", prefix, n), b, 0o600)
		}
		if err != nil {
			p.t.Error(err)
		}
	}
}

// shardsOf returns the shards that have the node as master.
func (p *place) shardsOf(n coord.NodeID) (out []concordat.ShardID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, s := range p.view.Shards {
		if len(s.ISR) > 0 && s.ISR[0] == n && p.view.Leads(s.State) {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

var errGone = errors.New("no such document")

// ask sends a request to a node. An error other than errGone means that the outcome is unknown.
func (p *place) ask(n coord.NodeID, path string, form url.Values, wait time.Duration, out any) error {
	form.Set("wait", wait.String())
	ctx, cancel := context.WithTimeout(context.Background(), wait+2*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+p.host(n)+":8080"+path+"?"+form.Encode(), nil)
	if err != nil {
		return err
	}
	resp, err := p.client.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // it has been read to its end
	b, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return err
	case resp.StatusCode == http.StatusNotFound:
		return errGone
	case resp.StatusCode != http.StatusOK:
		return errors.New(string(bytes.TrimSpace(b)))
	case out == nil:
		return nil
	}
	return json.Unmarshal(b, out)
}

// collect reads every copy separately, once all copies have reached the last record.
func (p *place) collect() {
	p.t.Helper()
	p.settle()
	p.mu.Lock()
	v := p.view
	p.mu.Unlock()
	for i := range p.layout.Shards {
		id := cluster.ShardName(i)
		p.level(id, v.Shards[id].ISR)
		for _, n := range v.Shards[id].ISR {
			var f found
			if err := p.ask(n, "/copy", url.Values{"shard": {string(id)}}, time.Minute, &f); err != nil {
				p.t.Errorf("copy of %s on %s: %v", id, n, err)
				continue
			}
			p.h.add(entry{Kind: "copy", At: p.h.now(), Node: n, Shard: id, Docs: f.Docs, Complete: true, Wrong: f.Wrong})
		}
	}
}

// level waits until the copies have applied the same records. Copies that do not catch up within a minute are read in their current
// state.
func (p *place) level(id concordat.ShardID, on []coord.NodeID) {
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		seen := map[[2]uint64]bool{}
		for _, n := range on {
			var st replica.Status
			if p.ask(n, "/status", url.Values{"shard": {string(id)}}, 5*time.Second, &st) != nil || st.Applied != st.End {
				seen[[2]uint64{0, 0}] = true
			}
			seen[[2]uint64{st.Applied, st.End}] = true
		}
		if len(seen) == 1 {
			return
		}
	}
}
