//go:build linux

package program

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"concordat"
	"concordat/cluster"
	"concordat/cmd/cli"
	"concordat/index"
	"concordat/instance"
	"concordat/internal/suite"
)

const (
	// glassSource says in Chinese what glassEssay says in English; they have no words in common.
	glassSource = "玻璃工匠行会因为官员害怕火灾，于一四一一年把熔炉迁到了岛上。每个学徒都在监督面前发誓，绝不把红色玻璃的配方带过潟湖。" +
		"违背誓言的人失去作坊，他的亲属被关押，直到他回家为止。尽管采取了这些措施，两位师傅还是定居在洛林，十年之内向宫廷出售红色玻璃酒杯。"
	glassEssay = "The guild of glass workers moved its furnaces to the island in 1411, because the officials were afraid of fire. " +
		"Every apprentice swore before the supervisor never to take the recipe of the red glass across the lagoon. " +
		"Whoever broke the oath lost his workshop, and his relatives were imprisoned until he came home. " +
		"Despite these measures two masters settled in Lorraine, and within ten years sold goblets of red glass to the court."
	joinedDocuments = 1600
)

// plainTable is a table of n prose documents plus the document about glass.
func plainTable(t *testing.T, n int) string {
	t.Helper()
	r := rand.New(rand.NewPCG(3, 4))
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, "doc-%05d\tDocument %d\t", i, i)
		for range 12 {
			for range 14 {
				b.WriteString(vocabulary[r.IntN(len(vocabulary))] + " ")
			}
			b.WriteString("end. ")
		}
		b.WriteByte('\n')
	}
	b.WriteString("glass\tGlass\t" + glassSource + "\n")
	path := filepath.Join(t.TempDir(), "plain.tsv")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// joinedReindex is a process on one of the machines that runs reindex.
type joinedReindex struct {
	*exec.Cmd
	errs  *syncedLog
	first struct { // first line of its output
		Type            string
		Made, Remaining int
	}
	rest chan []byte // rest of its output
}

// reindex starts a reindex, retrying as needed, because a node on a slow machine can lose its session, and then its shards wait for a new
// master.
func (s *joinedSite) reindex(n *joinedNode) *joinedReindex {
	s.t.Helper()
	for end := time.Now().Add(5 * time.Minute); ; {
		r := &joinedReindex{Cmd: program(s.t, n.dir, "reindex", "--json"), errs: &syncedLog{}, rest: make(chan []byte, 1)}
		r.Stderr = r.errs
		out, err := r.StdoutPipe()
		if err == nil {
			err = r.Start()
		}
		if err != nil {
			s.t.Fatal(err)
		}
		s.t.Cleanup(func() { _ = r.Process.Kill() }) // in case the test ends first
		d := json.NewDecoder(out)
		began := d.Decode(&r.first)
		go func() {
			b, _ := io.ReadAll(io.MultiReader(d.Buffered(), out)) // to its end, whatever ends it
			r.rest <- b
		}()
		if began == nil {
			return r
		}
		r.end()
		if time.Now().After(end) {
			s.t.Fatalf("reindex begins with %v: %s", began, r.errs)
		}
		s.t.Logf("reindex: %s", r.errs)
	}
}

// end waits until the reindex ends and returns whether it succeeded.
func (r *joinedReindex) end() bool {
	<-r.rest
	return r.Wait() == nil
}

