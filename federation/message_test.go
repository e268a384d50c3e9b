package federation_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"concordat"
	"concordat/crypto"
	"concordat/federation"
	"concordat/federation/wire"
	"concordat/internal/fedtest"
)

// workbench is two enrolled sites. The second answers messages posted directly to its handler, so that a test can alter them.
type workbench struct {
	asker, owner *fedtest.Site
	answers      *scan
	server       *federation.Server
	replays      *federation.Replays
	now          func() time.Time
}

func newWorkbench(t testing.TB, now func() time.Time) *workbench {
	t.Helper()
	w := &workbench{asker: fedtest.NewSite(t, scheme), owner: fedtest.NewSite(t, scheme), now: now}
	w.asker.Roster.Set(w.owner.Member(federation.StateActive))
	w.owner.Roster.Set(w.asker.Member(federation.StateActive))
	w.answers = library(newRand(t), "Thesis", 3, 20)
	w.open(t)
	return w
}

// open starts serving, as a new process would.
func (w *workbench) open(t testing.TB) {
	t.Helper()
	var err error
	if w.replays, err = federation.OpenReplays(w.owner.Replays, w.now()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.replays.Close() })
	w.server = federation.NewServer(w.owner.Roster, w.answers, w.owner.Epochs, w.replays, w.owner.Order,
		federation.ServerOptions{Behind: true, Now: w.now})
}

// post returns the server's status and body.
func (w *workbench) post(env []byte) (int, []byte) {
	rec := httptest.NewRecorder()
	req := httptest.NewRequest(http.MethodPost, "/concordat/1/message", bytes.NewReader(env))
	w.server.ServeHTTP(rec, req)
	return rec.Code, rec.Body.Bytes()
}

// seal returns the asker's envelope with the payload.
func (w *workbench) seal(t testing.TB, kind crypto.MessageType, payload []byte, ttl time.Duration) ([]byte, *crypto.Pending) {
	t.Helper()
	return sealFrom(t, w.asker, w.owner, kind, payload, ttl, w.now())
}

