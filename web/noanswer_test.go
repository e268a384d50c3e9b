package web_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"concordat/store"
	"concordat/web"
)

// TestDatabaseIsNotNamed: if the database is unavailable, users learn this, but not its address.
func TestDatabaseIsNotNamed(t *testing.T) {
	m := web.ProblemOf(fmt.Errorf("token: %w: %w", store.ErrNoAnswer, errors.New("connect to user=concordat: 10.0.0.7:5432")))
	if m.Status != http.StatusServiceUnavailable || m.Detail != "the database is not responding: unavailable" {
		t.Errorf("%d %q", m.Status, m.Detail)
	}
}
