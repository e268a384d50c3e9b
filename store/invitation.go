package store

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"concordat"
	"concordat/store/engine"
)

// Invitation is an invitation issued by this site. The token itself is not stored.
type Invitation struct {
	Hash    [32]byte // hash of the token
	Digest  [32]byte // digest of the invitation, from which its words are derived
	Note    string   // intended recipient
	Grants  []Grant
	Made    time.Time // set by the store
	Expires time.Time
	Used    time.Time        // zero if it has not been used
	Site    concordat.SiteID // site that used it
	Request [32]byte         // digest of its enrolment
}

const invitationColumns = `hash, digest, note, grants, made, expires, used, site, request`

func scanInvitation(s engine.Scanner) (Invitation, error) {
	var i Invitation
	var hash, digest, grants, request string
	var made, expires, used int64
	if err := s.Scan(&hash, &digest, &i.Note, &grants, &made, &expires, &used, &i.Site, &request); err != nil {
		return i, err
	}
	i.Made, i.Expires, i.Used = instant(made), instant(expires), instant(used)
	for _, x := range []struct {
		to   *[32]byte
		from string
	}{{&i.Hash, hash}, {&i.Digest, digest}, {&i.Request, request}} {
		b, err := hex.DecodeString(x.from)
		if err != nil || len(b) != len(x.to) && len(b) != 0 {
			return i, fmt.Errorf("%w: cannot decode invitation %s", concordat.ErrCorrupt, hash)
		}
		copy(x.to[:], b)
	}
	if err := json.Unmarshal([]byte(grants), &i.Grants); err != nil {
		return i, fmt.Errorf("%w: cannot decode the grants: %w", concordat.ErrCorrupt, err)
	}
	return i, nil
}

// AddInvitation stores a new invitation.
func (db *Partners) AddInvitation(ctx context.Context, i Invitation) error {
	if i.Grants == nil {
		i.Grants = []Grant{}
	}
	grants, err := json.Marshal(i.Grants)
	if err == nil {
		err = db.write(ctx, func(c engine.Conn) error {
			_, err := c.Exec(ctx, `INSERT INTO invitation (`+invitationColumns+`) VALUES (?, ?, ?, ?, ?, ?, 0, '', '')`,
				hex.EncodeToString(i.Hash[:]), hex.EncodeToString(i.Digest[:]), cleanText(i.Note), string(grants), stamp(db.now()), stamp(i.Expires))
			return err
		})
	}
	return db.fail(err, "add invitation")
}

// Invitation returns the invitation whose token has the given hash, or concordat.ErrNotFound.
func (db *Partners) Invitation(ctx context.Context, hash [32]byte) (Invitation, error) {
	i, err := scanInvitation(db.read().Row(ctx, `SELECT `+invitationColumns+` FROM invitation WHERE hash = ?`, hex.EncodeToString(hash[:])))
	return i, db.fail(err, "invitation")
}

// Invitations returns all invitations, newest first.
func (db *Partners) Invitations(ctx context.Context) ([]Invitation, error) {
	is, err := engine.Collect(ctx, db.read(), scanInvitation, `SELECT `+invitationColumns+` FROM invitation ORDER BY made DESC, hash`)
	return is, db.fail(err, "invitations")
}

// Redeem uses up the invitation and, in one transaction, stores p with the invitation's grants as a pending partner invited by this site.
// request is the digest of the enrolment; repeating the same enrolment is not an error and changes nothing, since the first receipt may
// have been lost. It fails with concordat.ErrNotFound for an unknown invitation, with concordat.ErrRefused for one that was used or has
// expired, and like AddPartner.
func (db *Partners) Redeem(ctx context.Context, hash, request [32]byte, p Partner) error {
	err := db.write(ctx, func(c engine.Conn) error {
		i, err := scanInvitation(c.Row(ctx, `SELECT `+invitationColumns+` FROM invitation WHERE hash = ?`, hex.EncodeToString(hash[:])))
		if err != nil {
			return err
		}
		now := db.now()
		switch {
		case !i.Used.IsZero() && i.Request == request && i.Site == p.Site:
			return nil
		case !i.Used.IsZero():
			return fmt.Errorf("%w: the invitation has already been used by %s", concordat.ErrRefused, i.Site)
		case now.After(i.Expires):
			return fmt.Errorf("%w: the invitation expired at %s", concordat.ErrRefused, i.Expires.Format(time.RFC3339))
		}
		p.Invited, p.Grants = true, i.Grants
		if err := insertPartner(ctx, c, p, now); err != nil {
			return err
		}
		_, err = c.Exec(ctx, `UPDATE invitation SET used = ?, site = ?, request = ? WHERE hash = ?`,
			stamp(now), p.Site, hex.EncodeToString(request[:]), hex.EncodeToString(hash[:]))
		return err
	})
	return db.fail(err, "redeem invitation")
}

// OpenInvitations counts the invitations that can still be redeemed.
func (db *Partners) OpenInvitations(ctx context.Context) (int, error) {
	var n int
	err := db.read().Row(ctx, `SELECT count(*) FROM invitation WHERE used = 0 AND expires >= ?`, stamp(db.now())).Scan(&n)
	return n, db.fail(err, "count open invitations")
}
