package program

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"concordat"
	"concordat/index"
	"concordat/instance"
	"concordat/internal/suite"
)

const renewedDocuments = 1000

// renewLine is a line that reindex prints.
type renewLine struct {
	Type                    string
	Made, Documents, Before int
}

// reindexed runs reindex with meaning to its end and returns the result.
func reindexed(c *exec.Cmd) (renewLine, error) {
	out, err := c.Output()
	if err != nil {
		return renewLine{}, fmt.Errorf("%w: %s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	var last renewLine
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || last.Type != "summary" {
		return last, fmt.Errorf("it says %s: %w", out, err)
	}
	return last, nil
}

func startReindex(t *testing.T, data string) *exec.Cmd {
	t.Helper()
	c := program(t, data, "reindex", "--json")
	c.Env = append(c.Env, meant)
	return c
}

func mustReindex(t *testing.T, data string) renewLine {
	t.Helper()
	line, err := reindexed(startReindex(t, data))
	if err != nil {
		t.Fatal(err)
	}
	return line
}

const meant = "CONCORDAT_MEANING_INDEX=true"

// withoutMeaning gives a site the settings from before new sites were indexed by meaning.
func withoutMeaning(t *testing.T, data string) {
	t.Helper()
	path := filepath.Join(data, instance.ConfigName)
	b, err := os.ReadFile(path)
	if err != nil || !bytes.Contains(b, []byte("  index: true\n")) {
		t.Fatalf("settings of a new site: %s, %v", b, err)
	}
	if err := os.WriteFile(path, bytes.Replace(b, []byte("  index: true\n"), nil, 1), 0o600); err != nil {
		t.Fatal(err)
	}
}

// content returns the sentences, statistics and texts of the index of a site that is not being served.
func content(t *testing.T, data string) (sentences int, texts concordat.TextStats, documents map[concordat.DocumentID]string) {
	t.Helper()
	x, err := index.Open(filepath.Join(data, instance.IndexName, "00"), index.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	s, err := x.TextStats(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	documents = map[concordat.DocumentID]string{}
	for d, err := range x.Documents(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		documents[d.ID] = d.Text
	}
	return x.Stats().Sentences, *s, documents
}

// begun starts a reindex with meaning while the site is served, and returns after the reindex has reported its first documents. stop ends
// the reindex or the server that it needs, and waits until the reindex has failed.
func begun(t *testing.T, data string) (stop func(how func(*os.Process)), made int) {
	t.Helper()
	c := startReindex(t, data)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(out)
	var line renewLine
	if err := d.Decode(&line); err != nil || line.Type != "progress" || line.Made == 0 || line.Made >= renewedDocuments {
		t.Fatalf("reindex begins with %+v, %v", line, err)
	}
	return func(how func(*os.Process)) {
		t.Helper()
		how(c.Process)
		_, _ = io.Copy(io.Discard, out) // until the output ends
		if c.Wait() == nil {
			t.Error("reindex ended before it was stopped: it shows nothing")
		}
	}, line.Made
}

// interrupt ends the process as an operator does; everything that it acknowledged is then in the index.
func (s *servedSite) interrupt() {
	s.t.Helper()
	if err := s.process.Process.Signal(syscall.SIGINT); err != nil {
		s.t.Fatal(err)
	}
	if err := s.process.Wait(); err != nil {
		s.t.Fatalf("%v\n%s", err, s.log)
	}
}

// sending returns a function that stops a process with the given signal.
func sending(t *testing.T, sig os.Signal) func(*os.Process) {
	return func(p *os.Process) {
		if err := p.Signal(sig); err != nil {
			t.Error(err)
		}
	}
}

// TestReindexResumes: stopping the command or the server interrupts the reindex of a served site halfway. The reindex continues where it
// stopped, and the index becomes the same as after a reindex without a server. With another configuration, it starts over.
func TestReindexResumes(t *testing.T) {
	t.Parallel()
	suite.Rest(t, "indexes a big table seven times")
	table := bigTable(t, renewedDocuments)
	whole := newSite(t)
	withoutMeaning(t, whole)
	addAll(t, whole, table)
	if got := mustReindex(t, whole); got.Documents != renewedDocuments || got.Before != 0 {
		t.Errorf("that nobody serves: %+v", got)
	}
	sentences, texts, documents := content(t, whole)
	if texts.Meant != renewedDocuments || len(documents) != renewedDocuments {
		t.Fatalf("that nobody serves: %+v, %d documents", texts, len(documents))
	}
	for name, how := range map[string]func(*testing.T, *servedSite) func(*os.Process){
		"interrupted":   func(t *testing.T, _ *servedSite) func(*os.Process) { return sending(t, syscall.SIGINT) },
		"killed":        func(t *testing.T, _ *servedSite) func(*os.Process) { return sending(t, syscall.SIGKILL) },
		"server killed": func(_ *testing.T, s *servedSite) func(*os.Process) { return func(*os.Process) { s.kill() } },
	} {
		t.Run(name, func(t *testing.T) {
			data := newSite(t)
			withoutMeaning(t, data)
			addAll(t, data, table)
			s := serveSite(t, data, meant)
			stop, made := begun(t, data)
			stop(how(t, s))
			if s.process.ProcessState != nil {
				s.start()
			}
			dry, _ := output(t, 0, data, "reindex", "--dry-run", "--json")
			if !strings.Contains(dry, `"made":0,`) {
				t.Errorf("without meaning another reindex goes on: %s", dry)
			}
			got := mustReindex(t, data)
			if got.Before < made || got.Before >= renewedDocuments || got.Documents != renewedDocuments {
				t.Errorf("%d documents were made before, then %+v", made, got)
			}
			if again := mustReindex(t, data); again.Before != 0 {
				t.Errorf("a reindex after one that ended goes on: %+v", again)
			}
			s.interrupt()
			n, x, ds := content(t, data)
			if n != sentences || x.Documents != texts.Documents || x.Words != texts.Words || x.Meant != texts.Meant {
				t.Errorf("%d sentences, %+v; in one go %d, %+v", n, x, sentences, texts)
			}
			for id, text := range documents {
				if ds[id] != text {
					t.Errorf("document %s has another text", id)
				}
			}
		})
	}
}

// TestReindexNotServed: a reindex without a server recomputes all documents, even after a reindex of the served site was interrupted, and
// leaves nothing to resume.
func TestReindexNotServed(t *testing.T) {
	t.Parallel()
	suite.Rest(t, "indexes a big table three times")
	data := newSite(t)
	withoutMeaning(t, data)
	addAll(t, data, bigTable(t, renewedDocuments))
	s := serveSite(t, data, meant)
	stop, _ := begun(t, data)
	stop(func(*os.Process) { s.interrupt() })
	if got := mustReindex(t, data); got.Documents != renewedDocuments || got.Before != 0 {
		t.Errorf("got %+v", got)
	}
	if _, texts, _ := content(t, data); texts.Meant != renewedDocuments {
		t.Errorf("got %+v", texts)
	}
	s.start()
	if got := mustReindex(t, data); got.Before != 0 {
		t.Errorf("after a whole one a reindex goes on: %+v", got)
	}
}

// TestReindexServed: the index of a site is recomputed while the site is served. Documents that are added, replaced and deleted in the
// meantime are correct at the end.
func TestReindexServed(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: reindexes a large table while the site is served")
	}
	data := newSite(t)
	withoutMeaning(t, data)
	addAll(t, data, bigTable(t, renewedDocuments))
	s := serveSite(t, data, meant)
	stop, _ := begun(t, data)
	stop(sending(t, syscall.SIGKILL))

	ctx, ended := context.WithCancel(t.Context())
	var got renewLine
	var failed error
	second := startReindex(t, data)
	go func() {
		defer ended()
		got, failed = reindexed(second)
	}()
	table := filepath.Join(t.TempDir(), "more.tsv")
	rounds := 0
	for last := false; !last; rounds++ { // at least once more after the reindex has ended
		last = ctx.Err() != nil
		// Start from the end, where the reindex arrives last.
		id := renewedDocuments - 1 - 2*rounds
		more := fmt.Sprintf("doc-%05d\tReplaced\tThe text of this document was replaced by another one in round %d, and is to stay.\n"+
			"new-%05d\tNew\tThis document came while the index was made anew, in round %d.\n", id, rounds, rounds, rounds)
		if err := os.WriteFile(table, []byte(more), 0o600); err != nil {
			t.Fatal(err)
		}
		c := program(t, data, "add", "-l", "l", table)
		c.Env = append(c.Env, meant)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		output(t, 0, data, "delete", "document", "l", fmt.Sprintf("doc-%05d", id-1), "--reason", "a test")
	}
	if failed != nil || got.Before == 0 {
		t.Errorf("the second reindex: %+v, %v; it should go on where the first was killed", got, ended)
	}
	s.interrupt()
	_, texts, documents := content(t, data)
	if texts.Meant != renewedDocuments || len(documents) != renewedDocuments { // a document was added for each one deleted
		t.Errorf("%+v, %d documents, want %d", texts, len(documents), renewedDocuments)
	}
	for i := range rounds {
		id := renewedDocuments - 1 - 2*i
		if text := documents[concordat.DocumentID(fmt.Sprintf("doc-%05d", id))]; !strings.Contains(text, fmt.Sprintf("in round %d,", i)) {
			t.Errorf("document %d, replaced in round %d, has the text %.40q", id, i, text)
		}
		if _, there := documents[concordat.DocumentID(fmt.Sprintf("doc-%05d", id-1))]; there {
			t.Errorf("document %d, deleted in round %d, is there", id-1, i)
		}
	}
	t.Logf("%d rounds beside the reindex", rounds)
}
