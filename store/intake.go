package store

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"concordat"
	"concordat/store/engine"
)

// Intake lists documents that are being added to a site, first to the index and then to the catalogue. It is stored before the index is
// changed, so that after a crash it lists the documents for which the two can differ.
type Intake struct {
	ID     string
	Worker string // worker that started it
	Made   time.Time
	Rows   []DocumentRow
}

const intakeColumns = `id, worker, made, documents`

// BeginIntake records that the documents are about to be added to the index, and returns the id of the intake.
func (db *Catalogue) BeginIntake(ctx context.Context, worker string, rows []DocumentRow, made time.Time) (string, error) {
	if err := db.checkDocuments(rows); err != nil {
		return "", err
	}
	b, err := json.Marshal(rows)
	if err != nil {
		return "", err
	}
	id := strings.ToLower(rand.Text())
	err = db.write(ctx, func(c engine.Conn) error {
		_, err := c.Exec(ctx, `INSERT INTO intake (id, worker, made, documents) VALUES (?, ?, ?, ?)`, id, worker, stamp(made), jsonText(b))
		return err
	})
	return id, db.fail(err, "start adding %d documents", len(rows))
}

// FinishIntake records the documents like PutDocuments, and ends the intake. If another process has settled the intake in the meantime,
// it records nothing and fails with ErrLease.
func (db *Catalogue) FinishIntake(ctx context.Context, id string, rows []DocumentRow) error {
	if err := db.checkDocuments(rows); err != nil {
		return err
	}
	err := db.write(ctx, func(c engine.Conn) error {
		if err := endIntake(ctx, c, id); err != nil {
			return err
		}
		return putDocuments(ctx, c, rows)
	})
	return db.fail(err, "add %d documents", len(rows))
}

// ClaimIntake gives an intake a new id, which it returns, so that the worker that started it can no longer finish it. If the intake has
// ended or was claimed, it fails with ErrLease.
func (db *Catalogue) ClaimIntake(ctx context.Context, id string) (string, error) {
	claimed := strings.ToLower(rand.Text())
	err := db.write(ctx, func(c engine.Conn) error {
		n, err := c.Exec(ctx, `UPDATE intake SET id = ? WHERE id = ?`, claimed, id)
		if err == nil && n != 1 {
			err = fmt.Errorf("addition %s has already ended: %w", id, ErrLease)
		}
		return err
	})
	return claimed, db.fail(err, "take over an addition of documents")
}

func endIntake(ctx context.Context, c engine.Conn, id string) error {
	n, err := c.Exec(ctx, `DELETE FROM intake WHERE id = ?`, id)
	if err != nil || n == 1 {
		return err
	}
	return fmt.Errorf("addition %s has already ended: %w", id, ErrLease)
}

// Intakes returns a worker's unfinished intakes, oldest first.
func (db *Catalogue) Intakes(ctx context.Context, worker string) ([]Intake, error) {
	out, err := engine.Collect(ctx, db.read(), scanIntake, `SELECT `+intakeColumns+` FROM intake WHERE worker = ? ORDER BY made, id`, worker)
	return out, db.fail(err, "list the additions of worker %q", worker)
}

// IntakesBefore returns the unfinished intakes that any worker started before the given time, oldest first.
func (db *Catalogue) IntakesBefore(ctx context.Context, before time.Time) ([]Intake, error) {
	out, err := engine.Collect(ctx, db.read(), scanIntake, `SELECT `+intakeColumns+` FROM intake WHERE made < ? ORDER BY made, id`,
		stamp(before))
	return out, db.fail(err, "list additions from before %s", before.Format(time.DateTime))
}

func scanIntake(s engine.Scanner) (x Intake, err error) {
	var made int64
	var rows []byte
	if err = s.Scan(&x.ID, &x.Worker, &made, &rows); err == nil {
		x.Made = instant(made)
		err = json.Unmarshal(rows, &x.Rows)
	}
	return x, err
}

// Catalogued returns the text hashes of the given documents that are in the catalogue.
func (db *Catalogue) Catalogued(ctx context.Context, lib concordat.LibraryID,
	ids []concordat.DocumentID) (map[concordat.DocumentID]string, error) {
	out := make(map[concordat.DocumentID]string, len(ids))
	for len(ids) > 0 {
		part := ids[:min(len(ids), MaxPage)]
		ids = ids[len(part):]
		args := []any{lib}
		for _, id := range part {
			args = append(args, id)
		}
		_, err := engine.Collect(ctx, db.read(), func(s engine.Scanner) (struct{}, error) {
			var id concordat.DocumentID
			var hash string
			err := s.Scan(&id, &hash)
			out[id] = hash
			return struct{}{}, err
		}, `SELECT id, hash FROM document WHERE library = ? AND id IN (?`+strings.Repeat(", ?", len(part)-1)+`)`, args...)
		if err != nil {
			return nil, db.fail(err, "documents of %s", lib)
		}
	}
	return out, nil
}

// goneName returns a document's name in receipts.
func goneName(lib concordat.LibraryID, id concordat.DocumentID) string {
	h := sha256.Sum256([]byte(string(lib) + "/" + string(id)))
	return hex.EncodeToString(h[:])
}

// noteGone records that a document is about to be deleted, if it exists.
func noteGone(ctx context.Context, c engine.Conn, lib concordat.LibraryID, id concordat.DocumentID) error {
	_, err := c.Exec(ctx, `INSERT INTO gone_document (name) SELECT ? WHERE EXISTS (SELECT 1 FROM document WHERE library = ? AND id = ?)
		ON CONFLICT (name) DO NOTHING`, goneName(lib, id), lib, id)
	return err
}

// WasDeleted reports whether a document of the library was ever deleted. The document may exist again.
func (db *Catalogue) WasDeleted(ctx context.Context, lib concordat.LibraryID, id concordat.DocumentID) (bool, error) {
	return db.deletedBetween(ctx, goneName(lib, id), "")
}

// WasDeletedAs is WasDeleted for a prefix, in hexadecimal digits, of a document's name in receipts.
func (db *Catalogue) WasDeletedAs(ctx context.Context, name string) (bool, error) {
	return db.deletedBetween(ctx, name, "g") // "g" sorts after every hexadecimal digit
}

func (db *Catalogue) deletedBetween(ctx context.Context, first, end string) (bool, error) {
	var n int
	err := db.read().Row(ctx, `SELECT count(*) FROM gone_document WHERE name >= ? AND name <= ?`, first, first+end).Scan(&n)
	return n > 0, db.fail(err, "check for deleted documents")
}
