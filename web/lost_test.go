package web_test

import (
	"database/sql"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/store"
)

// sql runs statements on the store, bypassing the site.
func (d *testSite) sql(t *testing.T, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite3", filepath.Join(d.dir, "site.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1)
	for _, s := range append([]string{"PRAGMA legacy_alter_table = ON"}, statements...) {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// tables returns the names of the tables of the store.
func (d *testSite) tables(t *testing.T) (names []string) {
	t.Helper()
	db, err := sql.Open("sqlite3", filepath.Join(d.dir, "site.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	rows, err := db.QueryContext(t.Context(), "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}

// without runs f while the table is missing, so that everything that reads it fails.
func (d *testSite) without(t *testing.T, table string, f func()) {
	t.Helper()
	d.sql(t, "ALTER TABLE "+table+" RENAME TO "+table+"_away")
	defer d.sql(t, "ALTER TABLE "+table+"_away RENAME TO "+table)
	f()
}

// TestRequestsNeedTheStore: a request whose document, job or check cannot be read is not shown as having none, because
// the officer decides by what is shown.
func TestRequestsNeedTheStore(t *testing.T) {
	t.Parallel()
	d := newTestSite(t, true)
	d.incoming(t, "one", time.Now().Add(time.Hour))
	job := concordat.JobID{9}
	if err := d.store.Answers.PutDisclosure(t.Context(), store.Disclosure{ID: "sent", Direction: store.DisclosureOut, Partner: "SOUTH",
		Job:   job,
		State: concordat.DisclosurePending}); err != nil {
		t.Fatal(err)
	}
	officer := d.signedIn(t, "olga", store.RoleOfficer)
	program := officer.program("read", "check", "review")
	for table, path := range map[string]string{"document": "/requests/one", "answer_job": "/requests/one", "ask": "/requests/sent",
		"disclosure": "/requests/one"} {
		d.without(t, table, func() {
			for _, p := range []string{"/requests", path} {
				officer.get(p, http.StatusInternalServerError)
				program.json("GET", "/api/v1"+p, "", http.StatusInternalServerError, nil)
			}
		})
		officer.get(path, http.StatusOK)
		program.json("GET", "/api/v1"+path, "", http.StatusOK, &struct{}{})
	}
}

// TestKeysNeedTheStore: if the store cannot say whether a key was used, or cannot record its use, nothing is reported as done;
// in the first case, nothing is done.
func TestKeysNeedTheStore(t *testing.T) {
	t.Parallel()
	d := newTestSite(t, true)
	program := d.signedIn(t, "sue", store.RoleSubmitter).program("read", "check")
	checks := func() int {
		t.Helper()
		var list struct{ Checks []check }
		program.json("GET", "/api/v1/checks", "", http.StatusOK, &list)
		return len(list.Checks)
	}
	hand := func(want int) {
		t.Helper()
		var out any = &struct{ Checks []check }{}
		if want >= 400 {
			out = &problem{}
		}
		program.call("POST", "/api/v1/checks", want, out, withFiles("key-1", "essay.txt", strings.Repeat(folios+" ", 3)))
	}
	d.without(t, "repeatable", func() { hand(http.StatusInternalServerError) })
	if n := checks(); n != 0 {
		t.Fatalf("%d checks were made under a key that could not be looked up", n)
	}
	hand(http.StatusAccepted)
	hand(http.StatusAccepted)
	if n := checks(); n != 1 {
		t.Errorf("%d checks, want the one", n)
	}
	d.sql(t, "UPDATE repeatable SET answer = '{' WHERE key = 'key-1'")
	hand(http.StatusInternalServerError) // an answer that cannot be read is not an empty one
	d.sql(t, "CREATE TRIGGER kept BEFORE UPDATE ON repeatable BEGIN SELECT RAISE(ABORT, 'the disk is broken'); END")
	program.call("POST", "/api/v1/checks", http.StatusInternalServerError, &problem{}, withFiles("key-2", "essay.txt", folios))
}

// TestNotesNeedTheStore: a comment, a verdict or a sign-off that could not be stored is not confirmed.
func TestNotesNeedTheStore(t *testing.T) {
	t.Parallel()
	d := newTestSite(t, true)
	d.finished(t, "one", "sue", thesis(t, 20_000, 10, 5))
	ada := d.signedIn(t, "ada", store.RoleOfficer).program("read", "check", "review")
	const path = "/api/v1/checks/one"
	ada.json("POST", path+"/verdict", `{"verdict":"discuss","text":"why"}`, http.StatusOK, &struct{}{})
	d.sql(t, "CREATE TRIGGER kept BEFORE INSERT ON review BEGIN SELECT RAISE(ABORT, 'the disk is broken'); END")
	for what, body := range map[string]string{"/comments": `{"text":"x"}`, "/verdict": `{"verdict":"clear","text":"x"}`} {
		ada.json("POST", path+what, body, http.StatusInternalServerError, nil)
	}
	bo := d.signedIn(t, "bo", store.RoleOfficer).program("read", "check", "review")
	bo.json("POST", path+"/sign-off", "", http.StatusInternalServerError, nil)
	var verdict struct {
		Verdict   struct{ Verdict string }
		SignedOff []string `json:"signed_off"`
	}
	ada.json("GET", path+"/verdict", "", http.StatusOK, &verdict)
	if verdict.Verdict.Verdict != "discuss" || len(verdict.SignedOff) > 0 {
		t.Errorf("%+v, want the verdict that was kept, which nobody has signed off", verdict)
	}
}
