package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"concordat"
	"concordat/cluster"
	"concordat/cluster/coord"
	"concordat/cluster/local"
	"concordat/cluster/replica"
	"concordat/index"
)

// ClusterOptions are the options of Cluster; all are required and at least 1.
type ClusterOptions struct {
	Nodes, Shards, Copies int
	Sizes                 []int // numbers of sentences, ascending, to which the site grows
	Questions             int   // number of questions at each size, half of them planted
	Writers               int   // number of concurrent writers
	Seed                  uint64
	// Settle is the maximum time for merges and the removal of merged segments after the last put of a size. Their processor time counts.
	Settle time.Duration
}

// ClusterResult describes a site of several nodes at one size. All nodes share this process and its processors.
type ClusterResult struct {
	Sentences int     `json:"sentences"`
	Copies    int     `json:"copies"`
	CPU       float64 `json:"cpu_us"`        // for adding a sentence since the previous size: all copies, logs, messages and merges
	Alone     float64 `json:"alone_cpu_us"`  // for the same on one node without copies, at the first size
	Ratio     float64 `json:"ratio"`         // CPU divided by copies times Alone, at the first size
	Follower  float64 `json:"follower"`      // cost of each further copy divided by Alone, at the first size
	Rate      float64 `json:"per_second"`    // sentences added per second of elapsed time
	PutP50    float64 `json:"put_p50_ms"`    // elapsed time for a 200-sentence document while Writers put
	PutP99    float64 `json:"put_p99_ms"`    //
	Lag       uint64  `json:"lag_records"`   // maximum lag of the last follower behind its master, in records
	Drain     float64 `json:"drain_ms"`      // from the last put until all copies had everything
	Bytes     float64 `json:"bytes"`         // on disk, per sentence and copy, including the log
	Memory    float64 `json:"memory"`        // in use, per sentence and copy
	Resident  float64 `json:"resident_mb"`   // maximum of the process so far
	ExactP50  float64 `json:"exact_p50_ms"`  // elapsed time for a one-sentence question
	ExactP99  float64 `json:"exact_p99_ms"`  //
	Exact     float64 `json:"exact_cpu_us"`  // per sentence, for queries of 200-sentence documents
	OneP50    float64 `json:"one_p50_ms"`    // with probes for one changed hash
	OneP99    float64 `json:"one_p99_ms"`    //
	One       float64 `json:"one_cpu_us"`    //
	Document  float64 `json:"document_ms"`   // elapsed time for a 200-sentence document with probes
	Missed    int     `json:"missed"`        // number of planted pairs within the guarantee that were missed
	Missing   int     `json:"missing_shard"` // number of answers without all shards
}

