//go:build linux

package faults

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"concordat/internal/suite"
	"concordat/internal/zktest"
)

// These are the variables of the long form.
const (
	roundsEnv  = "CONCORDAT_FAULTS"         // number of rounds to add
	keepEnv    = "CONCORDAT_FAULTS_DIR"     // folder for histories and results; required with roundsEnv
	kindsEnv   = "CONCORDAT_FAULTS_KINDS"   // kinds of faults, separated by commas; default: all
	seedEnv    = "CONCORDAT_FAULTS_SEED"    // first seed, so that several calls can run in parallel; default 1
	timeoutEnv = "CONCORDAT_FAULTS_TIMEOUT" // session timeout, default 4s
	lifeEnv    = "CONCORDAT_FAULTS_LIFE"    // rounds per run, default longRounds
	insideEnv  = "CONCORDAT_FAULTS_INSIDE"  // run of the child process; set only there
)

// run is one life of a cluster; everything random in it depends on the seed.
type run struct {
	Seed     uint64
	Nodes    int
	Shards   int
	Rounds   int
	Timeout  time.Duration
	Kinds    []string
	History  string // file; empty if the history is not stored
	Program  string // program of served sites
	Cache    string // its folder for compiled parts
	Previous string // program to upgrade from
}

// result is a run and its outcome, one line of the results file.
type result struct {
	Run     run
	Verdict *verdict
	Took    time.Duration
	Figures figures
}

const longRounds = 12 // usual rounds per run; more of them save the time in which a site is set up

// TestFaults breaks a cluster of real processes for a few rounds, or for the number set by CONCORDAT_FAULTS, in lives of longRounds
// rounds or of the number set by CONCORDAT_FAULTS_LIFE; their seeds continue after the ones in the results file.
func TestFaults(t *testing.T) {
	if words := os.Getenv(insideEnv); words != "" {
		inside(t, words)
		return
	}
	suite.Rest(t, "real processes in networks of their own")
	if why := missing(); why != "" {
		t.Skip(why)
	}
	if os.Getenv(roundsEnv) == "" {
		outside(t, run{Seed: 1, Nodes: 3, Shards: 2, Rounds: 2, Timeout: 2 * time.Second, Kinds: []string{"kill-master", "isolate"}})
		return
	}
	long(t, run{}, faultKinds)
}

// long continues the rounds of earlier calls.
func long(t *testing.T, base run, kinds []string) {
	todo, err := strconv.Atoi(os.Getenv(roundsEnv))
	dir := os.Getenv(keepEnv)
	if err != nil || dir == "" {
		t.Fatalf("%s=%q rounds in %s=%q: %v", roundsEnv, os.Getenv(roundsEnv), keepEnv, dir, err)
	}
	if base.Program != "" {
		dir = filepath.Join(dir, "served")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	done, seed := 0, uint64(1)
	for _, r := range results(t, dir) {
		done, seed = done+r.Run.Rounds, max(seed, r.Run.Seed+1)
	}
	t.Logf("%d rounds done before, next seed %d", done, seed)
	if s := os.Getenv(seedEnv); s != "" {
		first, err := strconv.ParseUint(s, 10, 32)
		if err != nil {
			t.Fatal(err)
		}
		seed = max(seed, first)
	}
	timeout := 4 * time.Second
	if s := os.Getenv(kindsEnv); s != "" {
		kinds = strings.Split(s, ",")
	}
	if s := os.Getenv(timeoutEnv); s != "" {
		var err error
		if timeout, err = time.ParseDuration(s); err != nil {
			t.Fatal(err)
		}
	}
	life := longRounds
	if s := os.Getenv(lifeEnv); s != "" {
		var err error
		if life, err = strconv.Atoi(s); err != nil || life < 1 {
			t.Fatalf("%s=%q rounds: %v", lifeEnv, s, err)
		}
	}
	for end := done + todo; done < end && !t.Failed(); seed++ {
		r := base
		r.Seed, r.Nodes, r.Shards, r.Rounds, r.Timeout, r.Kinds = seed, 3+int(seed%3), 2+int(seed%2), min(life, end-done), timeout, kinds
		r.History = filepath.Join(dir, fmt.Sprintf("history-%04d.jsonl", seed))
		outside(t, r)
		done += r.Rounds
	}
	total(t, results(t, dir))
}

// missing returns why namespaces or ZooKeeper are unavailable here, or "".
func missing() string {
	if m := zktest.Missing(); m != "" {
		return "no ZooKeeper to test with: apt-get install " + m
	}
	if _, err := exec.LookPath("ip"); err != nil {
		return "no network to break: apt-get install iproute2"
	}
	cmd := exec.Command("ip", "link", "add", "br0", "type", "bridge")
	cmd.SysProcAttr = isolated()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Sprintf("network namespaces are not allowed here: %v: %s", err, out)
	}
	return ""
}

