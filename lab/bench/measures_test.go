package bench

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"concordat"
)

// TestRounds: the median of an even number of rounds is the mean of the two in the middle, and a failed round is an error.
func TestRounds(t *testing.T) {
	for _, c := range []struct {
		r            rounds
		best, median time.Duration
	}{{rounds{5}, 5, 5}, {rounds{9, 1}, 1, 5}, {rounds{9, 1, 4}, 1, 4}, {rounds{8, 1, 4, 2}, 1, 3}} {
		if c.r.best() != c.best || c.r.median() != c.median {
			t.Errorf("%v: got %d and %d, want %d and %d", c.r, c.r.best(), c.r.median(), c.best, c.median)
		}
	}
	var r rounds
	if err := r.time(func() error { return io.ErrClosedPipe }); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v", err)
	}
	if p50, p99 := middle(nil); p50 != 0 || p99 != 0 {
		t.Errorf("no times: got %v and %v", p50, p99)
	}
	times := make([]float64, 100)
	for i := range times {
		times[i] = float64(100 - i)
	}
	if p50, p99 := middle(times); p50 != 51 || p99 != 100 {
		t.Errorf("got %v and %v, want 51 and 100", p50, p99)
	}
}

// TestProcess: a command runs as often as requested, and its failure is that of the benchmark.
func TestProcess(t *testing.T) {
	var out bytes.Buffer
	r, err := Process(t.Context(), "echo", []string{"sh", "-c", "echo once"}, 3, &out)
	if err != nil || r.Rounds != 3 || r.Command != "echo" || strings.Count(out.String(), "once") != 3 || r.Wall <= 0 || r.Best > r.CPU {
		t.Errorf("%+v, %v: %s", r, err, &out)
	}
	if _, err := Process(t.Context(), "fail", []string{"sh", "-c", "exit 3"}, 2, io.Discard); err == nil ||
		!strings.Contains(err.Error(), "run fail: ") {
		t.Errorf("got %v", err)
	}
	if _, err := Process(t.Context(), "none", []string{t.TempDir() + "/none"}, 1, io.Discard); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want os.ErrNotExist", err)
	}
}

// TestWriter: the same seed writes the same documents, sentences have 15 to 29 words, and a submission lists the documents that it reuses.
func TestWriter(t *testing.T) {
	w := newWriter(4)
	if !slices.Equal(w.document(7, 30), newWriter(4).document(7, 30)) || slices.Equal(w.document(7, 30), w.document(8, 30)) ||
		slices.Equal(w.document(7, 30), newWriter(5).document(7, 30)) {
		t.Error("a document does not depend on the seed and its number alone")
	}
	if !slices.Equal(w.document(7, 30)[:10], w.document(7, 10)) {
		t.Error("a shorter document is not the beginning of a longer one")
	}
	for _, s := range w.document(7, 200) {
		if n := len(strings.Fields(s)); n < 15 || n > 29 || !strings.HasPrefix(s, "In ") || !strings.HasSuffix(s, ".") {
			t.Errorf("%d words: %q", n, s)
		}
	}
	o := CheckOptions{Documents: 50, PerDocument: 20, Submission: 100}.filled()
	text, list, ok := strings.Cut(w.submission(1, o), "\n\n")
	names := strings.Fields(list)
	if !ok || len(names) != planted {
		t.Fatalf("the submission reuses %d documents, want %d", len(names), planted)
	}
	if n := strings.Count(text, "."); n < 100-planted || n > 100+planted {
		t.Errorf("%d sentences, want about 100", n)
	}
}

// TestCheckDefaults: the library has at least the sentences and the documents that were requested.
func TestCheckDefaults(t *testing.T) {
	for _, c := range []struct {
		o    CheckOptions
		want int // documents
	}{{CheckOptions{}, 500}, {CheckOptions{Documents: 7}, 7}, {CheckOptions{Sentences: 401}, 3},
		{CheckOptions{Sentences: 401, Documents: 9}, 9}, {CheckOptions{Sentences: 401, PerDocument: 1}, 401}} {
		if o := c.o.filled(); o.Documents != c.want || o.Submission == 0 || o.Rounds == 0 {
			t.Errorf("%+v: got %+v, want %d documents", c.o, o, c.want)
		}
	}
}

// TestMeter: a meter reports every request, the first error, and the times of the middle and of the slowest hundredth.
func TestMeter(t *testing.T) {
	l := &load{o: WebOptions{Process: os.Getpid()}}
	m, err := l.begin("page")
	if err != nil {
		t.Skip(err) // no proc file system
	}
	for i := range 200 {
		m.count(time.Duration(i+1)*time.Millisecond, 10, nil)
	}
	m.fail(io.ErrClosedPipe)
	m.count(time.Second, 0, io.ErrNoProgress)
	m.waiting(3)
	m.waiting(2)
	err = m.end(func(r WebResult) error {
		if r.Page != "page" || r.Requests != 201 || r.Bytes != 2000 || r.Errors != 2 || r.First != io.ErrClosedPipe.Error() || r.Open != 3 {
			t.Errorf("got %+v", r)
		}
		if r.P50 != 101 || r.P99 != 199 || r.Memory <= 0 || r.Peak < r.Memory {
			t.Errorf("got %+v", r)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if _, err := (&load{o: WebOptions{Process: -1}}).begin("page"); !errors.Is(err, concordat.ErrUnavailable) {
		t.Errorf("a process that does not exist: got %v", err)
	}
	if err := Web(t.Context(), WebOptions{}, nil); !errors.Is(err, concordat.ErrInvalid) {
		t.Errorf("no sessions: got %v", err)
	}
}
