package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"concordat"
	"concordat/store/engine"
)

// PartnerState is the status of a partner at this site.
type PartnerState string

// The states of a partner. Only an active partner is asked and answered.
const (
	PartnerPending PartnerState = "pending" // enrolled, but the administrators have not compared the words
	PartnerActive  PartnerState = "active"
	PartnerRevoked PartnerState = "revoked"
)

// Partner is another site. The store treats cards as opaque bytes. It does not check signatures; callers must do so first.
type Partner struct {
	Site    concordat.SiteID `json:"site"` // text form of its identity
	State   PartnerState     `json:"state"`
	Name    string           `json:"name,omitempty"` // name given by this site, unique; empty if none
	Invited bool             `json:"invited"`        // this site invited it, rather than the reverse
	Words   string           `json:"words,omitempty"`
	Grants  []Grant          `json:"grants,omitempty"`
	Policy  json.RawMessage  `json:"policy,omitempty"` // pinned policy; null for the scheme of this version

	// The store sets the remaining fields.

	Serial    uint64    `json:"serial"` // serial number of Card
	Card      []byte    `json:"-"`      // its newest card
	Made      time.Time `json:"made"`
	Confirmed time.Time `json:"confirmed,omitzero"`
	Revoked   time.Time `json:"revoked,omitzero"`
}

// Grant is a share of one library granted by an invitation, once the partner is active.
type Grant struct {
	Library concordat.LibraryID `json:"library"`
	Rule    ShareRule           `json:"rule"`
}

// SignedCard is a site card exactly as signed.
type SignedCard struct {
	Site     concordat.SiteID
	Serial   uint64
	Card     []byte
	Accepted time.Time
}

// maxCard is the maximum size of a card, in bytes.
const maxCard = 64 << 10

const cardColumns = `site, serial, card, accepted`

func scanCard(s engine.Scanner) (SignedCard, error) {
	var c SignedCard
	var at int64
	err := s.Scan(&c.Site, &c.Serial, &c.Card, &at)
	c.Accepted = instant(at)
	return c, err
}

func putCard(ctx context.Context, c engine.Conn, x SignedCard) error {
	if err := checkName("site", x.Site); err != nil {
		return err
	}
	if len(x.Card) == 0 || len(x.Card) > maxCard || x.Serial > math.MaxInt64 {
		return fmt.Errorf("%w: the size or the serial number of the card is out of range (%d bytes, serial %d)", concordat.ErrInvalid, len(x.Card), x.Serial)
	}
	last, err := scanCard(c.Row(ctx, `SELECT `+cardColumns+` FROM card WHERE site = ? ORDER BY serial DESC LIMIT 1`, x.Site))
	switch {
	case errors.Is(err, sql.ErrNoRows):
	case err != nil:
		return err
	case last.Serial == x.Serial && string(last.Card) == string(x.Card):
		return nil
	case last.Serial >= x.Serial:
		// This is a rollback. Callers refuse it earlier, but two callers may have raced.
		return fmt.Errorf("%w: the card has serial number %d, but the site already has a card with serial number %d", concordat.ErrExists, x.Serial, last.Serial)
	}
	_, err = c.Exec(ctx, `INSERT INTO card (`+cardColumns+`) VALUES (?, ?, ?, ?)`, x.Site, int64(x.Serial), x.Card, stamp(x.Accepted))
	return err
}

// PutCard adds a card to the older ones of its site. Repeating a card is not an error; if the serial is not above the last one, PutCard
// fails with concordat.ErrExists.
func (db *Partners) PutCard(ctx context.Context, site concordat.SiteID, serial uint64, card []byte) error {
	err := db.write(ctx, func(c engine.Conn) error {
		return putCard(ctx, c, SignedCard{Site: site, Serial: serial, Card: card, Accepted: db.now()})
	})
	return db.fail(err, "store card %d of %s", serial, site)
}

// Cards returns all cards of a site, newest first.
func (db *Partners) Cards(ctx context.Context, site concordat.SiteID) ([]SignedCard, error) {
	cs, err := engine.Collect(ctx, db.read(), scanCard, `SELECT `+cardColumns+` FROM card WHERE site = ? ORDER BY serial DESC`, site)
	return cs, db.fail(err, "list the cards of %s", site)
}

// CardSites returns the sites with cards here, including this one.
func (db *Partners) CardSites(ctx context.Context) ([]concordat.SiteID, error) {
	ss, err := engine.Collect(ctx, db.read(), func(s engine.Scanner) (concordat.SiteID, error) {
		var site concordat.SiteID
		return site, s.Scan(&site)
	}, `SELECT DISTINCT site FROM card ORDER BY site`)
	return ss, db.fail(err, "list sites that have cards")
}

const partnerColumns = `partner.site, state, name, invited, words, grants, policy, made, confirmed, revoked, card.serial, card.card`

const partnerFrom = ` FROM partner JOIN card ON card.site = partner.site
	AND card.serial = (SELECT max(serial) FROM card WHERE site = partner.site) `

