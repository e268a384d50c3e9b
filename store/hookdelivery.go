package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"concordat"
	"concordat/store/engine"
)

// DeliveryState is the state of a delivery.
type DeliveryState string

// The states of a delivery.
const (
	DeliveryPending   DeliveryState = "pending"   // to be attempted at Due
	DeliveryDelivered DeliveryState = "delivered" // the receiver answered with 2xx
	DeliveryDead      DeliveryState = "dead"      // given up; can be replayed
)

// Delivery is one event to be delivered to one webhook.
type Delivery struct {
	Seq      int64 // from 1, ascending
	Hook     HookID
	Event    string // event id, the same for all attempts and webhooks
	Kind     EventKind
	State    DeliveryState
	Made     time.Time
	Attempts int       // number of attempts so far
	Round    int       // attempts since it was created or last replayed
	Due      time.Time // time of the next attempt
	Until    time.Time // time after which no attempt is made
	Ended    time.Time // zero if it is still open
	Status   int       // HTTP status of the latest answer; 0 if none
	Cause    string    // cause of the latest failure
	Body     []byte    // body that is signed and sent
}

// Attempt is one attempt at a delivery.
type Attempt struct {
	N      int
	At     time.Time
	Took   time.Duration
	Status int // 0 if there was no answer
	Cause  string
}

const deliveryColumns = `d.seq, d.hook, d.event, e.kind, d.state, d.made, d.attempts, d.round, d.due, d.until, d.ended, d.status, d.cause, e.body`

const deliveryTables = ` FROM hook_delivery d JOIN hook_event e ON e.id = d.event `

func scanDelivery(s engine.Scanner) (Delivery, error) {
	var d Delivery
	var made, due, until, ended int64
	var body string
	err := s.Scan(&d.Seq, &d.Hook, &d.Event, &d.Kind, &d.State, &made, &d.Attempts, &d.Round, &due, &until, &ended, &d.Status, &d.Cause, &body)
	d.Made, d.Due, d.Until, d.Ended, d.Body = instant(made), instant(due), instant(until), instant(ended), []byte(body)
	return d, err
}

// ClaimDelivery claims, until the lease ends, the delivery that has been due longest, and returns it with its webhook. It skips the
// webhooks in busy. If nothing is due, it fails with concordat.ErrNotFound. It also marks expired deliveries as dead.
func (db *Webhooks) ClaimDelivery(ctx context.Context, lease time.Duration, busy ...HookID) (Delivery, Hook, error) {
	now := stamp(db.now())
	var d Delivery
	var h Hook
	none := false
	err := db.write(ctx, func(c engine.Conn) error {
		_, err := c.Exec(ctx, `UPDATE hook_delivery SET state = ?, ended = ?, cause = CASE WHEN cause = '' THEN 'its time was over' ELSE cause END
			WHERE state = ? AND until <= ? AND lease_until <= ?`, DeliveryDead, now, DeliveryPending, now, now)
		if err != nil {
			return err
		}
		args := []any{stamp(db.now().Add(lease)), DeliveryPending, now, now}
		not := ""
		for _, id := range busy {
			not += ` AND hook <> ?`
			args = append(args, id)
		}
		var seq int64
		err = c.Row(ctx, `UPDATE hook_delivery SET lease_until = ?, attempts = attempts + 1, round = round + 1 WHERE seq =
			(SELECT seq FROM hook_delivery WHERE state = ? AND due <= ? AND lease_until <= ? AND hook IN `+activeHooks+not+`
			ORDER BY due, seq LIMIT 1) RETURNING seq`, args...).Scan(&seq)
		if errors.Is(err, sql.ErrNoRows) {
			none = true // dead ones remain dead
			return nil
		}
		if err != nil {
			return err
		}
		if d, err = scanDelivery(c.Row(ctx, `SELECT `+deliveryColumns+deliveryTables+`WHERE d.seq = ?`, seq)); err != nil {
			return err
		}
		h, err = db.scanHook(c.Row(ctx, `SELECT `+hookColumns+` FROM hook h WHERE h.id = ?`, d.Hook))
		return err
	})
	if err == nil && none {
		err = concordat.ErrNotFound
	}
	return d, h, db.fail(err, "claim a delivery")
}

