package program

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"concordat"
	"concordat/cluster"
	"concordat/cmd/cli"
	"concordat/daemon"
	"concordat/index"
	"concordat/instance"
	"concordat/partners"
)

// served is a place served in this process.
type served struct {
	place
	id string // the site's ID for partners
	o  *instance.Instance
	p  *partners.Server
}

// serve answers partners and the site's other commands as the command serve does, until the test ends. It processes notices at the given
// interval.
func (p place) serve(notices time.Duration) *served {
	t := p.t
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.reachable()
	p.command(cli.Done, "site", "card", "--url", "https://"+l.Addr().String())
	a := &app{cli.Site{Data: p.dir, Terminal: cli.Terminal{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard}}}
	o, err := a.Open(t.Context(), instance.WithIndex)
	if err != nil {
		t.Fatal(err)
	}
	o.Config.Federation.Listen = l.Addr().String()
	control, err := cluster.Listen(filepath.Join(o.Dir, instance.SocketName))
	if err != nil {
		t.Fatal(err)
	}
	s := daemon.New(o, daemon.Options{Sign: a.Signatures(), Tell: a.Warn})
	options := a.PartnerOptions(o)
	options.Log, options.Notices, options.Reread = slog.New(slog.DiscardHandler), notices, 50*time.Millisecond
	answers, err := partners.Listen(t.Context(), o, options)
	if err != nil {
		t.Fatal(err)
	}
	s.Partners.Store(answers)
	ctx, stop := context.WithCancel(context.Background())
	g, ctx := errgroup.WithContext(ctx)
	h := &http.Server{Handler: s.Control(), ReadHeaderTimeout: time.Minute}
	g.Go(func() error {
		if err := h.Serve(control); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	g.Go(func() error {
		<-ctx.Done()
		return h.Close()
	})
	answers.Run(ctx, g, l, func(ctx context.Context, f func(context.Context) error) error { return f(ctx) })
	t.Cleanup(func() {
		stop()
		if err := errors.Join(g.Wait(), answers.Close(), o.Close()); err != nil {
			t.Error(err)
		}
	})
	return &served{p, p.json("site", "key", "show")["site"].(string), o, answers}
}

// until waits until done is true.
func (s *served) until(what string, done func() bool) {
	s.t.Helper()
	for end := time.Now().Add(3 * time.Minute); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("%s: not within three minutes", what)
		}
	}
}

