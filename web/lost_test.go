package web_test

import (
	"net/http"
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
