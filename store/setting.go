package store

import (
	"context"

	"concordat/store/engine"
)

// Setting returns the value of a setting of the site, or concordat.ErrNotFound.
func (db *DB) Setting(ctx context.Context, key string) (string, error) {
	var value string
	err := db.read().Row(ctx, `SELECT value FROM setting WHERE name = ?`, key).Scan(&value)
	return value, db.fail(err, "setting %s", key)
}

// SetSetting sets a setting of the site, whether or not it was set before.
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
