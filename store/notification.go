package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"concordat"
	"concordat/store/engine"
)

// Notifications contains the inbox of the site and the answers to senders.
type Notifications struct{ base }

// NotificationState is the progress of a notification.
type NotificationState string

// The states of a notification.
const (
	NotificationFetching  NotificationState = "fetching"  // the text to check is not yet fetched
	NotificationChecking  NotificationState = "checking"  // its check has not ended yet
	NotificationDone      NotificationState = "done"      // the sender is sent the address of the check
	NotificationFailed    NotificationState = "failed"    // given up; see Cause
	NotificationWithdrawn NotificationState = "withdrawn" // the sender withdrew it
	NotificationNoted     NotificationState = "noted"     // no action needed
	NotificationRefused   NotificationState = "refused"   // the site cannot act on it; see Cause
)

// NotificationStates lists all states.
var NotificationStates = []NotificationState{NotificationFetching, NotificationChecking, NotificationDone, NotificationFailed,
	NotificationWithdrawn, NotificationNoted, NotificationRefused}

// MaxNotifications is the maximum number of an account's notifications that wait for a check to end.
const MaxNotifications = 1000

// AnswersKept is how long an answer is retried.
const AnswersKept = 3 * 24 * time.Hour

// Notification is a message from another program in the inbox.
type Notification struct {
	Seq      int64 // from 1, ascending
	ID       string
	Account  string // account that the sender's token acts for
	Activity string // the sender's name for it, unique within the account
	Kind     string // types, as stated by the sender
	Origin   string // address of the sender
	Inbox    string // address for answers
	Object   string // address of its subject
	Body     []byte // JSON as received
	State    NotificationState
	Task     concordat.TaskID
	Cause    string
	Attempts int       // failed attempts in this state
	Due      time.Time // when it is next processed
	Made     time.Time
}

// NotificationAnswer is a notification sent in answer to another one.
type NotificationAnswer struct {
	Seq          int64
	ID           string // id of the activity
	Notification string // notification that it answers
	Kind         string
	Body         []byte // JSON as sent
	State        DeliveryState
	Attempts     int
	Due          time.Time // time of the next attempt
	Until        time.Time // time after which no attempt is made
	Status       int       // HTTP status of the latest answer; 0 if none
	Cause        string    // cause of the latest failure, or the receiver's objection
	Made         time.Time
	Ended        time.Time // zero if it has not ended
}

const (
	notificationColumns = `n.seq, n.id, n.account, n.activity, n.kind, n.origin, n.inbox, n.object, n.body, n.state, n.task, n.cause,
		n.attempts, n.due, n.made`
	replyColumns = `r.seq, r.id, r.notification, r.kind, r.body, r.state, r.attempts, r.due, r.until, r.status, r.cause, r.made, r.ended`
	// ableAccounts selects the accounts that are allowed to act.
	ableAccounts = `(SELECT name FROM account WHERE disabled = 0)`
)

func scanNotification(s engine.Scanner) (Notification, error) {
	var n Notification
	var body string
	var due, made int64
	err := s.Scan(&n.Seq, &n.ID, &n.Account, &n.Activity, &n.Kind, &n.Origin, &n.Inbox, &n.Object, &body, &n.State, &n.Task, &n.Cause,
		&n.Attempts, &due, &made)
	n.Body, n.Due, n.Made = []byte(body), instant(due), instant(made)
	return n, err
}

func scanReply(s engine.Scanner) (NotificationAnswer, error) {
	var r NotificationAnswer
	var body string
	var due, until, made, ended int64
	err := s.Scan(&r.Seq, &r.ID, &r.Notification, &r.Kind, &body, &r.State, &r.Attempts, &due, &until, &r.Status, &r.Cause, &made, &ended)
	r.Body, r.Due, r.Until, r.Made, r.Ended = []byte(body), instant(due), instant(until), instant(made), instant(ended)
	return r, err
}

