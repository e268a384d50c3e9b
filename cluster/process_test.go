package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
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

	"github.com/google/go-cmp/cmp"

	"concordat"
	"concordat/cluster"
	"concordat/cluster/coord"
	"concordat/cluster/local"
	"concordat/index"
	"concordat/internal/indextest"
	"concordat/internal/ports"
)

const nodeEnv = "CONCORDAT_TEST_NODE" // name|folder|coordinator|address, set in the child process

// runNode runs a process with one node that takes orders over HTTP. It ends when killed.
func runNode(args []string) {
	err := func() error {
		ctx := context.Background()
		session, err := local.Dial(ctx, args[2], coord.NodeID(args[0]))
		if err != nil {
			return err
		}
		n, err := cluster.OpenNode(ctx, cluster.NodeOptions{
			Dir: args[1], Session: session, Scheme: "http", Client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}},
			Node: coord.Node{ID: coord.NodeID(args[0]), Address: args[3]}, Index: index.Options{Site: indextest.Site, Scheme: indextest.Scheme},
			Copy:  cluster.CopyOptions{KeepLog: 1 << 20, SegmentBytes: 256 << 10},
			Fatal: func(err error) { fmt.Fprintln(os.Stderr, err); os.Exit(1) },
		})
		if err != nil {
			return err
		}
		m := http.NewServeMux()
		m.Handle("/cluster/", n.Handler())
		reply := func(w http.ResponseWriter, err error) {
			if err != nil {
				w.WriteHeader(http.StatusServiceUnavailable)
				_, _ = io.WriteString(w, err.Error())
			}
		}
		m.HandleFunc("/put", func(w http.ResponseWriter, r *http.Request) {
			reply(w, n.Put(r.Context(), profileOf(r.FormValue("id"), r.FormValue("text"))))
		})
		m.HandleFunc("/delete", func(w http.ResponseWriter, r *http.Request) {
			reply(w, n.Delete(r.Context(), refOf(r.FormValue("id"))))
		})
		m.HandleFunc("/search", func(w http.ResponseWriter, r *http.Request) {
			st, err := n.TextStats(r.Context(), []concordat.Term{1})
			if err == nil && len(st.Missing) > 0 {
				err = fmt.Errorf("missing %v", st.Missing)
			}
			reply(w, err)
		})
		// copy returns the contents of this node's copy.
		m.HandleFunc("/copy", func(w http.ResponseWriter, r *http.Request) {
			c, ok := n.Copy(concordat.ShardID(r.FormValue("shard")))
			if !ok {
				reply(w, errors.New("no copy"))
				return
			}
			for d, err := range c.Index().LibraryDocuments(r.Context(), "l") {
				if err != nil {
					reply(w, err)
					return
				}
				fmt.Fprintf(w, "%s=%s\n", d.ID, d.Text)
			}
		})
		l, err := net.Listen("tcp", args[3])
		if err != nil {
			return err
		}
		return http.Serve(l, m)
	}()
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// processes is a site of three real processes with a coordinator in this process.
type processes struct {
	t       testing.TB
	hub     local.Hub
	coord   string
	dir     string
	layout  cluster.Layout
	names   []coord.NodeID
	address map[coord.NodeID]string
	watch   *local.Client

	mu      sync.Mutex // guards everything below
	running map[coord.NodeID]*exec.Cmd
	view    coord.View
	news    chan struct{}
}

func startProcesses(t testing.TB, shards int, timeout time.Duration) *processes {
	p := &processes{t: t, dir: t.TempDir(), names: []coord.NodeID{"a", "b", "c"}, address: map[coord.NodeID]string{},
		running: map[coord.NodeID]*exec.Cmd{}, news: make(chan struct{})}
	p.layout = cluster.Layout{Cluster: "test", Site: indextest.Site, Scheme: indextest.Scheme, Shards: shards, Copies: 3,
		Members: map[coord.NodeID]cluster.Member{}}
	s := local.NewServer(&p.hub, timeout)
	go func() { _ = s.Run(t.Context()) }() // fails because the state file does not exist
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	p.coord = server.URL
	free := ports.Free(t, len(p.names))
	for i, n := range p.names {
		p.layout.Members[n] = cluster.Member{}
		p.address[n] = fmt.Sprintf("127.0.0.1:%d", free[i])
	}
	var err error
	p.watch, err = local.Dial(t.Context(), p.coord, "watch")
	p.must(err)
	t.Cleanup(func() { _ = p.watch.Close() })
	p.must(cluster.Found(t.Context(), p.watch, p.layout))
	go func() {
		for v := range p.watch.View() {
			p.mu.Lock()
			p.view = v
			close(p.news)
			p.news = make(chan struct{})
			p.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		for n := range p.address {
			p.kill(n)
		}
	})
	for _, n := range p.names {
		p.start(n)
	}
	p.settle()
	return p
}

