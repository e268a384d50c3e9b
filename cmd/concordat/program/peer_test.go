package program

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"concordat/cmd/concordat/auditing"

	"concordat"
	"concordat/cmd/cli"
	"concordat/crypto"
	"concordat/federation"
	"concordat/instance"
	"concordat/partners"
	"concordat/store"
)

// place is the folder of a site where a test runs commands in this process.
type place struct {
	t   *testing.T
	dir string
}

// command runs a command line, requires its exit code, and returns what was printed.
func (p place) command(code int, args ...string) string {
	p.t.Helper()
	var out, errs bytes.Buffer
	got := Run(p.t.Context(), append([]string{"--data", p.dir, "--quiet"}, args...), strings.NewReader(""), &out, &errs)
	if got != code {
		p.t.Fatalf("concordat %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got, code, out.String(), errs.String())
	}
	return out.String() + errs.String()
}

// json runs a command line with --json and returns the last JSON line of its output.
func (p place) json(args ...string) map[string]any {
	p.t.Helper()
	lines := strings.Split(strings.TrimSpace(p.command(cli.Done, append([]string{"--json"}, args...)...)), "\n")
	for len(lines) > 1 && !strings.HasPrefix(lines[len(lines)-1], "{") {
		lines = lines[:len(lines)-1] // messages on stderr
	}
	var v map[string]any
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &v); err != nil {
		p.t.Fatalf("concordat %s: %v in %s", strings.Join(args, " "), err, lines)
	}
	return v
}

func newPlace(t *testing.T, id string) place {
	p := place{t, filepath.Join(t.TempDir(), id)}
	p.command(cli.Done, "init", "--site", id, "--title", "University of "+id)
	p.command(cli.Done, "site", "key", "init")
	return p
}

// epochsOf sends epochs to members as the serving process does.
type epochsOf struct {
	db *store.DB
	r  *partners.Roster
}

func (k epochsOf) Scheme(concordat.Epoch) (concordat.Scheme, bool) { return "", false }
func (k epochsOf) Grant(ctx context.Context, to concordat.SiteID, f concordat.FederationID) ([]byte, error) {
	// Commands change the keystore in this process while the server uses an identity.
	id, _ := k.r.Self()
	return partners.Grant(ctx, k.db, id, to, f)
}

// listen serves the federation side of the site until the test ends; reload rereads the keystore.
func (p place) listen() (reload func()) {
	t := p.t
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.reachable()
	p.command(cli.Done, "site", "card", "--url", "https://"+l.Addr().String())
	a := &app{cli.Site{Data: p.dir, Terminal: cli.Terminal{Stdin: strings.NewReader(""), Stdout: os.Stdout, Stderr: os.Stderr}}}
	o, err := a.Open(t.Context(), instance.StoreOnly)
	if err != nil {
		t.Fatal(err)
	}
	var r *partners.Roster
	reload = func() {
		t.Helper()
		_, id, err := a.OpenKeys(p.dir)
		if err != nil {
			t.Fatal(err)
		}
		card, err := instance.OwnCard(t.Context(), o.Store, id)
		if err != nil {
			t.Fatal(err)
		}
		if r == nil {
			r = partners.NewRoster(o.Store, slog.New(slog.DiscardHandler), id, card)
		} else {
			r.Use(id, card)
		}
	}
	reload()
	// It was opened an hour ago, so it trusts its record of earlier messages.
	replays, err := federation.OpenReplays(filepath.Join(t.TempDir(), "replays"), time.Now().Add(-time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	id, _ := r.Self()
	s := federation.NewServer(r, o.Answers, epochsOf{o.Store, r}, replays, id.LocalKey("order of sentences"),
		federation.ServerOptions{Registrar: r, Journal: r})
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l, time.Second) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := replays.Close(); err != nil {
			t.Error(err)
		}
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	})
	return reload
}