// TakeNotification stores a notification with its answers, and reports whether it is new. If the account already has one with that
// Activity, it returns the stored one and changes nothing. If the account already has MaxNotifications, it fails with
// concordat.ErrChanged.
func (db *Notifications) TakeNotification(ctx context.Context, n Notification, answers ...NotificationAnswer) (kept Notification,
	fresh bool, err error) {
	if err = errors.Join(checkName("notification", n.ID), checkName("activity", n.Activity), checkName("account", n.Account)); err == nil {
		err = db.write(ctx, func(c engine.Conn) error {
			kept, err = scanNotification(c.Row(ctx, `SELECT `+notificationColumns+` FROM notification n WHERE n.account = ? AND n.activity = ?`,
				n.Account, n.Activity))
			if fresh = errors.Is(err, sql.ErrNoRows); !fresh {
				return err
			}
			var open int
			if err := c.Row(ctx, `SELECT count(*) FROM notification WHERE account = ? AND state IN (?, ?)`, n.Account, NotificationFetching,
				NotificationChecking).Scan(&open); err != nil {
				return err
			}
			if open >= MaxNotifications {
				return full(fmt.Sprintf("an account can have at most %d requests at a time", MaxNotifications))
			}
			_, err := c.Exec(ctx, `INSERT INTO notification (id, account, activity, kind, origin, inbox, object, body, state, task, cause, attempts,
				due, made) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, '', ?, 0, ?, ?)`, n.ID, n.Account, n.Activity, cleanText(n.Kind), cleanText(n.Origin),
				cleanText(n.Inbox), cleanText(n.Object), jsonText(n.Body), n.State, cleanText(n.Cause), stamp(n.Due), stamp(n.Made))
			if err != nil {
				return err
			}
			if err := putReplies(ctx, c, n.ID, answers); err != nil {
				return err
			}
			kept, err = scanNotification(c.Row(ctx, `SELECT `+notificationColumns+` FROM notification n WHERE n.id = ?`, n.ID))
			return err
		})
	}
	return kept, fresh && err == nil, db.fail(err, "take notification %s", n.Activity)
}

func putReplies(ctx context.Context, c engine.Conn, id string, answers []NotificationAnswer) error {
	for _, r := range answers {
		_, err := c.Exec(ctx, `INSERT INTO notification_answer (id, notification, kind, body, state, attempts, due, until, status, cause, made,
			ended) VALUES (?, ?, ?, ?, ?, 0, ?, ?, 0, '', ?, 0)`, r.ID, id, r.Kind, jsonText(r.Body), DeliveryPending, stamp(r.Due),
			stamp(r.Until), stamp(r.Made))
		if err != nil {
			return err
		}
	}
	return nil
}

// Notification returns a notification, or concordat.ErrNotFound.
func (db *Notifications) Notification(ctx context.Context, id string) (Notification, error) {
	n, err := scanNotification(db.read().Row(ctx, `SELECT `+notificationColumns+` FROM notification n WHERE n.id = ?`, id))
	return n, db.fail(err, "notification %s", id)
}

// NotificationOf returns an account's notification with the given sender's name, or concordat.ErrNotFound.
func (db *Notifications) NotificationOf(ctx context.Context, account, activity string) (Notification, error) {
	n, err := scanNotification(db.read().Row(ctx, `SELECT `+notificationColumns+` FROM notification n WHERE n.account = ? AND n.activity = ?`,
		account, activity))
	return n, db.fail(err, "notification %s", activity)
}

// ListNotifications returns notifications, newest first, starting before the one with Seq before (0 for the newest). A nonempty account
// selects only that account's notifications. It returns at most limit notifications, or MaxPage if limit is 0 or exceeds it.
func (db *Notifications) ListNotifications(ctx context.Context, account string, before int64, limit int) ([]Notification, error) {
	ns, err := engine.Collect(ctx, db.read(), scanNotification, `SELECT `+notificationColumns+` FROM notification n
		WHERE (? = '' OR n.account = ?) AND (? = 0 OR n.seq < ?) ORDER BY n.seq DESC LIMIT ?`, account, account, before, before, page(limit))
	return ns, db.fail(err, "list notifications")
}

