package federation

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"concordat"
	"concordat/crypto"
	"concordat/federation/wire"
)

// ClientOptions configure a Client.
type ClientOptions struct {
	Timeout  time.Duration    // time limit for a call including retries; 0 means two minutes; at most crypto.MaxTTL
	Tries    int              // attempts to send one message, with the same bytes; 0 means three
	Parallel int              // maximum number of concurrent calls; others wait; 0 means eight
	Journal  Journal          // nil for none
	Now      func() time.Time // nil means time.Now
	// Observe, if not nil, receives the outcome of each call. That is KindGarbage if the partner's answer or card is impossible or
	// belongs to something else.
	Observe func(site concordat.SiteID, outcome Outcome, took time.Duration)
	// Allow lists private networks where partners can be; see reach.
	Allow []netip.Prefix
	// Dial replaces the way connections are made, for tests. If nil, connections use TCP, with a limit of ten seconds, to addresses
	// allowed by reach.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

const (
	clientTimeout  = 2 * time.Minute
	clientTries    = 3
	clientParallel = 8
	dialTimeout    = 10 * time.Second
	firstPause     = 100 * time.Millisecond
	maxPause       = 30 * time.Second
	followEvery    = time.Minute
	followFor      = 5 * time.Second
)

// NewClient returns the partner in the roster with this identity. order is a secret of this site that must not change while answers to
// the site's asks can still arrive. Close ends idle connections.
func NewClient(site crypto.SiteID, roster Roster, order [32]byte, o ClientOptions) *Client {
	_, own := roster.Self()
	o.defaults(own)
	r := &remote{site: site, name: concordat.SiteID(site.String()), roster: roster, o: o, slots: make(chan struct{}, o.Parallel)}
	r.http = httpClient(o.Dial, clientTLS(roster, o.Now, func(p crypto.Pin) bool {
		m, ok := roster.Member(site)
		return ok && m.Card.PinnedTLS(p)
	}))
	return &Client{site: r.name, order: order, link: r, journal: o.Journal, observe: o.Observe}
}

// defaults fills in unset options for the site with the given card, or for an unknown site if it is nil.
func (o *ClientOptions) defaults(own *crypto.Card) {
	if o.Timeout <= 0 || o.Timeout > crypto.MaxTTL {
		o.Timeout = clientTimeout
	}
	if o.Tries <= 0 {
		o.Tries = clientTries
	}
	if o.Parallel <= 0 {
		o.Parallel = clientParallel
	}
	if o.Journal == nil {
		o.Journal = noJournal{}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Dial == nil {
		o.Dial = reachOf(own, o.Allow).dial
	}
}

// remote is the link to a partner over HTTPS.
type remote struct {
	site   crypto.SiteID
	name   concordat.SiteID
	roster Roster
	http   *http.Client
	o      ClientOptions
	slots  chan struct{} // contains one element per running call

	mu       sync.Mutex
	followed time.Time // when follow last tried; protected by mu
}

var _ link = (*remote)(nil)

func (r *remote) close() { r.http.CloseIdleConnections() }

func (r *remote) failed(kind Kind, err error) *Error {
	return &Error{Site: r.name, Kind: kind, Err: err}
}

// member returns the partner's roster entry if this site is allowed to ask it.
func (r *remote) member() (Member, error) {
	m, ok := r.roster.Member(r.site)
	if !ok || m.State != StateActive {
		return Member{}, fmt.Errorf("site %s is not an active partner: %w", r.name, concordat.ErrRefused)
	}
	return m, nil
}

// exchange seals the payload, sends it, and opens the reply. If the partner's card has changed, it fetches the new one. If the partner
// could not open the message, it does so immediately, since the message did not run.
func (r *remote) exchange(ctx context.Context, t crypto.MessageType, payload []byte) ([]byte, concordat.Statement, error) {
	ctx, cancel := context.WithTimeout(ctx, r.o.Timeout)
	defer cancel()
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return nil, concordat.Statement{}, failure(ctx, r.name, KindSilent, ctx.Err())
	}
	m, err := r.member()
	if err != nil {
		return nil, concordat.Statement{}, err
	}
	if m.Card.Valid(r.o.Now()) != nil {
		if m.Card, err = r.renew(ctx); err != nil {
			return nil, concordat.Statement{}, failure(ctx, r.name, KindDown, fmt.Errorf("renew card: %w", err))
		}
	}
	body, statement, err := r.ask(ctx, m.Card, t, payload)
	if outdated(err) {
		// If the card cannot be fetched or is not newer, that adds nothing to err.
		if card, renewed := r.renew(ctx); renewed == nil && card.Serial > m.Card.Serial {
			body, statement, err = r.ask(ctx, card, t, payload)
		}
	}
	return body, statement, failure(ctx, r.name, KindDown, err)
}

// errKey means that the partner could not open the message.
var errKey = errors.New("the partner cannot decrypt messages sealed to the key on its card")

// outdated reports whether an error can be due to a change of the partner's keys. This is the case if the partner presents another TLS
// key or cannot open the message, or if the known card has no key for this week. In each case, the message did not run.
func outdated(err error) bool {
	var e *Error
	return errors.Is(err, errKey) || errors.Is(err, crypto.ErrNoKey) || errors.As(err, &e) && e.Kind == KindStranger
}

// ask is like exchange, with a given card.
func (r *remote) ask(ctx context.Context, card *crypto.Card, t crypto.MessageType, payload []byte) ([]byte, concordat.Statement, error) {
	var none concordat.Statement
	began := r.o.Now()
	id, own := r.roster.Self()
	content, err := wire.AppendRequest(nil, &wire.Request{Card: own.Serial, Known: card.Serial, Head: r.o.Journal.Head(), Payload: payload})
	if err != nil {
		return nil, none, err
	}
	env, pending, err := id.SealRequest(crypto.Request{Type: t, TTL: timeToLive(ctx), Payload: content}, card, began, rand.Reader)
	if err != nil {
		return nil, none, fmt.Errorf("seal message to site %s: %w", r.name, err)
	}
	answer, opened, err := r.deliver(ctx, id, card, pending, env, replyType(t))
	if errors.Is(err, crypto.ErrSignature) {
		// The partner may have replaced its signing key. Asking again returns the same answer, without running the request twice.
		if newer, renewed := r.renew(ctx); renewed == nil && newer.Serial > card.Serial {
			card = newer
			opened, err = r.open(id, answer, pending, card, replyType(t))
		}
	}
	if err != nil {
		return nil, none, err
	}
	reply, statement, refusal, err := readReply(card, r.name, id.Site(), t, opened, pending.Digest, payload)
	if err != nil {
		return nil, none, r.failed(KindGarbage, err)
	}
	if err := hear(r.o.Journal, card, reply.Head); err != nil {
		return nil, none, r.failed(KindGarbage, err)
	}
	r.record(Exchange{Kind: statement.Kind, At: began, Request: pending.Digest, Reply: crypto.DigestOf(answer)}, refusal)
	if reply.Card > card.Serial {
		r.follow(ctx)
	}
	switch {
	case refusal == nil:
		return reply.Payload, statement, nil
	case refusal.Reason == wire.ReasonKey:
		return nil, none, r.failed(KindRejected, errKey)
	}
	return nil, none, refusal
}

// follow fetches a newer card announced by the partner. The answer that announced it is valid even if the fetch fails, so follow delays
// it only briefly and rarely.
func (r *remote) follow(ctx context.Context) {
	now := r.o.Now()
	r.mu.Lock()
	due := now.Sub(r.followed) >= followEvery
	if due {
		r.followed = now
	}
	r.mu.Unlock()
	if !due {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, followFor)
	defer cancel()
	_, _ = r.renew(ctx)
}

// record enters an exchange started by this site in the journal.
func (r *remote) record(e Exchange, refusal *concordat.Refusal) {
	e.Partner, e.Asked, e.Took = r.name, true, r.o.Now().Sub(e.At)
	if refusal != nil {
		e.Refused = refusal.Reason
	}
	r.o.Journal.Exchanged(e)
}

// timeToLive returns the time left in ctx, in whole milliseconds and at least one second.
func timeToLive(ctx context.Context) time.Duration {
	ttl := crypto.MaxTTL
	if end, ok := ctx.Deadline(); ok {
		ttl = min(ttl, time.Until(end))
	}
	return max(ttl.Truncate(time.Millisecond), time.Second)
}

// deliver sends the envelope, always with the same bytes, until it is answered; the partner runs it once.
func (r *remote) deliver(ctx context.Context, id *crypto.Identity, card *crypto.Card, p *crypto.Pending, env []byte,
	want crypto.MessageType) ([]byte, *crypto.Reply, error) {
	pause := firstPause
	for try := 1; ; try++ {
		answer, err := r.post(ctx, card, env)
		var opened *crypto.Reply
		wait := jitter(pause)
		if err == nil {
			if opened, err = r.open(id, answer, p, card, want); err != nil {
				return answer, nil, err
			}
			busy, later := isBusy(opened)
			if !busy {
				return answer, opened, nil
			}
			wait = min(max(wait, later.Sub(r.o.Now())), maxPause)
		}
		if try >= r.o.Tries || err != nil && !passing(err) {
			return answer, opened, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			if err == nil {
				err = ctx.Err()
			}
			return nil, nil, err
		}
		pause *= 4
	}
}

func (r *remote) open(id *crypto.Identity, answer []byte, p *crypto.Pending, card *crypto.Card,
	want crypto.MessageType) (*crypto.Reply, error) {
	opened, err := id.OpenReply(answer, p, card, policy, r.o.Now(), want)
	if err != nil {
		return nil, r.failed(KindGarbage, err)
	}
	return opened, nil
}

// isBusy reports whether the reply means that the message was not run and can be sent again, and returns the time at which to send it.
func isBusy(o *crypto.Reply) (bool, time.Time) {
	if o.Type != crypto.TypeError {
		return false, time.Time{}
	}
	reply, err := wire.ParseReply(o.Payload)
	if err != nil {
		return false, time.Time{}
	}
	refusal, err := wire.ParseRefusal(reply.Payload)
	if err != nil || refusal.Reason != concordat.ReasonBusy {
		return false, time.Time{}
	}
	return true, refusal.Retry
}

// passing reports whether an error can be temporary, so that a retry might help.
func passing(err error) bool {
	var e *Error
	return !errors.As(err, &e) || e.Kind == KindDown
}

// jitter returns a duration between half of d and d, so that many askers do not retry at the same time.
func jitter(d time.Duration) time.Duration {
	n, err := rand.Int(rand.Reader, big.NewInt(int64(d/2)))
	if err != nil {
		return d
	}
	return d/2 + time.Duration(n.Int64())
}

// post sends the envelope to the first of the card's addresses that answers.
func (r *remote) post(ctx context.Context, card *crypto.Card, env []byte) ([]byte, error) {
	last := errors.New("the partner's card lists no address")
	for _, url := range card.URLs {
		answer, err := r.call(ctx, http.MethodPost, address(url, pathMessage), env, crypto.MaxEnvelope)
		if err == nil || !passing(err) || ctx.Err() != nil {
			return answer, err
		}
		last = err
	}
	return nil, last
}

func address(base, path string) string { return strings.TrimSuffix(base, "/") + path }

// call makes one HTTP request and returns the body of a successful answer, up to most bytes.
func (r *remote) call(ctx context.Context, method, url string, body []byte, most int) ([]byte, error) {
	answer, date, err := callHTTP(ctx, r.http, method, url, body, most)
	var e *Error
	switch {
	case errors.As(err, &e):
		e.Site = r.name
		if skew := r.o.Now().Sub(date); e.Kind == KindRejected && !date.IsZero() && skew.Abs() > crypto.Skew {
			e.Err = fmt.Errorf("%w; the partner's clock differs from this site's by %v", e.Err, skew.Round(time.Second))
		}
		return nil, e
	case err != nil:
		return nil, failure(ctx, r.name, KindDown, err)
	}
	return answer, nil
}

// callHTTP is like call, without checking the answering site. date is the Date header of the answer.
func callHTTP(ctx context.Context, c *http.Client, method, url string, body []byte, most int) (answer []byte, date time.Time, err error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, date, err
	}
	req.Header.Set("Content-Type", "application/octet-stream")
	req.Header.Set("User-Agent", "-")
	resp, err := c.Do(req)
	if err != nil {
		return nil, date, connectionError(err)
	}
	defer func() { _ = resp.Body.Close() }()
	date, _ = http.ParseTime(resp.Header.Get("Date"))
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusBadRequest:
		return nil, date, &Error{Kind: KindRejected, Err: errors.New("the partner rejected the message")}
	case http.StatusServiceUnavailable, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusGatewayTimeout:
		return nil, date, &Error{Kind: KindDown, Err: errors.New(resp.Status)}
	default:
		return nil, date, &Error{Kind: KindGarbage, Err: errors.New(resp.Status)}
	}
	answer, err = io.ReadAll(io.LimitReader(resp.Body, int64(most)+1))
	if err != nil {
		return nil, date, err
	}
	if len(answer) > most {
		return nil, date, &Error{Kind: KindGarbage, Err: fmt.Errorf("the answer is longer than %d bytes", most)}
	}
	return answer, date, nil
}

