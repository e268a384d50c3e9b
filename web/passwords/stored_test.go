package passwords

import (
	"errors"
	"strings"
	"testing"

	"concordat"
)

// TestStored: a stored hash is that of its password and of no other, and one that is damaged, of another version, without a
// key, or that would cost more than a site gives is refused as such, before anything is tried.
func TestStored(t *testing.T) {
	h := NewHasher()
	good, err := h.Hash(t.Context(), "correct horse battery")
	if err != nil {
		t.Fatal(err)
	}
	for password, want := range map[string]bool{"correct horse battery": true, "correct horse batterY": false, "": false} {
		if ok, err := h.Verify(t.Context(), 0, good, password); ok != want || err != nil {
			t.Errorf("%q: %v, %v", password, ok, err)
		}
	}
	parts := strings.Split(good, "$") // "", argon2id, version, costs, salt, key
	with := func(at int, s string) string {
		p := append([]string(nil), parts...)
		p[at] = s
		return strings.Join(p, "$")
	}
	for name, bad := range map[string]string{
		"empty": "", "another algorithm": with(1, "argon2i"), "another version": with(2, "v=16"), "no costs": with(3, "m=,t=,p="),
		"more memory than 1 GiB": with(3, "m=1048577,t=1,p=1"), "too many passes": with(3, "m=8,t=101,p=1"), "no pass": with(3, "m=8,t=0,p=1"),
		"no lane": with(3, "m=8,t=1,p=0"), "a key that is no base64": with(5, "!"+parts[5]), "a salt that is no base64": with(4, "!"+parts[4]),
		"a short key": with(5, "AAAAAAAAAAAAAAAAAAAA"), "a long key": with(5, strings.Repeat("A", 1368)),
		"no key": strings.Join(parts[:5], "$"),
	} {
		if ok, err := h.Verify(t.Context(), 0, bad, "correct horse battery"); ok || !errors.Is(err, concordat.ErrCorrupt) {
			t.Errorf("%s: %v, error %v, want ErrCorrupt", name, ok, err)
		}
	}
}
