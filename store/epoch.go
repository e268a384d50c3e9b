package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"concordat"
	"concordat/store/engine"
)

// EpochRow is the state of an epoch's fingerprint set.
type EpochRow struct {
	Epoch    concordat.Epoch
	Scheme   concordat.Scheme
	Seen     time.Time // when it was first seen
	Replaced time.Time // when a later epoch of the federation was first seen; zero if none was
}

// EpochDocument is a document of a fingerprint set.
type EpochDocument struct {
	Library   concordat.LibraryID
	ID        concordat.DocumentID
	Hash      string // hash of the text in the set
	Sentences int
	Seq       int64 // number of the latest change, ascending within a library and epoch
	Removed   bool  // no longer in the set
}

const (
	epochChanging = 0
	epochHeld     = 1
	epochRemoved  = 2
)

func scanEpoch(s engine.Scanner) (EpochRow, error) {
	var e EpochRow
	var seen, replaced int64
	err := s.Scan(&e.Epoch.Federation, &e.Epoch.Number, &e.Scheme, &seen, &replaced)
	e.Seen, e.Replaced = instant(seen), instant(replaced)
	return e, err
}

// SeeEpoch records that there is a set for the epoch, and that earlier epochs of its federation have been replaced. The first call also
// records the current time of the store's clock. If the epoch was seen with a different scheme, it fails with concordat.ErrScheme.
func (db *Answers) SeeEpoch(ctx context.Context, e concordat.Epoch, scheme concordat.Scheme) error {
	err := checkName("federation", e.Federation)
	if err == nil {
		err = db.write(ctx, func(c engine.Conn) error {
			now := stamp(db.now())
			if _, err := c.Exec(ctx, `INSERT INTO epoch (federation, number, scheme, seen, replaced) VALUES (?, ?, ?, ?, 0)
				ON CONFLICT DO NOTHING`, e.Federation, e.Number, scheme, now); err != nil {
				return err
			}
			var known concordat.Scheme
			if err := c.Row(ctx, `SELECT scheme FROM epoch WHERE federation = ? AND number = ?`, e.Federation, e.Number).Scan(&known); err != nil {
				return err
			}
			if known != scheme {
				return fmt.Errorf("%w: the epoch's fingerprint set uses scheme %s, not scheme %s", concordat.ErrScheme, known, scheme)
			}
			_, err := c.Exec(ctx, `UPDATE epoch SET replaced = ? WHERE federation = ? AND replaced = 0
				AND number < (SELECT max(number) FROM epoch WHERE federation = ?)`, now, e.Federation, e.Federation)
			return err
		})
	}
	return db.fail(err, "epoch %s", e)
}

// Epochs returns all epochs ordered by federation and number.
func (db *Answers) Epochs(ctx context.Context) ([]EpochRow, error) {
	es, err := engine.Collect(ctx, db.read(), scanEpoch, `SELECT federation, number, scheme, seen, replaced FROM epoch ORDER BY federation, number`)
	return es, db.fail(err, "list epochs")
}

// DropEpoch deletes the epoch, the record of its set, and its standing asks. Counted questions remain counted.
func (db *Answers) DropEpoch(ctx context.Context, e concordat.Epoch) error {
	err := db.write(ctx, func(c engine.Conn) error {
		for _, table := range []string{"epoch_document", "standing_ask", "shipped", "epoch"} {
			if _, err := c.Exec(ctx, `DELETE FROM `+table+` WHERE federation = ? AND number = ?`, e.Federation, e.Number); err != nil {
				return err
			}
		}
		return nil
	})
	return db.fail(err, "drop epoch %s", e)
}

// Unset returns up to limit documents of the library whose current text is missing from the epoch's set, ordered by id, starting after
// the given one.
func (db *Answers) Unset(ctx context.Context, e concordat.Epoch, lib concordat.LibraryID, after concordat.DocumentID,
	limit int) ([]DocumentRow, error) {
	ds, err := engine.Collect(ctx, db.read(), scanDocument, `SELECT `+documentColumns+` FROM document d
		WHERE library = ? AND id > ? AND NOT EXISTS (SELECT 1 FROM epoch_document e WHERE e.federation = ? AND e.number = ?
			AND e.library = d.library AND e.document = d.id AND e.state = ? AND e.hash = d.hash)
		ORDER BY id LIMIT ?`, lib, after, e.Federation, e.Number, epochHeld, page(limit))
	return ds, db.fail(err, "list documents of %s that are missing from epoch %s", lib, e)
}