// Cluster creates a site of several nodes below dir, grows it to each size in turn, and reports the result at each.
func Cluster(ctx context.Context, dir string, o ClusterOptions, report func(ClusterResult) error) (err error) {
	prints, _ := Prints(o.Sizes[len(o.Sizes)-1], 0, o.Seed)
	alone, err := aloneCost(ctx, filepath.Join(dir, "alone"), o, prints[:o.Sizes[0]])
	if err != nil {
		return err
	}
	one := alone
	if o.Copies > 1 {
		p := o
		p.Copies, p.Sizes = 1, o.Sizes[:1]
		if one, err = oneCopy(ctx, filepath.Join(dir, "one"), p, prints); err != nil {
			return err
		}
	}
	s, err := openNodes(ctx, filepath.Join(dir, "nodes"), o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	before := heap()
	from := 0
	for i, size := range o.Sizes {
		r := ClusterResult{Sentences: size, Copies: o.Copies}
		if err := s.grow(ctx, prints, from, size, &r); err != nil {
			return err
		}
		if i == 0 {
			r.Alone, r.Ratio = alone, r.CPU/(float64(o.Copies)*alone)
			if o.Copies > 1 {
				r.Follower = (r.CPU - one) / float64(o.Copies-1) / alone
			}
		}
		r.Memory = float64(heap()-before) / float64(size*o.Copies)
		runtime.KeepAlive(prints) // so that freeing them does not affect the difference
		if err := s.ask(ctx, questionsTo(prints[:size], o.Questions, o.Seed+uint64(size)), &r); err != nil {
			return err
		}
		r.Resident = peak()
		if err := report(r); err != nil {
			return err
		}
		from = size
	}
	return nil
}

// aloneCost returns the processor time per sentence, in microseconds, with the same number of shards without copies.
func aloneCost(ctx context.Context, dir string, o ClusterOptions, prints []concordat.Fingerprint) (_ float64, err error) {
	layout := cluster.Layout{Shards: o.Shards}
	shards := map[concordat.ShardID]*cluster.Alone{}
	defer func() {
		for _, s := range shards {
			err = errors.Join(err, s.Close())
		}
		err = errors.Join(err, os.RemoveAll(dir))
	}()
	for i := range o.Shards {
		id := cluster.ShardName(i)
		s, err := cluster.OpenAlone(ctx, filepath.Join(dir, string(id)), index.Options{Site: "bench", Scheme: scheme, Shard: id})
		if err != nil {
			return 0, err
		}
		shards[id] = s
	}
	put := func(ctx context.Context, p *concordat.Profile) error {
		return shards[layout.ShardFor(p.Document.Library, p.Document.ID)].Put(ctx, p)
	}
	runtime.GC()
	start := cpu()
	if err := putPrints(ctx, o.Writers, prints, 0, put); err != nil {
		return 0, err
	}
	for _, s := range shards {
		if err := s.Index().Persist(ctx); err != nil {
			return 0, err
		}
	}
	if err := sleep(ctx, o.Settle); err != nil {
		return 0, err
	}
	return micro(cpu()-start) / float64(len(prints)), nil
}

// oneCopy returns the processor time per sentence, in microseconds, for a site of several nodes without
// copies.
func oneCopy(ctx context.Context, dir string, o ClusterOptions, prints []concordat.Fingerprint) (_ float64, err error) {
	s, err := openNodes(ctx, dir, o)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	var r ClusterResult
	err = s.grow(ctx, prints, 0, o.Sizes[0], &r)
	return r.CPU, err
}

// putPrints puts the prints as documents numbered from number, using concurrent writers.
func putPrints(ctx context.Context, writers int, prints []concordat.Fingerprint, number int,
	put func(context.Context, *concordat.Profile) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(writers)
	for p := range profiles(prints) {
		if ctx.Err() != nil {
			break
		}
		p.Document.ID = concordat.DocumentID(fmt.Sprint(number))
		number++
		g.Go(func() error { return put(ctx, p) })
	}
	return g.Wait()
}

// questionsTo returns questions about prints, like Prints.
func questionsTo(prints []concordat.Fingerprint, questions int, seed uint64) []Question {
	rng := rand.New(rand.NewPCG(seed, 103))
	qs := make([]Question, questions)
	for i := range qs {
		qs[i] = Question{concordat.FingerprintFromHalves(rng.Uint64(), rng.Uint64()), -1, 0}
		if i%2 == 0 {
			t, k := rng.IntN(len(prints)), rng.IntN(13)
			f := prints[t]
			for _, b := range rng.Perm(concordat.Bits)[:k] {
				f[b/60] ^= 1 << (b % 60)
			}
			qs[i] = Question{f, t, k}
		}
	}
	return qs
}

// nodes is a site whose nodes share this process and use loopback connections.
type nodes struct {
	dir     string
	o       ClusterOptions
	hub     local.Hub
	nodes   []*cluster.Node
	servers []*http.Server
}

func openNodes(ctx context.Context, dir string, o ClusterOptions) (_ *nodes, err error) {
	s := &nodes{dir: dir, o: o}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	l := cluster.Layout{Cluster: "bench", Site: "bench", Scheme: scheme, Shards: o.Shards, Copies: o.Copies,
		Members: map[coord.NodeID]cluster.Member{}}
	var names []coord.NodeID
	for i := range o.Nodes {
		names = append(names, coord.NodeID(fmt.Sprint("n", i)))
		l.Members[names[i]] = cluster.Member{}
	}
	founder, err := s.hub.Join("founder")
	if err != nil {
		return nil, err
	}
	if err := errors.Join(cluster.Found(ctx, founder, l), founder.Close()); err != nil {
		return nil, err
	}
	for _, name := range names {
		if err := s.open(ctx, name); err != nil {
			return nil, err
		}
	}
	return s, s.settle(ctx)
}

func (s *nodes) open(ctx context.Context, name coord.NodeID) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	session, err := s.hub.Join(name)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	n, err := cluster.OpenNode(ctx, cluster.NodeOptions{
		Dir: filepath.Join(s.dir, string(name)), Session: session, Scheme: "http",
		Client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}},
		Node:   coord.Node{ID: name, Address: l.Addr().String()}, Index: index.Options{Site: "bench", Scheme: scheme},
	})
	if err != nil {
		return errors.Join(err, l.Close())
	}
	server := &http.Server{Handler: n.Handler()}
	go func() { _ = server.Serve(l) }() // stopped by Close
	s.nodes, s.servers = append(s.nodes, n), append(s.servers, server)
	return nil
}

