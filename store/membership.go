package store

import (
	"context"
	"database/sql"
	"time"

	"concordat"
	"concordat/store/engine"
)

// Membership is a federation that the site belongs to. Its secrets are in the keystore.
type Membership struct {
	Federation concordat.FederationID `json:"federation"`
	Leader     concordat.SiteID       `json:"leader"` // site that distributes the secrets
	Joined     time.Time              `json:"joined"` // set by the store
	Members    []Member               `json:"members"`
}

// Member is a site in a federation, including this one.
type Member struct {
	Site    concordat.SiteID `json:"site"`
	Since   time.Time        `json:"since"`
	Removed time.Time        `json:"removed,omitzero"`
}

// Join stores a federation and its members. Sites missing from members count as removed from then on.
func (db *Partners) Join(ctx context.Context, f concordat.FederationID, leader concordat.SiteID, members ...concordat.SiteID) error {
	err := checkName("federation", f)
	if err == nil {
		err = db.write(ctx, func(c engine.Conn) error { return putMembership(ctx, c, f, leader, members, stamp(db.now())) })
	}
	return db.fail(err, "join federation %s", f)
}

func putMembership(ctx context.Context, c engine.Conn, f concordat.FederationID, leader concordat.SiteID, members []concordat.SiteID,
	now int64) error {
	if _, err := c.Exec(ctx, `INSERT INTO federation (name, leader, joined) VALUES (?, ?, ?)
		ON CONFLICT (name) DO UPDATE SET leader = excluded.leader`, f, leader, now); err != nil {
		return err
	}
	in := map[concordat.SiteID]bool{}
	for _, m := range members {
		if err := checkName("site", m); err != nil {
			return err
		}
		in[m] = true
		if _, err := c.Exec(ctx, `INSERT INTO federation_member (federation, site, since, removed) VALUES (?, ?, ?, 0)
			ON CONFLICT (federation, site) DO UPDATE SET since = CASE federation_member.removed WHEN 0 THEN federation_member.since ELSE excluded.since END, removed = 0`, f, m, now); err != nil {
			return err
		}
	}
	held, err := membersOf(ctx, c, f)
	if err != nil {
		return err
	}
	for _, m := range held {
		if in[m.Site] || !m.Removed.IsZero() {
			continue
		}
		if _, err := c.Exec(ctx, `UPDATE federation_member SET removed = ? WHERE federation = ? AND site = ?`, now, f, m.Site); err != nil {
			return err
		}
	}
	return nil
}

func membersOf(ctx context.Context, c engine.Conn, f concordat.FederationID) ([]Member, error) {
	return engine.Collect(ctx, c, func(s engine.Scanner) (Member, error) {
		var m Member
		var since, removed int64
		err := s.Scan(&m.Site, &since, &removed)
		m.Since, m.Removed = instant(since), instant(removed)
		return m, err
	}, `SELECT site, since, removed FROM federation_member WHERE federation = ? ORDER BY site`, f)
}

// Memberships returns the federations that the site belongs to, ordered by name.
func (db *Partners) Memberships(ctx context.Context) ([]Membership, error) {
	ms, err := engine.Collect(ctx, db.read(), func(s engine.Scanner) (Membership, error) {
		var m Membership
		var joined int64
		err := s.Scan(&m.Federation, &m.Leader, &joined)
		m.Joined = instant(joined)
		return m, err
	}, `SELECT name, leader, joined FROM federation ORDER BY name`)
	for i := range ms {
		if err == nil {
			ms[i].Members, err = membersOf(ctx, db.read(), ms[i].Federation)
		}
	}
	return ms, db.fail(err, "federations")
}

// Leave deletes a federation. If the site does not belong to it, it fails with concordat.ErrNotFound.
func (db *Partners) Leave(ctx context.Context, f concordat.FederationID) error {
	err := db.write(ctx, func(c engine.Conn) error {
		n, err := c.Exec(ctx, `DELETE FROM federation WHERE name = ?`, f)
		if err == nil && n == 0 {
			err = sql.ErrNoRows
		}
		return err
	})
	return db.fail(err, "leave federation %s", f)
}