// NotificationAnswers returns the answers to a notification, oldest first.
func (db *Notifications) NotificationAnswers(ctx context.Context, id string) ([]NotificationAnswer, error) {
	rs, err := engine.Collect(ctx, db.read(), scanReply, `SELECT `+replyColumns+` FROM notification_answer r WHERE r.notification = ?
		ORDER BY r.seq`, id)
	return rs, db.fail(err, "list the answers to notification %s", id)
}

// ClaimNotification claims, until the lease ends, one notification that needs work: its text is not yet fetched, or its check has ended
// or is gone. If there is none, it fails with concordat.ErrNotFound. Notifications of disabled accounts wait.
func (db *Notifications) ClaimNotification(ctx context.Context, lease time.Duration) (Notification, error) {
	now := db.now()
	var n Notification
	none := false
	err := db.write(ctx, func(c engine.Conn) error {
		var seq int64
		err := c.Row(ctx, `UPDATE notification SET due = ? WHERE seq = (
			SELECT n.seq FROM notification n WHERE n.due <= ? AND n.account IN `+ableAccounts+` AND (n.state = ? OR n.state = ? AND NOT EXISTS
				(SELECT 1 FROM task t WHERE t.id = n.task AND t.state IN (?, ?)))
			ORDER BY n.due, n.seq LIMIT 1) RETURNING seq`, stamp(now.Add(lease)), stamp(now), NotificationFetching,
			NotificationChecking, concordat.TaskQueued, concordat.TaskRunning).Scan(&seq)
		if errors.Is(err, sql.ErrNoRows) {
			none = true
			return nil
		}
		if err != nil {
			return err
		}
		n, err = scanNotification(c.Row(ctx, `SELECT `+notificationColumns+` FROM notification n WHERE n.seq = ?`, seq))
		return err
	})
	if err == nil && none {
		err = concordat.ErrNotFound
	}
	return n, db.fail(err, "claim a notification")
}

// KeepNotification stores the progress of a notification whose state was was, and adds further answers. If the notification is being
// withdrawn, unsent answers are dropped. If it is gone or in another state, for example already withdrawn, the call fails with
// concordat.ErrNotFound.
func (db *Notifications) KeepNotification(ctx context.Context, was NotificationState, n Notification, answers ...NotificationAnswer) error {
	var err error
	if !slices.Contains(NotificationStates, n.State) {
		err = fmt.Errorf("%w: unknown state %q", concordat.ErrInvalid, n.State)
	} else {
		err = db.write(ctx, func(c engine.Conn) error {
			err := oneOf(c.Exec(ctx, `UPDATE notification SET state = ?, task = ?, cause = ?, attempts = ?, due = ? WHERE id = ? AND state = ?`,
				n.State, n.Task, cleanText(n.Cause), n.Attempts, stamp(n.Due), n.ID, was))
			if err == nil && n.State == NotificationWithdrawn {
				_, err = c.Exec(ctx, `DELETE FROM notification_answer WHERE notification = ? AND state = ?`, n.ID, DeliveryPending)
			}
			if err != nil {
				return err
			}
			return putReplies(ctx, c, n.ID, answers)
		})
	}
	return db.fail(err, "store notification %s", n.ID)
}

