package store

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"

	"concordat"
	"concordat/store/engine"
)

// HookID identifies a webhook.
type HookID string

// EventKind is a kind of event.
type EventKind string

// The kinds of events.
const (
	EventCheckDone       EventKind = "check.done"       // a check has ended, completely or partially, or was split into others
	EventCheckFailed     EventKind = "check.failed"     // a check failed or was cancelled
	EventBatchDone       EventKind = "batch.done"       // all checks submitted together, or a batch of documents, have ended
	EventEvidenceRequest EventKind = "evidence.request" // a partner requests passages of a document of this site
	EventEvidenceAnswer  EventKind = "evidence.answer"  // this site's request to a partner was decided
	EventPartnerAlarm    EventKind = "partner.alarm"    // a partner did something that an administrator should look into
	EventAlertFound      EventKind = "alert.found"      // a later document matches a standing check of this site
	EventAlertTold       EventKind = "alert.told"       // a partner was notified of a later document that matches its standing check
	EventCaseChanged     EventKind = "case.changed"     // this site or the partner acted in a shared case
	EventPing            EventKind = "ping"             // requested by a person to test a webhook
)

// EventKinds returns the kinds to which a webhook can subscribe; a ping goes only to the webhook for which it was requested.
func EventKinds() []EventKind {
	return []EventKind{EventCheckDone, EventCheckFailed, EventBatchDone, EventEvidenceRequest, EventEvidenceAnswer,
		EventPartnerAlarm, EventAlertFound, EventAlertTold, EventCaseChanged}
}

// HookState determines whether a webhook receives events.
type HookState string

// The states of a webhook.
const (
	HookActive HookState = "active"
	HookPaused HookState = "paused" // events wait until they expire
)

// MaxHooks is the maximum number of webhooks per account.
const MaxHooks = 20

// HookSecretBytes is the length of a webhook's secret.
const HookSecretBytes = 32

// Hook is a webhook: an address to which events are sent.
type Hook struct {
	ID      HookID
	Account string // account whose checks it reports on
	Whole   bool   // it reports on the whole site as long as the account is an administrator's
	URL     string
	Title   string // display name
	Kinds   []EventKind
	// Secrets sign outgoing events. The current secret comes first, followed by the previous one while it is still valid.
	Secrets [][]byte
	Former  time.Time // when the previous secret expires; zero if there is none
	Made    time.Time
	State   HookState
	Cause   string // why it is paused
}

const hookColumns = `h.id, h.account, h.whole, h.url, h.title, h.kinds, h.secret, h.former, h.former_until, h.made, h.state, h.cause`

// ableHooks selects webhooks that can receive events, since a webhook acts for its account only as long as the account has the rights.
// activeHooks selects those that do receive events.
const (
	ableHooks = `(SELECT h.id FROM hook h JOIN account a ON a.name = h.account
		WHERE a.disabled = 0 AND (h.whole = 0 OR a.role = 'administrator'))`
	activeHooks = `(SELECT h.id FROM hook h JOIN account a ON a.name = h.account
		WHERE h.state = 'active' AND a.disabled = 0 AND (h.whole = 0 OR a.role = 'administrator'))`
)

func (db *Webhooks) scanHook(s engine.Scanner) (Hook, error) {
	var h Hook
	var kinds, secret, former string
	var until, made int64
	if err := s.Scan(&h.ID, &h.Account, &h.Whole, &h.URL, &h.Title, &kinds, &secret, &former, &until, &made, &h.State, &h.Cause); err != nil {
		return h, err
	}
	h.Made = instant(made)
	for _, k := range strings.Fields(kinds) {
		h.Kinds = append(h.Kinds, EventKind(k))
	}
	all := []string{secret}
	if former != "" && until > stamp(db.now()) {
		all, h.Former = append(all, former), instant(until)
	}
	for _, one := range all {
		b, err := base64.StdEncoding.DecodeString(one)
		if err != nil {
			return h, fmt.Errorf("%w: cannot decode the secret of webhook %s", concordat.ErrCorrupt, h.ID)
		}
		h.Secrets = append(h.Secrets, b)
	}
	return h, nil
}

func (h *Hook) validate() error {
	if err := checkName("url", h.URL); err != nil {
		return err
	}
	if len(h.Kinds) == 0 {
		return fmt.Errorf("%w: the webhook needs at least one event", concordat.ErrInvalid)
	}
	for _, k := range h.Kinds {
		if !slices.Contains(EventKinds(), k) {
			return fmt.Errorf("%w: unknown event %q", concordat.ErrInvalid, k)
		}
	}
	if h.State != HookActive && h.State != HookPaused {
		return fmt.Errorf("%w: unknown state %q", concordat.ErrInvalid, h.State)
	}
	return nil
}

func words(kinds []EventKind) string {
	out := " "
	for _, k := range kinds {
		out += string(k) + " "
	}
	return out
}

func newHookSecret() []byte {
	b := make([]byte, HookSecretBytes)
	_, _ = rand.Read(b) // this never fails (crypto/rand)
	return b
}

