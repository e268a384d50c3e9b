package store

import (
	"context"

	"concordat/store/engine"
)

// PutBatchWording keeps what several documents of a batch hold alike, in the caller's own form, in place of what was
// kept before. It fails with concordat.ErrNotFound where there is no such batch.
func (db *DB) PutBatchWording(ctx context.Context, id string, data []byte) error {
	packed, err := packPassages(data)
	if err == nil {
		err = db.write(ctx, func(c engine.Conn) error {
			var found string
			if err := c.Row(ctx, `SELECT id FROM batch WHERE id = ?`, id).Scan(&found); err != nil {
				return err
			}
			_, err := c.Exec(ctx, `INSERT INTO batch_wording (batch, data) VALUES (?, ?) ON CONFLICT (batch) DO UPDATE SET data = excluded.data`,
				id, packed)
			return err
		})
	}
	return db.fail(err, "wording of batch %s", id)
}

// BatchWording returns what PutBatchWording kept; nil for nothing.
func (db *DB) BatchWording(ctx context.Context, id string) ([]byte, error) {
	all, err := engine.Collect(ctx, db.read(), func(s engine.Scanner) (packed []byte, err error) { return packed, s.Scan(&packed) },
		`SELECT data FROM batch_wording WHERE batch = ?`, id)
	var data []byte
	if err == nil && len(all) > 0 {
		data, err = unpackPassages(all[0])
	}
	return data, db.fail(err, "wording of batch %s", id)
}