// isolated gives a process its own network, mounts and process tree, all of which end with it.
func isolated() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID}
	if os.Geteuid() != 0 {
		a.Cloneflags |= syscall.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	return a
}

// outside runs r in a process with its own namespaces.
func outside(t *testing.T, r run) {
	words, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v", "-test.timeout", "1h")
	cmd.Env = append(os.Environ(), insideEnv+"="+string(words), "TMPDIR="+t.TempDir())
	cmd.SysProcAttr = isolated()
	stay, err := cmd.StdinPipe() // the child process ends when this one does
	if err != nil {
		t.Fatal(err)
	}
	defer stay.Close()
	log := &lines{t: t}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Run(); err != nil {
		t.Errorf("seed %d: %v", r.Seed, err)
	}
}

// lines passes the child process's output to the test's log.
type lines struct {
	t    *testing.T
	rest string
}

func (l *lines) Write(b []byte) (int, error) {
	l.rest += string(b)
	for {
		line, rest, ok := strings.Cut(l.rest, "\n")
		if !ok {
			return len(b), nil
		}
		l.t.Log(line)
		l.rest = rest
	}
}

// begin prepares the process with its own namespaces.
func begin(t *testing.T) {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3) // the parent process has ended
	}()
	if err := private(); err != nil {
		t.Fatal(err)
	}
}

// inside performs the run.
func inside(t *testing.T, words string) {
	begin(t)
	var r run
	if err := json.Unmarshal([]byte(words), &r); err != nil {
		t.Fatal(err)
	}
	t.Logf("seed %d: %d nodes, %d shards, %d rounds, session timeout %v", r.Seed, r.Nodes, r.Shards, r.Rounds, r.Timeout)
	h := opened(t, r)
	start := time.Now()
	p := newPlace(t, r.Nodes, r.Shards, r.Timeout, h)
	c := p.load(r.Seed)
	n := &nemesis{p: p, r: rand.New(rand.NewPCG(r.Seed, 1)), kinds: r.Kinds}
	time.Sleep(time.Second) // load before the first fault
	for i := range r.Rounds {
		n.round(i + 1)
	}
	p.settle()
	c.end()
	p.collect()
	finished(t, r, p, start)
}

// opened starts the history of a run.
func opened(t *testing.T, r run) *history {
	t.Helper()
	h := newHistory(io.Discard)
	if r.History != "" {
		f, err := os.Create(r.History)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := errors.Join(h.flush(), f.Close()); err != nil {
				t.Error(err)
			}
		})
		h = newHistory(f)
	}
	b, _ := json.Marshal(r) // as given
	h.add(entry{Kind: "run", Words: string(b)})
	return h
}

// finished checks a run's history and records its result.
func finished(t *testing.T, r run, p *place, start time.Time) {
	t.Helper()
	all := p.h.entries()
	v := report(t, all)
	if t.Failed() {
		p.logs(20000)
	}
	if r.History != "" {
		p.keepLogs(strings.TrimSuffix(r.History, ".jsonl"))
	}
	if r.History == "" {
		return
	}
	b, err := json.Marshal(result{Run: r, Verdict: v, Took: time.Since(start), Figures: measure(all)})
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(filepath.Dir(r.History), resultsName), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(append(b, '\n')); errors.Join(err, f.Close()) != nil {
		t.Error(err)
	}
}

