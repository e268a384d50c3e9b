//go:build linux

package faults

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"concordat"
	"concordat/cluster"
	"concordat/cluster/coord"
)

// nemesis causes random faults.
type nemesis struct {
	p     *place
	site  *served // nil if the nodes are bare
	r     *rand.Rand
	kinds []string // kinds of faults to choose from
	heals []func() // functions that end the current faults
}

// faultKinds are all kinds of faults; kinds listed twice occur twice as often.
var faultKinds = []string{
	"kill-master", "kill-master", "kill", "kill-two", "kill-all", "kill-everything",
	"stop-master", "stop-master", "stop", "stop-short",
	"isolate", "isolate-master", "cut-nodes", "cut-oneway", "cut-coordinator", "cut-coordinator-oneway",
	"zk-leader", "zk-leader", "zk-hang", "zk-all",
	"flap", "lossy", "halve",
	"disk-full", "disk-full",
	"flip-log", "flip-index", "wipe", "rollback",
	"move",
}

// servedKinds are the kinds of faults of served sites: the kinds above, and faults of a database, of machines whose disk or clock was
// reset, and of operators.
var servedKinds = append([]string{"store-kill", "store-kill", "store-stop", "store-stop", "cut-store", "snapshot", "snapshot",
	"snapshot-first", "end", "clock", "clock", "clock-all", "token", "lossy", "lossy-all"}, faultKinds...)

// destroys reports whether the fault removes acknowledged data from a copy; such a fault is injected alone.
func destroys(kind string) bool {
	return strings.HasPrefix(kind, "flip") || kind == "wipe" || kind == "rollback" || strings.HasPrefix(kind, "snapshot")
}

func (n *nemesis) between(low, high time.Duration) time.Duration { return low + rand64(n.r, high-low) }

func rand64(r *rand.Rand, d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d))) }

// round injects one fault, waits a while, and ends the fault. In one of three rounds, it does not wait for recovery, so the next fault
// meets a cluster that is still recovering.
func (n *nemesis) round(number int) {
	n.p.t.Helper()
	kind := n.kinds[n.r.IntN(len(n.kinds))]
	if destroys(kind) {
		n.p.settle()
	}
	node := n.p.names[n.r.IntN(len(n.p.names))]
	if strings.HasSuffix(kind, "-master") {
		node = n.master(node)
	}
	at := n.p.h.now()
	e := entry{Kind: "fault", At: at, Node: node, Leads: n.p.shardsOf(node), Alone: n.p.isSettled()}
	n.p.h.add(entry{Kind: "note", At: at, Node: node, Words: fmt.Sprintf("fault %d: %s", number, kind)})
	e.Words = kind
	details := n.inject(kind, node, &e)
	e.Err = details
	time.Sleep(n.hold(kind))
	for _, heal := range n.heals {
		heal()
	}
	n.heals = nil
	e.End = n.p.h.now()
	n.p.h.add(e)
	if n.r.IntN(3) > 0 {
		n.p.settle()
		time.Sleep(n.between(300*time.Millisecond, time.Second)) // load on a healthy cluster
	} else {
		time.Sleep(n.between(0, 2*time.Second))
	}
	n.p.t.Logf("%6.1fs %2d %s %s %v %s, healed %.1fs, settled %v", at.Seconds(), number, kind, node, e.Leads, details, e.End.Seconds(),
		n.p.isSettled())
}

// master returns a node that is the master of some shard, or other.
func (n *nemesis) master(other coord.NodeID) coord.NodeID {
	for _, i := range n.r.Perm(len(n.p.names)) {
		if len(n.p.shardsOf(n.p.names[i])) > 0 {
			return n.p.names[i]
		}
	}
	return other
}

// hold returns the duration of a fault.
func (n *nemesis) hold(kind string) time.Duration {
	t := n.p.timeout
	switch {
	case kind == "stop-short":
		return n.between(t/8, t*3/4)
	case strings.HasPrefix(kind, "stop"):
		return n.between(t*5/4, t*2)
	case strings.HasPrefix(kind, "kill"), kind == "end", destroys(kind):
		return n.between(0, 3*time.Second)
	case strings.HasPrefix(kind, "zk-leader"), kind == "move":
		return n.between(time.Second, 4*time.Second)
	}
	return n.between(time.Second, t*5/2) // in half of the cases longer than a session
}

func (n *nemesis) heal(f func()) { n.heals = append(n.heals, f) }

