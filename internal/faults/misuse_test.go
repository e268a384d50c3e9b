//go:build linux

package faults

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"concordat/cluster"
	"concordat/cluster/coord"
)

// TestMisuse misuses real processes under load, and then looks for lost writes like TestFaults. Each misuse must be refused with an
// explanation, or survived.
func TestMisuse(t *testing.T) {
	if words := os.Getenv(insideEnv); words != "" {
		misuse(t)
		return
	}
	if os.Getenv(roundsEnv) == "" {
		t.Skipf("takes a minute; %s is not set", roundsEnv)
	}
	if why := missing(); why != "" {
		t.Skip(why)
	}
	outside(t, run{Seed: 1})
}

func misuse(t *testing.T) {
	begin(t)
	h := newHistory(io.Discard)
	p := newPlace(t, 4, 3, 2*time.Second, h)
	c := p.load(1)
	time.Sleep(time.Second)
	for _, part := range []struct {
		name string
		do   func(*place)
	}{{"another site", (*place).otherSite}, {"another scheme", (*place).otherScheme}, {"a name taken", (*place).nameTaken},
		{"twin", (*place).twin}, {"moved twice", (*place).movedTwice}, {"coordinator wiped", (*place).wiped}} {
		t.Logf("%6.1fs %s", h.now().Seconds(), part.name)
		part.do(p)
		p.settle()
	}
	c.end()
	p.collect()
	report(t, h.entries())
}

// said waits until the log of the node, or of another process, contains all the words.
func (p *place) said(file string, words ...string) {
	p.t.Helper()
	var b []byte
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		b, _ = os.ReadFile(filepath.Join(p.dir, file+".log"))
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(string(b), w) }) {
			return
		}
	}
	p.t.Errorf("%s does not say %q: %s", file, words, b[max(0, len(b)-3000):])
}

// extra runs a process that should be refused, and returns once it has ended.
func (p *place) extra(name string, change func(*nodeSpec)) {
	p.t.Helper()
	pr, _ := p.spawn(name, change)
	select {
	case <-pr.ended:
	case <-time.After(2 * time.Minute):
		_ = pr.cmd.Process.Kill()
		p.t.Errorf("%s: it goes on", name)
		<-pr.ended
	}
}

// spawn starts a process in addition to the nodes' processes, on the first node's machine; its own folder contains the certificate of
// node d.
func (p *place) spawn(name string, change func(*nodeSpec)) (*process, nodeSpec) {
	p.t.Helper()
	s := p.spec("d")
	s.Dir, s.Address, s.Control = filepath.Join(p.dir, name), p.host("a")+":9422", p.host("a")+":9080"
	p.must(os.MkdirAll(s.Dir, 0o700))
	p.must(os.CopyFS(filepath.Join(s.Dir, "cluster"), os.DirFS(p.trust("d"))))
	change(&s)
	return p.launch(p.process("a", s), filepath.Join(p.dir, name+".log")), s
}

// otherSite connects a node of another site to this site's coordinator.
func (p *place) otherSite() {
	p.extra("site", func(s *nodeSpec) { s.Site = "elsewhere"; s.Root = "/concordat/" + string(site) })
	p.said("site", "elsewhere", string(site))
}

// otherScheme starts a node that computes fingerprints differently.
func (p *place) otherScheme() {
	p.extra("scheme", func(s *nodeSpec) { s.Scheme = "other@1" })
	p.said("scheme", "other@1", string(scheme))
}

// nameTaken starts another machine with the name of a node.
func (p *place) nameTaken() {
	p.extra("taken", func(s *nodeSpec) { p.must(os.Remove(filepath.Join(s.Dir, "cluster", "zookeeper.json"))) })
	p.said("taken", "another installation is registered as node d", "forget d")
}

// twin runs a second process on a copy of a node's whole folder, made while the node runs.
func (p *place) twin() {
	p.t.Helper()
	p.extra("twin", func(s *nodeSpec) {
		p.must(os.CopyFS(filepath.Join(s.Dir, "copies"), os.DirFS(filepath.Join(p.home("d"), "copies"))))
	})
	p.said("twin", "node d is already running", "a copy of that node's folder")
}

// movedTwice moves the same shard to different nodes at the same time, like two operators.
func (p *place) movedTwice() {
	p.t.Helper()
	id := cluster.ShardName(0)
	done := make(chan error, 2)
	for _, to := range [][]coord.NodeID{{"a", "b", "d"}, {"b", "c", "d"}} {
		go func() {
			ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
			defer cancel()
			done <- cluster.SetReplicas(ctx, p.watch, id, to)
		}()
	}
	for range 2 {
		if err := <-done; err != nil && !errors.Is(err, coord.ErrStale) {
			p.t.Errorf("move: %v", err)
		}
	}
	p.settle()
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.view.Shards[id]; len(s.ISR) != copies {
		p.t.Errorf("after two moves: %+v", s)
	}
}

// wiped makes ZooKeeper lose its data. Running nodes stop taking part and report the reason; none mistakes the empty ZooKeeper for a new
// cluster, and once the old data is back, everything continues.
func (p *place) wiped() {
	p.t.Helper()
	for i := range 3 {
		p.zk.Kill(i)
	}
	for i := range 3 {
		p.zk.Keep(i, filepath.Join(p.dir, "aside"))
		p.zk.Run(i)
	}
	for i := range 3 {
		p.zk.Await(i)
	}
	for _, n := range p.names {
		p.said(string(n), "its data was lost")
	}
	for _, n := range p.names {
		p.kill(n)
	}
	for i := range 3 {
		p.zk.Kill(i)
		p.zk.Return(i, filepath.Join(p.dir, "aside"))
		p.zk.Run(i)
	}
	for i := range 3 {
		p.zk.Await(i)
	}
	for _, n := range p.names {
		p.start(n)
	}
	p.observe()
}
