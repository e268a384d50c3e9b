package coord_test

import (
	"errors"
	"fmt"
	"testing"

	"concordat"
	"concordat/cluster/coord"
)

func nodes(n int) (out []coord.NodeID) {
	for i := range n {
		out = append(out, coord.NodeID(fmt.Sprintf("node-%d", i)))
	}
	return out
}

// TestValidate changes a valid state in one way each.
func TestValidate(t *testing.T) {
	most := nodes(coord.MaxCopies)
	for name, tt := range map[string]struct {
		state coord.State
		valid bool
	}{
		"one copy":           {coord.State{ISR: nodes(1), Replicas: nodes(1)}, true},
		"a replica to come":  {coord.State{ISR: nodes(1), Replicas: nodes(3)}, true},
		"a copy too many":    {coord.State{ISR: nodes(3), Replicas: nodes(1)}, true},
		"all on hold":        {coord.State{ISR: nodes(3), Hold: nodes(3), Replicas: nodes(3)}, true},
		"most":               {coord.State{ISR: most, Hold: most, Replicas: most}, true},
		"no copy in sync":    {coord.State{Replicas: nodes(1)}, false},
		"no replica":         {coord.State{ISR: nodes(1)}, false},
		"nothing":            {coord.State{}, false},
		"forced":             {coord.State{Epoch: 3, Forced: 3, ISR: nodes(1), Replicas: nodes(1)}, true},
		"forced later":       {coord.State{Epoch: 3, Forced: 4, ISR: nodes(1), Replicas: nodes(1)}, false},
		"hold out of sync":   {coord.State{ISR: nodes(1), Hold: []coord.NodeID{"other"}, Replicas: nodes(1)}, false},
		"second out of sync": {coord.State{ISR: nodes(2), Hold: nodes(3)[1:], Replicas: nodes(2)}, false},
		"too many in sync":   {coord.State{ISR: nodes(coord.MaxCopies + 1), Replicas: nodes(1)}, false},
		"too many replicas":  {coord.State{ISR: nodes(1), Replicas: nodes(coord.MaxCopies + 1)}, false},
		"in sync twice":      {coord.State{ISR: append(nodes(3), "node-0"), Replicas: nodes(1)}, false},
		"replica twice":      {coord.State{ISR: nodes(1), Replicas: append(nodes(3), "node-2")}, false},
		"on hold twice":      {coord.State{ISR: nodes(2), Hold: append(nodes(2), "node-1"), Replicas: nodes(2)}, false},
		"no name in sync":    {coord.State{ISR: append(nodes(1), ""), Replicas: nodes(1)}, false},
		"replica no name":    {coord.State{ISR: nodes(1), Replicas: append(nodes(1), "")}, false},
	} {
		err := tt.state.Validate()
		if (err == nil) != tt.valid || err != nil && !errors.Is(err, concordat.ErrInvalid) {
			t.Errorf("%s: got %v, want valid %v", name, err, tt.valid)
		}
	}
}

// TestClone changes a clone in every part. The original stays as it was, and each change makes a difference.
func TestClone(t *testing.T) {
	is := func() coord.State {
		return coord.State{Epoch: 3, ISR: nodes(2), Hold: nodes(1), Leader: "node-0:1", Replicas: nodes(3)}
	}
	s := is()
	if !s.Equal(s.Clone()) || !s.Clone().Equal(s) {
		t.Error("a clone differs")
	}
	for name, change := range map[string]func(*coord.State){
		"epoch":    func(s *coord.State) { s.Epoch++ },
		"leader":   func(s *coord.State) { s.Leader = "" },
		"forced":   func(s *coord.State) { s.Forced = 2 },
		"isr":      func(s *coord.State) { s.ISR[1] = "other" },
		"hold":     func(s *coord.State) { s.Hold[0] = "node-1" },
		"replicas": func(s *coord.State) { s.Replicas[2] = "other" },
		"order":    func(s *coord.State) { s.ISR[0], s.ISR[1] = s.ISR[1], s.ISR[0] },
	} {
		c := s.Clone()
		change(&c)
		if s.Equal(c) || c.Equal(s) {
			t.Errorf("%s: the changed clone is equal", name)
		}
		if !s.Equal(is()) {
			t.Fatalf("%s: the original is %+v, want %+v", name, s, is())
		}
	}
}

// TestLeads: a master leads while it is live in the incarnation that won, and nobody leads a shard that was given up.
func TestLeads(t *testing.T) {
	v := coord.View{Live: map[coord.NodeID]coord.Node{"node-0": {ID: "node-0", Incarnation: "node-0:2"}, "node-1": {ID: "node-1"}}}
	for name, tt := range map[string]struct {
		master coord.NodeID
		leader coord.Incarnation
		want   bool
	}{
		"won":                  {"node-0", "node-0:2", true},
		"won before a restart": {"node-0", "node-0:1", false},
		"given up":             {"node-0", "", false},
		"not announced":        {"node-1", "", false},
		"not live":             {"node-2", "node-2:1", false},
		"not live, given up":   {"node-2", "", false},
	} {
		s := coord.State{ISR: []coord.NodeID{tt.master}, Replicas: nodes(1), Leader: tt.leader}
		if got := v.Leads(s); got != tt.want {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
		}
	}
}