// inject begins the fault and returns further details of it.
func (n *nemesis) inject(kind string, node coord.NodeID, e *entry) string {
	p := n.p
	kill := func(nodes ...coord.NodeID) {
		e.At = p.h.now()
		for _, m := range nodes {
			p.kill(m)
			n.heal(func() { p.start(m) })
		}
	}
	switch kind {
	case "kill", "kill-master":
		kill(node)
	case "end": // bare nodes are just killed
		p.end(node)
		n.heal(func() { p.start(node) })
	case "kill-two":
		kill(node, n.other(node))
	case "kill-all", "kill-everything":
		if kind == "kill-everything" {
			n.killZookeeper()
		}
		all := slices.Clone(p.names)
		n.r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		kill(all...)
	case "stop", "stop-short", "stop-master":
		p.hang(node, true)
		n.heal(func() { p.hang(node, false) })
	case "zk-leader", "zk-hang", "zk-all":
		return n.zookeeper(kind)
	case "disk-full":
		return n.fill(node)
	case "flip-log", "flip-index", "wipe":
		kill(node)
		if kind == "wipe" {
			p.must(os.RemoveAll(p.runs.copies(node)))
			return ""
		}
		return n.flip(node, kind)
	case "rollback":
		return n.rollback(node)
	case "flap":
		return n.flap(node)
	case "lossy", "lossy-all":
		return n.worsen(node, kind)
	case "halve":
		n.p.must(n.p.net.halve(string(node), n.p.others(node)))
	case "store-kill", "store-stop", "snapshot", "snapshot-first", "clock", "clock-all", "token":
		return n.site.inject(n, kind, node)
	case "move":
		return n.move()
	default:
		return n.cut(kind, node)
	}
	return ""
}

func (n *nemesis) other(node coord.NodeID) coord.NodeID {
	for {
		if m := n.p.names[n.r.IntN(len(n.p.names))]; m != node {
			return m
		}
	}
}

func (n *nemesis) killZookeeper() {
	for i := range 3 {
		n.p.zk.Kill(i)
		n.heal(func() { n.p.zk.Run(i) })
	}
}

func (n *nemesis) zookeeper(kind string) string {
	if kind == "zk-all" {
		n.killZookeeper()
		return ""
	}
	i := n.p.zk.Leader()
	if i < 0 {
		return "no leader"
	}
	if kind == "zk-hang" {
		i = n.r.IntN(3)
		n.p.zk.Pause(i)
		n.heal(func() { n.p.zk.Resume(i) })
	} else {
		n.p.zk.Kill(i)
		n.heal(func() { n.p.zk.Run(i) })
	}
	return fmt.Sprintf("z%d", i)
}

// cut interrupts network connections.
func (n *nemesis) cut(kind string, node coord.NodeID) string {
	others := n.p.others(node)
	nodes, zks := others[:len(n.p.names)-1], []string{"z0", "z1", "z2"}
	out, in := true, true
	switch kind {
	case "isolate", "isolate-master":
	case "cut-store":
		others = []string{storeMachine}
	case "cut-nodes":
		others = nodes
	case "cut-oneway":
		others = nodes[:1+n.r.IntN(len(nodes))]
		out = n.r.IntN(2) == 0
		in = !out
	case "cut-coordinator":
		others = zks
	case "cut-coordinator-oneway":
		others = zks
		out = n.r.IntN(2) == 0
		in = !out
	}
	n.p.net.cut(string(node), others, out, in, true)
	n.heal(func() { n.p.net.cut(string(node), others, out, in, false) })
	return fmt.Sprintf("%v out %v in %v", others, out, in)
}

// flap repeatedly cuts off and reconnects a node.
func (n *nemesis) flap(node coord.NodeID) string {
	stop, done := make(chan struct{}), make(chan struct{})
	r := rand.New(rand.NewPCG(n.r.Uint64(), 4))
	go func() {
		defer close(done)
		for cut := true; ; cut = !cut {
			n.p.net.cut(string(node), n.p.others(node), true, true, cut)
			select {
			case <-stop:
				n.p.net.cut(string(node), n.p.others(node), true, true, false)
				return
			case <-time.After(50*time.Millisecond + rand64(r, 350*time.Millisecond)):
			}
		}
	}()
	n.heal(func() { close(stop); <-done })
	return "50 to 400 ms each"
}

