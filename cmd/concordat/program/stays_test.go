//go:build linux

package program

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/cmd/cli"
	"concordat/internal/suite"
	"concordat/store"
)

// killedRounds is the number of rounds of TestNothingStays; CONCORDAT_KILLS overrides it.
const killedRounds = 6

// killedSite is a site that is killed during its work, with its contents.
type killedSite struct {
	*servedSite
	north *served // a partner with a library that the site mirrors
	r     *rand.Rand
	kept  []string // markers that must remain
	gone  []string // markers that must not remain
	next  int
}

// killedWork is work in progress when the site is killed. It returns a function that stops the work, and one that repeats it as a client
// without an answer would.
type killedWork struct {
	name string
	do   func(s *killedSite) (stop func(), again func())
}

var killedWorks = []killedWork{
	{"add", (*killedSite).adds}, {"batch", (*killedSite).batches}, {"upload", (*killedSite).uploads},
	{"mirror", (*killedSite).mirrors}, {"backup", (*killedSite).backups}, {"purge", (*killedSite).purges},
	{"add command", (*killedSite).addsAlone}, {"reindex", (*killedSite).reindexes}, {"batch command", (*killedSite).batchesAlone},
}

// marked returns a text and the marker in its title and in several of its sentences.
func (s *killedSite) marked() (marker, text string) {
	b := []byte("mk")
	for len(b) < markerBytes {
		b = append(b, byte('a'+s.r.IntN(26)))
	}
	marker = string(b)
	var out strings.Builder
	for range 12 {
		for i := range 24 {
			if i == 10 {
				out.WriteString(marker + " ")
			}
			fmt.Fprintf(&out, "%s ", vocabulary[s.r.IntN(len(vocabulary))])
		}
		out.WriteString("end. ")
	}
	return marker, out.String()
}

var vocabulary = strings.Fields(`harbour pilot tide ledger chalk rye magistrate furnace bellows quince rootstock summer
	glacier plateau isotope volcanic argon copper clay miller petition baker seedling orchard voyage lantern granite meadow compass
	anchor timber kettle saddle barley weaver loom`)

// doomed is like marked, for text that is deleted in the end.
func (s *killedSite) doomed() (marker, text string) {
	marker, text = s.marked()
	s.gone = append(s.gone, marker)
	s.next++
	return marker, text
}

// post sends the site a form with files, named by title, and returns the answer, if any.
func (s *killedSite) post(path string, files map[string]string, field string) (answer string, ok bool) {
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	for name, text := range files {
		if field != "" {
			_ = m.WriteField(field, name+" title") // writes to memory, which cannot fail
		}
		f, _ := m.CreateFormFile("file", name+".txt")
		_, _ = io.WriteString(f, text)
	}
	_ = m.Close()
	return s.send(path, m.FormDataContentType(), &b)
}

func (s *killedSite) send(path, contentType string, body io.Reader) (answer string, ok bool) {
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, "http://"+s.address+"/api/v1"+path, body)
	if err != nil {
		s.t.Error(err)
		return "", false
	}
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("Authorization", "Bearer "+killedToken)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", false // the site was killed
	}
	defer func() { _ = resp.Body.Close() }()
	out, err := io.ReadAll(resp.Body)
	return string(out), err == nil && resp.StatusCode < 300
}

const killedToken = "token-of-one-who-is-killed"

// background runs f until it is told to stop; requests that f makes end with the site.
func background(f func(stopped func() bool)) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		f(func() bool {
			select {
			case <-quit:
				return true
			default:
				return false
			}
		})
	}()
	return func() { close(quit); <-done }
}

// repeated sends files one after the other until the site is killed; again resends the last files.
func (s *killedSite) repeated(path, field string, each int) (stop, again func()) {
	var last map[string]string
	stop = background(func(stopped func() bool) {
		for ok := true; ok && !stopped(); {
			last = map[string]string{}
			for range each {
				marker, text := s.doomed()
				last[marker] = text
			}
			_, ok = s.post(path, last, field)
		}
	})
	return stop, func() { s.post(path, last, field) }
}

func (s *killedSite) adds() (func(), func())    { return s.repeated("/libraries/l/documents", "title", 3) }
func (s *killedSite) uploads() (func(), func()) { return s.repeated("/checks", "title", 1) }
func (s *killedSite) batches() (func(), func()) { return s.repeated("/batches", "", 3) }

// command runs a command in a separate process until it ends or is killed.
func (s *killedSite) command(args ...string) (stop, again func()) {
	run := func() func() {
		c := program(s.t, s.data, args...)
		if err := c.Start(); err != nil {
			s.t.Fatal(err)
		}
		return func() {
			_ = c.Process.Kill() // it may already have ended
			_ = c.Wait()
		}
	}
	return run(), func() {
		c := program(s.t, s.data, args...)
		_ = c.Run() // it may have been complete
	}
}

