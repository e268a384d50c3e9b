package program

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"concordat"
	"concordat/instance"
	"concordat/internal/suite"
	"concordat/store"
)

// batchFolder writes n documents of random words; every fourth copies part of the previous one.
func batchFolder(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(5, 6))
	last := ""
	for i := range n {
		var b strings.Builder
		if i%4 == 1 {
			b.WriteString(last[:len(last)/2] + "\n\n")
		}
		last = ""
		for j := range 60 {
			for range 12 {
				last += fmt.Sprintf("w%x ", r.IntN(1<<16))
			}
			last += "end. "
			if j%5 == 4 {
				last += "\n\n"
			}
		}
		b.WriteString(last)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("doc-%03d.txt", i)), []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// pairsOf returns what a batch run printed about its pairs, and its last line.
func pairsOf(t *testing.T, stdout string) (pairs []string, id string) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(stdout))
	for d.More() {
		var line struct {
			Type, A, B, ID string
			Share          any
		}
		if err := d.Decode(&line); err != nil {
			t.Fatal(err)
		}
		switch line.Type {
		case "pair":
			pairs = append(pairs, fmt.Sprint(line.A, line.B, line.Share))
		case "batch":
			id = line.ID
		}
	}
	slices.Sort(pairs)
	return pairs, id
}

// batchState is the progress of a batch as seen by another process.
type batchState struct {
	members, compared int
	checked           map[concordat.TaskID]time.Time // creation time of each finished task
}

func stateOf(t *testing.T, db *store.DB) (s batchState) {
	t.Helper()
	s.checked = map[concordat.TaskID]time.Time{}
	bs, err := db.Batches.Batches(t.Context(), nil, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(bs) == 0 {
		return s
	}
	ms, err := db.Batches.BatchMembers(t.Context(), bs[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	s.members = len(ms)
	for _, m := range ms {
		if m.Compared {
			s.compared++
		}
		if m.Task == "" {
			continue
		}
		task, err := db.Checks.Task(t.Context(), m.Task)
		if err != nil {
			t.Fatal(err)
		}
		s.checked[m.Task] = task.Started
	}
	return s
}

// TestKilledBatch: a batch killed while it reads, compares or checks continues when the same command is run again. The result is the same
// as without the interruption, and nothing is checked twice.
func TestKilledBatch(t *testing.T) {
	t.Parallel()
	suite.Rest(t, "kills a batch again and again")
	const documents = 48
	files := batchFolder(t, documents)
	stdout, _ := output(t, 0, newSite(t), "batch", files, "--json", "-q")
	want, _ := pairsOf(t, stdout)
	if len(want) != documents/4 {
		t.Fatalf("a run in one piece finds %v", want)
	}
	data := newSite(t)
	db, err := store.Open(t.Context(), filepath.Join(data, instance.StoreName))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	var last batchState
	kills := 0
	for _, reached := range []func(batchState) bool{
		func(s batchState) bool { return s.members > 0 },
		func(s batchState) bool { return s.compared > 0 },
		func(s batchState) bool { return len(s.checked) > 0 },
		func(s batchState) bool { return len(s.checked) > len(last.checked) },
	} {
		c := program(t, data, "batch", files, "-q")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- c.Wait() }()
		for alive := true; alive && !reached(stateOf(t, db)); {
			select {
			case err := <-ended:
				ended <- err
				alive = false
			case <-time.After(2 * time.Millisecond): // check again
			}
		}
		_ = c.Process.Kill() // it may already have ended
		if err := <-ended; err != nil {
			kills++
		}
		now := stateOf(t, db)
		for id, made := range last.checked {
			if !now.checked[id].Equal(made) {
				t.Errorf("%s was checked again", id)
			}
		}
		last = now
	}
	if kills < 3 || len(last.checked) == 0 {
		t.Fatalf("only %d kills came in time, with %d documents checked: it shows nothing", kills, len(last.checked))
	}
	if len(last.checked) == documents {
		t.Log("the last kill came after the last check")
	}
	stdout, _ = output(t, 0, data, "batch", files, "--json", "-q")
	got, id := pairsOf(t, stdout)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	now := stateOf(t, db)
	for id, made := range last.checked {
		if !now.checked[id].Equal(made) {
			t.Errorf("%s was checked again", id)
		}
	}
	bs, err := db.Batches.Batches(t.Context(), nil, 0, 0)
	if err != nil || len(bs) != 1 || bs[0].ID != id {
		t.Errorf("batches %v, %v, want %s alone", bs, err, id)
	}
	tasks, err := db.Checks.Tasks(t.Context(), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(tasks) != documents {
		t.Errorf("%d tasks, want %d", len(tasks), documents)
	}
	for _, task := range tasks {
		if task.State != concordat.TaskDone {
			t.Errorf("%s is %s", task.ID, task.State)
		}
	}
}
