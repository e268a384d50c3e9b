package federation_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"concordat"
	"concordat/crypto"
	"concordat/federation"
	"concordat/federation/wire"
	"concordat/internal/fedtest"
)

// script is a site with scripted answers, which has real keys and can misuse them.
type script struct {
	*fedtest.Site
	asker *fedtest.Site
}

// newScript returns a site that the asker knows and that answers HTTP requests with h.
func newScript(t *testing.T, asker *fedtest.Site, h func(s *script) http.HandlerFunc) *script {
	t.Helper()
	s := &script{Site: fedtest.NewSite(t, scheme), asker: asker}
	s.Roster.Set(asker.Member(federation.StateActive))
	id, _ := s.Roster.Self()
	der, key, err := id.TLS(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		ClientAuth: tls.RequireAnyClientCert})
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: h(s), ReadHeaderTimeout: time.Minute}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(l)
	}()
	t.Cleanup(func() { _ = server.Close(); <-ended })
	s.Roster.Use(t, id, "https://"+l.Addr().String())
	asker.Roster.Set(s.Member(federation.StateActive))
	return s
}

// newRawScript returns a site that handles TCP connections with serve.
func newRawScript(t *testing.T, asker *fedtest.Site, serve func(ctx context.Context, c net.Conn)) *script {
	t.Helper()
	s := &script{Site: fedtest.NewSite(t, scheme), asker: asker}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer func() { _ = c.Close() }()
				serve(ctx, c)
			})
		}
	})
	t.Cleanup(func() { cancel(); _ = l.Close(); serving.Wait() })
	id, _ := s.Roster.Self()
	s.Roster.Use(t, id, "https://"+l.Addr().String())
	asker.Roster.Set(s.Member(federation.StateActive))
	return s
}

// open decrypts a request and returns its question.
func (s *script) open(r *http.Request) (*crypto.Opened, []byte, error) {
	env, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, nil, err
	}
	id, _ := s.Roster.Self()
	v, err := id.VerifyRequest(env, s.asker.Member(federation.StateActive).Card,
		crypto.Policy{Types: []crypto.MessageType{crypto.TypeQuery, crypto.TypeOutline, crypto.TypeReveal}}, time.Now())
	if err != nil {
		return nil, nil, err
	}
	o, err := v.Open()
	if err != nil {
		return nil, nil, err
	}
	request, err := wire.ParseRequest(o.Payload)
	if err != nil {
		return nil, nil, err
	}
	return o, request.Payload, nil
}

// seal returns a reply with the payload and a statement of the given kind about the request.
func (s *script) seal(o *crypto.Opened, t crypto.MessageType, kind string, request, payload []byte, spoil func(*wire.Reply)) []byte {
	id, card := s.Roster.Self()
	at := time.Now().UTC().Truncate(time.Millisecond)
	a := federation.AnswerTo(crypto.TypeQuery, request)
	a.Kind, a.At, a.Asker, a.Payload = kind, at, o.From, payload
	epoch, signature, err := id.SignAnswer(&a)
	if err != nil {
		panic(err)
	}
	reply := wire.Reply{Card: card.Serial, At: at, KeyEpoch: epoch, Payload: payload}
	copy(reply.Signature[:], signature)
	if spoil != nil {
		spoil(&reply)
	}
	content, err := wire.AppendReply(nil, &reply)
	if err != nil {
		panic(err)
	}
	env, err := id.SealReply(o, t, content, time.Now(), rand.Reader)
	if err != nil {
		panic(err)
	}
	return env
}

// liar answers asks with the true answer after lie has changed it.
func liar(lie func(*wire.EpochAnswer), spoil func(*wire.Reply), kind string, tail ...byte) func(*script) http.HandlerFunc {
	return func(s *script) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			o, request, err := s.open(r)
			if err != nil {
				panic(err)
			}
			a, err := wire.ParseAsk(request)
			if err != nil {
				panic(err)
			}
			told := &wire.EpochAnswer{Epoch: a.Epoch, Scheme: a.Scheme, Answer: concordat.SiteAnswer{
				Libraries: []concordat.LibraryAnswer{{Library: a.Libraries[0], Level: concordat.ShowMetadata, Ready: 1, Exists: true, Documents: 1,
					Sentences: 1}},
				Documents: []concordat.DocumentAnswer{{Matches: 1, Title: "A title"}},
				Hits:      []concordat.Hit{{Sentence: 0, Closeness: concordat.CloseNear}},
			}}
			lie(told)
			payload, err := wire.AppendAnswer(nil, told)
			if err != nil {
				panic(err)
			}
			_, _ = w.Write(s.seal(o, crypto.TypeReply, kind, request, append(payload, tail...), spoil))
		}
	}
}

