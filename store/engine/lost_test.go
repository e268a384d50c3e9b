package engine

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// TestPostgresLost: a connection that broke and a server that goes away are lost and tried again; what the server refuses, and
// what nobody waits for any more, is not.
func TestPostgresLost(t *testing.T) {
	broken := &net.OpError{Op: "read", Net: "tcp", Err: io.ErrUnexpectedEOF}
	for _, x := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{broken, true}, {io.EOF, true}, {fmt.Errorf("read: %w", net.ErrClosed), true}, {driver.ErrBadConn, true},
		{&pgconn.PgError{Code: "57P01"}, true}, {&pgconn.PgError{Code: "25P03"}, true}, {&pgconn.PgError{Code: "08006"}, true},
		{&pgconn.PgError{Code: "23505"}, false}, {&pgconn.PgError{Code: "57014"}, false},
		{fmt.Errorf("%w: %w", broken, context.Canceled), false}, {fmt.Errorf("%w: %w", broken, context.DeadlineExceeded), false},
		{errors.New("anything else"), false},
	} {
		if got := postgresLost(x.err); got != x.want {
			t.Errorf("%v is lost: %v, want %v", x.err, got, x.want)
		}
	}
}
