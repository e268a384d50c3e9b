//go:build linux

package program

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/cmd/cli"
	"concordat/instance"
	"concordat/instance/backup"
	"concordat/internal/suite"
	"concordat/store"
)

// answers checks a text against the site and returns the parts of the report that do not vary between runs.
func answers(t *testing.T, data, file string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "report.json")
	output(t, 0, data, "check", file, "--out", out)
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var r struct{ Scores, Evidence, Sources json.RawMessage }
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Evidence) < 100 || len(r.Scores) == 0 {
		t.Fatalf("the report shows nothing: %.300s", b)
	}
	return string(r.Scores) + string(r.Evidence) + string(r.Sources)
}

// fits fails if the index lacks a document in the catalogue or has a different text for it, and returns the number of documents.
func fits(t *testing.T, data string) (documents int) {
	t.Helper()
	a := &app{cli.Site{Data: data, Terminal: cli.Terminal{Stdin: strings.NewReader(""), Stdout: os.Stderr, Stderr: os.Stderr}}}
	err := a.With(t.Context(), instance.WithIndex, func(o *instance.Instance) error {
		rows, err := o.Store.Catalogue.Documents(t.Context(), "l", "", 0)
		for _, r := range rows {
			d, err := o.Index.Document(t.Context(), concordat.Ref{Site: o.Site.ID(), Library: "l", Document: r.ID})
			if err != nil || int64(len(d.Text)) != r.Bytes {
				t.Errorf("%s: %v", r.ID, err)
			}
		}
		documents = len(rows)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return documents
}

// TestBackupAndRestore: a site is backed up while documents arrive, destroyed, and restored. It then answers as before and has every
// document named in its catalogue.
func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	data, dir, key := newSite(t), filepath.Join(t.TempDir(), "backup"), newBackupKey(t)
	essay := filepath.Join(t.TempDir(), "essay.txt")
	if err := os.WriteFile(essay, []byte(prose(8000)), 0o600); err != nil {
		t.Fatal(err)
	}
	output(t, 0, data, "add", "-l", "l", essay)
	s := serveSite(t, data)
	if code, answer := s.submit("one", "essay.txt", prose(6000)); code != http.StatusAccepted {
		t.Fatalf("%d %s", code, answer)
	}
	task := s.only()
	findings, err := s.db.Checks.Findings(t.Context(), task.ID)
	if err != nil {
		t.Fatal(err)
	}
	writer := program(t, data, "add", "-q", "-l", "l", bigTable(t, 400))
	if err := writer.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- writer.Wait() }()
	amid := 0 // backups made while documents arrived
	for done := false; !done; {
		select {
		case err := <-ended:
			if err != nil {
				t.Fatal(err)
			}
			done = true
		default:
		}
		output(t, 0, data, "backup", dir, "--recipient", key.recipient)
		if done {
			break
		}
		to := filepath.Join(t.TempDir(), "site")
		output(t, 0, to, "restore", dir, "--identity", key.file)
		if n := fits(t, to); n > 1 && n < 401 {
			amid++
		}
	}
	if amid == 0 {
		t.Log("no backup was made in the middle of the writing")
	}
	output(t, 0, data, "backup", "verify", dir)
	output(t, 0, data, "backup", "verify", dir, "--identity", key.file)
	before := answers(t, data, essay)
	s.kill()
	if err := s.db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(data); err != nil {
		t.Fatal(err)
	}

	output(t, 0, data, "restore", dir, "--identity", key.file)
	if n := fits(t, data); n != 401 {
		t.Errorf("%d documents, want 401", n)
	}
	if after := answers(t, data, essay); after != before {
		t.Errorf("another answer:\n%.500s\nbefore:\n%.500s", after, before)
	}
	db, err := store.Open(t.Context(), filepath.Join(data, instance.StoreName))
	if err != nil {
		t.Fatal(err)
	}
	s.db = db // used by the cleanup
	if again, err := db.Checks.Findings(t.Context(), task.ID); err != nil || string(again) != string(findings) {
		t.Errorf("the report of before: %d bytes, %v; want %d", len(again), err, len(findings))
	}
	files := store.OpenFiles(filepath.Join(data, instance.OriginalsName))
	names, err := db.Retention.Originals(t.Context(), task.ID)
	if err != nil || len(names) != 1 {
		t.Fatalf("originals %v, %v", names, err)
	}
	if _, err := files.Path(names[0]); err != nil {
		t.Error(err)
	}
	if head, err := db.Audit.VerifyAudit(t.Context()); err != nil || head.Seq == 0 {
		t.Errorf("audit %+v, %v", head, err)
	}
	output(t, cli.Misused, data, "restore", dir, "--identity", key.file) // an existing site is never overwritten
}