// TestE1Commands enrols a site with commands through the federation listener, and tries every step that must fail on the way; its subtest
// TestE2 revokes the site.
func TestE1Commands(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: runs dozens of commands in a row")
	}
	north, south := newPlace(t, "north"), newPlace(t, "south")
	north.command(cli.Misused, "peer", "invite") // the site is not reachable yet
	reload := north.listen()
	south.command(cli.Done, "site", "card", "--url", "https://127.0.0.1:1", "--contact", "integrity@south.example")
	north.command(cli.Done, "library", "create", "theses")
	north.command(cli.Misused, "peer", "invite", "--library", "nothing")
	north.command(cli.Misused, "peer", "invite", "--library", "theses", "--level", "everything")
	north.command(cli.Misused, "peer", "invite", "--library", "theses", "--budget", "sentences=many")
	inv := north.json("peer", "invite", "--library", "theses:metadata", "--budget", "sentences=1000", "--note",
		"for the south")["invitation"].(string)

	// Redeeming makes both sides pending, with the same words. Until both confirm, no question is answered.
	theirs := south.json("peer", "redeem", inv, "--name", "north")
	if theirs["state"] != "pending" || len(strings.Fields(theirs["words"].(string))) != 6 {
		t.Fatalf("after redeeming: %v", theirs)
	}
	south.command(cli.Failed, "peer", "redeem", inv) // already used
	self := south.json("site", "key", "show")["site"].(string)
	ours := north.json("peer", "show", self)
	if ours["state"] != "pending" || ours["words"] != theirs["words"] || ours["contact"] != "integrity@south.example" {
		t.Fatalf("the inviting site has %v, the other one %v", ours, theirs)
	}
	south.command(cli.Misused, "peer", "libraries", "north") // pending on this side
	words := ours["words"].(string)
	wrong := strings.Fields(words)
	wrong[0], wrong[1] = wrong[1], wrong[0]
	if out := north.command(cli.Failed, "peer", "confirm", self, "--words", strings.Join(wrong, " ")); !strings.Contains(out,
		"the words differ") {
		t.Errorf("wrong words: %s", out)
	}
	north.command(cli.Misused, "peer", "confirm", self) // without a terminal
	south.command(cli.Done, "peer", "confirm", "north", "--words", "  "+strings.ToUpper(words)+" ")
	// One confirmation is not enough; the other site still refuses.
	south.command(cli.Failed, "peer", "libraries", "north")
	if got := north.json("peer", "confirm", self, "--words", words); got["state"] != "active" || got["words"] != nil {
		t.Fatalf("confirmed: %v", got)
	}
	north.command(cli.Misused, "peer", "confirm", self, "--words", words) // already active
	north.command(cli.Done, "peer", "name", self, "south")
	north.command(cli.Misused, "peer", "name", "south", "a/b")

	lib := south.json("peer", "libraries", "north")
	if lib["id"] != "theses" || lib["level"] != "metadata" || lib["sentences"] != 1000.0 {
		t.Errorf("library as the partner sees it: %v", lib)
	}

	// A member of a federation fetches its secret and no other federation's.
	north.command(cli.Done, "federation", "create", "health")
	begunBefore(t, north, "health")
	reload()
	north.command(cli.Misused, "federation", "create", "health")
	north.command(cli.Misused, "federation", "create", "Health!")
	south.command(cli.Failed, "federation", "join", "health", "north") // not yet a member
	north.command(cli.Done, "federation", "invite", "health", "south")
	joined := south.json("federation", "join", "health", "north")
	if e := joined["epochs"].([]any); joined["leads"] != false || len(e) != 1 {
		t.Errorf("joined: %v", joined)
	}
	south.command(cli.Misused, "federation", "rotate", "health") // not the leader
	north.command(cli.Done, "federation", "rotate", "health", "--overlap", "24h")
	reload()
	joined = south.json("federation", "join", "health", "north")
	if e := joined["epochs"].([]any); len(e) != 2 || e[0].(map[string]any)["to"] == nil {
		t.Errorf("after the rotation: %v", joined)
	}
	if !bytes.Equal(secretOf(t, north, "health", 2), secretOf(t, south, "health", 2)) {
		t.Error("the members' keys of epoch 2 differ")
	}
	// Another epoch on the same day is an exception that needs a person's consent at each member.
	if out := north.command(cli.Misused, "federation", "rotate", "health"); !strings.Contains(out, "--early") {
		t.Errorf("a second rotation on one day: %s", out)
	}
	// K2: a removed member does not get the next secret.
	north.command(cli.Done, "federation", "remove", "health", "south")
	reload()
	south.command(cli.Failed, "federation", "join", "health", "north")
	if e := south.json("federation", "show", "health")["epochs"].([]any); len(e) != 2 {
		t.Errorf("the removed member has %v", e)
	}
	if e := north.json("federation", "show", "health")["epochs"].([]any); len(e) != 3 {
		t.Errorf("the leader has %v", e)
	}

	// The messages carried the heads of the audits in both directions.
	for _, x := range []struct {
		p   place
		who string
	}{{north, "south"}, {south, "north"}} {
		if got := x.p.json("peer", "show", x.who); got["heads"].(float64) < 1 || got["contradictions"] != 0.0 {
			t.Errorf("heads of %s: %v", x.who, got)
		}
		x.p.command(cli.Done, "audit", "verify")
	}

	testWitnessed(t, north, south)

	// Doctor contacts the partners: north answers, and south is not listening.
	for _, x := range []struct {
		p    place
		want string
	}{{south, "ok       partners"}, {north, "warning  partners"}} {
		if got := x.p.command(cli.Done, "doctor", "--quick"); !strings.Contains(got, x.want) || !strings.Contains(got, "ok       card") {
			t.Errorf("doctor says\n%s, want %s", got, x.want)
		}
	}

	// E2: a revoked site's next message is refused.
	south.command(cli.Done, "peer", "libraries", "north")
	if got := north.json("peer", "revoke", "south"); got["state"] != "revoked" || len(got["shares"].([]any)) != 0 {
		t.Errorf("revoked: %v", got)
	}
	south.command(cli.Failed, "peer", "libraries", "north")
	north.command(cli.Misused, "peer", "revoke", "south")
	south.command(cli.Done, "federation", "leave", "health")
	south.command(cli.Misused, "federation", "show", "health")
}

