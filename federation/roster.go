package federation

import (
	"context"
	"crypto/x509"
	"time"

	"concordat"
	"concordat/crypto"
	"concordat/federation/wire"
)

// State is the status of a partner at this site.
type State string

// The states of a partner. Only an active partner is asked and answered.
const (
	StatePending State = "pending" // enrolled, but not yet confirmed by the administrators
	StateActive  State = "active"
	StateRevoked State = "revoked"
)

// Member is the roster's entry for a partner.
type Member struct {
	Site  crypto.SiteID
	State State
	Card  *crypto.Card // newest accepted card
}

// A Roster knows this site and its partners. It always returns the current state, so a revoked partner's next message is refused. Its
// methods are safe for concurrent use and must be fast, since each message needs several calls.
type Roster interface {
	// Self returns the site's identity and its newest card.
	Self() (*crypto.Identity, *crypto.Card)
	// Member returns the partner, or false if there is no partner with this identity.
	Member(site crypto.SiteID) (Member, bool)
	// Pinned returns the active partner whose card contains the certificate (crypto.Card.Shows), or false.
	Pinned(cert *x509.Certificate) (Member, bool)
	// Renew stores a partner's newer card, after acceptance by crypto.Accept.
	Renew(ctx context.Context, c *crypto.Card) error
}

// A Registrar manages invitations and accepts the sites that redeem them. Its methods are safe for concurrent use.
type Registrar interface {
	// Inviting reports whether an invitation is open; only then can strangers reach the site at all.
	Inviting() bool
	// Invitation returns when the open invitation with this hash expires, or concordat.ErrNotFound.
	Invitation(ctx context.Context, tokenHash [32]byte) (expiry time.Time, err error)
	// Enrol uses up the invitation and records the card's site as pending. Repeating the same enrolment (Digest) is not an error, because
	// its receipt may have been lost.
	Enrol(ctx context.Context, e *crypto.Enrolment) error
}

// A Journal is the transport's view of the audit log. Its methods are safe for concurrent use.
type Journal interface {
	// Head returns the signed head of this site's audit log. Its Seq is 0 if the site has no audit log.
	Head() wire.Head
	// Heard stores the head of a partner's audit log, with a verified signature, and compares it with earlier ones. A Seq of 0 means that
	// the partner sent no head.
	Heard(h *crypto.Head)
	// Others returns up to wire.MaxHeads audit heads of other sites that the partner might know. The partner compares them with the heads
	// that it has received itself.
	Others(to concordat.SiteID) []*crypto.Head
	// HeardOthers stores the audit heads of other sites that a partner has received. None of them has been verified.
	HeardOthers(from concordat.SiteID, hs []*crypto.Head)
	// Exchanged records a completed exchange.
	Exchanged(e Exchange)
}

// Exchange is one request and its outcome.
type Exchange struct {
	Partner concordat.SiteID
	Asked   bool   // this site asked, rather than the partner
	Kind    string // kind of the answer, for example tell
	At      time.Time
	Took    time.Duration
	Request [32]byte // SHA-256 of the request's envelope
	Reply   [32]byte // SHA-256 of the reply's envelope; zeros if there is none
	Refused concordat.Reason
	Again   bool // the stored reply was resent
}

// noJournal is a Journal that stores nothing.
type noJournal struct{}

func (noJournal) Head() wire.Head    { return wire.Head{} }
func (noJournal) Heard(*crypto.Head) {}
func (noJournal) Exchanged(Exchange) {}

func (noJournal) Others(concordat.SiteID) []*crypto.Head       { return nil }
func (noJournal) HeardOthers(concordat.SiteID, []*crypto.Head) {}

// kinds maps the requests of this version to the kinds of their answers, as named in statements.
var kinds = map[crypto.MessageType]string{
	crypto.TypeQuery: "tell", crypto.TypeCatalogue: "catalogue", crypto.TypeReveal: "revealed", crypto.TypeCard: "card",
	crypto.TypeAuditHead: "head", crypto.TypeOutline: "outlines", crypto.TypeEdges: "edges", crypto.TypeShip: "shipment",
	crypto.TypeNotice: "received", crypto.TypeFederation: "grant", crypto.TypeLeads: "leads",
}

// kindError is the kind of a statement that is a refusal.
const kindError = "error"

// policy returns the suites and kinds of messages accepted by this version; nothing is negotiated.
var policy = func() crypto.Policy {
	p := crypto.Policy{Suites: []crypto.Suite{crypto.SuiteXWing}}
	for t := range kinds {
		p.Types = append(p.Types, t)
	}
	return p
}()

// replyType returns the type of envelope that answers t.
func replyType(t crypto.MessageType) crypto.MessageType {
	if t == crypto.TypeReveal {
		return crypto.TypeEvidence
	}
	return crypto.TypeReply
}

// Paths of the protocol, below each address of a card.
const (
	pathMessage = "/concordat/1/message"
	pathCard    = "/concordat/1/card"
	pathEnrol   = "/concordat/1/enrol"
)

// hear passes a partner's head to the journal if its signature is valid.
func hear(j Journal, c *crypto.Card, h wire.Head) error {
	if h.Seq == 0 {
		j.Heard(&crypto.Head{Site: c.Site})
		return nil
	}
	head := &crypto.Head{Site: c.Site, Seq: h.Seq, Hash: h.Hash, At: h.At, KeyEpoch: h.KeyEpoch, Signature: h.Signature[:]}
	if err := head.Check(c); err != nil {
		return err
	}
	j.Heard(head)
	return nil
}

// HeadOf returns a signed head in the form used in messages.
func HeadOf(h *crypto.Head) wire.Head {
	w := wire.Head{Seq: h.Seq, Hash: h.Hash, At: h.At, KeyEpoch: h.KeyEpoch}
	copy(w.Signature[:], h.Signature)
	return w
}