func (p *processes) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *processes) start(n coord.NodeID) {
	p.t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s|%s|%s|%s", nodeEnv, n, filepath.Join(p.dir, string(n)), p.coord, p.address[n]))
	cmd.Stderr = os.Stderr
	p.must(cmd.Start())
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running[n] = cmd
}

func (p *processes) kill(n coord.NodeID) {
	p.mu.Lock()
	cmd := p.running[n]
	delete(p.running, n)
	p.mu.Unlock()
	if cmd != nil {
		_ = cmd.Process.Signal(syscall.SIGCONT)
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	}
}

func (p *processes) signal(n coord.NodeID, s os.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.must(p.running[n].Process.Signal(s))
}

// until waits until the coordinator's view satisfies pleases.
func (p *processes) until(what string, pleases func(*coord.View) bool) {
	p.t.Helper()
	timeout := time.After(time.Minute)
	for {
		p.mu.Lock()
		v, news := p.view, p.news
		p.mu.Unlock()
		if pleases(&v) {
			return
		}
		select {
		case <-news:
		case <-timeout:
			p.t.Fatalf("%s: %+v", what, v.Shards)
		}
	}
}

// settle waits until all copies of all shards are in sync.
func (p *processes) settle() {
	p.t.Helper()
	p.until("all in sync", func(v *coord.View) bool {
		for i := range p.layout.Shards {
			if s := v.Shards[cluster.ShardName(i)]; len(s.ISR) != 3 || len(s.Hold) > 0 || !v.Leads(s.State) || len(v.Live) < 3 {
				return false
			}
		}
		return true
	})
}

func (p *processes) master(id concordat.ShardID) (coord.NodeID, uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.view.Shards[id]
	return s.ISR[0], s.Epoch
}

// ask sends a question to a node. An error means that the outcome is unknown.
func (p *processes) ask(n coord.NodeID, path string, form url.Values, patience time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.address[n]+path+"?"+form.Encode(), nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }() // the body was read to its end
	b, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = errors.New(string(b))
	}
	return string(b), err
}

// writer writes and deletes its own documents until stop. If the outcome of an operation is unknown, it no longer touches that document.
type writer struct {
	want    map[string]string // empty if deleted
	unsure  map[string]bool
	acked   int
	latency []time.Duration
	acks    []time.Time
}

func (p *processes) write(number int, stop <-chan struct{}, to func(*rand.Rand) coord.NodeID) *writer {
	w := &writer{want: map[string]string{}, unsure: map[string]bool{}}
	r := rand.New(rand.NewPCG(1, uint64(number)))
	for i := 0; ; i++ {
		select {
		case <-stop:
			return w
		default:
		}
		id, text, path := fmt.Sprintf("%d-%d", number, r.IntN(40+i/4)), fmt.Sprintf("text %d of %d", i, number), "/put"
		if w.unsure[id] {
			continue
		}
		if r.IntN(5) == 0 {
			text, path = "", "/delete"
		}
		start := time.Now()
		_, err := p.ask(to(r), path, url.Values{"id": {id}, "text": {text}}, time.Minute)
		if err != nil {
			w.unsure[id] = true
			time.Sleep(5 * time.Millisecond) // the node may be down
			continue
		}
		w.want[id] = text
		w.acked++
		w.latency = append(w.latency, time.Since(start))
		w.acks = append(w.acks, time.Now())
	}
}

