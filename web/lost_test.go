package web_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/internal/webtest"
	"concordat/store"
)

// TestRequestsNeedTheStore: a request whose document, job or check cannot be read is not shown as if it had none, because the officer's
// decision depends on what is shown.
func TestRequestsNeedTheStore(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	d.AddRequest(t, "one", time.Now().Add(time.Hour))
	job := concordat.JobID{9}
	if err := d.Store.Answers.PutDisclosure(t.Context(), store.Disclosure{ID: "sent", Direction: store.DisclosureOut, Partner: "SOUTH",
		Job:   job,
		State: concordat.DisclosurePending}); err != nil {
		t.Fatal(err)
	}
	officer := d.SignedIn(t, "olga", store.RoleOfficer)
	program := officer.Program("read", "check", "review")
	for table, path := range map[string]string{"document": "/requests/one", "answer_job": "/requests/one", "ask": "/requests/sent",
		"disclosure": "/requests/one"} {
		d.Without(t, table, func() {
			for _, p := range []string{"/requests", path} {
				officer.Get(p, http.StatusInternalServerError)
				program.JSON("GET", "/api/v1"+p, "", http.StatusInternalServerError, nil)
			}
		})
		officer.Get(path, http.StatusOK)
		program.JSON("GET", "/api/v1"+path, "", http.StatusOK, &struct{}{})
	}
}

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

// TestNotesNeedTheStore: a comment, a verdict or a sign-off that could not be stored is not confirmed.
func TestNotesNeedTheStore(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	d.AddFinished(t, "one", "sue", webtest.Thesis(t, 20_000, 10, 5))
	ada := d.SignedIn(t, "ada", store.RoleOfficer).Program("read", "check", "review")
	const path = "/api/v1/checks/one"
	ada.JSON("POST", path+"/verdict", `{"verdict":"discuss","text":"why"}`, http.StatusOK, &struct{}{})
	d.SQL(t, "CREATE TRIGGER kept BEFORE INSERT ON review BEGIN SELECT RAISE(ABORT, 'the disk is broken'); END")
	for what, body := range map[string]string{"/comments": `{"text":"x"}`, "/verdict": `{"verdict":"clear","text":"x"}`} {
		ada.JSON("POST", path+what, body, http.StatusInternalServerError, nil)
	}
	bo := d.SignedIn(t, "bo", store.RoleOfficer).Program("read", "check", "review")
	bo.JSON("POST", path+"/sign-off", "", http.StatusInternalServerError, nil)
	var verdict struct {
		Verdict   struct{ Verdict string }
		SignedOff []string `json:"signed_off"`
	}
	ada.JSON("GET", path+"/verdict", "", http.StatusOK, &verdict)
	if verdict.Verdict.Verdict != "discuss" || len(verdict.SignedOff) > 0 {
		t.Errorf("%+v, want the verdict that was kept, which nobody has signed off", verdict)
	}
}
