package store

import (
	"context"
	"encoding/hex"
	"fmt"
	"time"

	"concordat"
	"concordat/store/engine"
)

// SpendSlot is the granularity in time of amounts spent. An amount counts until its slot has entirely left the window, that is, for up to
// one slot longer than the window and never for less than the window.
const SpendSlot = 10 * time.Minute

// Spending is one charge against limits. Charges with the same Partner, Library, Kind and Document add up.
type Spending struct {
	Partner  concordat.SiteID
	Library  concordat.LibraryID
	Kind     string               // kind of the amount
	Document concordat.DocumentID // empty if the amount concerns the whole library
	Amount   int                  // amount spent, 0 or more
	Windows  []Window
}

// Window limits the amount spent within a period that ends now.
type Window struct {
	Within time.Duration
	Most   int // limit; negative for none
}

// Overspent is the error from Spend if a limit would be exceeded. It wraps concordat.ErrRefused.
type Overspent struct {
	Kind string
	Left int // remaining amount
	// Retry is when the amount will fit, if nothing else is spent; zero for never.
	Retry time.Time
}

func (o *Overspent) Error() string {
	return fmt.Sprintf("limit for %s exceeded: only %d left", o.Kind, o.Left)
}

func (o *Overspent) Unwrap() error { return concordat.ErrRefused }

// Spend applies all of the charges or, if one does not fit, none, and fails with an *Overspent for the first such charge. For each, it
// returns the smallest amount left in a limited window, or a negative number if no window is limited. Together, concurrent calls never
// exceed a limit. An Amount of 0 only asks whether anything is left.
func (db *Answers) Spend(ctx context.Context, xs ...Spending) ([]int, error) {
	left := make([]int, len(xs))
	now := db.now()
	err := db.write(ctx, func(c engine.Conn) error {
		for i, x := range xs {
			if x.Amount < 0 {
				return fmt.Errorf("%w: the amount must not be negative, but is %d", concordat.ErrInvalid, x.Amount)
			}
			var err error
			if left[i], err = spend(ctx, c, now, x); err != nil {
				return err
			}
		}
		return nil
	})
	return left, db.fail(err, "spend")
}

func spend(ctx context.Context, c engine.Conn, now time.Time, x Spending) (int, error) {
	least := -1
	for _, w := range x.Windows {
		if w.Most < 0 {
			continue
		}
		left, err := leftOf(ctx, c, now, x, w)
		if err != nil {
			return 0, err
		}
		if left = max(0, left); left < x.Amount { // a lowered limit can already be exceeded
			retry, err := retryAt(ctx, c, now, x, w)
			if err != nil {
				return 0, err
			}
			return 0, &Overspent{Kind: x.Kind, Left: left, Retry: retry}
		}
		if left -= x.Amount; least < 0 || left < least {
			least = left
		}
	}
	if x.Amount == 0 {
		return least, nil
	}
	_, err := c.Exec(ctx, `INSERT INTO spent (partner, library, kind, document, slot, amount) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (partner, library, kind, document, slot) DO UPDATE SET amount = spent.amount + excluded.amount`,
		x.Partner, x.Library, x.Kind, x.Document, stamp(now.Truncate(SpendSlot)), x.Amount)
	return least, err
}

func leftOf(ctx context.Context, c engine.Conn, now time.Time, x Spending, w Window) (int, error) {
	spent := 0
	err := c.Row(ctx, `SELECT COALESCE(sum(amount), 0) FROM spent
		WHERE partner = ? AND library = ? AND kind = ? AND document = ? AND slot > ?`,
		x.Partner, x.Library, x.Kind, x.Document, stamp(now.Add(-w.Within-SpendSlot))).Scan(&spent)
	return w.Most - spent, err
}

// retryAt returns when enough of the amount spent will have left the window.
func retryAt(ctx context.Context, c engine.Conn, now time.Time, x Spending, w Window) (time.Time, error) {
	if x.Amount > w.Most {
		return time.Time{}, nil
	}
	type slot struct {
		at     time.Time
		amount int
	}
	slots, err := engine.Collect(ctx, c, func(s engine.Scanner) (slot, error) {
		var at int64
		var x slot
		err := s.Scan(&at, &x.amount)
		x.at = instant(at)
		return x, err
	}, `SELECT slot, amount FROM spent WHERE partner = ? AND library = ? AND kind = ? AND document = ? AND slot > ? ORDER BY slot`,
		x.Partner, x.Library, x.Kind, x.Document, stamp(now.Add(-w.Within-SpendSlot)))
	spent := 0
	for _, s := range slots {
		spent += s.amount
	}
	for _, s := range slots {
		if spent -= s.amount; spent+x.Amount <= w.Most {
			return s.at.Add(w.Within + SpendSlot), err
		}
	}
	return time.Time{}, err
}

// ForgetSpent deletes what was spent before the given time.
func (db *Answers) ForgetSpent(ctx context.Context, before time.Time) error {
	err := db.write(ctx, func(c engine.Conn) error {
		_, err := c.Exec(ctx, `DELETE FROM spent WHERE slot < ?`, stamp(before.Add(-SpendSlot)))
		return err
	})
	return db.fail(err, "delete old limit records")
}

// TakeMessage reports whether a partner's message is new. The message is remembered until the given time.
func (db *Answers) TakeMessage(ctx context.Context, partner concordat.SiteID, message []byte, until time.Time) (bool, error) {
	first := false
	err := checkName("partner", partner)
	if err == nil {
		err = db.write(ctx, func(c engine.Conn) error {
			if _, err := c.Exec(ctx, `DELETE FROM taken WHERE until < ?`, stamp(db.now())); err != nil {
				return err
			}
			n, err := c.Exec(ctx, `INSERT INTO taken (partner, message, until) VALUES (?, ?, ?) ON CONFLICT (partner, message) DO NOTHING`,
				partner, hex.EncodeToString(message), stamp(until))
			first = n > 0
			return err
		})
	}
	return first, db.fail(err, "record a message from %s", partner)
}
