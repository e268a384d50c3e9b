package federation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"time"

	"concordat"
	"concordat/crypto"
	"concordat/federation/wire"
)

// ServerOptions configure a Server.
type ServerOptions struct {
	Parallel int // maximum concurrent requests; 0 means twice the number of processors
	PerSite  int // maximum concurrent requests of one partner; 0 means half of Parallel, at least one
	Waiting  int // maximum waiting requests of one partner; any more are refused for now; 0 means 32
	// Bytes limits the bytes of one partner's messages that are arriving or awaiting answers; 0 means 16 MiB. Strangers is the
	// corresponding limit for unknown callers, which include every caller behind a proxy until its message has arrived; 0 means 64 MiB.
	Bytes, Strangers int
	// Rate is the maximum number of requests per second from one partner, with bursts of five hundred times as many; 0 means 10. Further
	// requests are refused for the time being and leave no audit entry.
	Rate    int
	Timeout time.Duration // time limit for answering; 0 means two minutes; at most crypto.MaxTTL
	// Beat is an interval. An answer is sent a whole multiple of it after the message arrived, so that the response time reveals little
	// about the result. With 0, answers are sent immediately.
	Beat      time.Duration
	Conns     int           // maximum concurrent connections; 0 means 1,024
	ConnsPer  int           // maximum connections per address; 0 means 64
	ConnRate  int           // new connections per second and address, ten times as many at once; 0 means 50
	ReadFor   time.Duration // maximum time for a request to arrive; 0 means one minute
	Behind    bool          // a proxy terminates TLS, so partners are identified only by their envelopes
	Registrar Registrar     // nil if enrolment is closed
	Journal   Journal       // nil for none
	Log       *slog.Logger  // nil disables logging
	// Claim is the part of the memory of requests shared by the processes of a site; see Replays. It claims a request for this process
	// and reports whether no other process had claimed it. A request claimed by another process is refused, since that process has the
	// reply. Claim is nil if only this process answers.
	Claim func(ctx context.Context, from crypto.SiteID, id crypto.MessageID, until time.Time) (bool, error)
	// Newer, if not nil, is called when a partner says that its card is newer than the one in the roster.
	Newer func(site concordat.SiteID)
	Now   func() time.Time // nil means time.Now
	// Observe, if not nil, receives the outcome of each message; site is empty if the sender is not certain. The outcome is OutcomeBusy
	// for a partner that exceeds its limits, and OutcomeRejected if a message was malformed or arrived too slowly.
	Observe func(site concordat.SiteID, outcome Outcome, took time.Duration)
	// Panicked, if not nil, is called after each request whose handling panicked; the panic is logged and the request refused.
	Panicked func()
}