// EndAttempt records the outcome of an attempt at a claimed delivery: the new state and, for DeliveryPending, when it is due again. It
// fails with ErrLease if another worker has started the next attempt, and with concordat.ErrNotFound if the delivery is gone.
func (db *Webhooks) EndAttempt(ctx context.Context, d Delivery, a Attempt, state DeliveryState, due time.Time) error {
	ended := int64(0)
	switch state {
	case DeliveryPending:
	case DeliveryDelivered, DeliveryDead:
		ended, due = stamp(db.now()), d.Due
	default:
		return db.fail(fmt.Errorf("%w: unknown state %q", concordat.ErrInvalid, state), "delivery %d", d.Seq)
	}
	err := db.write(ctx, func(c engine.Conn) error {
		n, err := c.Exec(ctx, `UPDATE hook_delivery SET state = ?, due = ?, ended = ?, lease_until = 0, status = ?, cause = ?
			WHERE seq = ? AND state = ? AND attempts = ?`, state, stamp(due), ended, a.Status, cleanText(a.Cause), d.Seq, DeliveryPending, d.Attempts)
		if err != nil {
			return err
		}
		if n == 0 {
			var seq int64
			if err := c.Row(ctx, `SELECT seq FROM hook_delivery WHERE seq = ?`, d.Seq).Scan(&seq); err != nil {
				return err
			}
			return ErrLease
		}
		_, err = c.Exec(ctx, `INSERT INTO hook_attempt (delivery, n, at, took, status, cause) VALUES (?, ?, ?, ?, ?, ?)`,
			d.Seq, d.Attempts, stamp(a.At), a.Took.Microseconds(), a.Status, cleanText(a.Cause))
		return err
	})
	return db.fail(err, "delivery %d", d.Seq)
}

// Delivery returns a delivery with its attempts, oldest first, or concordat.ErrNotFound.
func (db *Webhooks) Delivery(ctx context.Context, hook HookID, seq int64) (Delivery, []Attempt, error) {
	d, err := scanDelivery(db.read().Row(ctx, `SELECT `+deliveryColumns+deliveryTables+`WHERE d.seq = ? AND d.hook = ?`, seq, hook))
	if err != nil {
		return d, nil, db.fail(err, "delivery %d", seq)
	}
	as, err := engine.Collect(ctx, db.read(), func(s engine.Scanner) (Attempt, error) {
		var a Attempt
		var at, took int64
		err := s.Scan(&a.N, &at, &took, &a.Status, &a.Cause)
		a.At, a.Took = instant(at), time.Duration(took)*time.Microsecond
		return a, err
	}, `SELECT n, at, took, status, cause FROM hook_attempt WHERE delivery = ? ORDER BY n`, seq)
	return d, as, db.fail(err, "delivery %d", seq)
}

// Deliveries returns deliveries of a webhook, newest first, starting before the one with Seq before (0 for the newest). A nonempty state
// selects only deliveries in that state. It returns at most limit deliveries, or MaxPage if limit is 0 or exceeds it.
func (db *Webhooks) Deliveries(ctx context.Context, hook HookID, state DeliveryState, before int64, limit int) ([]Delivery, error) {
	if before <= 0 {
		before = 1<<63 - 1
	}
	ds, err := engine.Collect(ctx, db.read(), scanDelivery, `SELECT `+deliveryColumns+deliveryTables+`
		WHERE d.hook = ? AND (? = '' OR d.state = ?) AND d.seq < ? ORDER BY d.seq DESC LIMIT ?`, hook, state, state, before, page(limit))
	return ds, db.fail(err, "list the deliveries of webhook %s", hook)
}

