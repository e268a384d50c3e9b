package federation

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"concordat"
	"concordat/crypto"
)

// stranger speaks to a site whose TLS key is not known yet: it takes any key, and remembers which, until
// a card says which keys are good. A card proves itself, by the signature of its site's root.
type stranger struct {
	http *http.Client

	mu   sync.Mutex // guards what follows
	seen map[crypto.Pin]bool
	card *crypto.Card
}

func newStranger(roster Roster, o ClientOptions) *stranger {
	s := &stranger{seen: map[crypto.Pin]bool{}}
	s.http = httpClient(o.Dial, clientTLS(roster, o.Now, s.pinned))
	return s
}

func (s *stranger) pinned(p crypto.Pin) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.card != nil {
		return s.card.PinnedTLS(p)
	}
	s.seen[p] = true
	return true
}

// trust takes the keys of the card from now on. It fails if the connection was made with another one:
// somebody stands in between.
func (s *stranger) trust(c *crypto.Card) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for p := range s.seen {
		if !c.PinnedTLS(p) {
			return errPin
		}
	}
	s.card = c
	return nil
}

func (s *stranger) fetch(ctx context.Context, url string) ([]byte, error) {
	b, _, err := callHTTP(ctx, s.http, http.MethodGet, address(url, pathCard), nil, crypto.MaxCard)
	return b, err
}

// Redeemed is an enrolment that waits for the two administrators.
type Redeemed struct {
	Inviter *crypto.Card
	Words   [6]string // to be compared with the ones the inviting site shows
}

// Redeem redeems an invitation for the site of the roster: it fetches the inviting site's card, checks it
// against the invitation, and hands over its own. The caller keeps the inviting site as pending until its
// administrator confirms that both screens show the same words. The same invitation cannot be redeemed
// again.
func Redeem(ctx context.Context, i *crypto.Invitation, roster Roster, o ClientOptions) (*Redeemed, error) {
	o.defaults()
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	site := concordat.SiteID(i.Site.String())
	s := newStranger(roster, o)
	defer s.http.CloseIdleConnections()
	r, err := s.redeem(ctx, i, roster, o.Now())
	var e *Error
	if errors.As(err, &e) {
		e.Site = site
	}
	return r, failure(ctx, site, KindDown, err)
}

func (s *stranger) redeem(ctx context.Context, i *crypto.Invitation, roster Roster, now time.Time) (*Redeemed, error) {
	b, err := s.fetch(ctx, i.URL)
	if err != nil {
		return nil, err
	}
	card, err := crypto.ParseCard(b)
	if err != nil {
		return nil, &Error{Kind: KindGarbage, Err: err}
	}
	if err := i.CheckInviter(card, now); err != nil {
		return nil, &Error{Kind: KindStranger, Err: err}
	}
	if err := s.trust(card); err != nil {
		return nil, &Error{Kind: KindStranger, Err: err}
	}
	_, own := roster.Self()
	request, redemption, err := i.Enrol(own, card, now, rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("redeem: %w", err)
	}
	receipt, _, err := callHTTP(ctx, s.http, http.MethodPost, address(i.URL, pathEnrol), request, crypto.MaxEnrolment)
	if err != nil {
		return nil, err
	}
	if err := redemption.Accepted(receipt, card, now); err != nil {
		return nil, &Error{Kind: KindGarbage, Err: err}
	}
	return &Redeemed{Inviter: card, Words: crypto.Words(card.Site, own.Site, i.Digest(), redemption.Nonce)}, nil
}

// enrol takes in a site that redeems an invitation.
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
