package passwords

import (
	"errors"
	"strings"
	"testing"

	"concordat"
)

// TestStored: a stored hash matches its password and no other. A hash that is damaged, of another version, without a key, or more
// expensive than a site allows is rejected as such before any password is tried.
func TestStored(t *testing.T) {
	h := NewHasher(Cost{})
	good, err := h.Hash(t.Context(), "correct horse battery")
	if err != nil {
		t.Fatal(err)
	}
	for password, want := range map[string]bool{"correct horse battery": true, "correct horse batterY": false, "": false} {
		if ok, err := h.Verify(t.Context(), 0, good, password); ok != want || err != nil {
			t.Errorf("%q: %v, %v", password, ok, err)
		}
	}
	parts := strings.Split(good, "$") // the parts are "", argon2id, version, costs, salt, key
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

// TestCosts: trying a password costs someone who has stolen its hash as much as doc/security.md states, and each hash has its own salt.
func TestCosts(t *testing.T) {
	h := NewHasher(Cost{})
	seen := map[string]bool{h.Nobody(): true}
	for range 2 {
		hash, err := h.Hash(t.Context(), "correct horse battery")
		if err != nil {
			t.Fatal(err)
		}
		parts := strings.Split(hash, "$")
		if seen[hash] || parts[3] != "m=65536,t=3,p=4" || len(parts[4]) != 22 || len(parts[5]) != 43 {
			t.Errorf("%s", hash)
		}
		seen[hash] = true
	}
	if ok, err := h.Verify(t.Context(), 0, h.Nobody(), ""); ok || err != nil {
		t.Errorf("a name that does not exist has a password: %v, %v", ok, err)
	}
	if h.Waiters() != 0 {
		t.Errorf("%d wait", h.Waiters())
	}
}

// TestCommon: the passwords that attackers try first are rejected. These are listed passwords (in any case, also between symbols),
// repetitions and sequences.
func TestCommon(t *testing.T) {
	for password, want := range map[string]bool{
		"123456789.": true, "password123": true, "PassWord123": true, "!!password123??": true, "": true, "aaabbbccc": true, "aabb": true,
		"abcabcabc": true, "abcabcab": true, "1234567890": true, "7890123": true, "3210987": true, "abcdefghij": true, "zyxwvut": true,
		"correct horse battery": false, "abcabcabd": false, "1234567892": false, "abcdefghik": false, "abcd": true, "wüstenrot-tee": false,
	} {
		if got := common(password); got != want {
			t.Errorf("%q is common: %v, want %v", password, got, want)
		}
	}
}

// TestFault: a chosen password has at least 10 characters and at most 1,024 bytes, contains more than the names of its account, in either
// direction and case, and was entered twice.
func TestFault(t *testing.T) {
	names := []string{" Ada.Lovelace ", "Al"}
	for password, want := range map[string]string{
		"größte-52": "first.short", "größte-527": "", strings.Repeat("xk7-", 256) + "w": "first.short",
		"ab7-" + strings.Repeat("xkq9", 254): "",
		"password123":                        "first.common", "ada.lovelace": "first.own",
		"ADA.LOVELACE12345": "first.own", "ecalevol.ada-7": "first.own",
		"ada.lovelace123456": "", "ada.lovelace 4 ada.lovelace": "first.own", "al-xk7-xk8-w": "",
	} {
		if got := Fault(password, password, names...); got != want {
			t.Errorf("%.30q of %d bytes: %q, want %q", password, len(password), got, want)
		}
	}
	if got := Fault("größte-527", "größte-528"); got != "first.differ" {
		t.Errorf("given differently: %q", got)
	}
}