// Leftover returns documents of the library that the epoch's set can contain and that are missing from the catalogue, ordered by id. If
// all is set, it returns every document that the set can contain.
func (db *Answers) Leftover(ctx context.Context, e concordat.Epoch, lib concordat.LibraryID, all bool,
	limit int) ([]concordat.DocumentID, error) {
	ids, err := engine.Collect(ctx, db.read(), func(s engine.Scanner) (concordat.DocumentID, error) {
		var id concordat.DocumentID
		return id, s.Scan(&id)
	}, `SELECT document FROM epoch_document e WHERE federation = ? AND number = ? AND library = ? AND state <> ?
		AND (? OR NOT EXISTS (SELECT 1 FROM document d WHERE d.library = e.library AND d.id = e.document))
		ORDER BY document LIMIT ?`, e.Federation, e.Number, lib, epochRemoved, all, page(limit))
	return ids, db.fail(err, "list documents of %s to remove from epoch %s", lib, e)
}

// EpochLibraries returns the libraries that can have documents in the epoch's set, in order.
func (db *Answers) EpochLibraries(ctx context.Context, e concordat.Epoch) ([]concordat.LibraryID, error) {
	ids, err := engine.Collect(ctx, db.read(), func(s engine.Scanner) (concordat.LibraryID, error) {
		var id concordat.LibraryID
		return id, s.Scan(&id)
	}, `SELECT DISTINCT library FROM epoch_document WHERE federation = ? AND number = ? AND state <> ? ORDER BY library`,
		e.Federation, e.Number, epochRemoved)
	return ids, db.fail(err, "list the libraries of epoch %s", e)
}

// BeginEpochDocuments records that the set's entries for the documents are about to change. Until EndEpochDocuments or
// RemoveEpochDocuments is called, the set is treated as lacking the documents, although it may contain parts of them.
func (db *Answers) BeginEpochDocuments(ctx context.Context, e concordat.Epoch, lib concordat.LibraryID, ids []concordat.DocumentID) error {
	err := db.write(ctx, func(c engine.Conn) error {
		put, err := c.Prepare(ctx, `INSERT INTO epoch_document (federation, number, library, document, state, hash, sentences, seq)
			VALUES (?, ?, ?, ?, ?, '', 0, 0) ON CONFLICT (federation, number, library, document) DO UPDATE SET state = excluded.state`)
		if err != nil {
			return err
		}
		defer put.Close()
		for _, id := range ids {
			if _, err := put.ExecContext(ctx, e.Federation, e.Number, lib, id, epochChanging); err != nil {
				return err
			}
		}
		return nil
	})
	return db.fail(err, "start adding %d documents to epoch %s", len(ids), e)
}

// EndEpochDocuments records that the set contains the documents, and assigns them the next numbers.
func (db *Answers) EndEpochDocuments(ctx context.Context, e concordat.Epoch, lib concordat.LibraryID, ds []EpochDocument) error {
	err := db.write(ctx, func(c engine.Conn) error {
		seq, err := epochSeq(ctx, c, e, lib)
		if err != nil {
			return err
		}
		put, err := c.Prepare(ctx, `UPDATE epoch_document SET state = ?, hash = ?, sentences = ?, seq = ?
			WHERE federation = ? AND number = ? AND library = ? AND document = ?`)
		if err != nil {
			return err
		}
		defer put.Close()
		for i, d := range ds {
			if _, err := put.ExecContext(ctx, epochHeld, d.Hash, d.Sentences, seq+int64(i)+1, e.Federation, e.Number, lib, d.ID); err != nil {
				return err
			}
		}
		return nil
	})
	return db.fail(err, "finish adding %d documents to epoch %s", len(ds), e)
}

func epochSeq(ctx context.Context, c engine.Conn, e concordat.Epoch, lib concordat.LibraryID) (seq int64, err error) {
	err = c.Row(ctx, `SELECT COALESCE(max(seq), 0) FROM epoch_document WHERE federation = ? AND number = ? AND library = ?`,
		e.Federation, e.Number, lib).Scan(&seq)
	return seq, err
}

// RemoveEpochDocuments records that the set no longer contains the documents, and assigns them the next numbers.
func (db *Answers) RemoveEpochDocuments(ctx context.Context, e concordat.Epoch, lib concordat.LibraryID, ids []concordat.DocumentID) error {
	err := db.write(ctx, func(c engine.Conn) error {
		seq, err := epochSeq(ctx, c, e, lib)
		if err != nil {
			return err
		}
		for i, id := range ids {
			if _, err := c.Exec(ctx, `UPDATE epoch_document SET state = ?, hash = '', sentences = 0, seq = ?
				WHERE federation = ? AND number = ? AND library = ? AND document = ?`,
				epochRemoved, seq+int64(i)+1, e.Federation, e.Number, lib, id); err != nil {
				return err
			}
		}
		return nil
	})
	return db.fail(err, "remove %d documents from epoch %s", len(ids), e)
}