// ClaimReply claims, until the lease ends, the answer that has been due longest. It returns the answer with its notification or, if none
// is due, fails with concordat.ErrNotFound. The answers to one notification are claimed one at a time. It also marks expired answers as
// dead.
func (db *Notifications) ClaimReply(ctx context.Context, lease time.Duration) (NotificationAnswer, Notification, error) {
	now := db.now()
	var r NotificationAnswer
	var n Notification
	none := false
	err := db.write(ctx, func(c engine.Conn) error {
		_, err := c.Exec(ctx, `UPDATE notification_answer SET state = ?, ended = ?, cause = CASE WHEN cause = '' THEN 'its time was over' ELSE cause END
			WHERE state = ? AND until <= ? AND due <= ?`, DeliveryDead, stamp(now), DeliveryPending, stamp(now), stamp(now))
		if err != nil {
			return err
		}
		var seq int64
		err = c.Row(ctx, `UPDATE notification_answer SET due = ?, attempts = attempts + 1 WHERE seq = (
			SELECT r.seq FROM notification_answer r WHERE r.state = ? AND r.due <= ? AND NOT EXISTS (SELECT 1 FROM notification_answer o
				WHERE o.notification = r.notification AND o.state = ? AND o.seq < r.seq)
			AND EXISTS (SELECT 1 FROM notification n WHERE n.id = r.notification AND n.account IN `+ableAccounts+`)
			ORDER BY r.due, r.seq LIMIT 1) RETURNING seq`, stamp(now.Add(lease)), DeliveryPending, stamp(now),
			DeliveryPending).Scan(&seq)
		if errors.Is(err, sql.ErrNoRows) {
			none = true // dead ones remain dead
			return nil
		}
		if err != nil {
			return err
		}
		if r, err = scanReply(c.Row(ctx, `SELECT `+replyColumns+` FROM notification_answer r WHERE r.seq = ?`, seq)); err != nil {
			return err
		}
		n, err = scanNotification(c.Row(ctx, `SELECT `+notificationColumns+` FROM notification n WHERE n.id = ?`, r.Notification))
		return err
	})
	if err == nil && none {
		err = concordat.ErrNotFound
	}
	return r, n, db.fail(err, "claim an answer")
}

// KeepReply records the outcome of an attempt at a claimed answer: its State, Due, Status and Cause. If the answer is gone, or another
// worker has started the next attempt, it fails with concordat.ErrNotFound.
func (db *Notifications) KeepReply(ctx context.Context, r NotificationAnswer) error {
	err := db.write(ctx, func(c engine.Conn) error {
		return oneOf(c.Exec(ctx, `UPDATE notification_answer SET state = ?, due = ?, status = ?, cause = ?, ended = ? WHERE id = ? AND attempts = ?
			AND state = ?`, r.State, stamp(r.Due), r.Status, cleanText(r.Cause), stamp(r.Ended), r.ID, r.Attempts, DeliveryPending))
	})
	return db.fail(err, "answer %s", r.ID)
}

// ObjectReply records the receiver's objection to an account's answer; if the answer does not exist, that is not an error.
func (db *Notifications) ObjectReply(ctx context.Context, account, id, cause string) error {
	err := db.write(ctx, func(c engine.Conn) error {
		_, err := c.Exec(ctx, `UPDATE notification_answer SET cause = ? WHERE id = ? AND notification IN
			(SELECT id FROM notification WHERE account = ?)`, cleanText(cause), id, account)
		return err
	})
	return db.fail(err, "answer %s", id)
}

// ReplayReplies makes the dead answers to a notification pending again, until the given time, and returns their number.
func (db *Notifications) ReplayReplies(ctx context.Context, id string, until time.Time) (n int64, err error) {
	err = db.write(ctx, func(c engine.Conn) error {
		n, err = c.Exec(ctx, `UPDATE notification_answer SET state = ?, due = ?, until = ?, ended = 0 WHERE notification = ? AND state = ?`,
			DeliveryPending, stamp(db.now()), stamp(until), id, DeliveryDead)
		return err
	})
	return n, db.fail(err, "replay the answers to notification %s", id)
}

// ForgetNotifications deletes notifications received before the given time, with their answers, and returns their number. It deletes
// notifications that have ended and whose answers have all ended, and all notifications of disabled accounts, which would never end.
func (db *Notifications) ForgetNotifications(ctx context.Context, before time.Time) (n int64, err error) {
	err = db.write(ctx, func(c engine.Conn) error {
		n, err = c.Exec(ctx, `DELETE FROM notification WHERE made < ? AND (account NOT IN `+ableAccounts+` OR state NOT IN (?, ?)
			AND NOT EXISTS (SELECT 1 FROM notification_answer r WHERE r.notification = notification.id AND r.state = ?))`, stamp(before),
			NotificationFetching, NotificationChecking, DeliveryPending)
		return err
	})
	return n, db.fail(err, "delete old notifications")
}
