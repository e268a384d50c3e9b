package replica

import (
	"slices"
	"testing"
	"time"

	"concordat/cluster/coord"
	"concordat/cluster/wal"
)

// follower returns follower b of master a in epoch 5, with the given log, and the fetch that it sent.
func follower(t *testing.T, log wal.Extent, applied uint64) (*Replica, Fetch) {
	t.Helper()
	return followerOf(t, 0, log, applied)
}

// followerOf is follower in a shard whose master an operator last chose in the given epoch.
func followerOf(t *testing.T, forced uint64, log wal.Extent, applied uint64) (*Replica, Fetch) {
	t.Helper()
	r := New(Config{Me: "b"}, Meta{Epoch: 5}, log, &Revisions{}, applied)
	f := find[SendFetch](t, r.Step(time.Second, View{
		Me: "b1", Live: map[coord.NodeID]coord.Incarnation{"a": "a1", "b": "b1"},
		Shard: coord.Shard{Version: 3, State: coord.State{Epoch: 5, ISR: []coord.NodeID{"a", "b"}, Leader: "a1",
			Replicas: []coord.NodeID{"a", "b"}, Forced: forced}},
	}))
	return r, f.Fetch
}

// find returns the single action of type T.
func find[T Action](t *testing.T, as []Action) T {
	t.Helper()
	var found []T
	for _, a := range as {
		if x, ok := a.(T); ok {
			found = append(found, x)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d of %T among %+v", len(found), *new(T), as)
	}
	return found[0]
}

func none[T Action](t *testing.T, as []Action) {
	t.Helper()
	for _, a := range as {
		if _, ok := a.(T); ok {
			t.Errorf("unwanted %+v", a)
		}
	}
}

func extent(end uint64, epochs ...wal.Epoch) wal.Extent {
	return wal.Extent{End: end, Durable: end, Epochs: epochs}
}

// TestTruncate cuts back to the last record that both logs share, although neither log names it (KIP-101).
func TestTruncate(t *testing.T) {
	r, f := follower(t, extent(9, wal.Epoch{Epoch: 1, First: 1}, wal.Epoch{Epoch: 3, First: 7}), 4)
	if f.Next != 10 || f.LastEpoch != 3 || f.Epoch != 5 {
		t.Fatalf("fetch %+v", f)
	}
	// The master has epoch 1 up to record 8, then epoch 4; the follower's part of epoch 1 ends at 6.
	as := r.Step(time.Second, Reply{From: "a", ID: f.ID, Epoch: 5, Next: 10, Kind: Diverged, To: 8, ToEpoch: 1})
	if got := find[Truncate](t, as); got.Seq != 6 {
		t.Errorf("cut after %d, want 6", got.Seq)
	}
	if got := find[SendFetch](t, as).Fetch; got.Next != 7 || got.LastEpoch != 1 {
		t.Errorf("next fetch %+v", got)
	}
}

// TestNeverBelowApplied tests rule R8.
func TestNeverBelowApplied(t *testing.T) {
	r, f := follower(t, extent(9, wal.Epoch{Epoch: 1, First: 1}), 7)
	as := r.Step(time.Second, Reply{From: "a", ID: f.ID, Epoch: 5, Next: 10, Kind: Diverged, To: 6, ToEpoch: 1})
	none[Truncate](t, as)
	if a := find[Alarm](t, as); !a.Quarantined {
		t.Errorf("got %+v", a)
	}
	if !find[Save](t, as).Meta.Damaged {
		t.Error("a copy that cannot be trusted may lead")
	}
	find[Install](t, as)
}

// TestForcedMasterLacks tests rule R8: what a copy would lose because an operator chose another master is put aside, even if the index does
// not hold it yet. Only records older than that choice can have been acknowledged.
func TestForcedMasterLacks(t *testing.T) {
	two := []wal.Epoch{{Epoch: 1, First: 1}, {Epoch: 3, First: 7}}
	for name, c := range map[string]struct {
		forced uint64
		log    wal.Extent
		reply  Reply
		aside  bool
	}{
		"never forced":         {0, extent(9, two...), Reply{Kind: Diverged, To: 6, ToEpoch: 1}, false},
		"written before":       {4, extent(9, two...), Reply{Kind: Diverged, To: 6, ToEpoch: 1}, true},
		"written since":        {3, extent(9, two...), Reply{Kind: Diverged, To: 6, ToEpoch: 1}, false},
		"some before":          {3, extent(9, two...), Reply{Kind: Diverged, To: 5, ToEpoch: 1}, true},
		"before the snapshot":  {4, extent(9, two...), Reply{Kind: Snapshot, End: 20}, true},
		"snapshot, but since":  {3, extent(9, two...), Reply{Kind: Snapshot, End: 20}, false},
		"snapshot for nothing": {4, wal.Extent{}, Reply{Kind: Snapshot, End: 20}, false},
		"before the log":       {5, wal.Extent{Base: 6, BaseEpoch: 3, End: 9, Durable: 9}, Reply{Kind: Diverged, To: 5, ToEpoch: 1}, true},
	} {
		r, f := followerOf(t, c.forced, c.log, min(4, c.log.End))
		c.reply.From, c.reply.ID, c.reply.Epoch, c.reply.Next = "a", f.ID, 5, f.Next
		as := r.Step(time.Second, c.reply)
		if got := r.Status().Quarantined; got != c.aside {
			t.Errorf("%s: put aside: %v, want %v", name, got, c.aside)
		}
		if c.aside {
			none[Truncate](t, as)
			if m := find[Save](t, as).Meta; !m.Damaged || m.Aside == "" {
				t.Errorf("%s: got %+v", name, m)
			}
		}
	}
}

// TestOlderEpochRefused tests rule R9.
func TestOlderEpochRefused(t *testing.T) {
	r, _ := follower(t, extent(9, wal.Epoch{Epoch: 1, First: 1}), 7)
	as := r.Step(2*time.Second, View{Me: "b1", Shard: coord.Shard{Version: 9,
		State: coord.State{Epoch: 4, ISR: []coord.NodeID{"b"}, Leader: "b1", Replicas: []coord.NodeID{"b"}}}})
	find[Alarm](t, as)
	none[CAS](t, as)
	if s := r.Status(); s.Shard.Version != 3 || s.Role != Follower {
		t.Errorf("status %+v", s)
	}
}

// TestForeignRecords: an invalid answer from a master changes nothing.
func TestForeignRecords(t *testing.T) {
	for name, recs := range map[string][]wal.Record{
		"gap":         {{Seq: 11, Epoch: 5, Kind: wal.Put}},
		"old":         {{Seq: 9, Epoch: 5, Kind: wal.Put}},
		"epoch falls": {{Seq: 10, Epoch: 2, Kind: wal.Put}},
		"epoch ahead": {{Seq: 10, Epoch: 6, Kind: wal.Put}},
	} {
		r, f := follower(t, extent(9, wal.Epoch{Epoch: 3, First: 1}), 7)
		as := r.Step(time.Second, Reply{From: "a", ID: f.ID, Epoch: 5, Next: 10, Records: recs, Commit: 11, End: 11})
		none[Append](t, as)
		if s := r.Status(); s.End != 9 || s.Commit > 9 {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// TestAlone: a single copy acknowledges a record once it is on the copy's own disk.
func TestAlone(t *testing.T) {
	r := New(Config{Me: "a"}, Meta{}, wal.Extent{}, &Revisions{}, 0)
	st := coord.State{ISR: []coord.NodeID{"a"}, Replicas: []coord.NodeID{"a"}}
	if got := find[Ready](t, r.Step(0, View{Me: "a1", Shard: coord.Shard{State: st}})); got.Incarnation != "a1" {
		t.Errorf("got %+v", got)
	}
	c := find[CAS](t, r.Step(0, View{Me: "a1", Shard: coord.Shard{State: st}, Live: map[coord.NodeID]coord.Incarnation{"a": "a1"}}))
	if c.State.Epoch != 1 || c.State.Leader != "a1" || c.By != "a1" {
		t.Errorf("got %+v", c)
	}
	as := r.Step(0, CASResult{ID: c.ID, Outcome: Made})
	if a := find[Append](t, as); a.Records[0].Kind != wal.Noop || a.Records[0].Seq != 1 || a.Records[0].Epoch != 1 {
		t.Errorf("got %+v", a)
	}
	if m := find[Save](t, as).Meta; m.Epoch != 1 {
		t.Errorf("got %+v", m)
	}
	r.Step(0, Write{ID: 77, Record: wal.Record{Kind: wal.Put}})
	none[Apply](t, r.Step(0, Applied{}))
	as = r.Step(0, Durable{Seq: 2})
	if a := find[Apply](t, as); a.Seq != 2 {
		t.Errorf("got %+v", a)
	}
	none[Acknowledge](t, as)
	if a := find[Acknowledge](t, r.Step(0, Applied{Seq: 2})); a.ID != 77 || a.Seq != 2 {
		t.Errorf("got %+v", a)
	}
}

// TestDamagedAloneStaysDown: if the only copy has lost acknowledged records, only an operator can make it master.
func TestDamagedAloneStaysDown(t *testing.T) {
	r := New(Config{Me: "a"}, Meta{Epoch: 1, Damaged: true}, wal.Extent{}, &Revisions{}, 0)
	st := coord.State{Epoch: 1, ISR: []coord.NodeID{"a"}, Leader: "a0", Replicas: []coord.NodeID{"a"}}
	c := find[CAS](t, r.Step(0, View{Me: "a1", Shard: coord.Shard{State: st}}))
	if len(c.State.Hold) != 1 || c.State.Epoch != 1 {
		t.Fatalf("got %+v", c)
	}
	find[Ready](t, r.Step(0, CASResult{ID: c.ID, Outcome: Made}))
	st.Hold = st.ISR
	none[CAS](t, r.Step(time.Minute, View{Me: "a1", Shard: coord.Shard{Version: 1, State: st},
		Live: map[coord.NodeID]coord.Incarnation{"a": "a1"}}))
	if c = find[CAS](t, r.Step(time.Minute, Force{})); c.State.Epoch != 2 || len(c.State.Hold) != 0 ||
		c.State.Forced != 2 {
		t.Errorf("got %+v", c)
	}
	if as := r.Step(time.Minute, CASResult{ID: c.ID, Outcome: Made}); r.Status().Role != Master {
		t.Errorf("got %+v", as)
	}
}

// TestReturnsInDoubt tests rule R15: when a removed follower is wanted again, the records that it had before prove nothing, and neither
// does a fetch that could have been in transit since then.
func TestReturnsInDoubt(t *testing.T) {
	live := map[coord.NodeID]coord.Incarnation{"a": "a1", "b": "b1"}
	both := []coord.NodeID{"a", "b"}
	r := New(Config{Me: "a"}, Meta{}, wal.Extent{}, &Revisions{}, 0)
	state := func(version int64, isr, replicas []coord.NodeID, epoch uint64, leader coord.Incarnation) []Action {
		return r.Step(0, View{Me: "a1", Live: live, Shard: coord.Shard{Version: version,
			State: coord.State{Epoch: epoch, ISR: isr, Replicas: replicas, Leader: leader}}})
	}
	c := find[CAS](t, state(1, both, both, 0, ""))
	r.Step(0, CASResult{ID: c.ID, Outcome: Made})
	r.Step(0, Durable{Seq: 1})
	fetch := func(id, heard uint64) []Action {
		return r.Step(0, Fetch{From: "b", Life: "b1", ID: id, Epoch: 1, Next: 2, LastEpoch: 1, Heard: heard})
	}
	fetch(7, 0)
	if s := r.Status(); s.Role != Master || s.Commit != 1 {
		t.Fatalf("status %+v", s)
	}
	none[CAS](t, state(3, both[:1], both[:1], 1, "a1"))
	none[CAS](t, state(4, both[:1], both, 1, "a1")) // b has sent nothing since
	none[CAS](t, fetch(6, 7))                       // older than the last fetch received
	as := fetch(8, 7)                               // sent by the former copy
	none[CAS](t, as)
	if a := find[SendReply](t, as); a.Reply.ID != 8 {
		t.Errorf("got %+v", a)
	}
	none[CAS](t, fetch(1<<40, 0)) // from the new copy, or from another former copy
	if got := find[CAS](t, fetch(1<<40+1, 1<<40)).State.ISR; len(got) != 2 {
		t.Errorf("in sync %v, want both", got)
	}
}

// TestBehindOnHold: every Behind is followed by another Ready, also if the copy was on hold already; otherwise its node would stay out.
func TestBehindOnHold(t *testing.T) {
	r := New(Config{Me: "b"}, Meta{Epoch: 5, Damaged: true}, extent(0), &Revisions{}, 0)
	v := View{Me: "b1", Live: map[coord.NodeID]coord.Incarnation{"a": "a1"}, Shard: coord.Shard{Version: 3, State: coord.State{
		Epoch: 5, ISR: []coord.NodeID{"a", "b"}, Leader: "a1", Replicas: []coord.NodeID{"a", "b"}}}}
	as := r.Step(time.Second, v)
	none[Ready](t, as)
	hold := find[CAS](t, as)
	if !slices.Equal(hold.State.Hold, []coord.NodeID{"b"}) {
		t.Fatalf("it asks for %+v", hold.State)
	}
	find[Ready](t, r.Step(time.Second, CASResult{ID: hold.ID, Outcome: Made}))
	find[Ready](t, r.Step(time.Second, Behind{}))
}

// TestUnreachableLate: a report that the master's process is gone counts only for the fetch that waits for a reply.
func TestUnreachableLate(t *testing.T) {
	for name, c := range map[string]struct {
		replied bool
		id      uint64 // added to the fetch's ID
		want    bool   // whether the follower stands for election
	}{"in time": {false, 0, true}, "of an earlier fetch": {false, ^uint64(0), false}, "after the reply": {true, 0, false}} {
		r, f := follower(t, extent(9, wal.Epoch{Epoch: 5, First: 1}), 9)
		if c.replied {
			// The next fetch waits for the coordinator's retry, so that none is under way.
			r.Step(time.Second, Reply{From: "a", ID: f.ID, Epoch: 5, Next: 10, Kind: Fenced})
		}
		as := r.Step(time.Second, Unreachable{Node: "a", ID: f.ID + c.id})
		as = append(as, r.Step(20*time.Second, Tick{})...)
		stands := slices.ContainsFunc(as, func(a Action) bool { _, ok := a.(CAS); return ok })
		if stands != c.want {
			t.Errorf("%s: stands %v, want %v", name, stands, c.want)
		}
	}
}

// TestForcedNotNow: an operator's order waits while the copy is being replaced.
func TestForcedNotNow(t *testing.T) {
	r, f := follower(t, extent(9, wal.Epoch{Epoch: 1, First: 1}), 9)
	as := r.Step(time.Second, Reply{From: "a", ID: f.ID, Epoch: 5, Next: 10, Kind: Snapshot, End: 20})
	as = append(as, r.Step(time.Second, Tick{})...)
	install, hold := find[Install](t, as), find[CAS](t, as)
	if !slices.Equal(hold.State.Hold, []coord.NodeID{"b"}) {
		t.Fatalf("it asks for %+v", hold.State)
	}
	r.Step(time.Second, CASResult{ID: hold.ID, Outcome: Made})
	none[CAS](t, r.Step(2*time.Second, Force{}))
	none[CAS](t, r.Step(20*time.Second, Tick{}))
	c := find[CAS](t, r.Step(21*time.Second, Installed{Gen: install.Gen, Seq: 20, Epoch: 5}))
	if c.State.ISR[0] != "b" || c.State.Forced != 6 {
		t.Errorf("it asks for %+v", c.State)
	}
}

// TestDoubtPauses: a silent master is doubted only once within suspicionPause, so that masters do not alternate.
func TestDoubtPauses(t *testing.T) {
	r, f := follower(t, extent(9, wal.Epoch{Epoch: 5, First: 1}), 9)
	r.Step(time.Second, Reply{From: "a", ID: f.ID, Epoch: 5, Next: 10})
	at := time.Second
	// doubted returns when the follower first stands for election, or end if it does not.
	doubted := func(end time.Duration) (CAS, time.Duration) {
		for ; at < end; at += 100 * time.Millisecond {
			for _, a := range append(r.Step(at, Contact{"b1"}), r.Step(at, Tick{})...) {
				if c, ok := a.(CAS); ok {
					return c, at
				}
			}
		}
		return CAS{}, at
	}
	c, first := doubted(10 * time.Second)
	if c.State.ISR == nil {
		t.Fatalf("the silent master is never doubted: %+v", r.Status())
	}
	// The master that won instead of this copy, and then another reply and silence again.
	r.Step(at, CASResult{ID: c.ID, Outcome: Stale})
	live := map[coord.NodeID]coord.Incarnation{"a": "a1", "b": "b1"}
	both := []coord.NodeID{"a", "b"}
	next := find[SendFetch](t, r.Step(at, View{Me: "b1", Live: live, Shard: coord.Shard{Version: 4, State: coord.State{Epoch: 6, ISR: both,
		Leader: "a1", Replicas: both}}})).Fetch
	r.Step(at, Reply{From: "a", ID: next.ID, Epoch: 6, Next: 10})
	c, second := doubted(first + time.Minute)
	if c.State.ISR == nil || second < first+suspicionPause {
		t.Errorf("doubted after %v and again after %v; want a pause of at least %v", first, second, suspicionPause)
	}
}

// TestWhoFetches: a copy follows the master as long as it is wanted or counts as in sync, and no longer.
func TestWhoFetches(t *testing.T) {
	for name, c := range map[string]struct {
		isr, replicas []coord.NodeID
		want          bool
	}{
		"wanted":  {[]coord.NodeID{"a"}, []coord.NodeID{"a", "b"}, true},
		"in sync": {[]coord.NodeID{"a", "b"}, []coord.NodeID{"a"}, true},
		"neither": {[]coord.NodeID{"a"}, []coord.NodeID{"a"}, false},
	} {
		r := New(Config{Me: "b"}, Meta{Epoch: 5}, extent(9, wal.Epoch{Epoch: 5, First: 1}), &Revisions{}, 9)
		as := r.Step(time.Second, View{Me: "b1", Live: map[coord.NodeID]coord.Incarnation{"a": "a1", "b": "b1"},
			Shard: coord.Shard{Version: 3, State: coord.State{Epoch: 5, ISR: c.isr, Leader: "a1", Replicas: c.replicas}}})
		if got := slices.ContainsFunc(as, func(a Action) bool { _, ok := a.(SendFetch); return ok }); got != c.want {
			t.Errorf("%s: it fetches: %v, want %v", name, got, c.want)
		}
	}
}

// TestGivenUpTakesNothing: a reply that arrives after the copy was given up adds nothing to its log.
func TestGivenUpTakesNothing(t *testing.T) {
	r, f := follower(t, extent(9, wal.Epoch{Epoch: 5, First: 1}), 9)
	r.Step(time.Second, Broken{Reason: "a segment of the index"})
	none[Append](t, r.Step(time.Second, Reply{From: "a", ID: f.ID, Epoch: 5, Next: 10, End: 10,
		Records: []wal.Record{{Seq: 10, Epoch: 5, Kind: wal.Put}}}))
	if got := r.Status().End; got != 9 {
		t.Errorf("its log ends at %d, want 9", got)
	}
}

// TestDamagedAndContradicted: a copy that has lost records, and has others that its master lacks, is put aside, for a reason.
func TestDamagedAndContradicted(t *testing.T) {
	r := New(Config{Me: "b"}, Meta{Epoch: 5, Damaged: true}, extent(9, wal.Epoch{Epoch: 1, First: 1}), &Revisions{}, 4)
	f := find[SendFetch](t, r.Step(time.Second, View{Me: "b1", Live: map[coord.NodeID]coord.Incarnation{"a": "a1"}, Shard: coord.Shard{
		Version: 3, State: coord.State{Epoch: 5, ISR: []coord.NodeID{"a"}, Leader: "a1", Replicas: []coord.NodeID{"a", "b"}}}})).Fetch
	as := r.Step(time.Second, Reply{From: "a", ID: f.ID, Epoch: 5, Next: 10, Kind: Diverged, To: 6, ToEpoch: 1})
	if m := find[Save](t, as).Meta; !m.Damaged || m.Aside == "" {
		t.Errorf("got %+v", m)
	}
}

// TestSameMasterAgain: when a node becomes master again in a later epoch, its followers ask anew.
func TestSameMasterAgain(t *testing.T) {
	r, f := follower(t, extent(9, wal.Epoch{Epoch: 5, First: 1}), 9)
	both := []coord.NodeID{"a", "b"}
	as := r.Step(time.Second, View{Me: "b1", Live: map[coord.NodeID]coord.Incarnation{"a": "a1", "b": "b1"},
		Shard: coord.Shard{Version: 7, State: coord.State{Epoch: 7, ISR: both, Leader: "a1", Replicas: both}}})
	if got := find[SendFetch](t, as).Fetch; got.Epoch != 7 || got.ID <= f.ID {
		t.Errorf("after %+v it sent %+v", f, got)
	}
}

// TestDefaults states what a Config leaves out.
func TestDefaults(t *testing.T) {
	r := New(Config{Me: "a"}, Meta{}, wal.Extent{}, &Revisions{}, 0)
	got := [...]time.Duration{r.cfg.Lag, r.cfg.Patience, r.cfg.Wait, r.cfg.Retry}
	if want := [...]time.Duration{2 * time.Second, 2 * time.Second, 500 * ms, 100 * ms}; got != want {
		t.Errorf("times %v, want %v", got, want)
	}
	if r.cfg.FetchBytes != 4<<20 || r.cfg.MaxWaiting != 10_000 {
		t.Errorf("limits %d bytes, %d writes", r.cfg.FetchBytes, r.cfg.MaxWaiting)
	}
	if r = New(Config{Me: "a", FetchBytes: 7, Lag: time.Minute}, Meta{}, wal.Extent{}, &Revisions{}, 0); r.cfg.FetchBytes != 7 ||
		r.cfg.Lag != time.Minute {
		t.Errorf("got %+v", r.cfg)
	}
}
