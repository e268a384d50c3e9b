package intake_test

import (
	"net/http"
	"strings"
	"testing"

	"concordat/internal/webtest"
	"concordat/store"
)

// TestKeysNeedTheStore: if the store cannot determine whether a key was used, or cannot record its use, nothing is reported as done; in
// the first case, nothing is done.
func TestKeysNeedTheStore(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	program := d.SignedIn(t, "sue", store.RoleSubmitter).Program("read", "check")
	checks := func() int {
		t.Helper()
		var list struct{ Checks []webtest.Check }
		program.JSON("GET", "/api/v1/checks", "", http.StatusOK, &list)
		return len(list.Checks)
	}
	hand := func(want int) {
		t.Helper()
		var out any = &struct{ Checks []webtest.Check }{}
		if want >= 400 {
			out = &webtest.Problem{}
		}
		program.Call("POST", "/api/v1/checks", want, out, webtest.WithFiles("key-1", "essay.txt", strings.Repeat(webtest.Folios+" ", 3)))
	}
	d.Without(t, "repeatable", func() { hand(http.StatusInternalServerError) })
	if n := checks(); n != 0 {
		t.Fatalf("%d checks were made under a key that could not be looked up", n)
	}
	hand(http.StatusAccepted)
	hand(http.StatusAccepted)
	if n := checks(); n != 1 {
		t.Errorf("%d checks, want the one", n)
	}
	d.SQL(t, "UPDATE repeatable SET answer = '{' WHERE key = 'key-1'")
	hand(http.StatusInternalServerError) // an unreadable answer is not an empty one
	d.SQL(t, "CREATE TRIGGER kept BEFORE UPDATE ON repeatable BEGIN SELECT RAISE(ABORT, 'the disk is broken'); END")
	program.Call("POST", "/api/v1/checks", http.StatusInternalServerError, &webtest.Problem{},
		webtest.WithFiles("key-2", "essay.txt", webtest.Folios))
}
