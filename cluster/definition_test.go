package cluster

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"concordat"
	"concordat/cluster/coord"
	"concordat/cluster/wal"
	"concordat/index"
	"concordat/internal/indextest"
)

// leftLog creates a shard whose log contains the payloads, each of a document named after it, none of which has reached the index, as
// after a crash.
func leftLog(t *testing.T, payloads map[string][]byte) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "shard")
	x, err := index.Open(dir, index.Options{Site: indextest.Site, Shard: "00", Scheme: sample().Scheme, Logged: true})
	if err == nil {
		err = x.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	log, err := wal.Open(logDir(dir), wal.Options{Shard: "00", LowWater: 1, Damaged: func(uint64) error { return errors.New("damaged") }})
	if err != nil {
		t.Fatal(err)
	}
	seq := uint64(0)
	for id, payload := range payloads {
		seq++
		r := wal.Record{Seq: seq, Epoch: 1, Rev: seq, Kind: wal.Put, Slot: Slot("lib", concordat.DocumentID(id)), ID: "lib\x00" + id,
			Payload: payload}
		if err := log.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	_, err = log.Sync()
	if err := errors.Join(err, log.Close()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestReplayOlder: when a log with cells by an earlier or unknown definition is replayed, they count as stale, but are found.
func TestReplayOlder(t *testing.T) {
	payloads := map[string][]byte{
		"plain":        appendProfile(nil, sample()),
		"present":      appendProfile(nil, meant(5, 300)),
		"present none": appendProfile(nil, meant()),
		"earlier":      appendProfile(nil, by(otherDigest, meant(5, 300))),
		"unknown":      appendProfile(nil, by(index.UnknownCells, meant(5, 300))),
		"unknown none": appendProfile(nil, by(index.UnknownCells, meant())),
	}
	a, err := openAlone(t.Context(), leftLog(t, payloads), CopyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}()
	got, err := a.Unfit(t.Context(), "", index.UnfitQuery{Library: "lib", Want: index.MeantCells, Limit: 9})
	if err != nil {
		t.Fatal(err)
	}
	want := &index.Unfit{Lacking: 1, Stale: 2, Bare: 2, Documents: []index.UnfitDocument{{ID: "earlier"}, {ID: "plain"},
		{ID: "present none", Bare: true}, {ID: "unknown"}, {ID: "unknown none", Bare: true}}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	st, err := a.TextStats(t.Context(), nil)
	if err != nil || st.Documents != 6 || st.Meant != 5 || st.Current != 3 {
		t.Errorf("statistics: %+v, %v; want 6 documents, 5 with known cells, 3 of them current", st, err)
	}
	found, err := a.SearchText(t.Context(), &concordat.TextQuery{Cells: true, AverageLength: 3, Limit: 9,
		Windows: [][]concordat.WeightedTerm{{{Term: 300, Weight: 1}}}})
	if err != nil || len(found.Matches) != 3 {
		t.Errorf("found by a cell: %+v, %v; want 3 documents", found, err)
	}
	renewed := meant(5, 300)
	renewed.Document.ID = "earlier"
	if n, err := a.Renew(t.Context(), renewed); err != nil || n != 1 {
		t.Errorf("renewed %d documents, %v", n, err)
	}
	if got, err := a.Unfit(t.Context(), "", index.UnfitQuery{Library: "lib", Want: index.MeantCells}); err != nil || got.Stale != 1 {
		t.Errorf("after renewing one: %+v, %v", got, err)
	}
}

// TestWriteReadable: a write to a master contains only what the master has announced to read.
func TestWriteReadable(t *testing.T) {
	var written []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		written, _ = io.ReadAll(r.Body) // what is missing is found below
		_, _ = w.Write(appendWritten(nil, &wireWritten{Seq: 1}))
	}))
	defer server.Close()
	peers := &HTTPPeers{Client: server.Client(), Scheme: "http"}
	for payload, want := range map[int]byte{0: 2, 2: 2, 3: 3, 4: 3} {
		to := coord.Node{ID: "b", Address: server.Listener.Addr().String(), Payload: payload}
		if _, err := peers.write(t.Context(), to, "00", callWrite, operation{Epoch: 1}, []index.Change{{Put: meant(5)}}); err != nil {
			t.Fatal(err)
		}
		in, ok := parseWrite(written)
		records, err := wal.ParseRecords(in.Changes)
		if !ok || err != nil || len(records) != 1 || records[0].Payload[0] != want {
			t.Errorf("for a node that reads version %d: %+v, %v, %v; want version %d", payload, records, ok, err, want)
		}
	}
}

// TestLogged: on one machine, the log states the definition of cells from the first write on, so that they are current after a crash.
func TestLogged(t *testing.T) {
	dir := leftLog(t, nil)
	a, err := openAlone(t.Context(), dir, CopyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	earlier := by(otherDigest, meant(5))
	earlier.Document.ID = "earlier"
	if err := errors.Join(a.Put(t.Context(), meant(5), earlier), a.Close()); err != nil {
		t.Fatal(err)
	}
	crashed := leftLog(t, nil) // the index is lost, the log is not
	if err := errors.Join(os.RemoveAll(logDir(crashed)), os.CopyFS(logDir(crashed), os.DirFS(logDir(dir)))); err != nil {
		t.Fatal(err)
	}
	for what, dir := range map[string]string{"reopened": dir, "replayed": crashed} {
		a, err := openAlone(t.Context(), dir, CopyOptions{})
		if err != nil {
			t.Fatal(err)
		}
		u, err := a.Unfit(t.Context(), "", index.UnfitQuery{Library: "lib", Want: index.MeantCells, Limit: 9})
		if err := errors.Join(err, a.Close()); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(&index.Unfit{Stale: 1, Documents: []index.UnfitDocument{{ID: "earlier"}}}, u); d != "" {
			t.Errorf("%s: %s", what, d)
		}
	}
}

// TestRepeatedAfterUpgrade: a write repeated with the same revision counts as made, even if its record would now have another version.
func TestRepeatedAfterUpgrade(t *testing.T) {
	a, err := openAlone(t.Context(), leftLog(t, nil), CopyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}()
	put := []index.Change{{Put: meant(5, 300)}}
	op := operation{Epoch: anyEpoch, Rev: a.copy.clock.draw(1)}
	var first uint64
	for i, payload := range []int{2, 3, 2} {
		a.copy.mu.Lock()
		a.copy.o.payload, a.copy.payload = payload, payload
		a.copy.mu.Unlock()
		seq, err := a.copy.writeIn(t.Context(), op, put)
		if i == 0 {
			first = seq
		}
		if err != nil || seq > first {
			t.Errorf("with version %d: record %d, %v; the first was record %d", payload, seq, err, first)
		}
	}
	if _, err := a.copy.writeIn(t.Context(), op, []index.Change{{Put: meant(5, 301)}}); !IsLate(err) {
		t.Errorf("other cells with the same revision: %v", err)
	}
}