// TestRestoreEnds: after a restore, whatever has ended since the backup stays ended.
func TestRestoreEnds(t *testing.T) {
	t.Parallel()
	data, dir := newSite(t), filepath.Join(t.TempDir(), "backup")
	db, err := store.Open(t.Context(), filepath.Join(data, instance.StoreName))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	err = db.People.CreateAccount(t.Context(), store.Account{Name: "ada", Role: store.RoleAdministrator, Created: now})
	for _, p := range []store.Purpose{store.PurposeSession, store.PurposeJoin, store.PurposeAPI} {
		err = errors.Join(err, db.People.PutToken(t.Context(), "secret-"+string(p),
			store.Token{Purpose: p, Account: "ada", Name: "x", Scopes: []string{"read"}, Made: now, Expires: now.Add(time.Hour)}))
	}
	err = errors.Join(err, db.Partners.AddInvitation(t.Context(), store.Invitation{Hash: [32]byte{1}, Digest: [32]byte{2},
		Expires: now.Add(time.Hour)}))
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	output(t, 0, data, "site", "key", "init")
	output(t, 0, data, "site", "card", "--url", "https://concordat.uni.example:8421", "--contact", "a@uni.example")
	output(t, 0, data, "backup", dir, "--plain")
	for _, asNew := range []bool{false, true} {
		to := filepath.Join(t.TempDir(), "site")
		args := []string{"restore", dir}
		if asNew {
			args = append(args, "--as-new-site")
		}
		output(t, 0, to, args...)
		db, err := store.Open(t.Context(), filepath.Join(to, instance.StoreName))
		if err != nil {
			t.Fatal(err)
		}
		for p, want := range map[store.Purpose]bool{store.PurposeSession: false, store.PurposeJoin: false, store.PurposeAPI: true} {
			if _, err := db.People.Token(t.Context(), "secret-"+string(p), p); (err == nil) != want {
				t.Errorf("%s: %v, want it to work: %v", p, err, want)
			}
		}
		if n, err := db.Partners.OpenInvitations(t.Context()); n != 0 || err != nil {
			t.Errorf("%d open invitations, %v", n, err)
		}
		sites, err := db.Partners.CardSites(t.Context())
		_, key := os.Stat(filepath.Join(to, instance.KeystoreName))
		if err != nil || (len(sites) == 0) != asNew || (key != nil) != asNew {
			t.Errorf("as new %v: cards of %v, keystore %v", asNew, sites, key)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestKilledBackup: a backup killed at any moment leaves the previous one intact, and a killed restore leaves no site; both succeed when
// repeated.
func TestKilledBackup(t *testing.T) {
	t.Parallel()
	suite.Rest(t, "kills a backup again and again")
	t.Run("plain", func(t *testing.T) { t.Parallel(); killBackups(t, "", []string{"--plain"}, nil) })
	t.Run("encrypted", func(t *testing.T) {
		t.Parallel()
		key := newBackupKey(t)
		killBackups(t, ".age", []string{"--recipient", key.recipient}, []string{"--identity", key.file})
	})
}

// killBackups kills backups made with the given flags, whose files have the given suffix, and restores them with the flags to open them.
func killBackups(t *testing.T, suffix string, flags, opens []string) {
	data, dir := newSite(t), filepath.Join(t.TempDir(), "backup")
	addAll(t, data, bigTable(t, 200))
	files := store.OpenFiles(filepath.Join(data, instance.OriginalsName))
	for i := range 200 {
		if _, _, err := files.Put(t.Context(), strings.NewReader(prose(1000+i)), 1<<20); err != nil {
			t.Fatal(err)
		}
	}
	backs, restores := append([]string{"backup", dir}, flags...), append([]string{"restore", dir}, opens...)
	output(t, 0, data, backs...)
	kill := func(when func() bool, data string, args ...string) (killed bool) {
		t.Helper()
		c := program(t, data, args...)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- c.Wait() }()
		for {
			select {
			case err := <-ended:
				return err != nil
			default:
			}
			if when() {
				_ = c.Process.Kill()
				return <-ended != nil
			}
			time.Sleep(time.Millisecond)
		}
	}
	count := func(pattern string) int {
		names, _ := filepath.Glob(pattern)
		return len(names)
	}
	killed := 0
	for _, when := range []func() bool{
		func() bool { return count(filepath.Join(dir, "state-*")) > 1 },
		func() bool { return count(filepath.Join(dir, "state-*", "index", "00", "shard.json"+suffix)) > 1 },
		func() bool { return count(filepath.Join(dir, "state-*", instance.ConfigName+suffix)) > 1 },
		func() bool { return count(filepath.Join(dir, "state-*", "files.sha256")) > 1 },
	} {
		if kill(when, data, backs...) {
			killed++
		}
		output(t, 0, data, "backup", "verify", dir)
	}
	if killed == 0 {
		t.Error("no backup was killed: this shows nothing")
	}
	output(t, 0, data, backs...)
	if left, _ := filepath.Glob(filepath.Join(data, instance.BackupStageName)); len(left) > 0 {
		t.Errorf("left in the folder of the site: %v", left)
	}
	b, err := backup.Open(dir)
	if err != nil || b.Manifest.Documents != 200 || count(filepath.Join(dir, "state-*")) != 1 {
		t.Fatalf("%+v, %v", b, err)
	}

	to, killed := filepath.Join(t.TempDir(), "site"), 0
	for n := 1; n <= 150; n += 30 {
		if kill(func() bool { return countFiles(to) > n }, to, restores...) {
			killed++
		}
		if _, err := os.Stat(filepath.Join(to, instance.StoreName)); err == nil {
			break // it finished before it was killed
		}
	}
	if killed == 0 {
		t.Error("no restore was killed: this shows nothing")
	}
	if _, err := os.Stat(filepath.Join(to, instance.StoreName)); err != nil {
		output(t, cli.Misused, to, "library", "list") // not a site yet
		output(t, 0, to, restores...)
	}
	if n := fits(t, to); n != 200 {
		t.Errorf("%d documents", n)
	}
}

func countFiles(dir string) (n int) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			n++
		}
		return nil
	})
	return n
}