// worsen makes the links of a node, or of all nodes, lose, duplicate, delay and reorder frames.
func (n *nemesis) worsen(node coord.NodeID, kind string) string {
	nodes := []coord.NodeID{node}
	if kind == "lossy-all" {
		nodes = n.p.names
	}
	tr := trouble{Drop: 0.02 + 0.18*n.r.Float64(), Double: 0.05, Late: n.between(time.Millisecond, 120*time.Millisecond)}
	if kind == "lossy-all" {
		tr.Drop, tr.Late = tr.Drop/4, tr.Late/4
	}
	for _, m := range nodes {
		n.heal(n.p.net.worsen(n.p.t, string(m), tr, n.r.Uint64()))
	}
	return fmt.Sprintf("%.0f%% lost, %.0f%% doubled, late by up to %v", 100*tr.Drop, 100*tr.Double, tr.Late.Round(time.Millisecond))
}

// fill leaves less free space on the node's disk than writes need, and in half of the cases none.
func (n *nemesis) fill(node coord.NodeID) string {
	home := n.p.home(node)
	var st syscall.Statfs_t
	n.p.must(syscall.Statfs(home, &st))
	leave := int64(0)
	if n.r.IntN(2) == 0 {
		leave = n.r.Int64N(lowWater)
	}
	ballast := filepath.Join(home, "ballast")
	f, err := os.Create(ballast)
	n.p.must(err)
	block, most := make([]byte, 64<<10), int64(st.Bavail)*st.Bsize-leave
	for written := int64(0); written < most; {
		w, err := f.Write(block[:min(int64(len(block)), most-written)])
		if written += int64(w); err != nil {
			break // the disk is full
		}
	}
	n.p.must(f.Close())
	n.heal(func() { n.p.must(os.Remove(ballast)) })
	return fmt.Sprintf("%d bytes left", leave)
}

// rollback restores the node's folder to its state several seconds earlier, like restoring a backup.
func (n *nemesis) rollback(node coord.NodeID) string {
	p := n.p
	folder, old := p.runs.copies(node), filepath.Join(p.dir, "old")
	p.kill(node)
	p.must(os.RemoveAll(old))
	p.must(os.CopyFS(old, os.DirFS(folder)))
	p.start(node)
	p.settle()
	time.Sleep(n.between(time.Second, 3*time.Second)) // load
	p.settle()
	p.kill(node)
	p.must(os.RemoveAll(folder))
	p.must(os.CopyFS(folder, os.DirFS(old)))
	n.heal(func() { p.start(node) })
	return ""
}

// flip changes one bit in a file of the copies on a stopped node.
func (n *nemesis) flip(node coord.NodeID, kind string) string {
	var files []string
	copies := n.p.runs.copies(node)
	n.p.must(filepath.WalkDir(copies, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		i, err := d.Info()
		log := strings.HasSuffix(path, ".wal")
		if err == nil && i.Size() > 0 && log == (kind == "flip-log") && (log || strings.Contains(path, "/store/")) {
			files = append(files, path)
		}
		return err
	}))
	if len(files) == 0 {
		return "no file"
	}
	path := files[n.r.IntN(len(files))]
	b, err := os.ReadFile(path)
	n.p.must(err)
	bit := n.r.IntN(8 * len(b))
	if n.r.IntN(2) == 0 {
		bit = max(0, 8*len(b)-1-n.r.IntN(8*min(len(b), 4096))) // near the end, where the newest data is
	}
	b[bit/8] ^= 1 << (bit % 8)
	n.p.must(os.WriteFile(path, b, 0o600))
	rel, _ := filepath.Rel(copies, path)
	return fmt.Sprintf("bit %d of %s", bit, rel)
}

// move assigns a shard's copies to other nodes if there are more nodes than copies, and otherwise changes their order.
func (n *nemesis) move() string {
	shard := cluster.ShardName(n.r.IntN(n.p.layout.Shards))
	var nodes []coord.NodeID
	for _, i := range n.r.Perm(len(n.p.names))[:copies] {
		nodes = append(nodes, n.p.names[i])
	}
	return n.order(shard, nodes)
}

func (n *nemesis) order(shard concordat.ShardID, nodes []coord.NodeID) string {
	ctx, cancel := context.WithTimeout(n.p.t.Context(), 10*time.Second)
	defer cancel()
	err := cluster.SetReplicas(ctx, n.p.watch, shard, nodes)
	return fmt.Sprintf("%s to %v %v", shard, nodes, err)
}