func (s *killedSite) files(n int) (dir string) {
	dir = s.t.TempDir()
	for range n {
		marker, text := s.doomed()
		if err := os.WriteFile(filepath.Join(dir, marker+".txt"), []byte(text), 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
	return dir
}

func (s *killedSite) backups() (func(), func()) {
	return s.command("backup", s.t.TempDir(), "--recipient", newBackupKey(s.t).recipient)
}

// purges deletes a few documents, one call at a time.
func (s *killedSite) purges() (func(), func()) {
	rows, err := s.db.Catalogue.Documents(s.t.Context(), "l", "", 0)
	if err != nil {
		s.t.Fatal(err)
	}
	for range 3 { // so that there is something to delete
		marker, text := s.doomed()
		s.post("/libraries/l/documents", map[string]string{marker: text}, "title")
	}
	stop := background(func(stopped func() bool) {
		for _, row := range rows {
			if stopped() {
				return
			}
			if !strings.HasPrefix(string(row.ID), "kept") {
				s.erase(map[string]any{"library": "l", "documents": []concordat.DocumentID{row.ID}})
			}
		}
	})
	return stop, func() {}
}

func (s *killedSite) mirrors() (func(), func()) {
	marker, text := s.doomed()
	s.north.titled("n"+strconv.Itoa(s.next), marker+" title", text)
	s.north.fill(&served{place: place{s.t, s.data}}, 1)
	return s.command("mirror", "sync", "north/theses")
}

// addsAlone adds documents without the server, which is killed first.

func (s *killedSite) addsAlone() (func(), func()) {
	s.kill()
	return s.command("add", "-l", "l", s.files(20))
}

func (s *killedSite) reindexes() (func(), func()) {
	s.kill()
	return s.command("reindex")
}

func (s *killedSite) batchesAlone() (func(), func()) {
	s.kill()
	return s.command("batch", s.files(4))
}

// titled adds a document with a title to the library theses.
func (s *served) titled(id, title, text string) {
	s.t.Helper()
	path := filepath.Join(s.t.TempDir(), id+".tsv")
	if err := os.WriteFile(path, []byte(id+"\t"+title+"\t"+text+"\n"), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.command(cli.Done, "add", "--library", "theses", path)
}

func (s *killedSite) erase(what map[string]any) bool {
	what["reason"] = "a test"
	b, err := json.Marshal(what)
	if err != nil {
		s.t.Fatal(err)
	}
	_, ok := s.send("/deletions", "application/json", bytes.NewReader(b))
	return ok
}

// mustErase is like erase, for a site that is not killed.
func (s *killedSite) mustErase(what map[string]any) {
	s.t.Helper()
	if !s.erase(what) {
		s.t.Fatalf("a deletion was not taken\n%s", s.log)
	}
}

// newKilledSite serves a site with a partner and adds what must remain.
func newKilledSite(t *testing.T, seed uint64) *killedSite {
	first := newPlace(t, "north")
	first.command(cli.Done, "library", "create", "theses")
	north := first.serve(time.Hour)
	p := newPlace(t, "south")
	p.command(cli.Done, "site", "card", "--url", "https://127.0.0.1:1")
	south := &served{place: p, id: p.json("site", "key", "show")["site"].(string)}
	north.add("ice", iceText)
	enrol(t, north, south)
	south.command(cli.Done, "library", "create", "l")
	s := &killedSite{servedSite: serveSite(t, p.dir, "CONCORDAT_SERVE_API_CALLS=100000"), north: north, r: rand.New(rand.NewPCG(seed, 7))}
	now := time.Now()
	if err := s.db.People.PutToken(t.Context(), killedToken, store.Token{Purpose: store.PurposeAPI, Account: "ada", Name: "killed",
		Scopes: []string{"read", "check", "documents", "erase"}, Made: now, Expires: now.Add(24 * time.Hour)}); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		marker, text := s.marked()
		s.kept = append(s.kept, marker)
		if answer, ok := s.post("/libraries/l/documents", map[string]string{fmt.Sprintf("kept%d", i): text}, ""); !ok {
			t.Fatal(answer)
		}
	}
	marker, text := s.marked()
	s.kept = append(s.kept, marker)
	if code, answer := s.submit("kept", "kept.txt", text); code != http.StatusAccepted {
		t.Fatal(answer)
	}
	s.only()
	return s
}

// eraseAll deletes everything that the site knows, except what must remain, and waits until the bytes are reported as gone.
func (s *killedSite) eraseAll() {
	t := s.t
	t.Helper()
	for again := true; again; { // the next pass deletes documents that a resumed batch checks in the meantime
		again = false
		batches, err := s.db.Batches.Batches(t.Context(), nil, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range batches {
			s.mustErase(map[string]any{"batches": []string{b.ID}})
			again = true
		}
		rows, err := s.db.Catalogue.Documents(t.Context(), "l", "", 0)
		if err != nil {
			t.Fatal(err)
		}
		var docs []concordat.DocumentID
		for _, row := range rows {
			if !strings.HasPrefix(string(row.ID), "kept") {
				docs = append(docs, row.ID)
			}
		}
		tasks, err := s.db.Checks.Tasks(t.Context(), 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		var ids []concordat.TaskID
		for _, task := range tasks {
			if !strings.HasPrefix(task.Title, "kept") {
				ids = append(ids, task.ID)
			}
		}
		if len(docs) > 0 {
			s.mustErase(map[string]any{"library": "l", "documents": docs[:min(len(docs), 1000)]})
			again = true
		}
		if len(ids) > 0 {
			s.mustErase(map[string]any{"tasks": ids[:min(len(ids), 1000)]})
			again = true
		}
		s.awaitErasures()
	}
	mirrors, err := s.db.Asks.Mirrors(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(mirrors) > 0 {
		output(t, 0, s.data, "mirror", "drop", "north/theses")
	}
}

func (s *killedSite) awaitErasures() {
	for end := time.Now().Add(3 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		open, err := s.db.Retention.OpenErasures(s.t.Context())
		if err != nil {
			s.t.Fatal(err)
		}
		if len(open) == 0 {
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("%d deletions are not done\n%s", len(open), s.log)
		}
	}
}

// check requires that the folder contains nothing that was deleted and everything else.
func (s *killedSite) check(round int) {
	t := s.t
	t.Helper()
	// Another process copies the folder, because closing one of the store's files here would release this process's locks on it.
	copied := filepath.Join(t.TempDir(), "copy")
	if out, err := exec.Command("cp", "-a", s.data, copied).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	found := searchBytes(t, copied)
	if err := os.RemoveAll(copied); err != nil {
		t.Fatal(err)
	}
	for _, m := range s.gone {
		if found[m] != nil {
			t.Errorf("round %d: %s was deleted and stands in %v", round, m, found[m])
		}
	}
	packed := map[string]bool{}
	for _, m := range s.kept {
		if found[m] == nil {
			t.Errorf("round %d: %s was not deleted and is not found", round, m)
		}
		for _, place := range found[m] {
			for _, how := range []string{"(zstd)", "(snappy)", "(pages)"} {
				packed[how] = packed[how] || strings.HasSuffix(place, how)
			}
		}
	}
	if !packed["(snappy)"] || !packed["(zstd)"] && !packed["(pages)"] {
		t.Errorf("round %d: what stays is found in %v only: the search does not unpack all", round, packed)
	}
	if len(found) != len(s.kept) && !t.Failed() {
		t.Errorf("round %d: %d markers are found, %d are known", round, len(found), len(s.kept))
	}
}

// TestNothingStays repeatedly kills the site during its work. Documents deleted afterwards, whether acknowledged before or not, leave no
// byte in its folder; then doctor finds nothing, and the index and the catalogue agree.
func TestNothingStays(t *testing.T) {
	t.Parallel()
	suite.Rest(t, "kills a site many times")
	rounds := killedRounds
	if n, err := strconv.Atoi(os.Getenv("CONCORDAT_KILLS")); err == nil {
		rounds = n
	}
	seed := uint64(1)
	if n, err := strconv.ParseUint(os.Getenv("CONCORDAT_KILLS_SEED"), 10, 64); err == nil {
		seed = n
	}
	s := newKilledSite(t, seed)
	counts := map[string]int{}
	for round := range rounds {
		work := killedWorks[round%len(killedWorks)]
		if rounds > 2*len(killedWorks) {
			work = killedWorks[s.r.IntN(len(killedWorks))]
		}
		counts[work.name]++
		stop, again := work.do(s)
		time.Sleep(time.Duration(s.r.IntN(600)) * time.Millisecond) // until a random moment
		s.kill()
		stop()
		s.start()
		if s.r.IntN(2) == 0 {
			again()
		}
		if round%10 == 9 || round == rounds-1 {
			s.eraseAll()
			s.check(round)
		}
		if t.Failed() {
			t.Fatalf("seed %d, round %d (%s)\n%s", seed, round, work.name, s.log)
		}
	}
	t.Logf("seed %d: %v; %d markers are gone, %d stay", seed, counts, len(s.gone), len(s.kept))
	out, _ := output(t, 0, s.data, "doctor", "--offline")
	for _, want := range []string{"ok       contents", "ok       index"} {
		if !strings.Contains(out, want) {
			t.Errorf("doctor says\n%s", out)
		}
	}
}