// says runs a command line at a node, regardless of the outcome, and returns what it prints.
func (n *joinedNode) says(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = Run(n.t.Context(), append([]string{"--data", n.dir, "--quiet"}, args...), strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

// does runs a command line at a node until it succeeds.
func (s *joinedSite) does(n *joinedNode, args ...string) {
	s.t.Helper()
	s.until(strings.Join(args, " "), func() bool {
		code, out, errs := n.says(args...)
		if code != cli.Done {
			s.t.Logf("concordat %s: %s%s", strings.Join(args, " "), out, errs)
		}
		return code == cli.Done
	})
}

// dry returns the result of a reindex dry run, or nil if it fails.
func (n *joinedNode) dry() (v map[string]any) {
	if _, out, _ := n.says("reindex", "--dry-run", "--json"); json.Unmarshal([]byte(out), &v) != nil {
		return nil
	}
	return v
}

// leads returns the number of leads that a check at the node finds.
func (s *joinedSite) leads(n *joinedNode, text string) (leads int) {
	s.t.Helper()
	path := filepath.Join(s.t.TempDir(), "essay.txt")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.until("a whole check at node "+n.name, func() bool {
		var rep struct{ Leads []any }
		code, out, _ := n.says("check", path, "--leads", "--json", "--require-complete")
		leads = 0
		if code == cli.Done && json.Unmarshal([]byte(out), &rep) == nil {
			leads = len(rep.Leads)
		}
		return code == cli.Done
	})
	return leads
}

// finding waits until doctor reports the given state of the meaning cells.
func (s *joinedSite) finding(n *joinedNode, state, detail string) {
	s.t.Helper()
	var f finding
	s.until(fmt.Sprintf("doctor at node %s: %s, %s", n.name, state, detail), func() bool {
		_, out, _ := n.says("doctor", "--json", "--quick", "--offline")
		for line := range strings.Lines(out) {
			var x finding
			if json.Unmarshal([]byte(line), &x) == nil && x.Check == "meaning" {
				f = x
			}
		}
		return f.State == state && strings.HasPrefix(f.Detail, detail)
	})
	if state != findingOK && !strings.Contains(f.Advice, "concordat reindex") {
		s.t.Errorf("the advice is %q", f.Advice)
	}
}

// shards returns the state of the shards.
func (n *joinedNode) shards() []instance.ShardLine {
	var v struct{ Shards []instance.ShardLine }
	_, out, _ := n.says("cluster", "status", "--json")
	_ = json.Unmarshal([]byte(out), &v) // on an error there are no shards
	return v.Shards
}

// settled waits until every copy of every shard is in sync.
func (s *joinedSite) settled(n *joinedNode) {
	s.t.Helper()
	s.until("copies in sync", func() bool {
		shards := n.shards()
		return len(shards) > 0 && !slices.ContainsFunc(shards, func(x instance.ShardLine) bool { return x.State != "ok" })
	})
}

// master returns a node other than n that is master of a shard, if there is one.
func (s *joinedSite) master(n *joinedNode) *joinedNode {
	s.t.Helper()
	for _, x := range n.shards() {
		for _, other := range s.nodes {
			if other != n && string(x.Master) == other.name {
				return other
			}
		}
	}
	return s.nodes[(slices.Index(s.nodes, n)+1)%len(s.nodes)]
}

// table writes a table with one document.
func (s *joinedSite) table(id, text string) string {
	s.t.Helper()
	path := filepath.Join(s.t.TempDir(), "one.tsv")
	if err := os.WriteFile(path, []byte(id+"\tTitle\t"+text+"\n"), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return path
}

// TestReindexJoined: a site of three machines gets meaning cells while it is served. The command is killed, then its node, then a
// shard's master, while documents are replaced and deleted at another node. In the end, every copy has the expected contents, and a check
// finds matches by meaning that it could not find before.
func TestReindexJoined(t *testing.T) {
	t.Parallel()
	suite.Rest(t, "three real nodes with ZooKeeper and PostgreSQL")
	s := startJoined(t)
	a, b, c := s.nodes[0], s.nodes[1], s.nodes[2]
	a.command(cli.Done, "add", "-l", "theses", plainTable(t, joinedDocuments))
	if n := s.leads(c, glassEssay); n > 0 {
		t.Fatalf("%d leads without cells: it shows nothing", n)
	}
	s.finding(a, findingOK, "every document")

	// The setting is new, and the nodes restart one after the other to use it.
	a.command(cli.Done, "cluster", "zookeeper", "set", "meaning.index=true")
	for i, n := range s.nodes {
		s.until("reindex names who is to be started anew", func() bool {
			code, _, errs := b.says("reindex", "--dry-run")
			return code == cli.Failed && strings.Contains(errs, "was off when "+[]string{"a b c", "b c", "c"}[i]+" started")
		})
		n.kill()
		n.start()
		s.settled(n)
	}
	// This library was indexed by meaning and is no longer supposed to be.
	a.command(cli.Done, "library", "create", "essays")
	s.does(a, "add", "-l", "essays", s.table("plain", strings.Repeat("A harbour pilot keeps a ledger of tides in chalk. ", 5)))
	a.command(cli.Done, "library", "set", "essays", "--meaning", "off")
	s.until("documents that are to be made anew", func() bool {
		dry := b.dry()
		return dry["lacking"] == float64(joinedDocuments+1) && dry["superfluous"] == 1.0 && dry["bare"] == 0.0
	})
	s.finding(c, findingWarning, fmt.Sprintf("%d documents lack meaning cells, and 1 have", joinedDocuments+1))

	left := joinedDocuments + 2
	stopped := func(what string, r *joinedReindex) {
		t.Helper()
		if r.end() || r.first.Type == "summary" {
			t.Logf("%s: reindex ended before: it shows less", what)
			return
		}
		if r.first.Made == 0 || r.first.Made+r.first.Remaining > left {
			t.Errorf("%s: %+v, and %d were left", what, r.first, left)
		}
		left = r.first.Remaining
	}
	r := s.reindex(b)
	if err := r.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	stopped("command killed", r)
	s.until("fewer than before are to be made anew", func() bool {
		n, ok := a.dry()["documents"].(float64)
		return ok && n <= float64(left)
	})
	r = s.reindex(b)
	b.kill()
	stopped("node killed", r)
	b.start()
	s.settled(b)
	r = s.reindex(b)
	gone := s.master(b)
	gone.kill()
	other := s.nodes[slices.IndexFunc(s.nodes, func(n *joinedNode) bool { return n != b && n != gone })]
	want := map[string]string{}
	var deletions []*exec.Cmd
	for i := range 3 { // from the end, where the reindex arrives last
		id, next := fmt.Sprintf("doc-%05d", joinedDocuments-1-2*i), fmt.Sprintf("doc-%05d", joinedDocuments-2-2*i)
		want[id] = fmt.Sprintf("The text of this document was replaced by another one, number %d, which is to stay.", i)
		want[next] = ""
		s.does(other, "add", "-l", "theses", s.table(id, want[id]))
		d := program(t, other.dir, "delete", "document", "theses", next, "--reason", "a test") // its receipt waits for the absent node
		if err := d.Start(); err != nil {
			t.Fatal(err)
		}
		deletions = append(deletions, d)
	}
	for end := time.Now().Add(5 * time.Minute); !r.end(); { // fails if writes were impossible for too long
		t.Logf("reindex: %s", r.errs)
		if time.Now().After(end) {
			t.Fatal("no reindex comes to its end")
		}
		r = s.reindex(b)
	}
	gone.start()
	s.settled(gone)
	for _, d := range deletions {
		if err := d.Wait(); err != nil {
			t.Logf("a deletion: %v; it goes on", err) // the node was too slow to announce itself
		}
	}
	for id, text := range want {
		s.until("document "+id, func() bool {
			_, err := s.db.Catalogue.DocumentRow(t.Context(), "theses", concordat.DocumentID(id))
			return (text == "") == errors.Is(err, concordat.ErrNotFound)
		})
	}
	for _, n := range s.nodes {
		s.finding(n, findingOK, "every document")
		if leads := s.leads(n, glassEssay); leads != 1 {
			t.Errorf("%d leads at node %s, want 1", leads, n.name)
		}
	}
	s.until("nothing is left", func() bool { return c.dry()["documents"] == 0.0 })
	for _, n := range s.nodes {
		(&servedSite{t: t, process: n.process, log: n.log}).interrupt()
	}
	for _, n := range s.nodes {
		n.hasCells(want)
	}
}

// hasCells examines the copies of a stopped node. Every document must be indexed by meaning according to its library. A document named in
// want must have that text if it is present; for an empty text, no copy may contain the document.
func (n *joinedNode) hasCells(want map[string]string) {
	n.t.Helper()
	dir := filepath.Join(n.dir, instance.IndexName, instance.NodeDirName)
	documents, replaced := 0, map[string]bool{}
	for _, id := range cluster.Copies(dir) {
		x, err := index.Open(filepath.Join(dir, string(id)), index.Options{ReadOnly: true})
		if err != nil {
			n.t.Fatal(err)
		}
		documents += x.Stats().Documents
		for lib, m := range map[concordat.LibraryID]index.Meant{"theses": index.MeantCells, "essays": index.MeantNone} {
			if u, err := x.Unfit(&index.UnfitQuery{Library: lib, Want: m}); err != nil || u.Lacking+u.Superfluous+u.Bare > 0 {
				n.t.Errorf("node %s, shard %s, %s: %+v, %v", n.name, id, lib, u, err)
			}
		}
		for d, err := range x.LibraryDocuments(n.t.Context(), "theses") {
			if err != nil {
				n.t.Fatal(err)
			}
			if text, named := want[string(d.ID)]; named {
				if replaced[string(d.ID)] = true; d.Text != text {
					n.t.Errorf("node %s: %s has the text %q, want %q", n.name, d.ID, d.Text, text)
				}
			}
		}
		if err := x.Close(); err != nil {
			n.t.Error(err)
		}
	}
	if documents != joinedDocuments+2-3 || len(replaced) != 3 {
		n.t.Errorf("node %s has %d documents and of those replaced %v", n.name, documents, slices.Sorted(maps.Keys(replaced)))
	}
}
