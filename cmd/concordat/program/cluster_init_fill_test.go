//go:build linux

package program

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"concordat/instance"
	"concordat/internal/suite"
)

// TestFillInterrupted: a process killed while documents move into the shards loses none, and the next process continues.
func TestFillInterrupted(t *testing.T) {
	t.Parallel()
	suite.Rest(t, "some thousand documents")
	data := newSite(t)
	const n = 800
	if sum := addAll(t, data, bigTable(t, n)); sum.Added != n {
		t.Fatalf("%+v", sum)
	}
	at := freeAddress(t)
	coordinator := program(t, data, "cluster", "coordinator", "--listen", at, "--file", filepath.Join(t.TempDir(), "c.json"), "--timeout",
		"2s")
	if err := coordinator.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = coordinator.Process.Kill()
		_ = coordinator.Wait() // it was killed
	})
	for end := time.Now().Add(3 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if c, err := net.Dial("tcp", at); err == nil {
			_ = c.Close()
			break
		} else if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	output(t, 0, data, "cluster", "init", "--listen", "127.0.0.1:0", "--coordinator", "http://"+at, "--shards", "2")
	node := &joinedNode{place: place{t, data}, name: "a"}
	old := filepath.Join(data, instance.IndexName, "00")
	node.log = &syncedLog{}
	node.process = program(t, data, "serve", "--listen", "127.0.0.1:0")
	node.process.Stderr = node.log
	if err := node.process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(node.kill)
	end := time.Now().Add(3 * time.Minute)
	for ; !strings.Contains(node.log.String(), "moving the single-machine index into the shards"); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(node.log)
		}
	}
	node.kill()
	if _, err := os.Stat(old); err != nil {
		t.Logf("all had moved before the process was killed: %v", err)
	}
	node.start()
	if _, err := os.Stat(old); err == nil {
		t.Error("the index of one machine is still there")
	}
	var st instance.Status
	out, _ := output(t, 0, data, "--json", "status")
	if err := json.Unmarshal([]byte(out), &st); err != nil || st.Documents != n {
		t.Errorf("%d documents, want %d; %v", st.Documents, n, err)
	}
}