// settle waits until all copies are in sync.
func (s *nodes) settle(ctx context.Context) error {
	for {
		v, news := s.nodes[0].View()
		ready := len(v.Shards) == s.o.Shards
		for _, sh := range v.Shards {
			ready = ready && v.Leads(sh.State) && len(sh.ISR) == s.o.Copies
		}
		if ready {
			return nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (s *nodes) close() (err error) {
	for i := range s.nodes {
		err = errors.Join(err, s.nodes[i].Close(), s.servers[i].Close())
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}

// copies calls f with the status of each copy, shard by shard.
func (s *nodes) copies(f func(concordat.ShardID, *cluster.Copy, replica.Status)) {
	for _, n := range s.nodes {
		for i := range s.o.Shards {
			id := cluster.ShardName(i)
			if c, ok := n.Copy(id); ok {
				if st, err := c.Status(); err == nil {
					f(id, c, st)
				}
			}
		}
	}
}

// lag returns how many records the last follower is behind its master.
func (s *nodes) lag() (worst uint64) {
	end, low := map[concordat.ShardID]uint64{}, map[concordat.ShardID]uint64{}
	s.copies(func(id concordat.ShardID, _ *cluster.Copy, st replica.Status) {
		if st.Role == replica.Master {
			end[id] = st.Commit
		} else if a, ok := low[id]; !ok || st.Applied < a {
			low[id] = st.Applied
		}
	})
	for id, a := range low {
		worst = max(worst, end[id]-min(end[id], a))
	}
	return worst
}

// grow puts the prints numbered [from, to) and measures the cost.
func (s *nodes) grow(ctx context.Context, prints []concordat.Fingerprint, from, to int, r *ClusterResult) error {
	watch, stop := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		t := time.NewTicker(100 * time.Millisecond)
		defer t.Stop()
		for {
			select {
			case <-watch.Done():
				return
			case <-t.C:
				r.Lag = max(r.Lag, s.lag())
			}
		}
	}()
	var mu sync.Mutex
	var times []float64
	put := func(ctx context.Context, p *concordat.Profile) error {
		start := time.Now()
		err := s.nodes[rand.IntN(len(s.nodes))].Put(ctx, p)
		mu.Lock()
		defer mu.Unlock()
		times = append(times, micro(time.Since(start))/1000)
		return err
	}
	runtime.GC()
	used, start := cpu(), time.Now()
	err := putPrints(ctx, s.o.Writers, prints[from:to], from/perDocument, put)
	r.Rate = float64(to-from) / time.Since(start).Seconds()
	stop()
	<-watched
	if err != nil {
		return err
	}
	if err := s.drain(ctx, r); err != nil {
		return err
	}
	r.CPU = micro(cpu()-used) / float64(to-from)
	r.PutP50, r.PutP99 = middle(times)
	bytes, err := size(s.dir)
	r.Bytes = float64(bytes) / float64(to*s.o.Copies)
	return err
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// drain waits until all copies have everything, then until it is on their disks.
func (s *nodes) drain(ctx context.Context, r *ClusterResult) error {
	start := time.Now()
	end := map[concordat.ShardID]uint64{}
	s.copies(func(id concordat.ShardID, _ *cluster.Copy, st replica.Status) { end[id] = max(end[id], st.End) })
	var all []*cluster.Copy
	var err error
	s.copies(func(id concordat.ShardID, c *cluster.Copy, _ replica.Status) {
		all = append(all, c)
		err = errors.Join(err, c.Await(ctx, func(st replica.Status) bool { return st.Applied >= end[id] }))
	})
	r.Drain = micro(time.Since(start)) / 1000
	for _, c := range all {
		err = errors.Join(err, c.Index().Persist(ctx))
	}
	if err == nil {
		err = sleep(ctx, s.o.Settle)
	}
	return err
}

func middle(times []float64) (p50, p99 float64) {
	slices.Sort(times)
	if len(times) == 0 {
		return 0, 0
	}
	return times[len(times)/2], times[len(times)*99/100]
}

// ask queries the site through all nodes in turn.
func (s *nodes) ask(ctx context.Context, qs []Question, r *ClusterResult) error {
	turn := 0
	match := func(ctx context.Context, q *concordat.Query) (*concordat.Answer, error) {
		turn++
		a, err := s.nodes[turn%len(s.nodes)].Match(ctx, q)
		if err == nil && len(a.Missing) > 0 {
			r.Missing++
		}
		return a, err
	}
	for _, probe := range []concordat.Probe{concordat.ProbeExact, concordat.ProbeOne} {
		if _, _, _, err := askAll(ctx, match, qs[:min(len(qs), 3*perDocument)], probe, 1); err != nil { // builds the tables
			return err
		}
		start := time.Now()
		took, _, missed, err := askAll(ctx, match, qs, probe, 1)
		if err != nil {
			return err
		}
		wall := micro(time.Since(start)) / 1000 / float64(len(qs)) * perDocument
		r.Missed += missed
		p50, p99 := latency(ctx, match, func(qs []Question) *concordat.Query {
			return &concordat.Query{Scheme: scheme, MaxDistance: reportDistance, Probe: probe, Fingerprints: []concordat.Fingerprint{qs[0].Print}}
		}, qs)
		if probe == concordat.ProbeExact {
			r.Exact, r.ExactP50, r.ExactP99 = took, p50/1000, p99/1000
		} else {
			r.One, r.OneP50, r.OneP99, r.Document = took, p50/1000, p99/1000, wall
		}
	}
	return nil
}
