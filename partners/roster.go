package partners

import (
	"context"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"concordat"
	"concordat/crypto"
	"concordat/federation"
	"concordat/federation/wire"
	"concordat/instance"
	"concordat/store"
)

// Roster adapts the store's partners, invitations and audit for package federation. Each call reads the store, so changes by other
// processes take effect with the next message. Only parsed cards are cached. It is safe for concurrent use.
type Roster struct {
	db   *store.DB
	log  *slog.Logger
	now  func() time.Time
	self atomic.Pointer[self]

	mu    sync.Mutex // guards the fields below
	cards map[concordat.SiteID]*crypto.Card
	head  wire.Head // last signed head
	heads map[crypto.SiteID]*heads
	// refused contains the number of refused messages of each partner in the last hour.
	refused map[concordat.SiteID]refused
}

// heads records how each partner's audit has grown since this process started.
type heads struct {
	last    uint64    // number of the last entry
	since   time.Time // when it was first received
	again   int       // number of times it was received since
	alarmed time.Time
}

// Every exchange adds an entry to the audits of both sides. An audit has stopped if the same head was received maxAgain times over more
// than maxSilent.
const (
	maxAgain  = 16
	maxSilent = 24 * time.Hour
)

// self is the state of this site at one moment.
type self struct {
	id   *crypto.Identity
	card *crypto.Card
}

var (
	_ federation.Roster    = (*Roster)(nil)
	_ federation.Registrar = (*Roster)(nil)
	_ federation.Journal   = (*Roster)(nil)
)

// OpenRoster opens the site's view of its partners. The site must have a current card.
func OpenRoster(ctx context.Context, o *instance.Instance, id *crypto.Identity, log *slog.Logger) (*Roster, error) {
	card, err := instance.OwnCard(ctx, o.Store, id)
	if err != nil {
		return nil, err
	}
	if card == nil || len(card.URLs) == 0 {
		return nil, instance.Usagef("the site's card has no address yet; to add one, run concordat site card --url https://HOST:PORT")
	}
	if err := card.Valid(time.Now()); err != nil {
		return nil, instance.Usagef("%w: renew the card with concordat site card --renew", err)
	}
	return NewRoster(o.Store, log, id, card), nil
}

// NewRoster returns the view for the given identity and card.
func NewRoster(db *store.DB, log *slog.Logger, id *crypto.Identity, card *crypto.Card) *Roster {
	r := &Roster{db: db, log: log, now: time.Now, cards: map[concordat.SiteID]*crypto.Card{}, heads: map[crypto.SiteID]*heads{},
		refused: map[concordat.SiteID]refused{}}
	r.Use(id, card)
	return r
}

// Use switches the roster to another identity and card of the site.
func (r *Roster) Use(id *crypto.Identity, card *crypto.Card) { r.self.Store(&self{id, card}) }

// Self implements federation.Roster.
func (r *Roster) Self() (*crypto.Identity, *crypto.Card) {
	s := r.self.Load()
	return s.id, s.card
}

// Member implements federation.Roster. If the store fails, it reports that there is no such member.
func (r *Roster) Member(site crypto.SiteID) (federation.Member, bool) {
	p, err := r.db.Partners.Partner(context.Background(), instance.PartnerName(site))
	if err != nil {
		if !errors.Is(err, concordat.ErrNotFound) {
			r.log.Error("partner", "site", instance.PartnerName(site), "error", err)
		}
		return federation.Member{}, false
	}
	return r.member(p)
}

func (r *Roster) member(p store.Partner) (federation.Member, bool) {
	c, err := r.card(p)
	if err != nil {
		r.log.Error("card of a partner", "site", p.Site, "error", err)
		return federation.Member{}, false
	}
	return federation.Member{Site: c.Site, State: federation.State(p.State), Card: c}, true
}

// card parses a partner's card and caches it, since parsing costs a millisecond.
func (r *Roster) card(p store.Partner) (*crypto.Card, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.cards[p.Site]; c != nil && c.Serial == p.Serial {
		return c, nil
	}
	c, err := crypto.ParseCard(p.Card)
	if err != nil {
		return nil, err
	}
	if instance.PartnerName(c.Site) != p.Site {
		return nil, fmt.Errorf("%w: the card belongs to another site", concordat.ErrCorrupt)
	}
	r.cards[p.Site] = c
	return c, nil
}

// Pinned implements federation.Roster.
func (r *Roster) Pinned(cert *x509.Certificate) (federation.Member, bool) {
	ps, err := r.db.Partners.Partners(context.Background())
	if err != nil {
		r.log.Error("partners", "error", err)
		return federation.Member{}, false
	}
	for _, p := range ps {
		if p.State != store.PartnerActive {
			continue // an enrolled site has not proven anything yet, and a revoked one counts as absent
		}
		if m, ok := r.member(p); ok && m.Card.Shows(cert) {
			return m, true
		}
	}
	return federation.Member{}, false
}