// connectionError distinguishes a wrong key, and an alert from the other end, from a broken connection.
func connectionError(err error) error {
	switch {
	case errors.Is(err, errPin):
		return &Error{Kind: KindStranger, Err: errPin}
	case isAlert(err):
		return &Error{Kind: KindRejected, Err: err}
	}
	return err
}

// readReply checks the layout of an opened reply and the signature over its answer.
func readReply(card *crypto.Card, site concordat.SiteID, asker crypto.SiteID, t crypto.MessageType, o *crypto.Reply,
	envelope [32]byte, payload []byte) (*wire.Reply, concordat.Statement, *concordat.Refusal, error) {
	var none concordat.Statement
	reply, err := wire.ParseReply(o.Payload)
	if err != nil {
		return nil, none, nil, err
	}
	signed := answerTo(t, payload)
	var refusal *concordat.Refusal
	if o.Type == crypto.TypeError {
		signed = crypto.Answer{Kind: kindError, Request: envelope}
		if refusal, err = wire.ParseRefusal(reply.Payload); err != nil {
			return nil, none, nil, err
		}
	}
	signed.Asker, signed.At, signed.Payload = asker, reply.At, reply.Payload
	if err := card.VerifyAnswer(reply.KeyEpoch, &signed, reply.Signature[:]); err != nil {
		return nil, none, nil, fmt.Errorf("verify statement: %w", err)
	}
	return reply, concordat.Statement{
		Site: site, Kind: signed.Kind, KeyEpoch: reply.KeyEpoch, At: reply.At,
		Asker: concordat.SiteID(asker.String()), Job: present(signed.Job[:]), Commitment: present(signed.Commitment[:]),
		Request: signed.Request[:], Payload: reply.Payload, Signature: reply.Signature[:], Asked: payload,
	}, refusal, nil
}

