//go:build linux

package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"testing"
	"time"

	"concordat/cluster/coord"
	"concordat/internal/scripttest"
	"concordat/internal/suite"
)

// TestUpgrade upgrades a site of three machines node by node, from the program set by CONCORDAT_FAULTS_PREVIOUS (a commit, or a file) to
// this one, while documents are added, deleted and checked at the other nodes. No request is refused, and nothing is lost. Then it starts
// the old program again, which works or explains why it does not.
func TestUpgrade(t *testing.T) {
	if words := os.Getenv(insideEnv); words != "" {
		insideUpgrade(t, words)
		return
	}
	suite.Rest(t, "builds two programs and runs them in networks of their own")
	from := os.Getenv(previousEnv)
	if from == "" {
		t.Skipf("%s names no commit and no program to upgrade from", previousEnv)
	}
	if why := missingServed(); why != "" {
		t.Skip(why)
	}
	outside(t, run{Seed: 1, Timeout: 4 * time.Second, Previous: previous(t, from), Program: current(t), Cache: scripttest.CacheDir()})
}

func insideUpgrade(t *testing.T, words string) {
	begin(t)
	var r run
	if err := json.Unmarshal([]byte(words), &r); err != nil {
		t.Fatal(err)
	}
	h := opened(t, r)
	old := r
	old.Program = r.Previous
	s := newServed(t, old, h)
	u := s.load(r.Seed)
	time.Sleep(5 * time.Second) // load before the first restart
	for _, n := range s.names {
		u.spare(n, true)
		s.end(n)
		s.programs[n] = r.Program
		s.start(n)
		s.ready(n)
		s.settle()
		u.spare(n, false)
		t.Logf("%6.1fs node %s is upgraded", h.now().Seconds(), n)
		time.Sleep(3 * time.Second) // load on both programs
	}
	u.end()
	s.collect(u.all())
	all := h.entries()
	report(t, all)
	for _, e := range all {
		if e.Kind == "write" && !e.OK || e.Kind == "read" && (e.Err != "" || !e.Complete) {
			t.Errorf("%s of %s at node %s at %v failed during the upgrade: complete %v, %s", e.Kind, e.Doc, e.Node, e.At, e.Complete, e.Err)
		}
	}
	s.downgrade("c", r.Previous)
	if t.Failed() {
		s.logs(6000)
	}
}

// downgrade starts the old program on a node. It must serve, or name both versions and end.
func (s *served) downgrade(n coord.NodeID, old string) {
	s.t.Helper()
	s.end(n)
	is := s.programs[n]
	s.programs[n] = old
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	cmd := s.command(n)
	var said bytes.Buffer
	cmd.Stderr = &said
	s.must(cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for works := false; !works; time.Sleep(100 * time.Millisecond) {
		select {
		case err := <-ended:
			s.t.Logf("the old program ended: %v: %s", err, &said)
			if !bytes.Contains(said.Bytes(), []byte("versions up to")) {
				s.t.Error("the old program does not say why it ended")
			}
			works = true
		case <-ctx.Done():
			s.t.Error("the old program neither serves nor ends")
			works = true
		default:
			if works = s.isReady(n); works {
				s.t.Log("the old program serves")
			}
		}
	}
	_ = cmd.Process.Kill()
	s.programs[n] = is
	s.start(n)
	s.settle()
}
