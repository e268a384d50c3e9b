package engine

import (
	"context"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"syscall"
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
		{&net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}, true},
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

// TestSettingsOfConnections: the server learns when it connects how long a call waits for a lock, and checks often enough whether the
// machine is still there to release a vanished machine's locks within abandonedTime. The address takes precedence.
func TestSettingsOfConnections(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	settings := make(chan map[string]string, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer func() { _ = c.Close() }()
		var n, version uint32 // PostgreSQL's startup message: length, version, and then names and values, each followed by a zero byte
		if binary.Read(c, binary.BigEndian, &n) != nil || binary.Read(c, binary.BigEndian, &version) != nil || n > 1<<16 {
			return
		}
		b := make([]byte, n-8)
		if _, err := io.ReadFull(c, b); err != nil {
			return
		}
		words, got := strings.Split(string(b), "\x00"), map[string]string{}
		for i := 0; i+1 < len(words); i += 2 {
			got[words[i]] = words[i+1]
		}
		settings <- got
	}()
	_, err = Options{}.Open(t.Context(), "postgres://concordat@"+l.Addr().String()+"/site?sslmode=disable&application_name=held")
	if !errors.Is(err, concordat.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	got := <-settings
	number := func(name string) int {
		n, err := strconv.Atoi(got[name])
		if err != nil || n <= 0 {
			t.Errorf("%s is %q", name, got[name])
		}
		return n
	}
	silent := number("tcp_keepalives_idle") + number("tcp_keepalives_count")*number("tcp_keepalives_interval")
	if d := time.Duration(silent) * time.Second; d > abandonedTime {
		t.Errorf("a machine can be gone for %s before the server notices, want at most %s", d, abandonedTime)
	}
	if n := number("lock_timeout"); n != 5000 || got["application_name"] != "held" {
		t.Errorf("a call waits %d ms for a lock, want 5000; the application is %q", n, got["application_name"])
	}
}
