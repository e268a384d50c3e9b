package store

import (
	"context"
	"fmt"

	"github.com/klauspost/compress/zstd"

	"concordat"
)

// MaxFindings bounds the findings of one task, in bytes before compression: below the gibibyte that
// both engines take for one value.
const MaxFindings = 512 << 20

// findingsFormat is how findings are packed: 1, one zstd frame with its checksum.
const findingsFormat = 1

// minMemory is the window of the packer, in bytes.
const minMemory = 8 << 20

// PutFindings keeps what was found for a task, replacing what was kept before. It fails with
// concordat.ErrNotFound where there is no such task and with concordat.ErrInvalid beyond
// MaxFindings. data is not kept.
func (db *DB) PutFindings(ctx context.Context, id concordat.TaskID, data []byte) error {
	if len(data) > MaxFindings {
		return db.fail(fmt.Errorf("%w: %d bytes, at most %d", concordat.ErrInvalid, len(data), MaxFindings),
			"put findings of task %s", id)
	}
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(true), zstd.WithZeroFrames(true))
	if err != nil {
		return db.fail(err, "put findings of task %s", id)
	}
	packed := enc.EncodeAll(data, nil)
	err = db.write(ctx, func(c conn) error {
		_, err := c.exec(ctx, `INSERT INTO findings (task, format, length, data) VALUES (?, ?, ?, ?)
			ON CONFLICT (task) DO UPDATE SET format = excluded.format, length = excluded.length, data = excluded.data`,
			id, findingsFormat, len(data), packed)
		return err
	})
	return db.fail(err, "put findings of task %s", id)
}

// Findings returns what PutFindings kept. It fails with concordat.ErrNotFound where there is
// nothing, with concordat.ErrCorrupt where the bytes are not those that were kept, and with
// concordat.ErrInvalid where a newer program packed them.
func (db *DB) Findings(ctx context.Context, id concordat.TaskID) ([]byte, error) {
	var format int
	var length int64
	var packed []byte
	err := db.read().row(ctx, `SELECT format, length, data FROM findings WHERE task = ?`, id).
		Scan(&format, &length, &packed)
	if err != nil {
		return nil, db.fail(err, "findings of task %s", id)
	}
	data, err := unpack(format, length, packed)
	return data, db.fail(err, "findings of task %s", id)
}

// unpack opens packed, whatever its bytes, within the memory that length announces or minMemory.
func unpack(format int, length int64, packed []byte) ([]byte, error) {
	if format != findingsFormat {
		return nil, fmt.Errorf("%w: packed in format %d, this program knows format %d",
			concordat.ErrInvalid, format, findingsFormat)
	}
	if length < 0 || length > MaxFindings {
		return nil, fmt.Errorf("%w: length %d", concordat.ErrCorrupt, length)
	}
	// The bound must leave room for the window of a short frame.
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(max(length, minMemory))))
	if err != nil {
		return nil, err
	}
	defer dec.Close()
	data, err := dec.DecodeAll(packed, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", concordat.ErrCorrupt, err)
	}
	if int64(len(data)) != length {
		return nil, fmt.Errorf("%w: %d bytes, want %d", concordat.ErrCorrupt, len(data), length)
	}
	return data, nil
}

// PackedFindings returns the findings of a task as they stand on disk, or concordat.ErrNotFound: what
// to look for once they are deleted.
func (db *DB) PackedFindings(ctx context.Context, id concordat.TaskID) ([]byte, error) {
	var packed []byte
	err := db.read().row(ctx, `SELECT data FROM findings WHERE task = ?`, id).Scan(&packed)
	return packed, db.fail(err, "findings of task %s", id)
}