// TestBackupOnFullDisk: if the disk has no room for the backup, this is reported before anything is written, and the previous backup
// stays.
func TestBackupOnFullDisk(t *testing.T) {
	t.Parallel()
	suite.Rest(t, "fills a disk")
	data := newSite(t)
	addAll(t, data, bigTable(t, 20))
	disk := smallDisk(t, 16)
	put := func(mib int) {
		t.Helper()
		if _, _, err := store.OpenFiles(filepath.Join(data, instance.OriginalsName)).Put(t.Context(), strings.NewReader(prose(mib<<20)),
			1<<30); err != nil {
			t.Fatal(err)
		}
	}
	put(2)
	output(t, 0, data, "backup", disk, "--plain")
	put(20)
	if _, stderr := output(t, cli.Failed, data, "backup", disk, "--plain"); !strings.Contains(stderr, "needs up to") {
		t.Errorf("said %s", stderr)
	}
	output(t, 0, data, "backup", "verify", disk)
	small := smallDisk(t, 1)
	if _, stderr := output(t, cli.Failed, small, "restore", disk); !strings.Contains(stderr, "the site needs") {
		t.Errorf("said %s", stderr)
	}
	output(t, cli.Misused, data, "backup", filepath.Join(data, "backup"))
	output(t, cli.Misused, data, "backup", filepath.Dir(data))
}
