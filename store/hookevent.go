package store

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"concordat"
	"concordat/store/engine"
)

// HookTime is how long an event is retried before its delivery is dead.
const HookTime = 72 * time.Hour

// maxWaiting is the maximum number of deliveries waiting for one webhook; further ones are dead immediately.
const maxWaiting = 10_000

// eventBody is the JSON body of a delivery.
type eventBody struct {
	Type      EventKind `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Data      any       `json:"data"`
}

// checkEvent is the data of an event about a check. It contains neither title nor text; the receiver requests them with a token, subject
// to its rights.
type checkEvent struct {
	ID    concordat.TaskID `json:"id"`
	State concordat.State  `json:"state"`
	Owner string           `json:"owner,omitempty"`
	Batch string           `json:"batch,omitempty"`
	// Leads is the number of leads in the report when it was made; nil if there is no report, or leads were not requested.
	Leads *concordat.LeadCount `json:"leads,omitempty"`
}

// batchEvent is the data of an event about a batch.
type batchEvent struct {
	Batch  string `json:"batch"`
	Owner  string `json:"owner,omitempty"`
	Checks int    `json:"checks"`
	Failed int    `json:"failed"`
	// Leads is the number of leads between the documents of a Batch or, for checks submitted together, in their reports when each was
	// made; nil if the Batch failed or leads were not requested.
	Leads *concordat.LeadCount `json:"leads,omitempty"`
}

// disclosureEvent is the data of an event about a request for passages.
type disclosureEvent struct {
	ID      string           `json:"id"`
	Partner concordat.SiteID `json:"partner"`
	State   string           `json:"state"`
}

// alarmEvent is the data of an event about a partner.
type alarmEvent struct {
	Partner concordat.SiteID    `json:"partner"`
	Kind    string              `json:"kind"`
	Library concordat.LibraryID `json:"library,omitempty"`
}

// Announce sends an event to all webhooks that subscribe to it: the site's webhooks and, unless owner is empty, account owner's. Events
// for a paused webhook wait. data is JSON.
func (db *Webhooks) Announce(ctx context.Context, kind EventKind, owner string, data json.RawMessage) error {
	err := db.write(ctx, func(c engine.Conn) error { return db.announce(ctx, c, kind, owner, data) })
	return db.fail(err, "announce %s", kind)
}

// announce is Announce within a transaction, so the change and its event are stored together.
func (db base) announce(ctx context.Context, c engine.Conn, kind EventKind, owner string, data any) error {
	ids, err := engine.Collect(ctx, c, func(s engine.Scanner) (id HookID, err error) { return id, s.Scan(&id) },
		`SELECT id FROM hook WHERE kinds LIKE ? AND (whole = 1 OR (account = ? AND ? <> '')) AND id IN `+ableHooks+` ORDER BY id`,
		"% "+string(kind)+" %", owner, owner)
	if err != nil || len(ids) == 0 {
		return err
	}
	return db.deliver(ctx, c, kind, data, ids...)
}

// deliver stores an event and a delivery for each webhook.
func (db base) deliver(ctx context.Context, c engine.Conn, kind EventKind, data any, hooks ...HookID) error {
	now := db.now()
	body, err := json.Marshal(eventBody{kind, now.UTC().Truncate(time.Millisecond), data})
	if err != nil {
		return fmt.Errorf("%w: cannot encode event %s: %w", concordat.ErrInvalid, kind, err)
	}
	event := "msg_" + strings.ToLower(rand.Text())
	if _, err := c.Exec(ctx, `INSERT INTO hook_event (id, kind, made, body) VALUES (?, ?, ?, ?)`, event, kind, stamp(now),
		cleanText(string(body))); err != nil {
		return err
	}
	for _, id := range hooks {
		var waiting int
		if err := c.Row(ctx, `SELECT count(*) FROM hook_delivery WHERE hook = ? AND state = ?`, id, DeliveryPending).Scan(&waiting); err != nil {
			return err
		}
		state, ended, cause := DeliveryPending, int64(0), ""
		if waiting >= maxWaiting {
			state, ended, cause = DeliveryDead, stamp(now), fmt.Sprintf("%d other deliveries were waiting", waiting)
		}
		_, err := c.Exec(ctx, `INSERT INTO hook_delivery (hook, event, state, made, attempts, round, due, until, lease_until, ended, status, cause)
			VALUES (?, ?, ?, ?, 0, 0, ?, ?, 0, ?, 0, ?)`, id, event, state, stamp(now), stamp(now), stamp(now.Add(HookTime)), ended, cause)
		if err != nil {
			return err
		}
	}
	return nil
}

// PingHook creates a ping for one webhook.
func (db *Webhooks) PingHook(ctx context.Context, id HookID) error {
	err := db.write(ctx, func(c engine.Conn) error {
		return db.deliver(ctx, c, EventPing, map[string]HookID{"webhook": id}, id)
	})
	return db.fail(err, "ping webhook %s", id)
}

// taskEnded announces that a task has ended, and possibly its batch too. A batch ends again if checks are added to it later.
func (db base) taskEnded(ctx context.Context, c engine.Conn, id concordat.TaskID, leads *concordat.LeadCount) error {
	var some int
	if err := c.Row(ctx, `SELECT count(*) FROM hook`).Scan(&some); err != nil || some == 0 {
		return err // no webhook receives it
	}
	t, err := scanTask(c.Row(ctx, `SELECT `+taskColumns+` FROM task WHERE id = ?`, id))
	if err != nil {
		return err
	}
	kind := EventCheckDone
	if t.State == concordat.TaskFailed {
		kind = EventCheckFailed
	}
	err = db.announce(ctx, c, kind, t.Owner, checkEvent{t.ID, t.State, t.Owner, t.Batch, leads})
	// The texts in an archive form a batch with the ID of the task that opened it.
	for _, batch := range []string{t.Batch, string(t.ID)} {
		if err == nil && batch != "" {
			err = db.batchEnded(ctx, c, batch, t.Owner)
		}
	}
	return err
}

func (db base) batchEnded(ctx context.Context, c engine.Conn, batch, owner string) error {
	e := batchEvent{Batch: batch, Owner: owner}
	var open int
	// The documents of a Batch end one at a time; FinishBatch announces its end.
	err := c.Row(ctx, `SELECT count(*) FROM batch WHERE id = ?`, batch).Scan(&open)
	if err != nil || open > 0 {
		return err
	}
	var all, undecided, counted *int
	err = c.Row(ctx, `SELECT count(*), count(CASE WHEN state = ? THEN 1 END), CAST(sum(leads) AS BIGINT),
		CAST(sum(leads_open) AS BIGINT), CAST(sum(leads_counted) AS BIGINT) FROM task WHERE batch = ?`, concordat.TaskFailed, batch).Scan(&e.Checks, &e.Failed, &all, &undecided, &counted)
	if all != nil {
		e.Leads = &concordat.LeadCount{All: *all, Open: *undecided, Counted: *counted}
	}
	if err == nil {
		err = c.Row(ctx, `SELECT count(*) FROM task WHERE (batch = ? OR id = ?) AND state IN (?, ?)`, batch, batch, concordat.TaskQueued,
			concordat.TaskRunning).Scan(&open)
	}
	if err != nil || open > 0 || e.Checks == 0 {
		return err
	}
	return db.announce(ctx, c, EventBatchDone, owner, e)
}

// batchFinished announces that a Batch has ended. Its documents count as its checks.
func (db base) batchFinished(ctx context.Context, c engine.Conn, id string, leads *concordat.LeadCount) error {
	e := batchEvent{Batch: id, Leads: leads}
	err := c.Row(ctx, `SELECT owner, (SELECT count(*) FROM batch_member WHERE batch = batch.id), (SELECT count(*) FROM batch_member WHERE batch = batch.id AND reason <> '')
		FROM batch WHERE id = ?`, id).Scan(&e.Owner, &e.Checks, &e.Failed)
	if err != nil {
		return err
	}
	return db.announce(ctx, c, EventBatchDone, e.Owner, e)
}

// disclosed announces a request for passages, or the decision on one.
func (db base) disclosed(ctx context.Context, c engine.Conn, id string) error {
	d, err := scanDisclosure(c.Row(ctx, `SELECT `+disclosureColumns+` FROM disclosure WHERE id = ?`, id))
	pending := d.State == concordat.DisclosurePending
	switch {
	case err != nil:
		return err
	case d.Direction == DisclosureIn && pending:
		return db.announce(ctx, c, EventEvidenceRequest, "", disclosureEvent{d.ID, d.Partner, d.State})
	case d.Direction == DisclosureOut && !pending:
		return db.announce(ctx, c, EventEvidenceAnswer, "", disclosureEvent{d.ID, d.Partner, d.State})
	}
	return nil
}
