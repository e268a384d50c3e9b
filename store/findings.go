package store

import (
	"context"
	"fmt"

	"github.com/klauspost/compress/zstd"

	"concordat"
	"concordat/store/engine"
)

// MaxFindings is the maximum size of one task's findings, in bytes before compression. It is below one gibibyte, which both engines
// accept for one value.
const MaxFindings = 512 << 20

// findingsFormat is the number of the format for packed findings. Format 1 is one zstd frame with its checksum.
const findingsFormat = 1

// minMemory is the packer's window in bytes.
const minMemory = 8 << 20

// PutFindings stores a task's findings, replacing any earlier ones. It fails with concordat.ErrNotFound if there is no such task, and
// with concordat.ErrInvalid beyond MaxFindings. It does not retain data.
func (db *Checks) PutFindings(ctx context.Context, id concordat.TaskID, data []byte) error {
	if len(data) > MaxFindings {
		return db.fail(fmt.Errorf("%w: the findings have %d bytes, but at most %d are allowed", concordat.ErrInvalid, len(data), MaxFindings),
			"store the findings of task %s", id)
	}
	packed, err := pack(data)
	if err != nil {
		return db.fail(err, "store the findings of task %s", id)
	}
	err = db.write(ctx, func(c engine.Conn) error {
		_, err := c.Exec(ctx, `INSERT INTO findings (task, format, length, data, revision) VALUES (?, ?, ?, ?, 1)
			ON CONFLICT (task) DO UPDATE SET format = excluded.format, length = excluded.length, data = excluded.data,
				revision = findings.revision + 1`,
			id, findingsFormat, len(data), packed)
		return err
	})
	return db.fail(err, "store the findings of task %s", id)
}

// ReplaceFindings replaces findings that still have the given revision, as returned by FindingsAt. If they have been replaced in the
// meantime, it changes nothing and fails with concordat.ErrChanged; its other errors are the same as PutFindings'.
func (db *Checks) ReplaceFindings(ctx context.Context, id concordat.TaskID, revision int64, data []byte) error {
	if len(data) > MaxFindings {
		return db.fail(fmt.Errorf("%w: the findings have %d bytes, but at most %d are allowed", concordat.ErrInvalid, len(data), MaxFindings),
			"replace findings of task %s", id)
	}
	packed, err := pack(data)
	if err != nil {
		return db.fail(err, "replace findings of task %s", id)
	}
	err = db.write(ctx, func(c engine.Conn) error {
		n, err := c.Exec(ctx, `UPDATE findings SET format = ?, length = ?, data = ?, revision = revision + 1
			WHERE task = ? AND revision = ?`, findingsFormat, len(data), packed, id, revision)
		if err != nil || n > 0 {
			return err
		}
		var now int64
		if err := c.Row(ctx, `SELECT revision FROM findings WHERE task = ?`, id).Scan(&now); err != nil {
			return err
		}
		return fmt.Errorf("%w: the findings are at revision %d, want %d", concordat.ErrChanged, now, revision)
	})
	return db.fail(err, "replace findings of task %s", id)
}

func pack(data []byte) ([]byte, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(true), zstd.WithZeroFrames(true))
	if err != nil {
		return nil, err
	}
	return enc.EncodeAll(data, nil), nil
}

// Findings returns the findings stored by PutFindings. It fails with concordat.ErrNotFound if there are none, with concordat.ErrCorrupt
// if the bytes have changed, and with concordat.ErrInvalid if they were packed by a newer program.
func (db *Checks) Findings(ctx context.Context, id concordat.TaskID) ([]byte, error) {
	data, _, err := db.FindingsAt(ctx, id)
	return data, err
}

// FindingsAt is like Findings, and also returns the revision.
func (db *Checks) FindingsAt(ctx context.Context, id concordat.TaskID) (data []byte, revision int64, err error) {
	var format int
	var length int64
	var packed []byte
	err = db.read().Row(ctx, `SELECT format, length, data, revision FROM findings WHERE task = ?`, id).
		Scan(&format, &length, &packed, &revision)
	if err != nil {
		return nil, 0, db.fail(err, "findings of task %s", id)
	}
	data, err = unpack(format, length, packed)
	return data, revision, db.fail(err, "findings of task %s", id)
}

// FindingsRevision returns the revision of a task's findings without reading them, or concordat.ErrNotFound. Revisions start at 1, and each
// replacement increments them.
func (db *Checks) FindingsRevision(ctx context.Context, id concordat.TaskID) (revision int64, err error) {
	err = db.read().Row(ctx, `SELECT revision FROM findings WHERE task = ?`, id).Scan(&revision)
	return revision, db.fail(err, "findings of task %s", id)
}

// unpack decompresses packed, which can be any bytes, using up to length bytes of memory, or minMemory if that is larger.
func unpack(format int, length int64, packed []byte) ([]byte, error) {
	if format != findingsFormat {
		return nil, fmt.Errorf("%w: the findings have format version %d, but this program supports version %d",
			concordat.ErrInvalid, format, findingsFormat)
	}
	if length < 0 || length > MaxFindings {
		return nil, fmt.Errorf("%w: the length %d is out of range", concordat.ErrCorrupt, length)
	}
	// The limit must leave enough for the window of a short frame.
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
		return nil, fmt.Errorf("%w: the findings have %d bytes, want %d", concordat.ErrCorrupt, len(data), length)
	}
	return data, nil
}
