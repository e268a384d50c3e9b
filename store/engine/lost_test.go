package engine

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"concordat"
)

// TestPostgresLost: a broken connection or a server that disappears counts as lost, and the statement is retried. A statement that the
// server refuses, or whose caller no longer waits, is not retried.
func TestPostgresLost(t *testing.T) {
	broken := &net.OpError{Op: "read", Net: "tcp", Err: io.ErrUnexpectedEOF}
	for _, x := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{broken, true}, {io.EOF, true}, {fmt.Errorf("read: %w", net.ErrClosed), true}, {driver.ErrBadConn, true},
		{&pgconn.PgError{Code: "57P01"}, true}, {&pgconn.PgError{Code: "57P03"}, true}, {&pgconn.PgError{Code: "25P03"}, true},
		{&pgconn.PgError{Code: "08006"}, true},
		{&pgconn.PgError{Code: "23505"}, false}, {&pgconn.PgError{Code: "57014"}, false},
		{fmt.Errorf("%w: %w", broken, context.Canceled), false}, {fmt.Errorf("%w: %w", broken, context.DeadlineExceeded), false},
		{errors.New("anything else"), false},
	} {
		if got := postgresLost(x.err); got != x.want {
			t.Errorf("%v is lost: %v, want %v", x.err, got, x.want)
		}
		if got := errors.Is(postgresSentinel(x.err), ErrNoAnswer); got != x.want && !errors.Is(x.err, context.DeadlineExceeded) {
			t.Errorf("%v is reported as no answer: %v, want %v", x.err, got, x.want)
		}
	}
}

// TestSilentServer: a server that accepts a connection but does not answer is unavailable when the caller's time is up.
func TestSilentServer(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err = Options{}.Open(ctx, "postgres://concordat@"+l.Addr().String()+"/site?sslmode=disable")
	if !errors.Is(err, concordat.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}