func truth(*wire.EpochAnswer) {}

// faults lists the ways for a peer to misbehave, each with the expected kind of error.
func faults() map[string]struct {
	peer func(t *testing.T, asker *fedtest.Site) *script
	kind federation.Kind
} {
	type fault = struct {
		peer func(t *testing.T, asker *fedtest.Site) *script
		kind federation.Kind
	}
	raw := func(serve func(ctx context.Context, c net.Conn)) func(t *testing.T, asker *fedtest.Site) *script {
		return func(t *testing.T, asker *fedtest.Site) *script { return newRawScript(t, asker, serve) }
	}
	web := func(h func(s *script) http.HandlerFunc) func(t *testing.T, asker *fedtest.Site) *script {
		return func(t *testing.T, asker *fedtest.Site) *script { return newScript(t, asker, h) }
	}
	plain := func(h http.HandlerFunc) func(t *testing.T, asker *fedtest.Site) *script {
		return web(func(*script) http.HandlerFunc { return h })
	}
	hang := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}
	m := map[string]fault{
		"down": {func(t *testing.T, asker *fedtest.Site) *script {
			s := newRawScript(t, asker, func(context.Context, net.Conn) {})
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			id, _ := s.Roster.Self()
			s.Roster.Use(t, id, "https://"+l.Addr().String())
			_ = l.Close()
			asker.Roster.Set(s.Member(federation.StateActive))
			return s
		}, federation.KindDown},
		"accepts and says nothing":           {raw(func(ctx context.Context, _ net.Conn) { <-ctx.Done() }), federation.KindSilent},
		"takes the request and says nothing": {plain(hang), federation.KindSilent},
		"drips": {plain(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Length", "100000")
			for r.Context().Err() == nil {
				if _, err := w.Write([]byte{0}); err != nil {
					return
				}
				_ = http.NewResponseController(w).Flush()
				select {
				case <-time.After(20 * time.Millisecond):
				case <-r.Context().Done():
				}
			}
		}), federation.KindSilent},
		"speaks no TLS":  {raw(func(_ context.Context, c net.Conn) { _, _ = c.Write([]byte("SSH-2.0-x\r\n")) }), federation.KindDown},
		"closes at once": {raw(func(context.Context, net.Conn) {}), federation.KindDown},
		"drops in mid-answer": {plain(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "9000")
			_, _ = w.Write(make([]byte, 4000))
			panic(http.ErrAbortHandler)
		}), federation.KindDown},
		"answers with random bytes": {plain(func(w http.ResponseWriter, _ *http.Request) {
			b := make([]byte, 6000)
			_, _ = rand.Read(b)
			_, _ = w.Write(b)
		}), federation.KindGarbage},
		"answers with nothing": {plain(func(http.ResponseWriter, *http.Request) {}), federation.KindGarbage},
		"answers without end": {plain(func(w http.ResponseWriter, r *http.Request) {
			b := make([]byte, 1<<16)
			for r.Context().Err() == nil {
				if _, err := w.Write(b); err != nil {
					return
				}
			}
		}), federation.KindGarbage},
		"answers the question itself": {plain(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }),
			federation.KindGarbage},
		"redirects": {plain(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://example.invalid/", http.StatusTemporaryRedirect)
		}), federation.KindGarbage},
		"not found": {plain(http.NotFound), federation.KindGarbage},
		"unavailable": {plain(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }),
			federation.KindDown},
		"rejects": {plain(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) }), federation.KindRejected},
		"answers another question": {web(func(s *script) http.HandlerFunc {
			var mu sync.Mutex
			var first *crypto.Opened
			return func(w http.ResponseWriter, r *http.Request) {
				o, request, err := s.open(r)
				if err != nil {
					panic(err)
				}
				mu.Lock()
				defer mu.Unlock()
				if first == nil { // refuse, so that the asker sends another question
					first = o
					payload, _ := wire.AppendRefusal(nil, &concordat.Refusal{Reason: concordat.ReasonBudget})
					_, _ = w.Write(s.seal(o, crypto.TypeError, "error", request, payload, nil))
					return
				}
				_, _ = w.Write(s.seal(first, crypto.TypeReply, "tell", request, nil, nil))
			}
		}), federation.KindGarbage},
	}
	for name, told := range map[string]func(*wire.EpochAnswer){
		"lies about its scheme":          func(v *wire.EpochAnswer) { v.Scheme = "natural@fedcba9876543210" },
		"lies about its epoch":           func(v *wire.EpochAnswer) { v.Epoch.Number = 7 },
		"answers for another library":    func(v *wire.EpochAnswer) { v.Answer.Libraries[0].Library = "other" },
		"answers for too many libraries": func(v *wire.EpochAnswer) { v.Answer.Libraries = append(v.Answer.Libraries, v.Answer.Libraries[0]) },
		"hits what was not asked":        func(v *wire.EpochAnswer) { v.Answer.Hits[0].Sentence = 64 },
		"shows more than was asked":      func(v *wire.EpochAnswer) { v.Answer.Libraries[0].Level = concordat.ShowPassage },
		"shows more than it grants":      func(v *wire.EpochAnswer) { v.Answer.Libraries[0].Level = concordat.ShowCounts },
	} {
		m[name] = fault{web(liar(told, nil, "tell")), federation.KindGarbage}
	}
	m["signs something else"] = fault{web(liar(truth, func(r *wire.Reply) { r.Signature[5] ^= 1 }, "tell")), federation.KindGarbage}
	m["signs at another time"] = fault{web(liar(truth, func(r *wire.Reply) { r.At = r.At.Add(time.Second) }, "tell")), federation.KindGarbage}
	m["signs as another kind"] = fault{web(liar(truth, nil, "outlines")), federation.KindGarbage}
	m["says more after the end"] = fault{web(liar(truth, nil, "tell", 0)), federation.KindGarbage}
	m["forges its audit"] = fault{web(liar(truth, func(r *wire.Reply) { r.Head.Seq = 9; r.Head.At = r.At; r.Head.KeyEpoch = r.KeyEpoch },
		"tell")), federation.KindGarbage}
	return m
}

