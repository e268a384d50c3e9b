package federation

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"concordat"
	"concordat/crypto"
)

// unverifiedClient fetches a site's card from an unverified server. It accepts any TLS key and remembers it until the card shows which
// keys are valid. The card is authenticated by the signature of its site's root key. The caller's identity is not revealed.
type unverifiedClient struct {
	http *http.Client

	mu   sync.Mutex // guards the fields below
	seen map[crypto.Pin]bool
}

func newUnverifiedClient(to crypto.SiteID, o ClientOptions) *unverifiedClient {
	v := &unverifiedClient{seen: map[crypto.Pin]bool{}}
	v.http = httpClient(o.Dial, guestTLS(to, o.Now, func(p crypto.Pin) bool {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.seen[p] = true
		return true
	}))
	return v
}

// check fails if the card does not contain the key of the server it was fetched from, which indicates someone in the middle.
func (v *unverifiedClient) check(c *crypto.Card) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	for p := range v.seen {
		if !c.PinnedTLS(p) {
			return errPin
		}
	}
	return nil
}

// Reach fetches a site's card from its first address, as any holder of the card can. If no site, or another site, answers there, it fails
// with an Error. The sites need not be partners. own is the card of this site.
func Reach(ctx context.Context, card, own *crypto.Card, o ClientOptions) error {
	o.defaults(own)
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	site := concordat.SiteID(card.Site.String())
	if len(card.URLs) == 0 {
		return &Error{Site: site, Kind: KindDown, Err: errors.New("the site's card lists no address")}
	}
	v := newUnverifiedClient(card.Site, o)
	defer v.http.CloseIdleConnections()
	b, err := fetchCard(ctx, v.http, card.URLs[0])
	if err != nil {
		return failure(ctx, site, KindDown, err)
	}
	now, err := crypto.ParseCard(b)
	if err != nil {
		return &Error{Site: site, Kind: KindGarbage, Err: err}
	}
	if now.Site != card.Site {
		return &Error{Site: site, Kind: KindStranger, Err: fmt.Errorf("the site at this address is %s", now.Site)}
	}
	if err := v.check(now); err != nil {
		return &Error{Site: site, Kind: KindStranger, Err: err}
	}
	return nil
}

// fetchCard fetches the bytes of the card at an address.
func fetchCard(ctx context.Context, c *http.Client, url string) ([]byte, error) {
	b, _, err := callHTTP(ctx, c, http.MethodGet, address(url, pathCard), nil, crypto.MaxCard)
	return b, err
}

// Redeemed is an enrolment that awaits confirmation by the two administrators.
type Redeemed struct {
	Inviter *crypto.Card
	Words   [6]string // words to compare with those displayed by the inviting site
}

// Redeem redeems an invitation for the site of the roster. It fetches the inviting site's card, checks it against the invitation, and
// sends its own card. The caller keeps the inviting site as pending until its administrator confirms that both screens display the same
// words. The same invitation cannot be redeemed again.
func Redeem(ctx context.Context, i *crypto.Invitation, roster Roster, o ClientOptions) (*Redeemed, error) {
	_, own := roster.Self()
	o.defaults(own)
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	site := concordat.SiteID(i.Site.String())
	r, err := redeem(ctx, i, roster, o)
	var e *Error
	if errors.As(err, &e) {
		e.Site = site
	}
	return r, failure(ctx, site, KindDown, err)
}

func redeem(ctx context.Context, i *crypto.Invitation, roster Roster, o ClientOptions) (*Redeemed, error) {
	card, err := inviter(ctx, i, o)
	if err != nil {
		return nil, err
	}
	now := o.Now()
	_, own := roster.Self()
	request, redemption, err := i.Enrol(own, card, now, rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("redeem: %w", err)
	}
	c := httpClient(o.Dial, clientTLS(roster, o.Now, card.PinnedTLS))
	defer c.CloseIdleConnections()
	receipt, _, err := callHTTP(ctx, c, http.MethodPost, address(i.URL, pathEnrol), request, crypto.MaxEnrolment)
	if err != nil {
		return nil, err
	}
	if err := redemption.Accepted(receipt, card, now); err != nil {
		return nil, &Error{Kind: KindGarbage, Err: err}
	}
	return &Redeemed{Inviter: card, Words: crypto.Words(card.Site, own.Site, i.Digest(), redemption.Nonce)}, nil
}

// inviter fetches the card of the site that issued an invitation.
func inviter(ctx context.Context, i *crypto.Invitation, o ClientOptions) (*crypto.Card, error) {
	v := newUnverifiedClient(i.Site, o)
	defer v.http.CloseIdleConnections()
	b, err := fetchCard(ctx, v.http, i.URL)
	if err != nil {
		return nil, err
	}
	card, err := crypto.ParseCard(b)
	if err != nil {
		return nil, &Error{Kind: KindGarbage, Err: err}
	}
	if err := i.CheckInviter(card, o.Now()); err != nil {
		return nil, &Error{Kind: KindStranger, Err: err}
	}
	if err := v.check(card); err != nil {
		return nil, &Error{Kind: KindStranger, Err: err}
	}
	return card, nil
}

// enrol accepts a site that redeems an invitation.
func (s *Server) enrol(w http.ResponseWriter, r *http.Request) {
	receipt, err := s.redeem(w, r)
	if err != nil {
		s.o.Log.Info("enrolment refused", "err", err)
		reject(w)
		return
	}
	deliver(w, receipt)
}

func (s *Server) redeem(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	registrar := s.o.Registrar
	if registrar == nil || !registrar.Inviting() || r.ContentLength > crypto.MaxEnrolment {
		return nil, concordat.ErrRefused
	}
	body := s.bodies.begin(crypto.SiteID{}, false, endReading(w))
	defer body.end()
	b, err := body.read(w, r, crypto.MaxEnrolment, s.o.ReadFor, func([]byte) error { return nil })
	if err != nil {
		return nil, err
	}
	now := s.o.Now()
	id, own := s.roster.Self()
	e, err := id.ReadEnrolment(b, now)
	if err != nil {
		return nil, err
	}
	if p, err := pinOf(r.TLS); !s.o.Behind && (err != nil || !e.Card.PinnedTLS(p)) {
		return nil, errPin
	}
	expiry, err := registrar.Invitation(r.Context(), e.TokenHash())
	if err != nil {
		return nil, err
	}
	if err := e.Check(expiry, now, own); err != nil {
		return nil, err
	}
	if err := registrar.Enrol(r.Context(), e); err != nil {
		return nil, err
	}
	return id.Receipt(e, now)
}