// HeldDocument returns the document if the epoch's set has its current text and its term does not hide it, or concordat.ErrNotFound
// otherwise.
func (db *Answers) HeldDocument(ctx context.Context, e concordat.Epoch, lib concordat.LibraryID,
	id concordat.DocumentID) (DocumentRow, error) {
	held, err := db.HeldDocuments(ctx, e, lib, []concordat.DocumentID{id})
	if err == nil && len(held) == 0 {
		err = db.fail(concordat.ErrNotFound, "document %s/%s of epoch %s", lib, id, e)
	}
	return held[id], err
}

// HeldDocuments returns, by id, the documents that [Answers.HeldDocument] would find.
func (db *Answers) HeldDocuments(ctx context.Context, e concordat.Epoch, lib concordat.LibraryID,
	ids []concordat.DocumentID) (map[concordat.DocumentID]DocumentRow, error) {
	out := make(map[concordat.DocumentID]DocumentRow, len(ids))
	for part := range slices.Chunk(ids, 500) {
		args := []any{e.Federation, e.Number, epochHeld, stamp(db.now()), lib}
		for _, id := range part {
			args = append(args, id)
		}
		rows, err := engine.Collect(ctx, db.read(), scanDocument, `SELECT `+documentColumns+` FROM document d WHERE
			EXISTS (SELECT 1 FROM epoch_document e WHERE e.federation = ? AND e.number = ?
				AND e.library = d.library AND e.document = d.id AND e.state = ? AND e.hash = d.hash)
			AND NOT EXISTS (SELECT 1 FROM term t WHERE t.library = d.library AND t.document = d.id AND t.hidden > ?)
			AND library = ? AND id IN (?`+strings.Repeat(", ?", len(part)-1)+`)`, args...)
		if err != nil {
			return nil, db.fail(err, "find %d documents of %s in epoch %s", len(ids), lib, e)
		}
		for _, d := range rows {
			out[d.ID] = d
		}
	}
	return out, nil
}

// EpochReady counts the documents of the library, and those whose current text the set contains.
func (db *Answers) EpochReady(ctx context.Context, e concordat.Epoch, lib concordat.LibraryID) (held, all int, err error) {
	err = db.read().Row(ctx,
		`SELECT count(*), COALESCE(sum(CASE WHEN EXISTS (SELECT 1 FROM epoch_document e WHERE e.federation = ? AND e.number = ?
			AND e.library = d.library AND e.document = d.id AND e.state = ? AND e.hash = d.hash) THEN 1 ELSE 0 END), 0)
		FROM document d WHERE d.library = ?`, e.Federation, e.Number, epochHeld, lib).Scan(&all, &held)
	return held, all, db.fail(err, "count the documents of %s in epoch %s", lib, e)
}

// EpochChanges returns up to limit documents of the library with numbers after the given one, ordered by number and including removed
// ones.
func (db *Answers) EpochChanges(ctx context.Context, e concordat.Epoch, lib concordat.LibraryID, after int64,
	limit int) ([]EpochDocument, error) {
	ds, err := engine.Collect(ctx, db.read(), func(s engine.Scanner) (EpochDocument, error) {
		d := EpochDocument{Library: lib}
		var state int
		err := s.Scan(&d.ID, &d.Hash, &d.Sentences, &d.Seq, &state)
		d.Removed = state == epochRemoved
		return d, err
	}, `SELECT document, hash, sentences, seq, state FROM epoch_document
		WHERE federation = ? AND number = ? AND library = ? AND seq > ? AND state <> ? ORDER BY seq LIMIT ?`,
		e.Federation, e.Number, lib, after, epochChanging, page(limit))
	return ds, db.fail(err, "list the changes to %s in epoch %s", lib, e)
}

// EpochEver returns the libraries that have or had documents in the epoch's set, in order.
func (db *Answers) EpochEver(ctx context.Context, e concordat.Epoch) ([]concordat.LibraryID, error) {
	ids, err := engine.Collect(ctx, db.read(), func(s engine.Scanner) (concordat.LibraryID, error) {
		var id concordat.LibraryID
		return id, s.Scan(&id)
	}, `SELECT DISTINCT library FROM epoch_document WHERE federation = ? AND number = ? ORDER BY library`, e.Federation, e.Number)
	return ids, db.fail(err, "list the libraries of epoch %s", e)
}

// EpochBehind counts the documents of the library in the set with numbers after the given one.
func (db *Answers) EpochBehind(ctx context.Context, e concordat.Epoch, lib concordat.LibraryID, after int64) (n int, err error) {
	err = db.read().Row(ctx,
		`SELECT count(*) FROM epoch_document WHERE federation = ? AND number = ? AND library = ? AND seq > ? AND state = ?`,
		e.Federation, e.Number, lib, after, epochHeld).Scan(&n)
	return n, db.fail(err, "count the changes to %s in epoch %s", lib, e)
}