// TestFaults: a misbehaving peer loses only its own answer, with an error that describes the fault; the check gets the honest peer's
// answer.
func TestFaults(t *testing.T) {
	r := newRand(t)
	answers := library(r, "Thesis", 3, 30)
	f := fedtest.Join(t, scheme, &scan{}, answers)
	a := submission(r, answers, 30)
	want, err := f.Partner(0, 1).Ask(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	g := federation.Group[*federation.Client]{Partners: []*federation.Client{f.Partner(0, 1)}, Parallel: 64}
	kind, name := map[concordat.SiteID]federation.Kind{}, map[concordat.SiteID]string{f.ID(1): "honest"}
	for what, fault := range faults() {
		s := fault.peer(t, f.Sites[0])
		timeout := 30 * time.Second // distinguishable from silence even on a busy machine
		if fault.kind == federation.KindSilent {
			timeout = time.Second
		}
		c := f.Sites[0].NewClient(t, s.Site, federation.ClientOptions{Timeout: timeout, Tries: 2})
		if what == "answers another question" {
			var refusal *concordat.Refusal
			if _, err := c.Ask(t.Context(), a); !errors.As(err, &refusal) {
				// The first question is refused with a statement about another question.
				var e *federation.Error
				if !errors.As(err, &e) {
					t.Fatalf("%s: first question: %v", what, err)
				}
			}
		}
		g.Partners = append(g.Partners, c)
		kind[s.ID], name[s.ID] = fault.kind, what
	}
	seen := 0
	for got, err := range federation.Gather(t.Context(), g, func(ctx context.Context, p *federation.Client) (*concordat.SiteAnswer,
		error) {
		return p.Ask(ctx, a)
	}) {
		seen++
		if got.Site == f.ID(1) {
			if err != nil {
				t.Errorf("the honest peer: %v", err)
			} else if diff := gocmp.Diff(sortedAnswer(want), sortedAnswer(got.Value), ignoreStatements, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("the honest peer says something else (-alone +among others):\n%s", diff)
			}
			continue
		}
		var e *federation.Error
		if !errors.As(err, &e) || e.Kind != kind[got.Site] || e.Site != got.Site || !errors.Is(err, concordat.ErrUnavailable) {
			t.Errorf("%s: error %v, want kind %s", name[got.Site], err, kind[got.Site])
		}
		if name[got.Site] == "lies about its scheme" && !errors.Is(err, concordat.ErrScheme) {
			t.Errorf("%s: error %v, want ErrScheme", name[got.Site], err)
		}
	}
	if seen != len(g.Partners) {
		t.Errorf("%d outcomes of %d partners", seen, len(g.Partners))
	}
}

// TestTruth: a scripted peer that tells the truth is believed; otherwise TestFaults would prove nothing.
func TestTruth(t *testing.T) {
	asker := fedtest.NewSite(t, scheme)
	s := newScript(t, asker, liar(truth, nil, "tell"))
	r := newRand(t)
	a := submission(r, library(r, "", 1, 5), 64)
	tell, err := asker.NewClient(t, s.Site, federation.ClientOptions{}).Ask(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	if len(tell.Hits) != 1 || tell.Documents[0].Title != "A title" {
		t.Errorf("got %+v", tell)
	}
}

// TestRetrySameBytes: if an answer is lost in transit, the same bytes are sent again and get the same answer, and the question runs only
// once.
func TestRetrySameBytes(t *testing.T) {
	r := newRand(t)
	answers := library(r, "Thesis", 2, 10)
	f := fedtest.Join(t, scheme, &scan{}, answers)
	var mu sync.Mutex
	cut := 0
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		mu.Lock()
		defer mu.Unlock()
		cut++
		if cut > 2 {
			return c, nil
		}
		return &cutConn{Conn: c, answers: answers}, nil
	}
	c := f.Sites[0].NewClient(t, f.Sites[1], federation.ClientOptions{Dial: dial, Timeout: time.Minute})
	tell, err := c.Ask(t.Context(), submission(r, answers, 20))
	if err != nil {
		t.Fatal(err)
	}
	if len(tell.Hits) == 0 {
		t.Error("nothing was found")
	}
	if n := answers.asked(); n != 1 || cut != 3 {
		t.Errorf("ran %d times over %d connections, want once over 3", n, cut)
	}
}

// cutConn breaks when the answer to a completed question comes back.
type cutConn struct {
	net.Conn
	answers *scan
}

func (c *cutConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.answers.asked() > 0 {
		_ = c.Close()
		return 0, errors.New("connection reset")
	}
	return n, err
}

// TestCallerEnds: a call ends with its context, and its error says so.
func TestCallerEnds(t *testing.T) {
	asker := fedtest.NewSite(t, scheme)
	s := newRawScript(t, asker, func(ctx context.Context, _ net.Conn) { <-ctx.Done() })
	c := asker.NewClient(t, s.Site, federation.ClientOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := c.Catalogue(ctx); !errors.Is(err, context.Canceled) || errors.Is(err, concordat.ErrUnavailable) {
		t.Errorf("cancelled: error %v, want context.Canceled alone", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	var e *federation.Error
	if _, err := c.Catalogue(ctx); !errors.As(err, &e) || e.Kind != federation.KindSilent {
		t.Errorf("deadline: error %v, want kind %s", err, federation.KindSilent)
	}
}

// TestGatherLeft: leaving the loop cancels the work in progress and waits for it.
func TestGatherLeft(t *testing.T) {
	r := newRand(t)
	answers := library(r, "Thesis", 1, 10)
	f := fedtest.Join(t, scheme, &scan{}, answers)
	hanging := newRawScript(t, f.Sites[0], func(ctx context.Context, _ net.Conn) { <-ctx.Done() })
	silent := f.Sites[0].NewClient(t, hanging.Site, federation.ClientOptions{})
	g := federation.Group[*federation.Client]{Partners: []*federation.Client{silent, f.Partner(0, 1)}}
	running := 0
	var mu sync.Mutex
	for got, err := range federation.Gather(t.Context(), g, func(ctx context.Context, p *federation.Client) (*concordat.Catalogue, error) {
		mu.Lock()
		running++
		mu.Unlock()
		defer func() { mu.Lock(); running--; mu.Unlock() }()
		return p.Catalogue(ctx)
	}) {
		if err != nil || got.Site != f.ID(1) {
			t.Fatalf("first is %s, %v: want the one that answers", got.Site, err)
		}
		break
	}
	mu.Lock()
	defer mu.Unlock()
	if running != 0 {
		t.Errorf("%d calls still run", running)
	}
}

// FuzzMessage: any posted bytes are answered with status 400 unless they are a message from a partner.
func FuzzMessage(f *testing.F) {
	w := newWorkbench(f, time.Now)
	env, _ := w.seal(f, crypto.TypeQuery, w.query(f, 3), time.Minute)
	f.Add(env)
	f.Add(env[:200])
	f.Fuzz(func(t *testing.T, b []byte) {
		if code, _ := w.post(b); code != http.StatusBadRequest && !bytes.Equal(b, env) {
			t.Errorf("answered %d", code)
		}
	})
}