// present returns b, or nil if all its bytes are zero.
func present(b []byte) []byte {
	if bytes.Count(b, []byte{0}) == len(b) {
		return nil
	}
	return b
}

// renew fetches the partner's card and passes it to the roster if it is newer. It accepts any TLS key named in the new card, because the
// partner may have had to replace all its keys.
func (r *remote) renew(ctx context.Context) (*crypto.Card, error) {
	ctx, cancel := context.WithTimeout(ctx, r.o.Timeout)
	defer cancel()
	m, ok := r.roster.Member(r.site)
	if !ok {
		return nil, fmt.Errorf("site %s: %w", r.name, concordat.ErrNotFound)
	}
	last := errors.New("the partner's card lists no address")
	for _, url := range m.Card.URLs {
		card, err := r.fetch(ctx, url, m.Card)
		if err == nil && card.Serial > m.Card.Serial {
			err = r.roster.Renew(ctx, card)
		}
		if err == nil {
			return card, nil
		}
		last = err
	}
	var e *Error
	if errors.As(last, &e) {
		e.Site = r.name
	}
	return nil, failure(ctx, r.name, KindDown, last)
}

// fetch fetches the card at an address. If the known card names the answering key, fetch connects as a partner. Otherwise, it connects as
// a guest, so that an impostor does not learn from this site's key who is asking.
func (r *remote) fetch(ctx context.Context, url string, held *crypto.Card) (*crypto.Card, error) {
	b, err := fetchCard(ctx, r.http, url)
	check := func(*crypto.Card) error { return nil }
	if errors.Is(err, errPin) {
		v := newUnverifiedClient(r.site, r.o)
		defer v.http.CloseIdleConnections()
		check = v.check
		b, err = fetchCard(ctx, v.http, url)
	}
	if err != nil {
		return nil, err
	}
	card, err := crypto.Accept(r.site, held, b, r.o.Now())
	if err != nil {
		return nil, &Error{Kind: KindGarbage, Err: err}
	}
	if err := check(card); err != nil {
		return nil, &Error{Kind: KindStranger, Err: err}
	}
	return card, nil
}

// httpClient returns a client that uses HTTP/1.1 over TLS as configured, directly, without cookies or redirects.
func httpClient(dial func(context.Context, string, string) (net.Conn, error), c *tls.Config) *http.Client {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	return &http.Client{
		Transport: &http.Transport{
			DialTLSContext:         dialTLS(dial, c),
			Protocols:              &protocols,
			DisableCompression:     true,
			MaxIdleConnsPerHost:    8,
			IdleConnTimeout:        time.Minute,
			MaxResponseHeaderBytes: 16 << 10,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
