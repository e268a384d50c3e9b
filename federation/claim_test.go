package federation_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"concordat"
	"concordat/crypto"
	"concordat/federation"
	"concordat/internal/fedtest"
)

// TestClaim: only one of a site's processes runs a request, and none does if it is unknown whether another has run it.
func TestClaim(t *testing.T) {
	var mu sync.Mutex
	taken := map[crypto.MessageID]bool{}
	var elsewhere bool
	asked := 0
	var down error
	f := fedtest.New(t, 2, scheme, func(_ int, o *federation.ServerOptions) {
		o.Claim = func(_ context.Context, _ crypto.SiteID, id crypto.MessageID, until time.Time) (bool, error) {
			mu.Lock()
			defer mu.Unlock()
			if !until.After(time.Now()) {
				t.Error("a request is claimed for no time at all")
			}
			if down != nil {
				asked++
				return false, down
			}
			first := !taken[id] && !elsewhere
			taken[id] = true
			return first, nil
		}
	})
	a := &scan{level: concordat.ShowMetadata}
	f.Answer(1, a)
	ask := func() error {
		_, err := f.Partner(0, 1).Catalogue(t.Context())
		return err
	}
	if err := ask(); err != nil {
		t.Fatal(err)
	}
	var no *concordat.Refusal
	elsewhere = true
	if err := ask(); !errors.As(err, &no) || no.Reason != concordat.ReasonUnknown {
		t.Errorf("taken elsewhere: %v", err)
	}
	elsewhere, down = false, errors.New("the store is away")
	if err := ask(); !errors.Is(err, concordat.ErrUnavailable) {
		t.Errorf("the store is away: %v", err)
	}
	if asked == 0 {
		t.Error("it was not asked whether another process had the request")
	}
	down = nil
	if err := ask(); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}