// Renew implements federation.Roster. It refuses a card that contains another site's TLS key, and raises an alarm.
func (r *Roster) Renew(ctx context.Context, c *crypto.Card) error {
	if err := r.pinsAreFree(ctx, c); err != nil {
		if errors.Is(err, errPinTaken) {
			r.alarm(store.PartnerAlarm{Partner: instance.PartnerName(c.Site), Kind: store.AlarmFalse},
				"a partner's card names a TLS key of another site", "false answer", map[string]any{"in": "its card", "why": err.Error()})
		}
		return err
	}
	return r.db.Partners.PutCard(ctx, instance.PartnerName(c.Site), c.Serial, c.Bytes())
}

// receiptTime is the time after an enrolment during which a stranger may still fetch a lost receipt.
const receiptTime = 10 * time.Minute

// Inviting implements federation.Registrar.
func (r *Roster) Inviting() bool {
	ctx := context.Background()
	if n, err := r.db.Partners.OpenInvitations(ctx); err != nil || n > 0 {
		return err == nil
	}
	is, err := r.db.Partners.Invitations(ctx)
	for _, i := range is {
		if err == nil && r.now().Sub(i.Used) < receiptTime {
			return true
		}
	}
	return false
}

// Invitation implements federation.Registrar. It also returns a used invitation, since Enrol recognizes repeated requests.
func (r *Roster) Invitation(ctx context.Context, hash [32]byte) (time.Time, error) {
	i, err := r.db.Partners.Invitation(ctx, hash)
	return i.Expires, err
}

// Enrol implements federation.Registrar.
func (r *Roster) Enrol(ctx context.Context, e *crypto.Enrolment) error {
	i, err := r.db.Partners.Invitation(ctx, e.TokenHash())
	if err != nil {
		return err
	}
	if err := r.pinsAreFree(ctx, e.Card); err != nil {
		return err
	}
	id, _ := r.Self()
	words := crypto.Words(id.Site(), e.Card.Site, i.Digest, e.Nonce)
	p := store.Partner{Site: instance.PartnerName(e.Card.Site), Words: strings.Join(words[:], " "), Serial: e.Card.Serial,
		Card: e.Card.Bytes()}
	if err := r.db.Partners.Redeem(ctx, e.TokenHash(), e.Digest, p); err != nil {
		return err
	}
	r.log.Info("enrolled, to be confirmed", "site", p.Site)
	return r.audit(ctx, string(p.Site), "enrolled", map[string]any{"name": e.Card.Name, "card": e.Card.Serial})
}

// audit adds an entry. It records exchanges even if the caller has given up.
func (r *Roster) audit(ctx context.Context, actor, action string, detail any) error {
	b, err := instance.JSONLine(detail)
	if err != nil {
		return err
	}
	_, err = r.db.Audit.AppendAudit(context.WithoutCancel(ctx), actor, action, b)
	return err
}

