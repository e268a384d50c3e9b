package crypto_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"concordat/crypto"
)

// TestS1 tests keystores with a passphrase and with a key.
func TestS1(t *testing.T) {
	a := newSite(t, "asker", 1)
	r := source(2)
	var err error
	if a.Identity, err = a.NewEpoch("health", start, 0, r); err != nil {
		t.Fatal(err)
	}
	// A destroyed signing key and a root key kept elsewhere are distinct states.
	late, changed := a.Expire(start.Add(crypto.SigningLife + time.Hour))
	if !changed {
		t.Fatal("nothing expired after a year")
	}
	if _, again := late.Expire(start.Add(crypto.SigningLife + time.Hour)); again {
		t.Error("what has expired is to be written again")
	}
	secrets := map[string][2]crypto.Secret{
		"passphrase": {crypto.Passphrase([]byte("correct horse")), crypto.Passphrase([]byte("correct hors"))},
		"key":        {crypto.RawKey([32]byte{1}), crypto.RawKey([32]byte{2})},
	}
	for name, s := range secrets {
		for state, id := range map[string]*crypto.Identity{"fresh": a.Identity, "without root": a.WithoutRoot(), "a year later": late} {
			b, err := id.Lock(s[0], r)
			if err != nil {
				t.Fatal(err)
			}
			if crypto.NeedsPassphrase(b) != (name == "passphrase") {
				t.Errorf("%s: needs passphrase: %v", name, crypto.NeedsPassphrase(b))
			}
			got, err := crypto.Unlock(b, s[0])
			if err != nil {
				t.Fatalf("%s, %s: %v", name, state, err)
			}
			if !bytes.Equal(crypto.Plain(got), crypto.Plain(id)) {
				t.Errorf("%s, %s: another identity came back", name, state)
			}
			if _, err := crypto.Unlock(b, s[1]); !errors.Is(err, crypto.ErrPassphrase) {
				t.Errorf("%s: wrong secret: %v", name, err)
			}
			again, err := id.Lock(s[0], r)
			if err != nil || bytes.Equal(again, b) {
				t.Errorf("%s: the same bytes twice (%v)", name, err)
			}
		}
	}
	b, err := a.Lock(secrets["key"][0], r)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(b, []byte("health")) {
		t.Error("the keystore shows its content")
	}
	if _, err := crypto.Unlock(b, secrets["passphrase"][0]); !errors.Is(err, crypto.ErrPassphrase) {
		t.Errorf("a passphrase for a key: %v", err)
	}
	for i := range b {
		bad := bytes.Clone(b)
		bad[i] ^= 1 << (i % 8)
		if _, err := crypto.Unlock(bad, secrets["key"][0]); err == nil {
			t.Fatalf("byte %d changed and accepted", i)
		}
		if _, err := crypto.Unlock(b[:i], secrets["key"][0]); err == nil {
			t.Fatalf("cut to %d and accepted", i)
		}
	}
}

// TestS1Cost: a keystore cannot demand more memory or time than the limit.
func TestS1Cost(t *testing.T) {
	a := newSite(t, "asker", 1)
	s := crypto.Passphrase([]byte("x"))
	b, err := a.Lock(s, source(1))
	if err != nil {
		t.Fatal(err)
	}
	const memory, passes = 4 + 3 + 32 + 16, 4 + 3 + 32 + 16 + 4
	for _, at := range []int{memory, passes} {
		bad := bytes.Clone(b)
		binary.BigEndian.PutUint32(bad[at:], 1<<31)
		if _, err := crypto.Unlock(bad, s); !errors.Is(err, crypto.ErrFormat) {
			t.Errorf("cost at %d: %v, want ErrFormat", at, err)
		}
	}
}

func TestRootKeystore(t *testing.T) {
	a := newSite(t, "asker", 1)
	s := crypto.RawKey([32]byte{7})
	b, err := a.LockRoot(s, source(1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := crypto.Unlock(b, s); !errors.Is(err, crypto.ErrFormat) {
		t.Errorf("a root key as an identity: %v", err)
	}
	root, err := crypto.UnlockRoot(b, s)
	if err != nil {
		t.Fatal(err)
	}
	back, err := a.WithoutRoot().WithRoot(root)
	if err != nil || !bytes.Equal(crypto.Plain(back), crypto.Plain(a.Identity)) {
		t.Errorf("with the root back: %v", err)
	}
	if _, err := newSite(t, "other", 2).WithRoot(root); !errors.Is(err, crypto.ErrFormat) {
		t.Errorf("another site's root: %v", err)
	}
	if _, err := a.WithoutRoot().LockRoot(s, source(1)); !errors.Is(err, crypto.ErrNoKey) {
		t.Errorf("export of what is not here: %v", err)
	}
}