func sealFrom(t testing.TB, from, to *fedtest.Site, kind crypto.MessageType, payload []byte, ttl time.Duration,
	now time.Time) ([]byte, *crypto.Pending) {
	t.Helper()
	id, own := from.Roster.Self()
	card := to.Member(federation.StateActive).Card
	content, err := wire.AppendRequest(nil, &wire.Request{Card: own.Serial, Known: card.Serial, Payload: payload})
	if err != nil {
		t.Fatal(err)
	}
	env, pending, err := id.SealRequest(crypto.Request{Type: kind, TTL: ttl, Payload: content}, card, now, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return env, pending
}

// query returns the payload of a padded ask.
func (w *workbench) query(t testing.TB, n int) []byte {
	t.Helper()
	a := submission(newRand(t), w.answers, n)
	padded, _, err := wire.Pad(a, [32]byte{1}, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	b, err := wire.AppendAsk(nil, padded)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// opened returns the reply, and the refusal if the reply is one.
func (w *workbench) opened(t testing.TB, answer []byte, p *crypto.Pending, want crypto.MessageType) (*wire.Reply, *concordat.Refusal) {
	t.Helper()
	id, _ := w.asker.Roster.Self()
	o, err := id.OpenReply(answer, p, w.owner.Member(federation.StateActive).Card, crypto.Policy{}, w.now(), want)
	if err != nil {
		t.Fatalf("open the reply: %v", err)
	}
	reply, err := wire.ParseReply(o.Payload)
	if err != nil {
		t.Fatal(err)
	}
	if o.Type != crypto.TypeError {
		return reply, nil
	}
	refusal, err := wire.ParseRefusal(reply.Payload)
	if err != nil {
		t.Fatal(err)
	}
	return reply, refusal
}

// TestT1_EveryByte: a message does not run if any byte is changed, or if it is truncated anywhere or extended. Before the signature is
// verified, all of these get the same answer, and the unmodified message still runs.
func TestT1_EveryByte(t *testing.T) {
	w := newWorkbench(t, time.Now)
	env, pending := w.seal(t, crypto.TypeQuery, w.query(t, 20), time.Minute)
	step := 1
	if testing.Short() {
		step = 41
	}
	var fixed []byte
	refused := func(b []byte, what string, at int) {
		t.Helper()
		code, body := w.post(b)
		if fixed == nil {
			fixed = body
		}
		if code != http.StatusBadRequest || !bytes.Equal(body, fixed) {
			t.Fatalf("%s at %d of %d: answered %d %q, want %d %q", what, at, len(env), code, body, http.StatusBadRequest, fixed)
		}
	}
	for i := 0; i < len(env); i += step {
		b := bytes.Clone(env)
		b[i] ^= 0x40
		refused(b, "a bit changed", i)
		refused(env[:i], "cut", i)
	}
	refused(append(bytes.Clone(env), 0), "a byte added", len(env))
	if n := w.answers.asked(); n != 0 {
		t.Fatalf("%d altered messages ran", n)
	}
	code, body := w.post(env)
	if code != http.StatusOK {
		t.Fatalf("the untouched message: answered %d %q", code, body)
	}
	if _, refusal := w.opened(t, body, pending, crypto.TypeReply); refusal != nil || w.answers.asked() != 1 {
		t.Fatalf("the untouched message: refusal %v, ran %d times", refusal, w.answers.asked())
	}
}

// TestT1_EveryByteOfReply is TestT1_EveryByte for the reply.
func TestT1_EveryByteOfReply(t *testing.T) {
	w := newWorkbench(t, time.Now)
	env, pending := w.seal(t, crypto.TypeQuery, w.query(t, 20), time.Minute)
	_, answer := w.post(env)
	id, _ := w.asker.Roster.Self()
	card := w.owner.Member(federation.StateActive).Card
	step := 1
	if testing.Short() {
		step = 41
	}
	for i := 0; i < len(answer); i += step {
		b := bytes.Clone(answer)
		b[i] ^= 0x01
		for _, altered := range [][]byte{b, answer[:i]} {
			if _, err := id.OpenReply(altered, pending, card, crypto.Policy{}, w.now(), crypto.TypeReply); err == nil {
				t.Fatalf("a reply altered at %d of %d was taken", i, len(answer))
			}
		}
	}
	w.opened(t, answer, pending, crypto.TypeReply)
}

// recorded stores all bytes read from a random source.
type recorded struct{ bytes.Buffer }

func (r *recorded) Read(p []byte) (int, error) {
	n, err := rand.Read(p)
	r.Write(p[:n])
	return n, err
}

// TestT2_ReSigned: if a member sends another's message under its own name and signature, decryption fails, because the sender's name is
// sealed with the message. The honest sender's message still runs.
func TestT2_ReSigned(t *testing.T) {
	w := newWorkbench(t, time.Now)
	thief := fedtest.NewSite(t, scheme)
	var drawn recorded
	id, err := crypto.New(time.Now(), &drawn)
	if err != nil {
		t.Fatal(err)
	}
	thief.Roster.Use(t, id, thief.URL)
	w.owner.Roster.Set(thief.Member(federation.StateActive))
	card := thief.Member(federation.StateActive).Card
	seed := signingSeed(t, drawn.Bytes(), card)

	env, pending := w.seal(t, crypto.TypeQuery, w.query(t, 20), time.Minute)
	stolen := bytes.Clone(env[:len(env)-ed25519.SignatureSize])
	copy(stolen[8:40], card.Site[:])
	binary.BigEndian.PutUint32(stolen[76:], card.Signing[0].Epoch)
	sum := sha256.Sum256(stolen)
	stolen = append(stolen, ed25519.Sign(seed, append([]byte("concordat/sign/1\x00"), sum[:]...))...)

	code, body := w.post(stolen)
	if code != http.StatusOK {
		t.Fatalf("answered %d: the signature should be good", code)
	}
	thiefID, _ := thief.Roster.Self()
	p := &crypto.Pending{To: pending.To, Digest: sha256.Sum256(stolen), Until: time.Now().Add(time.Hour)}
	o, err := thiefID.OpenReply(body, p, w.owner.Member(federation.StateActive).Card, crypto.Policy{}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	reply, err := wire.ParseReply(o.Payload)
	if err != nil {
		t.Fatal(err)
	}
	if refusal, err := wire.ParseRefusal(reply.Payload); err != nil || refusal.Reason != wire.ReasonKey {
		t.Fatalf("refusal %+v, error %v, want reason %q", refusal, err, wire.ReasonKey)
	}
	if n := w.answers.asked(); n != 0 {
		t.Fatalf("ran %d times", n)
	}
	_, body = w.post(env)
	if _, refusal := w.opened(t, body, pending, crypto.TypeReply); refusal != nil || w.answers.asked() != 1 {
		t.Fatalf("the honest message: refusal %v, ran %d times", refusal, w.answers.asked())
	}
}

// signingSeed finds the private key of an identity's card in the random bytes that the identity was made from.
func signingSeed(t *testing.T, drawn []byte, c *crypto.Card) ed25519.PrivateKey {
	t.Helper()
	for i := 0; i+ed25519.SeedSize <= len(drawn); i++ {
		key := ed25519.NewKeyFromSeed(drawn[i : i+ed25519.SeedSize])
		if bytes.Equal(key.Public().(ed25519.PublicKey), c.Signing[0].Key) {
			return key
		}
	}
	t.Fatal("the signing key was drawn from elsewhere")
	return nil
}

// clock is a clock that stays at one time until it is moved.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// TestR1_Replay: the same bytes get the same reply and do not run again. A message outside its time, for another recipient, or of another
// version, suite, type or flags is refused.
func TestR1_Replay(t *testing.T) {
	clock := &clock{now: time.Now().Add(time.Second)}
	w := newWorkbench(t, clock.Now)
	env, pending := w.seal(t, crypto.TypeQuery, w.query(t, 20), time.Minute)
	_, first := w.post(env)
	w.opened(t, first, pending, crypto.TypeReply)
	for range 3 {
		if code, again := w.post(env); code != http.StatusOK || !bytes.Equal(again, first) {
			t.Fatalf("the same bytes again: answered %d, same reply %v", code, bytes.Equal(again, first))
		}
	}
	if n := w.answers.asked(); n != 1 {
		t.Fatalf("ran %d times", n)
	}

	refused := func(what string, b []byte) {
		t.Helper()
		if code, _ := w.post(b); code != http.StatusBadRequest {
			t.Errorf("%s: answered %d, want %d", what, code, http.StatusBadRequest)
		}
	}
	for what, at := range map[string]int{"magic": 0, "version": 4, "suite": 5, "type": 6, "flags": 7, "recipient": 40, "time": 103,
		"reply-to": 108} {
		b, _ := w.seal(t, crypto.TypeQuery, w.query(t, 3), time.Minute)
		b[at]++
		refused(what+" edited", b)
	}
	other := fedtest.NewSite(t, scheme)
	elsewhere, _ := sealFrom(t, w.asker, other, crypto.TypeQuery, w.query(t, 3), time.Minute, clock.Now())
	refused("to another site", elsewhere)
	for _, kind := range []crypto.MessageType{crypto.TypeReply, crypto.TypeError, crypto.TypeBlindEvaluate, crypto.TypeEvidence, 99} {
		b, _ := w.seal(t, kind, w.query(t, 3), time.Minute)
		refused("of a type that is no request", b)
	}
	future, _ := sealFrom(t, w.asker, w.owner, crypto.TypeQuery, w.query(t, 3), time.Minute, clock.Now().Add(crypto.Skew+time.Second))
	refused("from the future", future)
	stale, _ := w.seal(t, crypto.TypeQuery, w.query(t, 3), time.Minute)
	clock.Add(time.Minute + crypto.Skew + time.Second)
	refused("stale", stale)
	refused("replayed when its time is over", env)
	stranger := fedtest.NewSite(t, scheme)
	strange, _ := sealFrom(t, stranger, w.owner, crypto.TypeQuery, w.query(t, 3), time.Minute, clock.Now())
	refused("from an unknown sender", strange)
	revoked := w.asker.Member(federation.StateRevoked)
	w.owner.Roster.Set(revoked)
	late, _ := w.seal(t, crypto.TypeQuery, w.query(t, 3), time.Minute)
	refused("from a revoked partner", late)
	if n := w.answers.asked(); n != 1 {
		t.Errorf("ran %d times", n)
	}
}

// TestR1_TwoAtOnce: if the same bytes are sent twice at the same moment, they run once and both get the same reply.
func TestR1_TwoAtOnce(t *testing.T) {
	w := newWorkbench(t, time.Now)
	begun, release := make(chan struct{}, 1), make(chan struct{})
	w.answers.setBefore(func(context.Context) error {
		begun <- struct{}{}
		<-release
		return nil
	})
	env, _ := w.seal(t, crypto.TypeQuery, w.query(t, 20), time.Minute)
	var replies [2][]byte
	var waiting sync.WaitGroup
	for i := range replies {
		waiting.Go(func() { _, replies[i] = w.post(env) })
	}
	<-begun
	close(release)
	waiting.Wait()
	if n := w.answers.asked(); n != 1 || !bytes.Equal(replies[0], replies[1]) || len(replies[0]) < 5000 {
		t.Errorf("ran %d times, same reply %v of %d bytes", n, bytes.Equal(replies[0], replies[1]), len(replies[0]))
	}
}

// TestR2_Restart: after a restart, a site repeats the stored reply to a message that it had accepted. If its file is missing or damaged,
// it refuses messages that could have run before and accepts newer ones.
func TestR2_Restart(t *testing.T) {
	for _, test := range []struct {
		name  string
		spoil func(t *testing.T, path string)
		kept  bool
	}{
		{"with its file", func(*testing.T, string) {}, true},
		{"cut off while writing", func(t *testing.T, path string) {
			f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = f.Write([]byte{1, 2, 3})
			_ = f.Close()
		}, true},
		{"cut off in the reply", func(t *testing.T, path string) {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			// A second record of the reply, after the request's record (97 bytes), is truncated in the middle.
			if err := os.WriteFile(path, append(b, b[5+97:len(b)-100]...), 0o600); err != nil {
				t.Fatal(err)
			}
		}, true},
		{"with an empty file", func(t *testing.T, path string) {
			if err := os.Truncate(path, 0); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"with a file of something else", func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte("CRPL\x02 of a later version"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"without its file", func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"with a damaged file", func(t *testing.T, path string) {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			b[30] ^= 1
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			clock := &clock{now: time.Now().Add(time.Second)}
			w := newWorkbench(t, clock.Now)
			env, pending := w.seal(t, crypto.TypeQuery, w.query(t, 20), 5*time.Minute)
			_, first := w.post(env)
			if err := w.replays.Close(); err != nil {
				t.Fatal(err)
			}
			test.spoil(t, w.owner.Replays)
			clock.Add(time.Second)
			w.open(t)
			_, again := w.post(env)
			if test.kept {
				if !bytes.Equal(again, first) {
					t.Error("another reply than before the restart")
				}
			} else if _, refusal := w.opened(t, again, pending, crypto.TypeReply); refusal == nil || refusal.Reason != concordat.ReasonUnknown {
				t.Errorf("refusal %v, want %s", refusal, concordat.ReasonUnknown)
			}
			if n := w.answers.asked(); n != 1 {
				t.Errorf("ran %d times", n)
			}
			clock.Add(crypto.Skew + time.Second)
			fresh, pending := w.seal(t, crypto.TypeQuery, w.query(t, 3), time.Minute)
			_, body := w.post(fresh)
			if _, refusal := w.opened(t, body, pending, crypto.TypeReply); refusal != nil {
				t.Errorf("a newer message: refused: %v", refusal)
			}
		})
	}
}

// TestR2_CrashWhileRunning: a request that was running when the process died is refused and not run again.
func TestR2_CrashWhileRunning(t *testing.T) {
	w := newWorkbench(t, time.Now)
	var crashed []byte
	w.answers.setBefore(func(context.Context) error {
		var err error
		crashed, err = os.ReadFile(w.owner.Replays) // the contents of the disk at this moment
		return err
	})
	env, pending := w.seal(t, crypto.TypeQuery, w.query(t, 20), time.Minute)
	w.post(env)
	if err := w.replays.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(w.owner.Replays, crashed, 0o600); err != nil {
		t.Fatal(err)
	}
	w.open(t)
	_, body := w.post(env)
	if _, refusal := w.opened(t, body, pending, crypto.TypeReply); refusal == nil || refusal.Reason != concordat.ReasonUnknown {
		t.Errorf("refusal %v, want %s", refusal, concordat.ReasonUnknown)
	}
	if n := w.answers.asked(); n != 1 {
		t.Errorf("ran %d times", n)
	}
}

// TestScheme: an ask with another scheme, or for an epoch that is not served, is refused before it reaches the answerer, and never gets
// an empty answer.
func TestScheme(t *testing.T) {
	w := newWorkbench(t, time.Now)
	for _, test := range []struct {
		change func(a *concordat.Ask)
		want   concordat.Reason
	}{
		{func(a *concordat.Ask) { a.Scheme = "natural@fedcba9876543210" }, concordat.ReasonScheme},
		{func(a *concordat.Ask) { a.Epoch.Number++ }, concordat.ReasonEpoch},
		{func(a *concordat.Ask) { a.Epoch.Federation = "other" }, concordat.ReasonEpoch},
	} {
		a, err := wire.ParseAsk(w.query(t, 10))
		if err != nil {
			t.Fatal(err)
		}
		test.change(a)
		payload, err := wire.AppendAsk(nil, a)
		if err != nil {
			t.Fatal(err)
		}
		env, pending := w.seal(t, crypto.TypeQuery, payload, time.Minute)
		_, body := w.post(env)
		if _, refusal := w.opened(t, body, pending, crypto.TypeReply); refusal == nil || refusal.Reason != test.want {
			t.Errorf("refusal %v, want %s", refusal, test.want)
		}
	}
	earlier := w.query(t, 10)
	earlier[0] = 1
	env, pending := w.seal(t, crypto.TypeQuery, earlier, time.Minute)
	_, body := w.post(env)
	if _, refusal := w.opened(t, body, pending, crypto.TypeReply); refusal == nil || !strings.Contains(refusal.Words, "uses version 2") {
		t.Errorf("an ask of an earlier version: refusal %v", refusal)
	}
	if n := w.answers.asked(); n != 0 {
		t.Errorf("%d asks of another recipe reached the answerer", n)
	}
}

// TestP1_Sizes: messages of 129 and 160 sentences have the same length, whatever else they contain.
func TestP1_Sizes(t *testing.T) {
	w := newWorkbench(t, time.Now)
	size := func(n int) int {
		env, _ := w.seal(t, crypto.TypeQuery, w.query(t, n), time.Minute)
		return len(env)
	}
	for _, pair := range [][2]int{{1, 64}, {65, 80}, {81, 112}, {129, 160}, {257, 320}, {4097, 5120}} {
		if a, b := size(pair[0]), size(pair[1]); a != b {
			t.Errorf("%d sentences: %d bytes, %d sentences: %d bytes", pair[0], a, pair[1], b)
		}
	}
}

// TestRejectsEverythingAlike: anything outside the protocol gets the same answer as a refused message.
func TestRejectsEverythingAlike(t *testing.T) {
	w := newWorkbench(t, time.Now)
	for _, test := range []struct{ method, path string }{
		{http.MethodGet, "/"}, {http.MethodGet, "/concordat/1/message"}, {http.MethodPut, "/concordat/1/message"},
		{http.MethodPost, "/concordat/2/message"}, {http.MethodPost, "/concordat/1/enrol"}, {http.MethodGet, "/healthz"},
	} {
		rec := httptest.NewRecorder()
		w.server.ServeHTTP(rec, httptest.NewRequest(test.method, test.path, bytes.NewReader([]byte("x"))))
		body, _ := io.ReadAll(rec.Body)
		if rec.Code != http.StatusBadRequest || string(body) != "bad request\n" {
			t.Errorf("%s %s: answered %d %q", test.method, test.path, rec.Code, body)
		}
	}
}