func (o *ServerOptions) defaults() {
	set := func(v *int, otherwise int) {
		if *v <= 0 {
			*v = otherwise
		}
	}
	set(&o.Parallel, 2*runtime.GOMAXPROCS(0))
	set(&o.PerSite, max(o.Parallel/2, 1))
	set(&o.Waiting, 32)
	set(&o.Bytes, 16<<20)
	set(&o.Strangers, 64<<20)
	set(&o.Rate, 10)
	set(&o.Conns, 1024)
	set(&o.ConnsPer, 64)
	set(&o.ConnRate, 50)
	if o.Behind {
		o.ConnsPer, o.ConnRate = o.Conns, 1<<20 // all connections come from the proxy
	}
	if o.ReadFor <= 0 {
		o.ReadFor = time.Minute
	}
	if o.Timeout <= 0 || o.Timeout > crypto.MaxTTL {
		o.Timeout = 2 * time.Minute
	}
	if o.Journal == nil {
		o.Journal = noJournal{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Observe == nil {
		o.Observe = func(concordat.SiteID, Outcome, time.Duration) {}
	}
}

// Server answers partners. It is an http.Handler for requests from Serve or a proxy, and safe for concurrent use.
//
// A message is checked in this order: length; first bytes; whether the sender is an active partner, and the one whose key was used for
// the connection; version, suite and type; signature; time; whether the message arrived before; whether it decrypts. Up to the signature,
// every failure gets the same answer, without a reason; after it, refusals are sealed.
type Server struct {
	answers answers
	roster  Roster
	replays *Replays
	o       ServerOptions
	bodies  *bodies    // messages that are arriving
	rates   *rates     // request rate of each partner
	running *turnstile // running requests
	mux     *http.ServeMux
}

// NewServer returns a Server. order is the key for the order of requests, shared with this site's Clients. The caller must close replays
// after the server has stopped.
func NewServer(roster Roster, a concordat.Answerer, k Epochs, replays *Replays, order [32]byte, o ServerOptions) *Server {
	o.defaults()
	replays.claim = o.Claim
	s := &Server{roster: roster, replays: replays, o: o}
	s.answers = answers{answerer: a, epochs: k, order: order, head: o.Journal.Head, others: o.Journal.Others, card: func() []byte {
		_, card := roster.Self()
		return card.Bytes()
	}}
	s.bodies = newBodies(o.Bytes, o.Strangers)
	s.rates = newRates(float64(o.Rate), rateBurst*float64(o.Rate))
	s.running = newTurnstile(o.Parallel, o.PerSite, o.Waiting)
	s.mux = http.NewServeMux()
	s.mux.HandleFunc("POST "+pathMessage, s.message)
	s.mux.HandleFunc("GET "+pathCard, s.card)
	s.mux.HandleFunc("POST "+pathEnrol, s.enrol)
	return s
}

// ServeHTTP implements http.Handler. Requests outside the protocol get the same answer as a message that is not accepted, so a scanner
// learns nothing.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, pattern := s.mux.Handler(r); pattern == "" {
		reject(w)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// reject sends the answer for everything that is not accepted.
func reject(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/plain")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = io.WriteString(w, "bad request\n")
}

func deliver(w http.ResponseWriter, body []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", fmt.Sprint(len(body)))
	_, _ = w.Write(body)
}

// peer returns the active partner whose key was used for the connection. Behind a proxy, the caller is not yet known.
func (s *Server) peer(r *http.Request) (Member, bool) {
	if s.o.Behind {
		return Member{}, true
	}
	cert, err := certificateOf(r.TLS)
	if err != nil {
		return Member{}, false
	}
	return s.roster.Pinned(cert)
}

// card sends the site's card to partners, to guests, and, while an invitation is open, to strangers, so that they can compare the card
// with the invitation. TLS admits no one else.
func (s *Server) card(w http.ResponseWriter, r *http.Request) {
	inviting := s.o.Registrar != nil && s.o.Registrar.Inviting()
	if _, ok := s.peer(r); !ok && !inviting && !guest(s.roster, r.TLS) {
		reject(w)
		return
	}
	deliver(w, s.answers.card())
}

// message answers one sealed request.
func (s *Server) message(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	peer, ok := s.peer(r)
	if !ok || r.ContentLength > crypto.MaxEnvelope {
		s.o.Observe("", OutcomeRejected, time.Since(began))
		reject(w)
		return
	}
	body := s.bodies.begin(peer.Site, !s.o.Behind, endReading(w))
	defer body.end()
	v, m, err := s.receive(w, r, peer, body)
	switch {
	case errors.Is(err, errBusy):
		s.o.Observe(s.certain(peer, v, m), OutcomeBusy, time.Since(began))
		w.Header().Set("Retry-After", "1")
		w.Header().Set("Connection", "close")
		http.Error(w, "busy", http.StatusServiceUnavailable)
		return
	case err != nil:
		s.o.Log.Info("message not taken", "site", m.Site.Short(), "err", err)
		s.o.Observe(s.certain(peer, v, m), OutcomeRejected, time.Since(began))
		w.Header().Set("Connection", "close") // no one is waiting for the rest of the message
		reject(w)
		return
	}
	came := time.Now()
	reply, outcome, err := s.respond(r.Context(), v, m)
	s.o.Observe(concordat.SiteID(m.Site.String()), outcome, time.Since(began))
	s.beat(r.Context(), came)
	if err != nil {
		// The asker has gone, so no one would receive an answer, or this site cannot seal one.
		s.o.Log.Warn("message not answered", "site", m.Site.Short(), "err", err)
		w.Header().Set("Retry-After", "1")
		http.Error(w, "unavailable", http.StatusServiceUnavailable)
		return
	}
	deliver(w, reply)
}

// certain returns the partner whose message was not accepted, if known. It is the one whose key was used for the connection, or the one
// that signed the message.
func (s *Server) certain(peer Member, v *crypto.Verified, m Member) concordat.SiteID {
	switch {
	case !s.o.Behind:
		return concordat.SiteID(peer.Site.String())
	case v != nil:
		return concordat.SiteID(m.Site.String())
	}
	return ""
}

// beat waits until the next whole multiple of Beat after the given time.
func (s *Server) beat(ctx context.Context, came time.Time) {
	if s.o.Beat <= 0 {
		return
	}
	select {
	case <-time.After(s.o.Beat - time.Since(came)%s.o.Beat):
	case <-ctx.Done():
	}
}

// endReading returns a function that another goroutine can call to stop reading a request.
func endReading(w http.ResponseWriter) func() {
	c := http.NewResponseController(w)
	return func() { _ = c.SetReadDeadline(time.Unix(1, 0)) }
}

// receive reads a message and checks it up to its signature and time.
func (s *Server) receive(w http.ResponseWriter, r *http.Request, peer Member, body *body) (*crypto.Verified, Member, error) {
	sender := peer
	env, err := body.read(w, r, crypto.MaxEnvelope, s.o.ReadFor, func(first []byte) error {
		h, err := crypto.ParseHeader(first)
		if err != nil {
			return err
		}
		m, ok := s.roster.Member(h.From)
		if !ok || m.State != StateActive {
			sender = Member{Site: h.From}
			return fmt.Errorf("the sender is not an active partner: %w", concordat.ErrRefused)
		}
		sender = m
		// The card of the partner named in the message decides, not the card found by the connection's key.
		if cert, err := certificateOf(r.TLS); !s.o.Behind && (err != nil || !m.Card.Shows(cert)) {
			return fmt.Errorf("the message arrived over a connection from a different site, %s: %w", peer.Site.Short(), concordat.ErrRefused)
		}
		return nil
	})
	if err != nil {
		return nil, sender, err
	}
	id, _ := s.roster.Self()
	v, err := id.VerifyRequest(env, sender.Card, policy, s.o.Now())
	if err != nil {
		return nil, sender, err
	}
	return v, sender, body.recognise(sender.Site)
}

// respond returns the reply to a verified message and the outcome. While it runs, the request occupies one of the partner's slots, so
// that a partner that sends many messages delays only itself. If a partner sends too many messages, they are refused and leave no audit
// entry.
func (s *Server) respond(ctx context.Context, v *crypto.Verified, m Member) ([]byte, Outcome, error) {
	busy := func(words string, wait time.Duration) ([]byte, Outcome, error) {
		reply, err := s.refusal(v, m, &concordat.Refusal{Reason: concordat.ReasonBusy, Words: words, Retry: s.o.Now().Add(wait)})
		return reply, OutcomeBusy, err
	}
	if wait := s.rates.take(m.Site, time.Now()); wait > 0 {
		return busy("too many requests in a short time", wait)
	}
	err := s.running.enter(ctx, m.Site)
	if errors.Is(err, errBusy) {
		return busy("too many requests are waiting", time.Second)
	}
	if err != nil {
		return nil, outcomeOf(err), err
	}
	defer s.running.leave(m.Site)
	reply, err := s.once(ctx, v, m)
	return reply, outcomeOf(err), err
}

// once returns the reply to a message, which is the stored one if the message arrived before.
func (s *Server) once(ctx context.Context, v *crypto.Verified, m Member) ([]byte, error) {
	for {
		e, found := s.replays.begin(v, s.o.Now())
		switch found {
		case beginFresh:
			return s.fresh(ctx, e, v, m)
		case beginStored:
			s.journal(v, m, Exchange{At: s.o.Now(), Again: true})
			return s.replays.reply(e)
		case beginRunning:
			select {
			case <-e.done:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		case beginOther:
			s.o.Log.Error("two messages have the same identifier: one is forged, or the partner's random source is broken", "site", m.Site.Short())
			return s.refuse(v, m, &concordat.Refusal{Reason: concordat.ReasonUnknown, Words: "a different message with this identifier was received earlier"})
		case beginLost:
			return s.refuse(v, m, &concordat.Refusal{Reason: concordat.ReasonUnknown,
				Words: "the request was already handled, but its answer was lost; ask again"})
		case beginEarly:
			return s.refuse(v, m, &concordat.Refusal{Reason: concordat.ReasonUnknown, Words: "the request is older than this site's record of requests; ask again",
				Retry: s.replays.trust})
		case beginFull:
			return s.refuse(v, m, &concordat.Refusal{Reason: concordat.ReasonBusy, Words: "this site's record of recent requests is full",
				Retry: s.o.Now().Add(time.Minute)})
		}
	}
}

// fresh opens a new message and runs it. It ends entry e on every path.
func (s *Server) fresh(ctx context.Context, e *replay, v *crypto.Verified, m Member) ([]byte, error) {
	opened, err := v.Open()
	if err != nil {
		// The message is not remembered, since an honest one with the same bytes can still arrive.
		s.replays.forget(e)
		s.o.Log.Info("cannot open message", "site", m.Site.Short(), "err", err)
		return s.refuse(v, m, &concordat.Refusal{Reason: wire.ReasonKey})
	}
	request, err := wire.ParseRequest(opened.Payload)
	if err == nil {
		err = hear(s.o.Journal, m.Card, request.Head)
	}
	if err != nil {
		s.replays.forget(e)
		s.o.Log.Info("message is not valid", "site", m.Site.Short(), "err", err)
		return s.seal(opened, answered{}, malformed(err))
	}
	if s.o.Newer != nil && request.Card > m.Card.Serial {
		s.o.Newer(concordat.SiteID(m.Site.String()))
	}
	if err := s.replays.commit(ctx, e); errors.Is(err, errTaken) {
		s.replays.forget(e)
		return s.seal(opened, answered{}, &concordat.Refusal{Reason: concordat.ReasonUnknown,
			Words: "another node of this site is already handling the request; ask again"})
	} else if err != nil {
		s.replays.forget(e)
		s.o.Log.Error("request not remembered, so not run", "err", err)
		return s.seal(opened, answered{}, &concordat.Refusal{Reason: concordat.ReasonBusy})
	}
	reply, err := s.run(ctx, opened, m, request.Payload)
	if kept := s.replays.finish(e, reply); kept != nil {
		s.o.Log.Error("reply not kept", "err", kept)
	}
	return reply, err
}

// run answers a request. It runs to completion even if the asker hangs up, because a request that ran is charged, and the asker will
// fetch the answer by sending the same bytes.
func (s *Server) run(ctx context.Context, o *crypto.Opened, m Member, payload []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.o.Timeout)
	defer cancel()
	began := s.o.Now()
	from := concordat.SiteID(m.Site.String())
	body, refusal, cause := s.guarded(ctx, from, o.Type, payload)
	if cause != nil {
		s.o.Log.Error("request not answered", "site", m.Site.Short(), "kind", kinds[o.Type], "err", cause)
	}
	reply, err := s.seal(o, answered{payload, body}, refusal)
	if err != nil {
		return nil, err
	}
	x := Exchange{Partner: from, Kind: kinds[o.Type], At: began, Took: s.o.Now().Sub(began), Request: o.Digest, Reply: crypto.DigestOf(reply)}
	if refusal != nil {
		x.Refused = refusal.Reason
	}
	s.o.Journal.Exchanged(x)
	s.o.Log.Info("partner answered", "site", m.Site.Short(), "kind", x.Kind, "refused", string(x.Refused), "took", x.Took)
	return reply, nil
}

// guarded calls answers.answer. A panic in that call affects only this request.
func (s *Server) guarded(ctx context.Context, from concordat.SiteID, t crypto.MessageType,
	payload []byte) (body []byte, refusal *concordat.Refusal, cause error) {
	defer func() {
		if p := recover(); p != nil {
			stack := make([]byte, 8<<10)
			body, refusal = nil, &concordat.Refusal{Reason: concordat.ReasonFault}
			cause = fmt.Errorf("panic: %v\n%s", p, stack[:runtime.Stack(stack, false)])
			if s.o.Panicked != nil {
				s.o.Panicked()
			}
		}
	}()
	return s.answers.answer(ctx, from, t, payload)
}

// http returns the HTTP server with its deadlines.
func (s *Server) http() *http.Server {
	return &http.Server{
		Handler:           s,
		ReadHeaderTimeout: min(10*time.Second, s.o.ReadFor), // also covers the TLS handshake
		ReadTimeout:       s.o.ReadFor,
		WriteTimeout:      s.o.Timeout + 2*time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(s.o.Log.Handler(), slog.LevelDebug),
	}
}

// Serve answers requests that arrive at l, over TLS unless a proxy terminates it, until ctx ends; it then accepts no more and waits up to
// grace for running requests. It closes l.
func (s *Server) Serve(ctx context.Context, l net.Listener, grace time.Duration) error {
	l = newBoundedListener(l, s.o.Conns, s.o.ConnsPer, s.o.ConnRate)
	if !s.o.Behind {
		l = newTLSListener(l, serverTLS(s.roster, s.o.Registrar, s.o.Now))
	}
	h := s.http()
	ended := make(chan error, 1)
	go func() { ended <- h.Serve(l) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve partners: %w", err)
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	err := h.Shutdown(last)
	if err != nil {
		err = cmp.Or(h.Close(), err)
	}
	<-ended
	return err
}