// Head implements federation.Journal.
func (r *Roster) Head() wire.Head {
	end, err := r.db.Audit.AuditHead(context.Background())
	if err != nil {
		r.log.Error("audit head", "error", err)
		return wire.Head{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	if int64(r.head.Seq) == end.Seq && hex.EncodeToString(r.head.Hash[:]) == end.Hash && now.Sub(r.head.At) < time.Minute {
		return r.head
	}
	id, _ := r.Self()
	h, err := instance.SignHead(id, end, now)
	if err != nil {
		r.log.Error("audit head", "error", err)
		return wire.Head{}
	}
	r.head = federation.HeadOf(h)
	return r.head
}

// Heard implements federation.Journal.
func (r *Roster) Heard(h *crypto.Head) {
	ctx := context.Background()
	if what := r.stopped(ctx, h); what != "" {
		site := instance.PartnerName(h.Site)
		r.log.Error("a partner's audit has stopped", "site", site, "what", what)
		r.raise(ctx, store.PartnerAlarm{Partner: site, Kind: store.AlarmAuditStopped})
		if err := r.audit(ctx, string(site), "audit stopped", map[string]any{"entry": h.Seq, "what": what}); err != nil {
			r.log.Error("audit", "error", err)
		}
	}
	if h.Seq == 0 {
		return
	}
	r.witness(ctx, h, "")
}

// witness records the head of a partner's audit and compares it with earlier heads. told is the partner that relayed another site's head,
// or empty if the head came directly from its site.
func (r *Roster) witness(ctx context.Context, h *crypto.Head, told concordat.SiteID) {
	site := instance.PartnerName(h.Site)
	fork, err := r.db.Partners.AddWitness(ctx, store.Witness{Site: site, Seq: h.Seq, Hash: h.Hash, At: h.At, Head: h.Bytes()})
	if err != nil {
		r.log.Error("witness", "site", site, "error", err)
	}
	if fork == nil {
		return
	}
	r.log.Error("a partner's audit was rewritten, or is not the same for all", "site", site, "entry", h.Seq, "heard", fork.Heard, "told", told)
	r.raise(ctx, store.PartnerAlarm{Partner: site, Kind: store.AlarmAuditContradicts})
	detail := map[string]any{"entry": h.Seq, "hash": hex.EncodeToString(h.Hash[:]), "earlier_entry": fork.Seq,
		"earlier_hash": hex.EncodeToString(fork.Hash[:])}
	if told != "" {
		detail["told_by"] = told
	}
	if err := r.audit(ctx, string(site), "audit contradicts", detail); err != nil {
		r.log.Error("audit", "error", err)
	}
}

// maxOfOne is the maximum number of heads of one site to send to a partner, namely contradictory ones and the newest.
const maxOfOne = 4

// Others implements federation.Journal. It returns heads of sites in the federations to which the partner also belongs.
func (r *Roster) Others(to concordat.SiteID) []*crypto.Head {
	ctx := context.Background()
	ms, err := r.db.Partners.Memberships(ctx)
	if err != nil {
		r.log.Error("federations", "error", err)
		return nil
	}
	id, _ := r.Self()
	done := map[concordat.SiteID]bool{to: true, instance.PartnerName(id.Site()): true}
	var out []*crypto.Head
	for _, m := range ms {
		members := instance.Members(m)
		if !slices.Contains(members, to) {
			continue
		}
		for _, site := range members {
			if done[site] {
				continue
			}
			done[site] = true
			ws, err := r.db.Partners.LatestWitnesses(ctx, site, maxOfOne)
			if err != nil {
				r.log.Error("witness", "site", site, "error", err)
			}
			for _, w := range ws {
				if h, err := crypto.ParseHead(w.Head); err == nil && len(out) < wire.MaxHeads {
					out = append(out, h)
				}
			}
		}
	}
	return out
}

// HeardOthers implements federation.Journal. Only heads of this site's partners can be verified. Heads signed with a key that is no
// longer on the card prove nothing.
func (r *Roster) HeardOthers(from concordat.SiteID, hs []*crypto.Head) {
	ctx := context.Background()
	for _, h := range hs {
		m, ok := r.Member(h.Site)
		if !ok || h.Seq == 0 {
			continue
		}
		if err := h.Check(m.Card); err != nil {
			if !errors.Is(err, crypto.ErrNoKey) {
				r.alarm(store.PartnerAlarm{Partner: from, Kind: store.AlarmFalse}, "a partner sent an audit head that its site has not signed",
					"false answer", map[string]any{"in": "an audit head of another site", "of": instance.PartnerName(h.Site)})
			}
			continue
		}
		r.witness(ctx, h, from)
	}
}

func (r *Roster) raise(ctx context.Context, a store.PartnerAlarm) {
	if _, err := r.db.Partners.RaiseAlarm(ctx, a); err != nil {
		r.log.Error("alarm", "site", a.Partner, "error", err)
	}
}

// stopped returns, at most once a day, a description of how a partner's audit has stopped, or "" if it has not.
func (r *Roster) stopped(ctx context.Context, h *crypto.Head) string {
	told := true
	if h.Seq == 0 {
		before, err := r.db.Partners.Witnesses(ctx, instance.PartnerName(h.Site))
		if err != nil {
			r.log.Error("witness", "site", instance.PartnerName(h.Site), "error", err)
		}
		if len(before) == 0 {
			return "" // the partner has never sent one
		}
		told = false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	x := r.heads[h.Site]
	if x == nil {
		x = &heads{}
		r.heads[h.Site] = x
	}
	if told && h.Seq > x.last {
		x.last, x.since, x.again = h.Seq, now, 0
		return ""
	}
	x.again++
	if now.Sub(x.alarmed) < maxSilent || told && (x.again < maxAgain || now.Sub(x.since) < maxSilent) {
		return ""
	}
	x.alarmed = now
	if !told {
		return "the partner no longer sends its audit heads"
	}
	return fmt.Sprintf("the partner has named no entry after %d in %v, although each of %d exchanges added one", x.last, now.Sub(x.since).Round(time.Minute), x.again)
}

// exchangeRecord contains the details of an exchange. A separate entry records the question and the answer.
type exchangeRecord struct {
	Direction string           `json:"direction"` // in if the partner asked, out if this site asked
	Kind      string           `json:"kind"`
	Request   string           `json:"request"`         // SHA-256 of the envelope
	Reply     string           `json:"reply,omitempty"` // SHA-256 of the envelope
	Refused   concordat.Reason `json:"refused,omitempty"`
	Again     bool             `json:"again,omitempty"` // the stored reply was resent
}

// Exchanged implements federation.Journal.
func (r *Roster) Exchanged(x federation.Exchange) {
	e := exchangeRecord{Direction: "in", Kind: x.Kind, Request: hex.EncodeToString(x.Request[:]), Refused: x.Refused, Again: x.Again}
	if x.Asked {
		e.Direction = "out"
	}
	if x.Reply != [32]byte{} {
		e.Reply = hex.EncodeToString(x.Reply[:])
	}
	if err := r.audit(context.Background(), string(x.Partner), "exchange", e); err != nil {
		r.log.Error("audit", "site", x.Partner, "error", err)
	}
}
