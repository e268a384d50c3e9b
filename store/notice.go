package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"concordat"
	"concordat/store/engine"
)

// Outgoing is a notice to a partner.
type Outgoing struct {
	Seq      int64
	Partner  concordat.SiteID
	Notice   concordat.Notice
	Made     time.Time
	Attempts int
	Next     time.Time // no attempt is made before this time
	Cause    string    // cause of the latest failure
}

// Received is a notice from a partner.
type Received struct {
	Seq     int64
	Partner concordat.SiteID
	Notice  concordat.Notice
	At      time.Time // time of arrival
}

// Queue adds notices for a partner to the outbox.
func (db *Partners) Queue(ctx context.Context, partner concordat.SiteID, ns ...concordat.Notice) error {
	err := checkName("partner", partner)
	if err == nil {
		err = db.write(ctx, func(c engine.Conn) error {
			for _, n := range ns {
				b, err := json.Marshal(n)
				if err != nil {
					return err
				}
				now := stamp(db.now())
				if _, err := c.Exec(ctx, `INSERT INTO outbox (partner, kind, notice, made, attempts, next, cause) VALUES (?, ?, ?, ?, 0, ?, '')`,
					partner, n.Kind, b, now, now); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return db.fail(err, "queue %d notices for partner %s", len(ns), partner)
}

// Outbox returns up to limit due notices, longest waiting first.
func (db *Partners) Outbox(ctx context.Context, limit int) ([]Outgoing, error) {
	out, err := engine.Collect(ctx, db.read(), func(s engine.Scanner) (Outgoing, error) {
		var o Outgoing
		var b []byte
		var made, next int64
		if err := s.Scan(&o.Seq, &o.Partner, &b, &made, &o.Attempts, &next, &o.Cause); err != nil {
			return o, err
		}
		o.Made, o.Next = instant(made), instant(next)
		if err := json.Unmarshal(b, &o.Notice); err != nil {
			return o, fmt.Errorf("%w: cannot decode notice %d: %w", concordat.ErrCorrupt, o.Seq, err)
		}
		return o, nil
	}, `SELECT seq, partner, notice, made, attempts, next, cause FROM outbox WHERE next <= ? ORDER BY next, seq LIMIT ?`, stamp(db.now()),
		page(limit))
	return out, db.fail(err, "outbox")
}

// Delivered removes a notice from the outbox.
func (db *Partners) Delivered(ctx context.Context, seq int64) error {
	err := db.write(ctx, func(c engine.Conn) error {
		_, err := c.Exec(ctx, `DELETE FROM outbox WHERE seq = ?`, seq)
		return err
	})
	return db.fail(err, "mark notice %d as delivered", seq)
}

// Undelivered records a failed attempt and when to try again.
func (db *Partners) Undelivered(ctx context.Context, seq int64, next time.Time, cause string) error {
	err := db.write(ctx, func(c engine.Conn) error {
		_, err := c.Exec(ctx, `UPDATE outbox SET attempts = attempts + 1, next = ?, cause = ? WHERE seq = ?`, stamp(next), cleanText(cause), seq)
		return err
	})
	return db.fail(err, "reschedule notice %d", seq)
}

// MaxReceived is the maximum number of unprocessed notices stored per partner.
const MaxReceived = 1000

// PutReceived stores a notice from a partner. If there are already MaxReceived, it fails with concordat.ErrUnavailable.
func (db *Partners) PutReceived(ctx context.Context, partner concordat.SiteID, n *concordat.Notice) error {
	err := checkName("partner", partner)
	if err == nil {
		err = db.write(ctx, func(c engine.Conn) error {
			var held int
			if err := c.Row(ctx, `SELECT count(*) FROM inbox WHERE partner = ?`, partner).Scan(&held); err != nil {
				return err
			}
			if held >= MaxReceived {
				return fmt.Errorf("%w: %d notices have not been processed yet", concordat.ErrUnavailable, held)
			}
			b, err := json.Marshal(n)
			if err != nil {
				return err
			}
			_, err = c.Exec(ctx, `INSERT INTO inbox (partner, kind, notice, at) VALUES (?, ?, ?, ?)`, partner, n.Kind, b, stamp(db.now()))
			return err
		})
	}
	return db.fail(err, "receive a notice from %s", partner)
}

// DropReceived deletes notices up to and including the given number.
func (db *Partners) DropReceived(ctx context.Context, last int64) error {
	err := db.write(ctx, func(c engine.Conn) error {
		_, err := c.Exec(ctx, `DELETE FROM inbox WHERE seq <= ?`, last)
		return err
	})
	return db.fail(err, "delete processed notices")
}

// Inbox returns up to limit notices from partners after the given number, oldest first.
func (db *Partners) Inbox(ctx context.Context, after int64, limit int) ([]Received, error) {
	in, err := engine.Collect(ctx, db.read(), func(s engine.Scanner) (Received, error) {
		var x Received
		var b []byte
		var at int64
		if err := s.Scan(&x.Seq, &x.Partner, &b, &at); err != nil {
			return x, err
		}
		x.At = instant(at)
		if err := json.Unmarshal(b, &x.Notice); err != nil {
			return x, fmt.Errorf("%w: cannot decode notice %d: %w", concordat.ErrCorrupt, x.Seq, err)
		}
		return x, nil
	}, `SELECT seq, partner, notice, at FROM inbox WHERE seq > ? ORDER BY seq LIMIT ?`, after, page(limit))
	return in, db.fail(err, "inbox")
}

// StandingAsk is a question that also applies to documents added later.
type StandingAsk struct {
	Seq     int64
	Partner concordat.SiteID
	Made    time.Time
	Expires time.Time
	Ask     concordat.Ask
}

// AddStandingAsk stores a question until it expires; a repeated question counts once. If the partner would then have more than most
// standing sentences in the epoch, it fails with concordat.ErrRefused.
func (db *Partners) AddStandingAsk(ctx context.Context, x StandingAsk, most int) error {
	err := checkName("partner", x.Partner)
	if err == nil {
		err = db.write(ctx, func(c engine.Conn) error {
			a := &x.Ask
			b, err := json.Marshal(a)
			if err != nil {
				return err
			}
			sum := sha256.Sum256(b)
			digest := hex.EncodeToString(sum[:])
			var held int
			if err := c.Row(ctx,
				`SELECT COALESCE(sum(sentences), 0) FROM standing_ask WHERE partner = ? AND federation = ? AND number = ? AND digest <> ?`,
				x.Partner, a.Epoch.Federation, a.Epoch.Number, digest).Scan(&held); err != nil {
				return err
			}
			if held+len(a.Sentences) > most {
				return fmt.Errorf("%w: too many sentences: %d are already being watched", concordat.ErrRefused, held)
			}
			_, err = c.Exec(ctx, `INSERT INTO standing_ask (partner, job, digest, federation, number, sentences, made, expires, ask) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
				ON CONFLICT (partner, digest) DO UPDATE SET expires = excluded.expires`,
				x.Partner, hex.EncodeToString(a.Job[:]), digest, a.Epoch.Federation, a.Epoch.Number, len(a.Sentences), stamp(db.now()),
				stamp(x.Expires), b)
			return err
		})
	}
	return db.fail(err, "store a standing question from %s", x.Partner)
}

// StandingAsks returns the questions in an epoch that have not expired, oldest first.
func (db *Partners) StandingAsks(ctx context.Context, e concordat.Epoch) ([]StandingAsk, error) {
	xs, err := engine.Collect(ctx, db.read(), func(s engine.Scanner) (StandingAsk, error) {
		var x StandingAsk
		var b []byte
		var made, expires int64
		if err := s.Scan(&x.Seq, &x.Partner, &made, &expires, &b); err != nil {
			return x, err
		}
		x.Made, x.Expires = instant(made), instant(expires)
		if err := json.Unmarshal(b, &x.Ask); err != nil {
			return x, fmt.Errorf("%w: cannot decode standing question %d: %w", concordat.ErrCorrupt, x.Seq, err)
		}
		return x, nil
	}, `SELECT seq, partner, made, expires, ask FROM standing_ask WHERE federation = ? AND number = ? AND expires > ? ORDER BY seq`,
		e.Federation, e.Number, stamp(db.now()))
	return xs, db.fail(err, "list the standing questions of epoch %s", e)
}

// DropStandingAsks deletes the questions of a partner's job or, for the zero job, all expired ones.
func (db *Partners) DropStandingAsks(ctx context.Context, partner concordat.SiteID, job concordat.JobID) error {
	err := db.write(ctx, func(c engine.Conn) error {
		_, err := c.Exec(ctx, `DELETE FROM standing_ask WHERE (partner = ? AND job = ?) OR expires <= ?`,
			partner, hex.EncodeToString(job[:]), stamp(db.now()))
		return err
	})
	return db.fail(err, "delete standing questions from %s", partner)
}
