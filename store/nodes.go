package store

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"concordat/store/engine"

	"concordat"
)

// What the nodes of a site share here: see migration 81.

// Keystore returns the shared keystore, encrypted as it is, with its version, or concordat.ErrNotFound.
func (db *DB) Keystore(ctx context.Context) (version int64, content []byte, err error) {
	err = db.read().Row(ctx, `SELECT version, content FROM keystore WHERE id = 1`).Scan(&version, &content)
	return version, content, db.fail(err, "keystore")
}

// KeystoreVersion returns the version of the shared keystore; 0: there is none.
func (db *DB) KeystoreVersion(ctx context.Context) (version int64, err error) {
	err = db.read().Row(ctx, `SELECT COALESCE(max(version), 0) FROM keystore`).Scan(&version)
	return version, db.fail(err, "keystore")
}

// PutKeystore makes content the version after the given one, which 0 says is none yet, and returns it. It
// fails with concordat.ErrChanged where another version is there.
func (db *DB) PutKeystore(ctx context.Context, version int64, content []byte) (int64, error) {
	err := db.write(ctx, func(c engine.Conn) error {
		var n int64
		var err error
		if version == 0 {
			n, err = c.Exec(ctx, `INSERT INTO keystore (id, version, content) VALUES (1, 1, ?) ON CONFLICT (id) DO NOTHING`, content)
		} else {
			n, err = c.Exec(ctx, `UPDATE keystore SET version = version + 1, content = ? WHERE id = 1 AND version = ?`, content, version)
		}
		if err == nil && n == 0 {
			err = fmt.Errorf("%w: it no longer has version %d", concordat.ErrChanged, version)
		}
		return err
	})
	return version + 1, db.fail(err, "put keystore")
}

// DropKeystore takes the keystore out of a copy of the store that is to have no keys.
func (db *DB) DropKeystore(ctx context.Context) error {
	err := db.write(ctx, func(c engine.Conn) error {
		_, err := c.Exec(ctx, `DELETE FROM keystore`)
		return err
	})
	return db.fail(err, "drop keystore")
}

// HoldDuty reports whether the holder has the duty until the time is over: it had it, nobody has it, or
// the one who had it let its time pass.
func (db *DB) HoldDuty(ctx context.Context, duty, holder string, d time.Duration) (bool, error) {
	held := false
	err := errors.Join(checkName("duty", duty), checkName("holder", holder))
	if err == nil {
		err = db.write(ctx, func(c engine.Conn) error {
			now := db.now()
			n, err := c.Exec(ctx, `INSERT INTO duty (name, holder, until) VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE
				SET holder = excluded.holder, until = excluded.until WHERE duty.holder = excluded.holder OR duty.until <= ?`,
				duty, holder, stamp(now.Add(d)), stamp(now))
			held = n > 0
			return err
		})
	}
	return held, db.fail(err, "duty %s", duty)
}

// LeaveDuties lets others have the duties of a holder: one that ends, or is known to be dead.
func (db *DB) LeaveDuties(ctx context.Context, holder string) error {
	err := db.write(ctx, func(c engine.Conn) error {
		_, err := c.Exec(ctx, `DELETE FROM duty WHERE holder = ?`, holder)
		return err
	})
	return db.fail(err, "duties of %s", holder)
}

// DutyHolder returns who has the duty, or "".
func (db *DB) DutyHolder(ctx context.Context, duty string) (string, error) {
	var holder string
	err := db.read().Row(ctx, `SELECT holder FROM duty WHERE name = ? AND until > ?`, duty, stamp(db.now())).Scan(&holder)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return holder, db.fail(err, "duty %s", duty)
}

// TakeMessage reports whether a partner's message is taken for the first time. It is remembered until the
// given time.
func (db *DB) TakeMessage(ctx context.Context, partner concordat.SiteID, message []byte, until time.Time) (bool, error) {
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
	return first, db.fail(err, "message of %s", partner)
}

// PutTaskProgress notes how far a task is. One that is gone is no error.
func (db *DB) PutTaskProgress(ctx context.Context, id concordat.TaskID, event json.RawMessage) error {
	err := db.write(ctx, func(c engine.Conn) error {
		_, err := c.Exec(ctx, `INSERT INTO task_progress (task, event) SELECT id, ? FROM task WHERE id = ? AND state = ?
			ON CONFLICT (task) DO UPDATE SET event = excluded.event`, cleanText(string(event)), id, concordat.TaskRunning)
		return err
	})
	return db.fail(err, "progress of task %s", id)
}

// TaskProgress returns what was noted last of a task, or concordat.ErrNotFound.
func (db *DB) TaskProgress(ctx context.Context, id concordat.TaskID) (json.RawMessage, error) {
	var event string
	err := db.read().Row(ctx, `SELECT event FROM task_progress WHERE task = ?`, id).Scan(&event)
	return json.RawMessage(event), db.fail(err, "progress of task %s", id)
}