const resultsName = "results.jsonl"

// results returns the results of earlier runs.
func results(t *testing.T, dir string) (all []result) {
	f, err := os.Open(filepath.Join(dir, resultsName))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d := json.NewDecoder(f)
	for {
		var r result
		if err := d.Decode(&r); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
}

// report checks a history and prints the outcome.
func report(t *testing.T, all []entry) *verdict {
	v := check(all)
	t.Logf("%d writes acknowledged, %d unknown; %d reads, %d complete; %d documents looked up in copies: %d lost, %d resurrected, %d missed by complete answers, %d copies differ, %d other faults",
		v.Acknowledged, v.Unknown, v.Reads, v.CompleteReads, v.Checked, v.Lost, v.Resurrected, v.Missed, v.Differ, v.Other)
	f := measure(all)
	t.Log(f.String())
	for _, w := range v.Words {
		t.Error(w)
	}
	if v.Acknowledged == 0 || v.CompleteReads == 0 {
		t.Error("nothing was acknowledged or read")
	}
	return v
}

// total adds up all runs.
func total(t *testing.T, all []result) {
	var sum verdict
	var f figures
	rounds := 0
	for _, r := range all {
		rounds += r.Run.Rounds
		v := r.Verdict
		sum.Acknowledged, sum.Unknown, sum.Reads, sum.CompleteReads = sum.Acknowledged+v.Acknowledged, sum.Unknown+v.Unknown,
			sum.Reads+v.Reads, sum.CompleteReads+v.CompleteReads
		sum.Checked, sum.Lost, sum.Resurrected, sum.Missed = sum.Checked+v.Checked, sum.Lost+v.Lost, sum.Resurrected+v.Resurrected,
			sum.Missed+v.Missed
		sum.Differ, sum.Other = sum.Differ+v.Differ, sum.Other+v.Other
		f.add(r.Figures)
	}
	t.Logf("TOTAL %d runs, %d rounds: %+v", len(all), rounds, sum)
	t.Logf("TOTAL %s", f.String())
}

// figures holds durations measured from a history.
type figures struct {
	Kill, Stop []time.Duration // from the death or halt of a master to the first later acknowledged write to its shards
	Stall      []time.Duration // longest time without an acknowledgement from a shard whose follower died
	DownReads  int             // reads while one node's process was dead and there was no other fault
	DownWhole  int             // number of these that were complete
	Write      []time.Duration // for up to a thousand acknowledged writes
	During     map[string]*during
}

// during describes the operations that began during faults of one kind, at nodes not affected by the fault or, if the fault affects a
// network or a clock, at any node.
type during struct {
	Writes, Acked  int
	Reads, Answers int             // Answers counts only complete ones
	Took           []time.Duration // durations of the successful ones
}

// operations counts the operations that began during a fault.
func (f *figures) operations(e *entry, all []entry) {
	everywhere := strings.HasPrefix(e.Words, "lossy") || strings.HasPrefix(e.Words, "clock") || strings.HasPrefix(e.Words, "store") ||
		strings.HasPrefix(e.Words, "zk") || e.Words == "token"
	if f.During == nil {
		f.During = map[string]*during{}
	}
	d := f.During[e.Words]
	if d == nil {
		d = &during{}
		f.During[e.Words] = d
	}
	for i := range all {
		o := &all[i]
		if o.At < e.At || o.At >= e.End || o.Node == e.Node && !everywhere {
			continue
		}
		switch o.Kind {
		case "write":
			if d.Writes++; o.OK {
				d.Acked++
				d.Took = append(d.Took, o.End-o.At)
			}
		case "read":
			if d.Reads++; o.Complete && o.Err == "" {
				d.Answers++
				d.Took = append(d.Took, o.End-o.At)
			}
		}
	}
}

func (f *figures) add(g figures) {
	f.Kill, f.Stop, f.Stall = append(f.Kill, g.Kill...), append(f.Stop, g.Stop...), append(f.Stall, g.Stall...)
	f.DownReads, f.DownWhole, f.Write = f.DownReads+g.DownReads, f.DownWhole+g.DownWhole, append(f.Write, g.Write...)
	if f.During == nil {
		f.During = map[string]*during{}
	}
	for kind, d := range g.During {
		sum := f.During[kind]
		if sum == nil {
			sum = &during{}
			f.During[kind] = sum
		}
		sum.Writes, sum.Acked, sum.Reads, sum.Answers = sum.Writes+d.Writes, sum.Acked+d.Acked, sum.Reads+d.Reads, sum.Answers+d.Answers
		sum.Took = append(sum.Took, d.Took...)
	}
}

func percentile(ds []time.Duration, p int) time.Duration {
	if len(ds) == 0 {
		return 0
	}
	s := slices.Clone(ds)
	slices.Sort(s)
	return s[min(len(s)-1, len(s)*p/100)].Round(100 * time.Microsecond)
}

func (f *figures) String() string {
	say := func(ds []time.Duration) string {
		return fmt.Sprintf("p50 %v p99 %v of %d", percentile(ds, 50), percentile(ds, 99), len(ds))
	}
	out := fmt.Sprintf("after a master's death %s; after its halt %s; stall by a dead follower %s; reads with one node dead %d of %d complete; write %s",
		say(f.Kill), say(f.Stop), say(f.Stall), f.DownWhole, f.DownReads, say(f.Write))
	for _, kind := range slices.Sorted(maps.Keys(f.During)) {
		d := f.During[kind]
		out += fmt.Sprintf("\nduring %s: %d of %d writes acknowledged, %d of %d reads complete, %s", kind, d.Acked, d.Writes, d.Answers, d.Reads,
			say(d.Took))
	}
	return out
}

// measure computes the figures from a history.
func measure(all []entry) (f figures) {
	var acks []entry
	for _, e := range all {
		if e.Kind == "write" && e.OK {
			acks = append(acks, e)
		}
	}
	for i := 0; i < len(acks); i += 1 + len(acks)/1000 {
		f.Write = append(f.Write, acks[i].End-acks[i].At)
	}
	slices.SortFunc(acks, func(a, b entry) int { return int(a.End - b.End) })
	var broken []entry
	for _, e := range all {
		if e.Kind == "fault" {
			broken = append(broken, e)
		}
	}
	for i := range broken {
		e, next := &broken[i], forever
		if i+1 < len(broken) {
			next = broken[i+1].At
		}
		f.operations(e, all)
		switch e.Words {
		case "kill", "kill-master", "stop", "stop-master":
			if e.Alone {
				f.failover(e, next, acks, all)
			}
		}
	}
	return f
}

// failover measures one death or halt. A write counts if it began after the fault. It omits a failover that lasts until the next fault,
// since that has more than one cause.
func (f *figures) failover(e *entry, next time.Duration, acks, all []entry) {
	first, last, longest := map[string]time.Duration{}, map[string]time.Duration{}, map[string]time.Duration{}
	for _, a := range acks {
		id := string(a.Shard)
		if a.End < e.At {
			continue
		}
		if a.End > next {
			break
		}
		if a.At > e.At && first[id] == 0 {
			first[id] = a.End - e.At
		}
		if prev := max(last[id], e.At); prev-e.At < time.Second { // a silence that begins within a second of the fault
			longest[id] = max(longest[id], a.End-prev)
		}
		last[id] = a.End
	}
	kill := strings.HasPrefix(e.Words, "kill")
	led := map[string]bool{}
	for _, id := range e.Leads {
		led[string(id)] = true
		switch d := first[string(id)]; {
		case d == 0: // no acknowledged write before the next fault
		case kill:
			f.Kill = append(f.Kill, d)
		default:
			f.Stop = append(f.Stop, d)
		}
	}
	if !kill {
		return
	}
	for id, d := range longest {
		if !led[id] {
			f.Stall = append(f.Stall, d)
		}
	}
	for _, r := range all {
		if r.Kind == "read" && r.At > e.At && r.At < e.End && r.End < next && r.Node != e.Node {
			if f.DownReads++; r.Complete {
				f.DownWhole++
			}
		}
	}
}
