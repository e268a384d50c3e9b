package encoded_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"concordat"
	"concordat/index/encoded"
)

// opened opens the index in dir, which it closes when the test ends.
func opened(t *testing.T, dir string) *encoded.Index {
	t.Helper()
	s, err := space()
	if err != nil {
		t.Fatal(err)
	}
	x, err := encoded.Open(dir, encoded.Options{Site: "here", Space: s, Recipe: "one"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Close() })
	return x
}

// TestFailedChanges: a change that fails returns its error, and Held stays as it was.
func TestFailedChanges(t *testing.T) {
	x := opened(t, filepath.Join(t.TempDir(), "x"))
	if err := x.Delete(t.Context(), ref("absent")); err != nil { // no round has begun
		t.Fatal(err)
	}
	a, b := document(t, "a", "The river rose slowly in the spring."), document(t, "b", "The town slept.")
	if err := errors.Join(x.Put(t.Context(), a), x.Close()); err != nil {
		t.Fatal(err)
	}
	if err := x.Put(t.Context(), b); !errors.Is(err, concordat.ErrUnavailable) {
		t.Errorf("Put into a closed index: %v, want ErrUnavailable", err)
	}
	if err := x.Delete(t.Context(), a.Ref); !errors.Is(err, concordat.ErrUnavailable) {
		t.Errorf("Delete from a closed index: %v, want ErrUnavailable", err)
	}
	if held := x.Held(); len(held) != 1 || held[a.Ref] != a.Hash {
		t.Errorf("held are %v, want only %v", held, a.Ref)
	}
}

// TestOpenTwice: an index that is open is neither opened again nor removed; a damaged one is replaced by an empty one.
func TestOpenTwice(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "x")
	x := opened(t, dir)
	a := document(t, "a", "The river rose slowly in the spring.")
	if err := x.Put(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	s, err := space()
	if err != nil {
		t.Fatal(err)
	}
	for _, recipe := range []string{"one", "another"} {
		if _, err := encoded.Open(dir, encoded.Options{Site: "here", Space: s, Recipe: recipe}); !errors.Is(err, concordat.ErrLocked) {
			t.Errorf("opened twice: %v, want ErrLocked", err)
		}
	}
	if _, err := x.Directions(t.Context(), a.Ref); err != nil {
		t.Error(err)
	}
	if err := errors.Join(x.Close(), os.Truncate(filepath.Join(dir, "shard.json"), 5)); err != nil {
		t.Fatal(err)
	}
	x = opened(t, dir)
	if n := x.Count(); n != 0 {
		t.Errorf("%d documents in place of a damaged index, want 0", n)
	}
	if err := x.Put(t.Context(), a); err != nil || x.Count() != 1 {
		t.Errorf("%d documents afterwards, want 1 (%v)", x.Count(), err)
	}
}

// TestScheme: the scheme is eight bytes of a hash, which depends on the encoder. A longer form would make every site rebuild its index.
func TestScheme(t *testing.T) {
	s, err := space()
	if err != nil {
		t.Fatal(err)
	}
	one, another := encoded.Options{Space: s, Recipe: "one"}, encoded.Options{Space: s, Recipe: "another"}
	if got := one.Scheme(); !regexp.MustCompile(`^encoded@[0-9a-f]{16}$`).MatchString(string(got)) || got == another.Scheme() {
		t.Errorf("schemes %s and %s", got, another.Scheme())
	}
}