// reachable makes the site listen for partners, so that it can invite them.
func (p place) reachable() {
	p.t.Helper()
	f, err := os.OpenFile(filepath.Join(p.dir, instance.ConfigName), os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString("federation: {listen: \"127.0.0.1:0\"}\n")
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// asked counts a partner's questions in the audit.
func (s *served) asked(partner string) int {
	s.t.Helper()
	n := 0
	for after := int64(0); ; {
		es, err := s.o.Store.Audit.Audit(s.t.Context(), after, 0)
		if err != nil {
			s.t.Fatal(err)
		}
		if len(es) == 0 {
			return n
		}
		for _, e := range es {
			if after = e.Seq; e.Actor == partner {
				n++
			}
		}
	}
}

// enrol makes the sites partners and members of one federation.
func enrol(t *testing.T, north, south *served) {
	t.Helper()
	introduce(t, north, south)
	north.command(cli.Done, "federation", "create", "health")
	join(north, south)
}

// introduce makes the sites partners.
func introduce(t *testing.T, north, south *served) {
	t.Helper()
	inv := north.json("peer", "invite", "--library", "theses:passage", "--ship", "--standing")["invitation"].(string)
	words := south.json("peer", "redeem", inv, "--name", "north")["words"].(string)
	south.command(cli.Done, "peer", "confirm", "north", "--words", words)
	north.command(cli.Done, "peer", "confirm", south.id, "--words", words)
}

// join makes south a member of the federation that north leads, and waits for the fingerprints.
func join(north, south *served) {
	north.command(cli.Done, "federation", "invite", "health", south.id)
	south.command(cli.Done, "federation", "join", "health", "north")
	north.fill(south, 1)
}

// fill waits until the whole library has fingerprints of the given number of epochs for the partner.
func (s *served) fill(partner *served, epochs int) {
	s.t.Helper()
	s.until("fingerprints", func() bool {
		if err := s.o.Answers.Sets.CatchUp(s.t.Context()); err != nil {
			s.t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(partner.command(cli.Done, "peer", "libraries", "north", "--json")), "\n")
		for _, line := range lines {
			if strings.Count(line, `"ready":1}`) != epochs {
				return false
			}
		}
		return true
	})
}

// These tests use the following passages.
const (
	iceText = "Glaciologists drilled an ice core from the Vostok plateau and dated volcanic ash layers in it by argon isotopes. " +
		"Bakers of the lower town petitioned the magistrate against millers who mixed chalk and sawdust into rye flour. "
	bellText = "The bell founder melted copper and tin in a clay furnace whose bellows were driven by a small undershot wheel. " +
		"Pears grafted upon quince rootstock bear fruit two summers earlier than those that are raised from seedlings. "
)

// add adds a document to the library theses.
func (s *served) add(id, text string) {
	s.t.Helper()
	path := filepath.Join(s.t.TempDir(), id+".txt")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.command(cli.Done, "add", "--library", "theses", path)
}

// TestPartnerCommands runs commands on two served sites that open passages, mirror a library and watch a check.
func TestPartnerCommands(t *testing.T) {
	t.Parallel()
	first := newPlace(t, "north")
	first.command(cli.Done, "library", "create", "theses")
	// A served site accepts no other secret for an epoch that it answers, and no command changes the epoch, so the test backdates the
	// epoch before the site is served.
	first.command(cli.Done, "federation", "create", "health")
	begunBefore(t, first, "health") // so that the rotation at the end is not too early
	// The south does not process notices by itself, so this test determines the order of events.
	north, south := first.serve(50*time.Millisecond), newPlace(t, "south").serve(time.Hour)
	north.add("ice", iceText)
	north.add("bell", bellText)
	introduce(t, north, south)
	join(north, south)
	ice, bell := filepath.Join(t.TempDir(), "ice.txt"), filepath.Join(t.TempDir(), "bell.txt")
	for path, text := range map[string]string{ice: iceText, bell: bellText} {
		if err := os.WriteFile(path, []byte(text+"And some words of our own stand at the end of this text, which nobody else has written."),
			0o600); err != nil {
			t.Fatal(err)
		}
	}
	rep := south.json("check", ice, "--partner", "north/theses", "--standing")
	task, _ := rep["task"].(string)
	if n := len(rep["evidence"].([]any)); n != 1 || task == "" {
		t.Fatalf("%d passages in task %q: %v", n, task, rep)
	}
	testReveal(t, north, south, task)
	testNotified(t, north, south, south.json("check", ice, "--partner", "north/theses")["task"].(string))
	testRequestsByPages(t, north, south, south.json("check", ice, "--partner", "north/theses")["task"].(string))
	testMirror(t, north, south, bell)
	testAlert(t, north, south, task)
	testRotated(t, north, south, bell)
	testClosed(t, north, south, bell)
}

func testReveal(t *testing.T, north, south *served, task string) {
	if got := south.json("reveal", task, "1"); got["state"] != "granted" || got["level"] != "overlap" {
		t.Fatalf("overlap: %v", got)
	}
	if out := south.command(cli.Done, "reveal", task, "1"); !strings.Contains(out, "no passages are left") {
		t.Errorf("the same again: %s", out)
	}
	passage := []string{"reveal", task, "1", "--level", "passage", "--reason", "an examination", "--contact", "dean@south"}
	if got := south.json(passage...); got["state"] != "pending" || got["level"] != "passage" {
		t.Fatalf("passage: %v", got)
	}
	if out := south.command(cli.Done, passage...); !strings.Contains(out, "no passages are left") {
		t.Errorf("asked for twice: %s", out)
	}
	if got := south.json("reveal", task, "--refresh"); got["state"] != "pending" {
		t.Errorf("before anybody decided: %v", got)
	}
	text := func() string {
		f, err := south.o.Site.Findings(t.Context(), concordat.TaskID(task))
		if err != nil || len(f.Passages) != 1 || f.Passages[0].Shared == nil {
			t.Fatalf("findings %+v, %v", f, err)
		}
		return strings.TrimSpace(f.Passages[0].Text)
	}
	if got := text(); got != "" {
		t.Errorf("shown before anybody decided: %s", got)
	}
	asked := north.json("disclosure", "list", "--state", "pending")
	if asked["reason"] != "an examination" || asked["contact"] != "dean@south" {
		t.Fatalf("as the owner sees it: %v", asked)
	}
	north.command(cli.Done, "disclosure", "approve", asked["id"].(string), "--words", "in order")
	got := south.json("reveal", task, "--refresh")
	if got["state"] != "granted" || got["words"] != "in order" || got["until"] == nil {
		t.Errorf("after the approval: %v", got)
	}
	if got := text(); got != strings.TrimSpace(iceText) {
		t.Errorf("what was shown: %q", got)
	}
	if out := south.command(cli.Done, "reveal", task, "--refresh"); !strings.Contains(out, "no requests are pending") {
		t.Errorf("after all was granted: %s", out)
	}
}

// testNotified: a served site fetches granted passages by itself.
func testNotified(t *testing.T, north, south *served, task string) {
	if got := south.json("reveal", task, "1", "--level", "passage", "--reason", "another examination", "--contact",
		"dean@south"); got["state"] != "pending" {
		t.Fatalf("passage of another check: %v", got)
	}
	north.command(cli.Done, "disclosure", "approve", north.json("disclosure", "list", "--state", "pending")["id"].(string))
	south.until("the passage", func() bool {
		if err := south.p.DeliverNotices(t.Context()); err != nil {
			t.Fatal(err)
		}
		f, err := south.o.Site.Findings(t.Context(), concordat.TaskID(task))
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(f.Passages[0].Text) == strings.TrimSpace(iceText)
	})
}

func testMirror(t *testing.T, north, south *served, bell string) {
	if out := south.command(cli.Failed, "mirror", "sync", "north/nothing"); !strings.Contains(out, "not shared with this site") {
		t.Errorf("a library that is not there: %s", out)
	}
	// A document shown in words is not shipped, because both forms of a text together would reveal more than either.
	if got := south.json("mirror", "sync", "north/theses"); got["documents"] != 1.0 || got["withheld"] != 1.0 ||
		got["complete"] != true || got["ready"] != 1.0 {
		t.Fatalf("synced: %v", got)
	}
	if got := south.json("mirror", "sync", "north/theses"); got["documents"] != 0.0 || got["complete"] != true {
		t.Errorf("synced again: %v", got)
	}
	if got := south.json("mirror", "list"); got["documents"] != 1.0 || got["withheld"] != 1.0 ||
		got["used"] != true || got["epoch"] != "health/1" {
		t.Errorf("listed: %v", got)
	}
	before := north.asked(south.id)
	if before == 0 {
		t.Fatal("the audit of the owner names nothing of what was asked")
	}
	rep := south.json("check", bell)
	if len(rep["evidence"].([]any)) != 1 || !strings.Contains(south.command(cli.Done, "report", "show", rep["task"].(string)), "bell") {
		t.Errorf("check with the mirror: %v", rep)
	}
	if out := south.command(cli.Misused, "reveal", rep["task"].(string), "1"); !strings.Contains(out, "found in a mirror") {
		t.Errorf("reveal of a mirror's passage: %s", out)
	}
	rep = south.json("check", bell, "--no-mirrors")
	if len(rep["evidence"].([]any)) != 0 {
		t.Errorf("without mirrors: %v", rep)
	}
	if after := north.asked(south.id); after != before {
		t.Errorf("the owner was asked: %d entries of its audit, want %d", after, before)
	}
	// If a partner is named, it is asked in place of the mirror, because it knows what the mirror lacks.
	for _, named := range []string{"north/theses", "all"} {
		asked := north.asked(south.id)
		if out := south.command(cli.Done, "check", bell, "--partner", named); !strings.Contains(out,
			"is asked directly, because its mirror lacks 1") {
			t.Errorf("--partner %s: %s", named, out)
		}
		if north.asked(south.id) == asked {
			t.Errorf("--partner %s: the owner was not asked", named)
		}
	}
	// A command that changes the mirrors needs exclusive use of them; a check in the meantime reports this.
	shard, err := partners.OpenMirrors(south.o, concordat.Epoch{Federation: "health", Number: 1}, "", true)
	if err != nil {
		t.Fatal(err)
	}
	if out := south.command(cli.Incomplete, "check", bell, "--require-complete"); !strings.Contains(out, "is changing the mirror") {
		t.Errorf("a mirror that is changed: %s", out)
	}
	south.command(cli.Failed, "mirror", "sync", "north/theses")
	// If another process uses them only briefly, the command waits for it.
	closed := make(chan error, 1)
	time.AfterFunc(250*time.Millisecond, func() { closed <- shard.Close() })
	south.command(cli.Done, "mirror", "sync", "north/theses")
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	testLost(t, north, south, bell)
	testCutShort(t, south, bell)
	south.command(cli.Misused, "mirror", "drop", "north/nothing")
	if got := south.json("mirror", "drop", "north/theses"); got["dropped"] != 1.0 {
		t.Errorf("dropped: %v", got)
	}
	if got := south.json("mirror", "drop", "north/grants"); got["dropped"] != 1.0 {
		t.Errorf("dropped: %v", got)
	}
	if _, err := os.Stat(partners.MirrorFolder(south.dir, concordat.Epoch{Federation: "health", Number: 1})); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder of a dropped mirror: %v", err)
	}
	south.command(cli.Done, "mirror", "sync", "north/theses")
}

// testLost: mirrors with a lost or damaged index are not used, and are all fetched again.
func testLost(t *testing.T, north, south *served, bell string) {
	folder := partners.MirrorFolder(south.dir, concordat.Epoch{Federation: "health", Number: 1})
	north.command(cli.Done, "library", "create", "grants")
	north.command(cli.Done, "library", "share", "grants", "--with", south.id, "--ship")
	path := filepath.Join(t.TempDir(), "grant.txt")
	if err := os.WriteFile(path,
		[]byte("A ferry of larch planks crossed the estuary twice a day until the railway bridge was opened to passengers."), 0o600); err != nil {
		t.Fatal(err)
	}
	north.command(cli.Done, "add", "--library", "grants", path)
	if err := north.o.Answers.Sets.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := south.json("mirror", "sync", "north/grants"); got["documents"] != 1.0 {
		t.Fatalf("a second mirror: %v", got)
	}
	for name, spoil := range map[string]func() error{
		"lost":    func() error { return os.RemoveAll(folder) },
		"damaged": func() error { return os.WriteFile(filepath.Join(folder, "shard.json"), []byte("{"), 0o600) },
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if out := south.command(cli.Done, "check", bell); strings.Count(out, "the mirror's index is missing or damaged") != 2 ||
			!strings.Contains(out, "covered 0%") {
			t.Errorf("%s: check says %s", name, out)
		}
		if got := south.json("mirror", "sync", "north/theses"); got["documents"] != 1.0 {
			t.Errorf("%s: fetched anew: %v", name, got)
		}
		if ms, err := south.o.Asks.Mirrors(t.Context()); err != nil || len(ms) != 1 || ms[0].Library != "theses" {
			t.Errorf("%s: the other mirror is still believed: %+v, %v", name, ms, err)
		}
		if got := south.json("mirror", "sync", "north/grants"); got["documents"] != 1.0 {
			t.Errorf("%s: fetched anew: %v", name, got)
		}
	}
	if rep := south.json("check", bell); len(rep["evidence"].([]any)) != 1 {
		t.Errorf("check with what was fetched anew: %v", rep)
	}
}

// testCutShort: a sync killed after it wrote the index and before it wrote the store leaves files. Exactly these are removed.
func testCutShort(t *testing.T, south *served, bell string) {
	known, unknown := concordat.Epoch{Federation: "health", Number: 1}, concordat.Epoch{Federation: "old-words", Number: 7}
	pr, err := south.o.Profiler.ForIndex(concordat.Document{Library: "left", ID: "left", Added: time.Now(),
		Text: "Gondoliers of the upper canal bought candles of tallow from a widow who kept no book of her debts."})
	if err != nil {
		t.Fatal(err)
	}
	put := func(e concordat.Epoch) *index.Shard {
		t.Helper()
		s, err := partners.OpenMirrors(south.o, e, south.o.Profiler.Scheme(), true)
		if errors.Is(err, concordat.ErrScheme) {
			s, err = partners.OpenMirrors(south.o, e, "", true)
			pr.Scheme = s.Scheme()
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Put(t.Context(), pr); err != nil {
			t.Fatal(err)
		}
		return s
	}
	told := map[string]int{}
	settle := func() {
		t.Helper()
		clear(told)
		if err := partners.SettleMirrors(t.Context(), south.o, func(folder string, n int) { told[filepath.Base(folder)] = n }); err != nil {
			t.Fatal(err)
		}
	}
	settle()
	if len(told) > 0 {
		t.Errorf("nothing was cut short, and cleared is %v", told)
	}
	running := put(unknown)
	if err := put(known).Close(); err != nil {
		t.Fatal(err)
	}
	for folder, file := range map[string]string{"half-1": "lock", "not ours": "file", "broken-2": "shard.json"} {
		path := filepath.Join(south.dir, partners.MirrorsName, folder, file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	settle() // while a running sync has created the index of an epoch
	if want := map[string]int{"health-1": 1, "half-1": 0, "broken-2": 0}; !maps.Equal(told, want) {
		t.Errorf("cleared are %v, want %v", told, want)
	}
	if err := running.Close(); err != nil {
		t.Fatal(err)
	}
	settle()
	if want := map[string]int{"old-words-7": 1}; !maps.Equal(told, want) {
		t.Errorf("after the sync's end cleared are %v, want %v", told, want)
	}
	es, err := os.ReadDir(filepath.Join(south.dir, partners.MirrorsName))
	if err != nil || len(es) != 2 || es[0].Name() != "health-1" || es[1].Name() != "not ours" {
		t.Errorf("folders: %v, %v", es, err)
	}
	if rep := south.json("check", bell); len(rep["evidence"].([]any)) != 1 {
		t.Errorf("check with a mirror that was cleared: %v", rep)
	}
	if err := os.RemoveAll(filepath.Join(south.dir, partners.MirrorsName, "not ours")); err != nil {
		t.Fatal(err)
	}
}

func testAlert(t *testing.T, north, south *served, task string) {
	if out := south.command(cli.Done, "alert", "list"); out != "" {
		t.Errorf("alerts before any document came: %s", out)
	}
	var kept []string
	for line := range strings.Lines(south.command(cli.Done, "alert", "standing", "--json")) {
		if strings.Contains(line, task) {
			kept = append(kept, line)
		}
	}
	if len(kept) != 1 || !strings.Contains(kept[0], north.id) {
		t.Errorf("checks that stay: %v", kept)
	}
	north.add("late", "A document that comes late begins with words of its own, which are not in any other. "+iceText)
	if err := north.o.Answers.Sets.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	south.until("an alert", func() bool { return south.command(cli.Done, "alert", "list") != "" })
	got := south.json("alert", "list")
	if got["check"] != task || got["title"] != "late" || got["partner"] != north.id || got["sentences"].(float64) < 2 {
		t.Errorf("alert: %v", got)
	}
	if out := south.command(cli.Done, "alert", "list", "--after", "1"); out != "" {
		t.Errorf("after the first: %s", out)
	}
	testCase(t, north, south)
	standing := func() int {
		asks, err := north.o.Store.Partners.StandingAsks(t.Context(), concordat.Epoch{Federation: "health", Number: 1})
		if err != nil {
			t.Fatal(err)
		}
		return len(asks)
	}
	if n := standing(); n != 1 {
		t.Errorf("%d questions stand at the partner, want 1", n)
	}
	if out := south.command(cli.Failed, "alert", "end", task, "--deadline", "1ns"); !strings.Contains(out, north.id) ||
		!strings.Contains(out, "repeat the command to notify") {
		t.Errorf("a partner that is not reached: %s", out)
	}
	if n := standing(); n != 1 {
		t.Errorf("%d questions stand at the partner that was not told, want 1", n)
	}
	if got := south.json("alert", "end", task); got["told"] != 1.0 || len(got["left"].([]any)) != 0 {
		t.Errorf("ended: %v", got)
	}
	if n := standing(); n != 0 {
		t.Errorf("%d questions stand at the partner after the end", n)
	}
	south.command(cli.Misused, "alert", "end", task)
}

// testCase: both sites have one case for the alert, under the same number. The north's decision deletes its document, and the south gets
// the checksum of the receipt.
func testCase(t *testing.T, north, south *served) {
	id, _ := north.json("case", "list", "--open")["id"].(string)
	if got := south.json("case", "list", "--open")["id"]; got != id || id == "" {
		t.Fatalf("the south's case is %v, the north's %q", got, id)
	}
	north.command(cli.Done, "case", "confirm", id, "--words", "Two sentences", "--contact", "dean@north")
	theirs := func() map[string]any { return south.json("case", "show", id)["theirs"].(map[string]any) }
	south.until("the north's word", func() bool { return theirs()["contact"] == "dean@north" })
	if got := south.json("case", "confirm", id, "--words", "We agree"); got["state"] != "confirmed" {
		t.Errorf("the case of the south: %v", got)
	}
	north.command(cli.Done, "case", "decide", id, "rejected")
	a := &app{cli.Site{Data: north.dir, Terminal: cli.Terminal{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard}}}
	e := instance.Eraser(north.o, a.Signatures().Receipt, slog.New(slog.DiscardHandler))
	for range 2 { // first the deletion, then the message to the partner about it
		if _, err := e.Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	south.until("the receipt", func() bool { return theirs()["receipt"] != nil })
	own := north.json("case", "show", id)["own"].(map[string]any)
	if got := theirs(); got["decision"] != "rejected" || got["receipt"] != own["receipt"] || own["receipt"] == nil {
		t.Errorf("the south has %v, the north %v", got, own)
	}
	if _, err := north.o.Store.Catalogue.DocumentRow(t.Context(), "theses", "late"); !errors.Is(err, concordat.ErrNotFound) {
		t.Errorf("the document stays: %v", err)
	}
}

// testRotated: after a rotation, the mirror under the new key replaces the old one, and a mirror is not used after its key period.
func testRotated(t *testing.T, north, south *served, bell string) {
	north.command(cli.Done, "federation", "rotate", "health", "--overlap", "24h")
	south.command(cli.Done, "federation", "join", "health", "north")
	a := &app{cli.Site{Data: south.dir, Terminal: cli.Terminal{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard}}}
	c, err := a.Partners(t.Context(), south.o)
	if err != nil {
		t.Fatal(err)
	}
	old, err := south.o.Asks.Mirrors(t.Context())
	if err != nil || len(old) != 1 || old[0].Epoch.Number != 1 {
		t.Fatalf("mirrors %+v, %v", old, err)
	}
	if _, why, err := c.MirrorKey(old[0], time.Now()); err != nil || why != "" {
		t.Errorf("within the overlap: %q, %v", why, err)
	}
	if _, why, err := c.MirrorKey(old[0], time.Now().Add(25*time.Hour)); err != nil || !strings.Contains(why, "key period has ended") {
		t.Errorf("after the overlap: %q, %v", why, err)
	}
	north.fill(south, 2)
	if got := south.json("mirror", "sync", "north/theses"); got["epoch"] != "health/2" || got["complete"] != true {
		t.Errorf("synced after the rotation: %v", got)
	}
	now, err := south.o.Asks.Mirrors(t.Context())
	if err != nil || len(now) != 1 || now[0].Epoch.Number != 2 {
		t.Errorf("mirrors %+v, %v", now, err)
	}
	if _, err := os.Stat(partners.MirrorFolder(south.dir, old[0].Epoch)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder of the earlier epoch: %v", err)
	}
	if rep := south.json("check", bell); len(rep["evidence"].([]any)) != 1 {
		t.Errorf("check with the new mirror: %v", rep)
	}
}

// testClosed: a library closed by its owner is not used once the notice arrives, and is deleted with the next sync.
func testClosed(t *testing.T, north, south *served, bell string) {
	north.command(cli.Done, "library", "unshare", "theses", "--with", south.id)
	south.until("the notice", func() bool { return south.json("mirror", "list")["used"] == false })
	if out := south.command(cli.Done, "check", bell); !strings.Contains(out, "the partner no longer shares the library") ||
		!strings.Contains(out, "covered 0%") {
		t.Errorf("check with a closed mirror: %s", out)
	}
	if got := south.json("mirror", "sync", "north/theses"); got["withdrawn"] != true {
		t.Errorf("sync of a closed library: %v", got)
	}
	if out := south.command(cli.Done, "mirror", "list"); out != "" {
		t.Errorf("mirrors: %s", out)
	}
	if ms, err := south.o.Store.Asks.Mirrors(t.Context()); err != nil || len(ms) != 0 {
		t.Errorf("mirrors %v, %v", ms, err)
	}
}