// begunBefore backdates the first epoch of a federation, which p leads and no site has joined, to 40 days ago, so that the next epoch can
// begin.
func begunBefore(t *testing.T, p place, f string) {
	t.Helper()
	a := &app{cli.Site{Data: p.dir, Terminal: cli.Terminal{Stdin: strings.NewReader("")}}}
	k, _, err := a.OpenKeys(p.dir)
	if err == nil {
		_, err = k.Update(t.Context(), func(id *crypto.Identity) (*crypto.Identity, error) {
			return id.Leave(f).NewEpoch(f, time.Now().AddDate(0, 0, -40), 0, rand.Reader)
		})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func secretOf(t *testing.T, p place, f string, epoch uint32) []byte {
	t.Helper()
	a := &app{cli.Site{Data: p.dir, Terminal: cli.Terminal{Stdin: strings.NewReader("")}}}
	_, id, err := a.OpenKeys(p.dir)
	if err != nil {
		t.Fatal(err)
	}
	fed, err := id.Federation(f)
	if err != nil {
		t.Fatal(err)
	}
	e, err := fed.Epoch(epoch, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return e.FingerprintKey("natural@0")
}

// testWitnessed: the partner exports its audit. An unchanged audit agrees with the stored heads. L1: a changed, deleted or moved entry is
// named. L2: a completely rewritten audit, although consistent in itself, contradicts the heads.
func testWitnessed(t *testing.T, north, south place) {
	dir := t.TempDir()
	honest := filepath.Join(dir, "honest.jsonl")
	north.command(cli.Done, "audit", "export", "--out", honest)
	south.command(cli.Done, "audit", "verify", "--export", honest, "--of", "north")
	b, err := os.ReadFile(honest)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(bytes.TrimSpace(b), []byte("\n"))
	verify := func(t *testing.T, name string, lines [][]byte, want string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, bytes.Join(lines, nil), 0o600); err != nil {
			t.Fatal(err)
		}
		if out := south.command(cli.Failed, "audit", "verify", "--export", path, "--of", "north"); !strings.Contains(out, want) {
			t.Errorf("%s: got %s, want %q", name, out, want)
		}
	}
	t.Run("L1", func(t *testing.T) {
		changed := bytes.ReplaceAll(lines[1], []byte(`"administrator"`), []byte(`"somebody"`))
		verify(t, "changed", [][]byte{lines[0], changed, bytes.Join(lines[2:], nil)}, "entry 2")
		verify(t, "deleted", [][]byte{lines[0], bytes.Join(lines[2:], nil)}, "entry 3")
		verify(t, "moved", [][]byte{lines[0], lines[2], lines[1], bytes.Join(lines[3:], nil)}, "entry 3")
	})
	t.Run("L2", func(t *testing.T) {
		forged, foreign := rewritten(t, north, filepath.Join(dir, "fake.db"), lines[:len(lines)-1])
		verify(t, "rewritten", [][]byte{forged}, "the hash of the entry differs from the expected hash")
		// This head is signed by another site.
		verify(t, "foreign", [][]byte{foreign}, "site card refused")
	})
	south.command(cli.Misused, "audit", "verify", "--export", honest)
}

// rewritten returns the export of an audit with different contents, signed once with the site's own keys and once by another site.
func rewritten(t *testing.T, north place, path string, entries [][]byte) (forged, foreign []byte) {
	fake, err := store.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer fake.Close()
	for _, l := range entries {
		var e store.AuditEntry
		if err := json.Unmarshal(l, &e); err != nil {
			t.Fatal(err)
		}
		if e.Action == "federation created" {
			e.Action = "nothing happened"
		}
		if _, err := fake.Audit.AppendAudit(t.Context(), e.Actor, e.Action, e.Detail); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := fake.Audit.VerifyAudit(t.Context()); err != nil {
		t.Fatalf("the forged audit is consistent: %v", err)
	}
	a := &app{cli.Site{Data: north.dir, Terminal: cli.Terminal{Stdin: strings.NewReader("")}}}
	_, id, err := a.OpenKeys(north.dir)
	if err != nil {
		t.Fatal(err)
	}
	other, err := crypto.New(time.Now(), strings.NewReader(strings.Repeat("x", 1<<16)))
	if err != nil {
		t.Fatal(err)
	}
	export := func(id *crypto.Identity) []byte {
		var b bytes.Buffer
		if err := auditing.ExportAudit(t.Context(), &b, fake, id); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	return export(id), export(other)
}
