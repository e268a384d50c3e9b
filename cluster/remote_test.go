package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"concordat"
	"concordat/cluster"
	"concordat/index"
	"concordat/internal/indextest"
)

// serve serves x as shard "00" on a socket and returns a connection to it.
func serve(t *testing.T, x concordat.Index) *cluster.Remote {
	t.Helper()
	socket := filepath.Join(t.TempDir(), strings.Repeat("deep/", 30), "s") // longer than the longest socket name
	if err := os.MkdirAll(filepath.Dir(socket), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := cluster.Listen(socket)
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: cluster.Handler(func(name string) (concordat.Index, bool) { return x, name == "00" })}
	go func() { _ = s.Serve(l) }() // ends with Close
	r := cluster.Dial(socket, "00")
	t.Cleanup(func() {
		if err := errors.Join(r.Close(), s.Close()); err != nil {
			t.Error(err)
		}
	})
	return r
}

func TestContract(t *testing.T) {
	indextest.Run(t, indextest.Subject{Open: func(t *testing.T) concordat.Index {
		x, err := index.Open(filepath.Join(t.TempDir(), "shard"), index.Options{Site: indextest.Site, Shard: "00", Scheme: indextest.Scheme})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := x.Close(); err != nil {
				t.Error(err)
			}
		})
		return serve(t, x)
	}})
}

// failing is an index that always fails with the same error.
type failing struct {
	concordat.Index
	err error
}

func (f failing) Document(context.Context, concordat.Ref) (*concordat.Document, error) {
	return nil, f.err
}

func TestErrorsKeepTheirKind(t *testing.T) {
	for _, kind := range []error{concordat.ErrNotFound, concordat.ErrScheme, concordat.ErrCorrupt, concordat.ErrDiskFull,
		concordat.ErrUnavailable} {
		r := serve(t, failing{err: fmt.Errorf("segment 7: %w", kind)})
		_, err := r.Document(t.Context(), concordat.Ref{})
		if !errors.Is(err, kind) || !strings.Contains(err.Error(), "segment 7") {
			t.Errorf("got %v, want %v", err, kind)
		}
		for _, other := range []error{concordat.ErrInvalid, concordat.ErrRefused} {
			if errors.Is(err, other) {
				t.Errorf("%v is also %v", err, other)
			}
		}
	}
}

// waiting is an index whose method Document waits until its caller has gone.
type waiting struct {
	concordat.Index
	come, gone chan struct{}
}

func (w waiting) Document(ctx context.Context, _ concordat.Ref) (*concordat.Document, error) {
	close(w.come)
	<-ctx.Done()
	close(w.gone)
	return nil, ctx.Err()
}

func TestCancelReachesTheOtherSide(t *testing.T) {
	w := waiting{come: make(chan struct{}), gone: make(chan struct{})}
	r := serve(t, w)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { _, err := r.Document(ctx, concordat.Ref{}); done <- err }()
	<-w.come
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	<-w.gone
}

func TestNobodyThere(t *testing.T) {
	r := cluster.Dial(filepath.Join(t.TempDir(), "none"), "00")
	if _, err := r.Document(t.Context(), concordat.Ref{}); !errors.Is(err, concordat.ErrUnavailable) {
		t.Errorf("no socket: %v", err)
	}
}

// TestOtherVersion connects to a process of another build.
func TestOtherVersion(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.StripPrefix("/cluster", cluster.Handler(nil))}
	go func() { _ = s.Serve(l) }()
	defer func() { _ = s.Close() }()
	_, err = cluster.Dial(socket, "00").Document(t.Context(), concordat.Ref{})
	if !errors.Is(err, concordat.ErrUnavailable) || !strings.Contains(err.Error(), "version") {
		t.Errorf("got %v", err)
	}
}

// TestRemoteCells: the connection transmits that a document has no meaning cells; this is not mistaken for unknown cells.
func TestRemoteCells(t *testing.T) {
	a := openAlone(t, filepath.Join(t.TempDir(), "shard"))
	unknown, none, some := profileOf("unknown", "one"), profileOf("none", "one"), profileOf("some", "one")
	none.Cells, some.Cells = []concordat.Cell{}, []concordat.Cell{7, 70}
	must(t, serve(t, a).Put(t.Context(), unknown, none, some))
	if s, err := a.TextStats(t.Context(), nil); err != nil || s.Meant != 2 {
		t.Errorf("%+v, %v; want the cells of 2 documents known", s, err)
	}
}
