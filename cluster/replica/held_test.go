package replica

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"concordat/cluster/coord"
	"concordat/cluster/wal"
)

// master returns the master a of epoch 1 with floor two and its state. It is in sync with b, and with c if three is set, and its log has
// five committed records.
func master(t *testing.T, three bool) (*Replica, coord.State) {
	t.Helper()
	nodes := []coord.NodeID{"a", "b"}
	live := map[coord.NodeID]coord.Incarnation{"a": "a1", "b": "b1"}
	if three {
		nodes, live["c"] = append(nodes, "c"), "c1"
	}
	r := New(Config{Me: "a", MinISR: 2, Lag: 2 * time.Second, Retry: time.Second}, Meta{}, wal.Extent{}, &Revisions{}, 0)
	c := find[CAS](t, r.Step(ms, View{Me: "a1", Live: live, Shard: coord.Shard{Version: 1, State: coord.State{ISR: nodes, Replicas: nodes}}}))
	r.Step(ms, CASResult{ID: c.ID, Outcome: Made})
	for i := range uint64(4) {
		r.Step(ms, Write{ID: i + 1, Record: wal.Record{Kind: wal.Put}})
	}
	r.Step(ms, Durable{Seq: 5})
	for _, n := range nodes[1:] {
		for id := range uint64(3) {
			r.Step(ms, Fetch{From: n, Life: live[n], ID: id + 1, Epoch: 1, Next: 6, LastEpoch: 1, Heard: id})
		}
	}
	r.Step(ms, Applied{Seq: 5})
	if s := r.Status(); s.Role != Master || s.Commit != 5 {
		t.Fatalf("status %+v", s)
	}
	return r, c.State
}

// TestLost: if a member's log ends before the last committed record, for example because its folder was restored, the member leaves the
// set. If it is not allowed to leave, it cannot become master. It gets no lease.
func TestLost(t *testing.T) {
	for name, f := range map[string]Fetch{
		"shorter":  {Next: 5, LastEpoch: 1},
		"empty":    {Next: 1},
		"another":  {Next: 6, LastEpoch: 0},
		"snapshot": {Next: 0},
	} {
		for _, three := range []bool{false, true} {
			r, _ := master(t, three)
			f.From, f.Life, f.ID, f.Epoch, f.Heard = "b", "b1", 9, 1, 3
			as := r.Step(100*time.Millisecond, f)
			got := find[CAS](t, as).State
			if three && slices.Contains(got.ISR, "b") || !three && !slices.Contains(got.Hold, "b") {
				t.Errorf("%s, three %v: in sync %v, held %v", name, three, got.ISR, got.Hold)
			}
			for _, a := range as {
				if x, ok := a.(SendReply); ok && x.To == "b" && x.Reply.Lease > 0 {
					t.Errorf("%s, three %v: a lease of %v", name, three, x.Reply.Lease)
				}
			}
		}
	}
}

// TestLeaseShrinks: a lease ends when the follower can leave the set, counted from when it last had everything. The longer ago that was,
// the shorter the lease.
func TestLeaseShrinks(t *testing.T) {
	r, _ := master(t, false)
	r.Step(50*time.Millisecond, Contact{Me: "a1"})
	r.Step(50*time.Millisecond, Write{ID: 9, Record: wal.Record{Kind: wal.Put}}) // b does not have this record
	var got []time.Duration
	for i, at := range []time.Duration{300, 600, 900} { // at the first fetch, b has everything that existed when it last asked
		now := at * time.Millisecond
		r.Step(now, Contact{Me: "a1"})
		as := r.Step(now, Fetch{From: "b", Life: "b1", ID: 10 + uint64(i), Epoch: 1, Next: 6, LastEpoch: 1, Heard: 3})
		got = append(got, find[SendReply](t, as).Reply.Lease)
	}
	if want := []time.Duration{2000 * ms, 1700 * ms, 1400 * ms}; !slices.Equal(got, want) {
		t.Errorf("leases %v, want %v", got, want)
	}
}

// TestRevisionsOracle compares Revisions, at small limits, with a slow implementation that remembers every record. A write is fresh if
// its revision is above every revision of its document and above all forgotten ones, including the one just forgotten.
func TestRevisionsOracle(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		v := NewRevisions(0)
		v.most = 1 + r.IntN(5)
		var all []wal.Record
		for seq := uint64(1); seq < 40; seq++ {
			rec := wal.Record{Seq: seq, Kind: wal.Put, ID: string(rune('a' + r.IntN(4))), Rev: 1 + r.Uint64N(60), Payload: []byte{byte(r.IntN(2))}}
			old := all[:max(0, len(all)-v.most)]
			horizon, last, same := uint64(0), uint64(0), false
			for _, o := range old {
				horizon = max(horizon, o.Rev)
			}
			for _, o := range all[len(old):] {
				if o.ID == rec.ID {
					last = max(last, o.Rev)
					same = same || o.Rev == rec.Rev && string(o.Payload) == string(rec.Payload)
				}
			}
			want := late
			switch {
			case rec.Rev > last && rec.Rev > horizon:
				want = fresh
			case same:
				want = made
			}
			if got := v.judge(&rec); got != want {
				t.Fatalf("seed %d: record %+v after %+v, of which %d are remembered: got %d, want %d", seed, rec, all, v.most, got, want)
			}
			if want == fresh {
				v.Add(&rec)
				all = append(all, rec)
			}
		}
	}
}