// check compares the copies of each shard with one another and with the acknowledged operations.
func (p *processes) check(ws []*writer) {
	p.t.Helper()
	p.settle()
	got := map[string]string{}
	for i := range p.layout.Shards {
		form := url.Values{"shard": {string(cluster.ShardName(i))}}
		var all [3]string
		for end := time.Now().Add(5 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
			var errs [3]error
			for j, n := range p.names {
				all[j], errs[j] = p.ask(n, "/copy", form, time.Minute)
			}
			// Followers reach the last record shortly after the master.
			if errors.Join(errs[:]...) == nil && all[0] == all[1] && all[0] == all[2] || time.Now().After(end) {
				break
			}
		}
		for j := range all {
			if d := cmp.Diff(strings.Split(all[0], "\n"), strings.Split(all[j], "\n")); d != "" {
				p.t.Errorf("shard %d: copies of %s and %s differ:\n%s", i, p.names[0], p.names[j], d)
			}
		}
		first := all[0]
		for _, line := range strings.Split(first, "\n") {
			id, text, _ := strings.Cut(line, "=")
			got[id] = text
		}
	}
	for _, w := range ws {
		for id, text := range w.want {
			if !w.unsure[id] && got[id] != text {
				p.t.Errorf("document %s says %q, acknowledged was %q", id, got[id], text)
			}
		}
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

// TestProcesses kills and stops the masters among three real processes under load. CONCORDAT_ROUNDS sets the number of faults, and
// CONCORDAT_TIMEOUT the coordinator's session timeout.
func TestProcesses(t *testing.T) {
	rounds, timeout := 2, 2*time.Second
	if s := os.Getenv("CONCORDAT_ROUNDS"); s != "" {
		var err error
		if rounds, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	} else if testing.Short() {
		t.Skip("left out by -short: starts real processes")
	}
	if s := os.Getenv("CONCORDAT_TIMEOUT"); s != "" {
		var err error
		if timeout, err = time.ParseDuration(s); err != nil {
			t.Fatal(err)
		}
	}
	p := startProcesses(t, 1, timeout)
	stop := make(chan struct{})
	ws := make([]*writer, 4)
	var wg sync.WaitGroup
	var mu sync.Mutex
	down := coord.NodeID("") // clients use the other nodes, so that this measures the cluster and not the clients' timeouts
	for i := range ws {
		wg.Go(func() {
			ws[i] = p.write(i, stop, func(r *rand.Rand) coord.NodeID {
				mu.Lock()
				defer mu.Unlock()
				for {
					if n := p.names[r.IntN(3)]; n != down {
						return n
					}
				}
			})
		})
	}
	type fault struct {
		stop bool
		at   time.Time
	}
	var faults []fault
	r := rand.New(rand.NewPCG(7, 7))
	for round := range rounds {
		p.settle()
		time.Sleep(300 * time.Millisecond) // time for load
		m, epoch := p.master("00")
		f := fault{stop: round%2 == 1, at: time.Now()}
		mu.Lock()
		down = m
		mu.Unlock()
		if f.stop {
			p.signal(m, syscall.SIGSTOP)
		} else {
			p.kill(m)
		}
		f.at = time.Now()
		faults = append(faults, f)
		p.until("another master", func(v *coord.View) bool { s := v.Shards["00"]; return s.Epoch > epoch && v.Leads(s.State) })
		time.Sleep(time.Duration(200+r.IntN(600)) * time.Millisecond)
		if f.stop {
			p.signal(m, syscall.SIGCONT)
		} else {
			p.start(m)
		}
		mu.Lock()
		down = ""
		mu.Unlock()
	}
	p.settle()
	close(stop)
	wg.Wait()
	p.check(ws)
	acked, unsure := 0, 0
	var acks []time.Time
	var latency []time.Duration
	for _, w := range ws {
		acked, unsure = acked+w.acked, unsure+len(w.unsure)
		acks, latency = append(acks, w.acks...), append(latency, w.latency...)
	}
	slices.SortFunc(acks, time.Time.Compare)
	gaps := map[bool][]time.Duration{}
	for _, f := range faults {
		// This is the longest gap that begins within a second of the fault.
		longest, last := time.Duration(0), f.at
		for _, a := range acks {
			if a.Before(f.at) {
				continue
			}
			if a.Sub(last) > longest {
				longest = a.Sub(last)
			}
			if last = a; a.Sub(f.at) > time.Second {
				break
			}
		}
		gaps[f.stop] = append(gaps[f.stop], longest)
	}
	if acked == 0 {
		t.Error("nothing was acknowledged")
	}
	t.Logf("%d faults, %d operations acknowledged, %d documents unsure; write p50 %v p99 %v; longest silence after kill p50 %v p99 %v, after stop p50 %v p99 %v",
		rounds, acked, unsure, percentile(latency, 50), percentile(latency, 99), percentile(gaps[false], 50), percentile(gaps[false], 99),
		percentile(gaps[true], 50), percentile(gaps[true], 99))
}
