package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"concordat"
	"concordat/store/engine"
)

// This file handles the data shared by the nodes of a site through the store; see migration 81.

// Keystore returns the shared keystore, still encrypted, with its version, or concordat.ErrNotFound.
func (db *DB) Keystore(ctx context.Context) (version int64, content []byte, err error) {
	err = db.read().Row(ctx, `SELECT version, content FROM keystore WHERE id = 1`).Scan(&version, &content)
	return version, content, db.fail(err, "keystore")
}

// KeystoreVersion returns the version of the shared keystore, or 0 if there is none.
func (db *DB) KeystoreVersion(ctx context.Context) (version int64, err error) {
	err = db.read().Row(ctx, `SELECT COALESCE(max(version), 0) FROM keystore`).Scan(&version)
	return version, db.fail(err, "keystore")
}

// PutKeystore stores content as the version after the given one (0 for none), and returns the new version. If the stored version differs,
// it fails with concordat.ErrChanged.
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
			err = fmt.Errorf("%w: the keystore is no longer at version %d", concordat.ErrChanged, version)
		}
		return err
	})
	return version + 1, db.fail(err, "store the keystore")
}

// DropKeystore removes the keystore from a copy of the store that must not contain keys.
func (db *DB) DropKeystore(ctx context.Context) error {
	err := db.write(ctx, func(c engine.Conn) error {
		_, err := c.Exec(ctx, `DELETE FROM keystore`)
		return err
	})
	return db.fail(err, "delete the keystore")
}

// HoldLeaderTask gives the holder a leader task for d from now. A leader task is work for the site done by one process at a time. If
// another holder still has the task, it returns false.
func (db *DB) HoldLeaderTask(ctx context.Context, task, holder string, d time.Duration) (bool, error) {
	held := false
	err := errors.Join(checkName("leader task", task), checkName("holder", holder))
	if err == nil {
		err = db.write(ctx, func(c engine.Conn) error {
			now := db.now()
			n, err := c.Exec(ctx, `INSERT INTO duty (name, holder, until) VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE
				SET holder = excluded.holder, until = excluded.until WHERE duty.holder = excluded.holder OR duty.until <= ?`,
				task, holder, stamp(now.Add(d)), stamp(now))
			held = n > 0
			return err
		})
	}
	return held, db.fail(err, "leader task %s", task)
}

// LeaveLeaderTasks ends the holder's leader tasks, for a process that is ending or known to be dead.
func (db *DB) LeaveLeaderTasks(ctx context.Context, holder string) error {
	err := db.write(ctx, func(c engine.Conn) error {
		_, err := c.Exec(ctx, `DELETE FROM duty WHERE holder = ?`, holder)
		return err
	})
	return db.fail(err, "release the leader tasks of %s", holder)
}

// Setting returns the value of a setting of the site, or concordat.ErrNotFound.
func (db *DB) Setting(ctx context.Context, key string) (string, error) {
	var value string
	err := db.read().Row(ctx, `SELECT value FROM setting WHERE name = ?`, key).Scan(&value)
	return value, db.fail(err, "setting %s", key)
}

// SetSetting sets a setting of the site, whether it was set before or not.
func (db *DB) SetSetting(ctx context.Context, key, value string) error {
	err := checkName("setting", key)
	if err == nil {
		err = db.write(ctx, func(c engine.Conn) error {
			_, err := c.Exec(ctx, `INSERT INTO setting (name, value) VALUES (?, ?)
				ON CONFLICT (name) DO UPDATE SET value = excluded.value`, key, cleanText(value))
			return err
		})
	}
	return db.fail(err, "set setting %s", key)
}
