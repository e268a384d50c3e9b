package store

import (
	"context"
	"fmt"
	"time"

	"concordat"
	"concordat/store/engine"
)

// Charge is an amount charged against a limit.
type Charge struct {
	Who    string // for example account/ada or address/2001:db8::/64
	Kind   string // kind of the amount
	Amount int64  // amount spent, 0 or more
	Most   int64  // limit on the total within the last Within; negative for no limit
	Within time.Duration
}

// QuotaUsed is the error from Charge if a limit would be exceeded. It wraps concordat.ErrRefused.
type QuotaUsed struct {
	Charge
	Left int64
	// Retry is when the amount will fit if nothing else is spent; zero if never, because the amount exceeds the limit.
	Retry time.Time
}

func (q *QuotaUsed) Error() string {
	return fmt.Sprintf("quota for %s exceeded: only %d of %d left", q.Kind, q.Left, q.Most)
}

// QuotaTime is the display format for the time when an amount fits again.
const QuotaTime = "2006-01-02 15:04 UTC"

// Cause returns the error as the cause of a task.
func (q *QuotaUsed) Cause() Cause {
	c := Cause{Code: CauseQuota, Numbers: []int{int(q.Amount), int(q.Left), int(q.Most), 0}, Detail: q.Kind}
	if !q.Retry.IsZero() {
		c.Numbers[3] = int(q.Retry.Unix())
	}
	return c
}

func (q *QuotaUsed) Unwrap() error { return concordat.ErrRefused }

// Charge applies all of the charges or, if one does not fit, none, and fails with a *QuotaUsed for the first such charge. Together,
// concurrent calls never exceed a limit. An amount counts until its entire SpendSlot is older than Within. An Amount of 0 only asks
// whether anything is left.
func (db *People) Charge(ctx context.Context, xs ...Charge) error {
	err := db.write(ctx, func(c engine.Conn) error {
		for _, x := range xs {
			if x.Amount < 0 {
				return fmt.Errorf("%w: the amount must not be negative, but is %d", concordat.ErrInvalid, x.Amount)
			}
			if err := charge(ctx, c, db.now(), x); err != nil {
				return err
			}
		}
		return nil
	})
	return db.fail(err, "charge")
}

func charge(ctx context.Context, c engine.Conn, now time.Time, x Charge) error {
	if x.Most >= 0 {
		type slot struct{ at, amount int64 }
		slots, err := engine.Collect(ctx, c, func(s engine.Scanner) (slot, error) {
			var one slot
			return one, s.Scan(&one.at, &one.amount)
		}, `SELECT slot, amount FROM quota WHERE who = ? AND kind = ? AND slot > ? ORDER BY slot`, x.Who, x.Kind,
			stamp(now.Add(-x.Within-SpendSlot)))
		if err != nil {
			return err
		}
		var spent int64
		for _, s := range slots {
			spent += s.amount
		}
		if left := max(0, x.Most-spent); left < x.Amount || left == 0 && x.Amount == 0 {
			q := &QuotaUsed{Charge: x, Left: left}
			for _, s := range slots {
				if spent -= s.amount; spent+max(1, x.Amount) <= x.Most {
					q.Retry = instant(s.at).Add(x.Within + SpendSlot)
					break
				}
			}
			return q
		}
	}
	if x.Amount == 0 {
		return nil
	}
	_, err := c.Exec(ctx, `INSERT INTO quota (who, kind, slot, amount) VALUES (?, ?, ?, ?)
		ON CONFLICT (who, kind, slot) DO UPDATE SET amount = quota.amount + excluded.amount`, x.Who, x.Kind, stamp(now.Truncate(SpendSlot)), x.Amount)
	return err
}

// ForgetQuota deletes what was spent before the given time.
func (db *People) ForgetQuota(ctx context.Context, before time.Time) error {
	err := db.write(ctx, func(c engine.Conn) error {
		_, err := c.Exec(ctx, `DELETE FROM quota WHERE slot < ?`, stamp(before.Add(-SpendSlot)))
		return err
	})
	return db.fail(err, "delete old quota records")
}