// Replay selects deliveries to be sent again.
type Replay struct {
	Seq   int64         // a single delivery; 0 for all that match the other fields
	State DeliveryState // DeliveryDead or DeliveryDelivered; empty for both
	From  time.Time     // created at or after; zero for no limit
	To    time.Time     // created before; zero for no limit
}

// ReplayDeliveries makes ended deliveries of a webhook due now, for another HookTime and under their old event ids, and returns their
// number; at most maxWaiting can wait. A pending delivery becomes due now.
func (db *Webhooks) ReplayDeliveries(ctx context.Context, hook HookID, r Replay) (n int64, err error) {
	now := db.now()
	to := int64(1<<63 - 1)
	if !r.To.IsZero() {
		to = stamp(r.To)
	}
	err = db.write(ctx, func(c engine.Conn) error {
		set := `UPDATE hook_delivery SET state = ?, due = ?, until = ?, ended = 0, round = 0 WHERE `
		args := []any{DeliveryPending, stamp(now), stamp(now.Add(HookTime))}
		var err error
		if r.Seq != 0 {
			n, err = c.Exec(ctx, set+`seq = ? AND hook = ? AND lease_until <= ?`, append(args, r.Seq, hook, stamp(now))...)
			return oneOf(n, err)
		}
		var waiting int
		if err := c.Row(ctx, `SELECT count(*) FROM hook_delivery WHERE hook = ? AND state = ?`, hook,
			DeliveryPending).Scan(&waiting); err != nil {
			return err
		}
		n, err = c.Exec(ctx, set+`seq IN (SELECT seq FROM hook_delivery WHERE hook = ? AND state <> ? AND (? = '' OR state = ?)
			AND made >= ? AND made < ? ORDER BY seq LIMIT ?)`,
			append(args, hook, DeliveryPending, r.State, r.State, stamp(r.From), to, max(0, maxWaiting-waiting))...)
		return err
	})
	return n, db.fail(err, "replay the deliveries of webhook %s", hook)
}

// ForgetDeliveries deletes ended deliveries that were created before the given time or are not among the newest keep of their webhook,
// and events without deliveries. It returns the number of deliveries deleted.
func (db *Webhooks) ForgetDeliveries(ctx context.Context, before time.Time, keep int) (n int64, err error) {
	err = db.write(ctx, func(c engine.Conn) error {
		if n, err = c.Exec(ctx, `DELETE FROM hook_delivery WHERE state <> ? AND made < ?`, DeliveryPending, stamp(before)); err != nil {
			return err
		}
		ids, err := engine.Collect(ctx, c, func(s engine.Scanner) (id HookID, err error) { return id, s.Scan(&id) }, `SELECT id FROM hook`)
		if err != nil {
			return err
		}
		for _, id := range ids {
			more, err := c.Exec(ctx, `DELETE FROM hook_delivery WHERE hook = ? AND state <> ? AND seq <=
				(SELECT seq FROM hook_delivery WHERE hook = ? AND state <> ? ORDER BY seq DESC LIMIT 1 OFFSET ?)`, id, DeliveryPending, id, DeliveryPending, keep)
			if err != nil {
				return err
			}
			n += more
		}
		_, err = c.Exec(ctx, `DELETE FROM hook_event WHERE NOT EXISTS (SELECT 1 FROM hook_delivery d WHERE d.event = hook_event.id)`)
		return err
	})
	return n, db.fail(err, "delete old deliveries")
}

// DeliveryCounts returns the number of deliveries in each state; it can omit states without deliveries.
func (db *Webhooks) DeliveryCounts(ctx context.Context) (map[DeliveryState]int, error) {
	out := map[DeliveryState]int{}
	_, err := engine.Collect(ctx, db.read(), func(s engine.Scanner) (struct{}, error) {
		var state DeliveryState
		var n int
		err := s.Scan(&state, &n)
		out[state] = n
		return struct{}{}, err
	}, `SELECT state, COUNT(*) FROM hook_delivery GROUP BY state`)
	return out, db.fail(err, "count deliveries")
}