func scanPartner(s engine.Scanner) (Partner, error) {
	var p Partner
	var grants, policy string
	var made, confirmed, revoked int64
	err := s.Scan(&p.Site, &p.State, &p.Name, &p.Invited, &p.Words, &grants, &policy, &made, &confirmed, &revoked, &p.Serial, &p.Card)
	if err != nil {
		return p, err
	}
	p.Made, p.Confirmed, p.Revoked = instant(made), instant(confirmed), instant(revoked)
	if policy != "null" {
		p.Policy = json.RawMessage(policy)
	}
	if err := json.Unmarshal([]byte(grants), &p.Grants); err != nil {
		return p, fmt.Errorf("%w: cannot decode the grants: %w", concordat.ErrCorrupt, err)
	}
	return p, nil
}

// insertPartner stores p as pending, replacing a revoked one.
func insertPartner(ctx context.Context, c engine.Conn, p Partner, now time.Time) error {
	if p.Grants == nil {
		p.Grants = []Grant{}
	}
	grants, err := json.Marshal(p.Grants)
	if err != nil {
		return fmt.Errorf("%w: cannot encode the grants: %w", concordat.ErrInvalid, err)
	}
	policy := p.Policy
	if policy == nil {
		policy = json.RawMessage("null")
	}
	if !json.Valid(policy) {
		return fmt.Errorf("%w: the policy is not valid JSON", concordat.ErrInvalid)
	}
	if err := putCard(ctx, c, SignedCard{Site: p.Site, Serial: p.Serial, Card: p.Card, Accepted: now}); err != nil {
		return err
	}
	// A pending site can try again, since its invitation or the answer to its request may have been lost.
	if _, err := c.Exec(ctx, `DELETE FROM partner WHERE site = ? AND state <> ?`, p.Site, PartnerActive); err != nil {
		return err
	}
	_, err = c.Exec(ctx, `INSERT INTO partner (site, state, name, invited, words, grants, policy, made, confirmed, revoked)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, 0)`,
		p.Site, PartnerPending, cleanText(p.Name), p.Invited, cleanText(p.Words), string(grants), string(policy), stamp(now))
	return err
}

// AddPartner stores p, with its card, as pending. It replaces a pending or revoked partner. If the partner is active or another partner
// has its name, it fails with concordat.ErrExists.
func (db *Partners) AddPartner(ctx context.Context, p Partner) error {
	err := db.write(ctx, func(c engine.Conn) error { return insertPartner(ctx, c, p, db.now()) })
	return db.fail(err, "add partner %s", p.Site)
}

// Partner returns the partner with the given identity or name, or concordat.ErrNotFound.
func (db *Partners) Partner(ctx context.Context, site concordat.SiteID) (Partner, error) {
	p, err := scanPartner(db.read().Row(ctx,
		`SELECT `+partnerColumns+partnerFrom+`WHERE partner.site = ? OR name = ? AND name <> '' ORDER BY partner.site = ? DESC LIMIT 1`, site,
		site, site))
	return p, db.fail(err, "partner %s", site)
}

// Partners returns all partners ordered by identity.
func (db *Partners) Partners(ctx context.Context) ([]Partner, error) {
	ps, err := engine.Collect(ctx, db.read(), scanPartner, `SELECT `+partnerColumns+partnerFrom+`ORDER BY partner.site`)
	return ps, db.fail(err, "partners")
}

// SetPartnerState moves a partner from one state to another and deletes its words. It fails with concordat.ErrInvalid if the partner is
// not in the first state, and with concordat.ErrNotFound if there is no such partner.
func (db *Partners) SetPartnerState(ctx context.Context, site concordat.SiteID, from, to PartnerState) error {
	column := map[PartnerState]string{PartnerActive: "confirmed", PartnerRevoked: "revoked"}[to]
	if column == "" {
		return db.fail(fmt.Errorf("%w: unknown state %q", concordat.ErrInvalid, to), "partner %s", site)
	}
	err := db.write(ctx, func(c engine.Conn) error {
		n, err := c.Exec(ctx, `UPDATE partner SET state = ?, words = '', `+column+` = ? WHERE site = ? AND state = ?`, to, stamp(db.now()),
			site, from)
		if err != nil || n == 1 {
			return err
		}
		var is PartnerState
		if err := c.Row(ctx, `SELECT state FROM partner WHERE site = ?`, site).Scan(&is); err != nil {
			return err
		}
		return fmt.Errorf("%w: the state of the partner is %s, not %s", concordat.ErrInvalid, is, from)
	})
	return db.fail(err, "partner %s", site)
}

// NamePartner names a partner for use in commands; an empty name removes it. If another partner has the name, it fails with
// concordat.ErrExists.
func (db *Partners) NamePartner(ctx context.Context, site concordat.SiteID, name string) error {
	err := db.write(ctx, func(c engine.Conn) error {
		n, err := c.Exec(ctx, `UPDATE partner SET name = ? WHERE site = ?`, cleanText(name), site)
		if err == nil && n == 0 {
			err = sql.ErrNoRows
		}
		return err
	})
	return db.fail(err, "name partner %s", site)
}