// CreateHook creates an active webhook with a new ID and secret, and returns it; it reads Account, Whole, URL, Title and Kinds of h. It
// fails with concordat.ErrNotFound if there is no such account, and with concordat.ErrChanged if the account already has MaxHooks.
func (db *Webhooks) CreateHook(ctx context.Context, h Hook) (Hook, error) {
	h.ID, h.State, h.Cause, h.Made = HookID(strings.ToLower(rand.Text())), HookActive, "", instant(stamp(db.now()))
	h.Secrets, h.Former, h.Title = [][]byte{newHookSecret()}, time.Time{}, cleanText(h.Title)
	err := h.validate()
	if err == nil {
		err = db.write(ctx, func(c engine.Conn) error {
			var n int
			if err := c.Row(ctx, `SELECT count(*) FROM hook WHERE account = ?`, h.Account).Scan(&n); err != nil {
				return err
			}
			if n >= MaxHooks {
				return full(fmt.Sprintf("an account can have at most %d webhooks; delete one first", MaxHooks))
			}
			_, err := c.Exec(ctx, `INSERT INTO hook (id, account, whole, url, title, kinds, secret, former, former_until, made, state, cause)
				VALUES (?, ?, ?, ?, ?, ?, ?, '', 0, ?, ?, '')`, h.ID, h.Account, flag(h.Whole), h.URL, h.Title, words(h.Kinds),
				base64.StdEncoding.EncodeToString(h.Secrets[0]), stamp(h.Made), h.State)
			return err
		})
	}
	return h, db.fail(err, "create a webhook for %s", h.Account)
}

// UpdateHook sets the URL, Title, Kinds and State of the webhook with h's ID and clears its Cause, or fails with concordat.ErrNotFound.
func (db *Webhooks) UpdateHook(ctx context.Context, h Hook) error {
	err := h.validate()
	if err == nil {
		err = db.write(ctx, func(c engine.Conn) error {
			return oneOf(c.Exec(ctx, `UPDATE hook SET url = ?, title = ?, kinds = ?, state = ?, cause = '' WHERE id = ?`,
				h.URL, cleanText(h.Title), words(h.Kinds), h.State, h.ID))
		})
	}
	return db.fail(err, "update webhook %s", h.ID)
}

// PauseHook pauses a webhook with a cause, for example because its receiver is gone.
func (db *Webhooks) PauseHook(ctx context.Context, id HookID, cause string) error {
	err := db.write(ctx, func(c engine.Conn) error {
		return oneOf(c.Exec(ctx, `UPDATE hook SET state = ?, cause = ? WHERE id = ?`, HookPaused, cleanText(cause), id))
	})
	return db.fail(err, "pause webhook %s", id)
}

// RotateHook gives a webhook a new secret. The previous secret still signs for the given time; older secrets do not. RotateHook returns
// the webhook, or concordat.ErrNotFound.
func (db *Webhooks) RotateHook(ctx context.Context, id HookID, overlap time.Duration) (Hook, error) {
	var h Hook
	err := db.write(ctx, func(c engine.Conn) error {
		n, err := c.Exec(ctx, `UPDATE hook SET former = secret, former_until = ?, secret = ? WHERE id = ?`,
			stamp(db.now().Add(overlap)), base64.StdEncoding.EncodeToString(newHookSecret()), id)
		if err := oneOf(n, err); err != nil {
			return err
		}
		h, err = db.scanHook(c.Row(ctx, `SELECT `+hookColumns+` FROM hook h WHERE h.id = ?`, id))
		return err
	})
	return h, db.fail(err, "rotate the secret of webhook %s", id)
}

// Hook returns a webhook, or concordat.ErrNotFound.
func (db *Webhooks) Hook(ctx context.Context, id HookID) (Hook, error) {
	h, err := db.scanHook(db.read().Row(ctx, `SELECT `+hookColumns+` FROM hook h WHERE h.id = ?`, id))
	return h, db.fail(err, "webhook %s", id)
}

// Hooks returns the webhooks of an account, or of all accounts if account is empty, ordered by ID, starting after the given one, up to
// limit, or up to MaxPage if limit is 0 or exceeds it.
func (db *Webhooks) Hooks(ctx context.Context, account string, after HookID, limit int) ([]Hook, error) {
	hs, err := engine.Collect(ctx, db.read(), db.scanHook, `SELECT `+hookColumns+` FROM hook h
		WHERE (? = '' OR h.account = ?) AND h.id > ? ORDER BY h.id LIMIT ?`, account, account, after, page(limit))
	return hs, db.fail(err, "list webhooks")
}

// DeleteHook deletes a webhook and all its deliveries, or fails with concordat.ErrNotFound.
func (db *Webhooks) DeleteHook(ctx context.Context, id HookID) error {
	err := db.write(ctx, func(c engine.Conn) error {
		return oneOf(c.Exec(ctx, `DELETE FROM hook WHERE id = ?`, id))
	})
	return db.fail(err, "delete webhook %s", id)
}