// rounds lets time pass for a master and its followers, which fetch every 100 ms unless they are silent, and returns the first change that
// the master requests, or the time at the end if it requests none.
func rounds(r *Replica, from, to time.Duration, followers ...coord.NodeID) (*CAS, time.Duration) {
	for now := from; now < to; now += 100 * ms {
		as := append(r.Step(now, Contact{Me: "a1"}), r.Step(now, Tick{})...)
		for i, n := range followers {
			id := 10 + uint64(now/ms)
			as = append(as, r.Step(now+time.Duration(i)*ms, Fetch{From: n, Life: coord.Incarnation(n + "1"), ID: id, Epoch: 1, Next: 6, LastEpoch: 1,
				Heard: id - 100})...)
		}
		for _, a := range as {
			if c, ok := a.(CAS); ok {
				return &c, now
			}
		}
	}
	return nil, to
}

// TestSilentFollowerLeaves: a follower leaves the set when it has been silent for Lag and its lease has ended, and not before.
func TestSilentFollowerLeaves(t *testing.T) {
	r, _ := master(t, true)
	c, at := rounds(r, 100*ms, 20*time.Second, "b")
	if c == nil || !slices.Equal(c.State.ISR, []coord.NodeID{"a", "b"}) || at < 2*time.Second || at > 5*time.Second {
		t.Fatalf("at %v it asks for %+v", at, c)
	}
	r, _ = master(t, true)
	if c, at = rounds(r, 100*ms, 10*time.Second, "b", "c"); c != nil {
		t.Errorf("nobody is silent; at %v it asks for %+v", at, c.State)
	}
}

// TestUnwantedLeaves: a member that is no longer wanted leaves, once all that are wanted are in sync.
func TestUnwantedLeaves(t *testing.T) {
	for name, c := range map[string]struct {
		replicas []coord.NodeID
		want     bool
	}{"all are there": {[]coord.NodeID{"a", "b"}, true}, "one is to come": {[]coord.NodeID{"a", "b", "d"}, false}} {
		r, s := master(t, true)
		rounds(r, 100*ms, 3*time.Second, "b", "c")
		s.Replicas = c.replicas
		as := r.Step(3*time.Second, View{Me: "a1", Live: map[coord.NodeID]coord.Incarnation{"a": "a1", "b": "b1", "c": "c1"},
			Shard: coord.Shard{Version: 3, State: s}})
		i := slices.IndexFunc(as, func(a Action) bool { _, ok := a.(CAS); return ok })
		var got *CAS
		if i >= 0 {
			x := as[i].(CAS)
			got = &x
		} else {
			got, _ = rounds(r, 3100*ms, 6*time.Second, "b", "c")
		}
		if left := got != nil && slices.Equal(got.State.ISR, []coord.NodeID{"a", "b"}); left != c.want {
			t.Errorf("%s: c leaves: %v, want %v (%+v)", name, left, c.want, got)
		}
	}
}

// TestStrangerAsks: a node that should have no copy gets no reply.
func TestStrangerAsks(t *testing.T) {
	r, s := master(t, false)
	as := r.Step(100*ms, View{Me: "a1", Live: map[coord.NodeID]coord.Incarnation{"a": "a1", "b": "b1", "z": "z1"},
		Shard: coord.Shard{Version: 3, State: s}})
	as = append(as, r.Step(100*ms, Fetch{From: "z", Life: "z1", ID: 1, Epoch: 1, Next: 6, LastEpoch: 1})...)
	as = append(as, r.Step(5*time.Second, Tick{})...)
	for _, a := range as {
		if x, ok := a.(SendReply); ok && x.To == "z" {
			t.Errorf("it replies %+v", x.Reply)
		}
	}
}

// TestLeaseWithoutCoordinator: a master without contact lends only to followers that say, in reply to its last answer, that they have none
// either. A fetch can have been sent before that answer.
func TestLeaseWithoutCoordinator(t *testing.T) {
	for name, c := range map[string]struct {
		away bool
		late uint64 // how many answers the fetch has not seen
		want bool
	}{"both are cut off": {true, 0, true}, "in contact": {false, 0, false}, "sent earlier": {true, 1, false}} {
		r, _ := master(t, false)
		if x, _ := rounds(r, 100*ms, time.Second, "b"); x != nil {
			t.Fatalf("%+v", x)
		}
		r.Step(time.Second, Contact{})
		answered := r.peers["b"].answered
		f := Fetch{From: "b", Life: "b1", ID: 2000, Epoch: 1, Next: 6, LastEpoch: 1, Away: c.away, Heard: answered - c.late}
		as := append(r.Step(1100*ms, f), r.Step(1700*ms, Tick{})...)
		if got := find[SendReply](t, as).Reply; got.Lease > 0 != c.want || got.Lease > 0 && !got.Away {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
