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
	c := find[CAS](t, r.Step(0, View{Me: "a1", Live: live, Shard: coord.Shard{Version: 1, State: coord.State{ISR: nodes, Replicas: nodes}}}))
	r.Step(0, CASResult{ID: c.ID, Outcome: Made})
	for i := range uint64(4) {
		r.Step(0, Write{ID: i + 1, Record: wal.Record{Kind: wal.Put}})
	}
	r.Step(0, Durable{Seq: 5})
	for _, n := range nodes[1:] {
		for id := range uint64(3) {
			r.Step(0, Fetch{From: n, Life: live[n], ID: id + 1, Epoch: 1, Next: 6, LastEpoch: 1, Heard: id})
		}
	}
	r.Step(0, Applied{Seq: 5})
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
