package crypto_test

import (
	"errors"
	"testing"
	"time"

	"concordat/crypto"
)

// short is a source of n random bytes that then fails.
type short struct {
	n      int
	failed bool
}

var errSource = errors.New("no entropy")

func (s *short) Read(p []byte) (int, error) {
	if s.n <= 0 {
		s.failed = true
		return 0, errSource
	}
	n := min(len(p), s.n)
	for i := range n {
		p[i] = byte(i*7 + s.n)
	}
	s.n -= n
	return n, nil
}

// TestFailingSource: an operation fails if its source of random bytes fails, immediately or after its first bytes; nothing is made with
// all-zero keys.
func TestFailingSource(t *testing.T) {
	a, b := newSite(t, "asker", 1), newSite(t, "owner", 2)
	inv, err := b.Invite("https://owner.example", time.Hour, start, source(1))
	if err != nil {
		t.Fatal(err)
	}
	secret := crypto.RawKey([32]byte{1})
	later := start.Add(crypto.SigningLife)
	for name, op := range map[string]func(r *short) error{
		"New":      func(r *short) error { _, err := crypto.New(start, r); return err },
		"MakeCard": func(r *short) error { _, _, err := a.MakeCard(fields("asker"), nil, later, r); return err },
		"Ready":    func(r *short) error { _, err := a.Ready(later, later, r); return err },
		"Rotate":   func(r *short) error { _, err := a.Rotate(start, r); return err },
		"Replace":  func(r *short) error { _, err := a.Replace(start, r); return err },
		"NewEpoch": func(r *short) error { _, err := a.NewEpoch("health", start, 0, r); return err },
		"Invite":   func(r *short) error { _, err := b.Invite("https://owner.example", time.Hour, start, r); return err },
		"Enrol":    func(r *short) error { _, _, err := inv.Enrol(a.card, b.card, start, r); return err },
		"Lock":     func(r *short) error { _, err := a.Lock(secret, r); return err },
		"LockRoot": func(r *short) error { _, err := a.LockRoot(secret, r); return err },
		"SealRequest": func(r *short) error {
			_, _, err := a.SealRequest(crypto.Request{Type: crypto.TypeQuery, TTL: time.Minute}, b.card, start, r)
			return err
		},
	} {
		for n := 0; n < 1<<16; n += 15 {
			r := &short{n: n}
			err := op(r)
			if r.failed != errors.Is(err, errSource) || !r.failed && err != nil || n == 0 && err == nil {
				t.Errorf("%s with a source of %d bytes: error %v, and the source failed: %v", name, n, err, r.failed)
			}
			if !r.failed {
				break
			}
		}
	}
}
