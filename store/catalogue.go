package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"concordat"
	"concordat/store/engine"
)

// DocumentRow is the catalogue row for an indexed document.
type DocumentRow struct {
	Library    concordat.LibraryID
	ID         concordat.DocumentID
	Title      string
	Author     string // display name as stated in its file; empty if unknown
	Hash       string // hexadecimal SHA-256 of the text
	Source     string // path of the source file, as passed to PutSourceState; empty if none
	Bytes      int64  // size of the text
	Sentences  int    // number of indexed sentences
	Characters int    // number of normalised characters
	Scheme     concordat.Scheme
	// Added is when the document was first added. Replacing the document does not change it.
	Added time.Time
	// The store sets Changed and Revision. Changed is when the text last changed (equal to Added when that text was added), and Revision
	// is the number of texts so far, from 1.
	Changed  time.Time
	Revision int
	// Dated is the document's date, and DatedBy is its origin; zero if unknown.
	Dated   concordat.Date
	DatedBy concordat.DateOrigin
	// Short contains the pieces too short for a fingerprint, for PutDocuments. If nil, they are unknown, and any recorded earlier are
	// deleted. It is not read back; ShortKnown reports whether the pieces are recorded.
	Short      []ShortPiece
	ShortKnown bool
}

const documentColumns = `library, id, title, hash, source, bytes, sentences, characters, scheme, added, changed, revision, dated, dated_by, short, author`

func scanDocument(s engine.Scanner) (DocumentRow, error) {
	var d DocumentRow
	var added, changed int64
	err := s.Scan(&d.Library, &d.ID, &d.Title, &d.Hash, &d.Source, &d.Bytes, &d.Sentences, &d.Characters,
		&d.Scheme, &added, &changed, &d.Revision, &d.Dated, &d.DatedBy, &d.ShortKnown, &d.Author)
	d.Added, d.Changed = instant(added), instant(changed)
	return d, err
}

// PutDocuments records the documents, each replacing the row with its library and id; of two rows for one document, the later one counts.
// They are stored in one transaction. A document with a new Hash gets the next Revision; one with the same text keeps its Revision. If a
// library does not exist, it fails with concordat.ErrNotFound.
func (db *Catalogue) PutDocuments(ctx context.Context, rows []DocumentRow) error {
	if err := db.checkDocuments(rows); err != nil || len(rows) == 0 {
		return err
	}
	err := db.write(ctx, func(c engine.Conn) error { return putDocuments(ctx, c, rows) })
	return db.fail(err, "put %d documents", len(rows))
}

func (db *Catalogue) checkDocuments(rows []DocumentRow) error {
	for _, d := range rows {
		if err := checkDocument(d); err != nil {
			return db.fail(err, "put document %s/%s", d.Library, d.ID)
		}
	}
	return nil
}

func putDocuments(ctx context.Context, c engine.Conn, rows []DocumentRow) error {
	put, err := c.Prepare(ctx, `INSERT INTO document (`+documentColumns+`)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?, ?)
		ON CONFLICT (library, id) DO UPDATE SET
			changed  = CASE WHEN document.hash = excluded.hash THEN document.changed ELSE excluded.changed END,
			revision = CASE WHEN document.hash = excluded.hash THEN document.revision ELSE document.revision + 1 END,
			title = excluded.title, hash = excluded.hash, source = excluded.source, bytes = excluded.bytes,
			sentences = excluded.sentences, characters = excluded.characters, scheme = excluded.scheme,
			dated = excluded.dated, dated_by = excluded.dated_by, short = excluded.short, author = excluded.author`)
	if err != nil {
		return err
	}
	defer put.Close()
	for _, d := range rows {
		// Vectors belong to the previous text of the document.
		if _, err := c.Exec(ctx, `DELETE FROM sentence_vector WHERE library = ? AND document = ? AND NOT EXISTS
			(SELECT 1 FROM document d WHERE d.library = ? AND d.id = ? AND d.hash = ?)`, d.Library, d.ID, d.Library, d.ID, d.Hash); err != nil {
			return err
		}
		_, err := put.ExecContext(ctx, d.Library, d.ID, cleanText(d.Title), d.Hash, pathKey(d.Source), d.Bytes,
			d.Sentences, d.Characters, d.Scheme, stamp(d.Added), stamp(d.Added), d.Dated, d.DatedBy, d.Short != nil, cleanText(d.Author))
		if err == nil {
			err = putShort(ctx, c, d.Library, d.ID, d.Short)
		}
		if err != nil {
			return fmt.Errorf("%s/%s: %w", d.Library, d.ID, err)
		}
	}
	return nil
}

// RenewDocuments records recomputed values for documents with unchanged texts: Sentences, Characters, Scheme and Short. The only other
// fields it reads are Library, ID and Hash. It skips documents that are gone or have a different Hash. The documents are stored in one
// transaction.
func (db *Catalogue) RenewDocuments(ctx context.Context, rows []DocumentRow) error {
	if err := db.checkDocuments(rows); err != nil || len(rows) == 0 {
		return err
	}
	err := db.write(ctx, func(c engine.Conn) error {
		for _, d := range rows {
			n, err := c.Exec(ctx, `UPDATE document SET sentences = ?, characters = ?, scheme = ?, short = ?
				WHERE library = ? AND id = ? AND hash = ?`, d.Sentences, d.Characters, d.Scheme, d.Short != nil, d.Library, d.ID, d.Hash)
			if err == nil && n > 0 {
				err = putShort(ctx, c, d.Library, d.ID, d.Short)
			}
			if err != nil {
				return fmt.Errorf("%s/%s: %w", d.Library, d.ID, err)
			}
		}
		return nil
	})
	return db.fail(err, "renew %d documents", len(rows))
}

func checkDocument(d DocumentRow) error {
	if err := checkName("library", d.Library); err != nil {
		return err
	}
	if err := checkName("document", d.ID); err != nil {
		return err
	}
	if err := checkName("hash", d.Hash); err != nil {
		return err
	}
	if err := d.Dated.Validate(); err != nil {
		return err
	}
	if err := checkShort(d.Short); err != nil {
		return err
	}
	return checkName("scheme", d.Scheme)
}

// DocumentRow returns the row of a document, or concordat.ErrNotFound.
func (db *Catalogue) DocumentRow(ctx context.Context, lib concordat.LibraryID, id concordat.DocumentID) (DocumentRow, error) {
	d, err := scanDocument(db.read().Row(ctx,
		`SELECT `+documentColumns+` FROM document WHERE library = ? AND id = ?`, lib, id))
	return d, db.fail(err, "document %s/%s", lib, id)
}

// Documents returns the documents of the library with ids after the given one, ordered by id, up to limit, or up to MaxPage if limit is 0
// or exceeds it. If there are fewer, they are the last ones. Successive pages contain each document that existed throughout exactly once.
func (db *Catalogue) Documents(ctx context.Context, lib concordat.LibraryID, after concordat.DocumentID, limit int) ([]DocumentRow, error) {
	ds, err := engine.Collect(ctx, db.read(), scanDocument,
		`SELECT `+documentColumns+` FROM document WHERE library = ? AND id > ? ORDER BY id LIMIT ?`,
		lib, after, page(limit))
	return ds, db.fail(err, "list documents of %s", lib)
}

// DocumentOrder is the order of documents in a displayed list.
type DocumentOrder string

// The orders of documents. Orders by time and size start with the latest and the largest. The zero value means ByDocumentID.
const (
	ByDocumentID    DocumentOrder = "name"
	ByDocumentTitle DocumentOrder = "title"
	ByAdded         DocumentOrder = "added"
	BySentences     DocumentOrder = "sentences"
)

// documentOrders maps orders to SQL; ties are ordered by id, so that pages do not overlap.
var documentOrders = map[DocumentOrder]string{"": "id", ByDocumentID: "id", ByDocumentTitle: "lower(title), id", ByAdded: "added DESC, id",
	BySentences: "sentences DESC, id"}

// DocumentFilter selects documents of a library for a list.
type DocumentFilter struct {
	Query string // part of the id, title or author, ignoring case; empty for all
	Order DocumentOrder
	Skip  int // number of matches to skip
	Limit int // maximum number; MaxPage if 0 or above it
}

// ListedDocument is a document in a displayed list.
type ListedDocument struct {
	DocumentRow
	SameAs concordat.DocumentID // another document of the library with the same text; empty if none
}

// ListDocuments returns the documents of a library that match the filter, and the total number of matches. It fails with
// concordat.ErrInvalid for an unknown order.
func (db *Catalogue) ListDocuments(ctx context.Context, lib concordat.LibraryID,
	f DocumentFilter) (out []ListedDocument, all int, err error) {
	order, ok := documentOrders[f.Order]
	if !ok {
		return nil, 0, db.fail(fmt.Errorf("%w: unknown order %q", concordat.ErrInvalid, f.Order), "list documents of %s", lib)
	}
	where, args := `library = ?`, []any{lib}
	if f.Query != "" {
		like := likeText(f.Query)
		where += ` AND (lower(id) LIKE ? ESCAPE '\' OR lower(title) LIKE ? ESCAPE '\' OR lower(author) LIKE ? ESCAPE '\')`
		args = append(args, like, like, like)
	}
	if err = db.read().Row(ctx, `SELECT COUNT(*) FROM document WHERE `+where, args...).Scan(&all); err != nil {
		return nil, 0, db.fail(err, "list documents of %s", lib)
	}
	rows, err := engine.Collect(ctx, db.read(), scanDocument, `SELECT `+documentColumns+` FROM document WHERE `+where+
		` ORDER BY `+order+` LIMIT ? OFFSET ?`, append(args, page(f.Limit), max(0, f.Skip))...)
	for _, d := range rows {
		out = append(out, ListedDocument{DocumentRow: d})
	}
	if err == nil {
		err = db.noteSame(ctx, lib, out)
	}
	return out, all, db.fail(err, "list documents of %s", lib)
}

// likeText returns a lower-case pattern for LIKE with ESCAPE '\' that matches text anywhere.
func likeText(text string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(strings.ToLower(cleanText(text))) + "%"
}

// noteSame records for each document, in one pass over the library, another document with the same text.
func (db *Catalogue) noteSame(ctx context.Context, lib concordat.LibraryID, ds []ListedDocument) error {
	if len(ds) == 0 {
		return nil
	}
	args := []any{lib}
	for _, d := range ds {
		args = append(args, d.Hash)
	}
	type same struct {
		hash        string
		first, last concordat.DocumentID
	}
	all, err := engine.Collect(ctx, db.read(), func(s engine.Scanner) (x same, err error) { return x, s.Scan(&x.hash, &x.first, &x.last) },
		`SELECT hash, MIN(id), MAX(id) FROM document WHERE library = ? AND hash IN (?`+strings.Repeat(`, ?`, len(ds)-1)+
			`) GROUP BY hash HAVING COUNT(*) > 1`, args...)
	for _, x := range all {
		for i := range ds {
			switch {
			case ds[i].Hash != x.hash:
			case ds[i].ID != x.first:
				ds[i].SameAs = x.first
			default:
				ds[i].SameAs = x.last
			}
		}
	}
	return err
}

// DeleteDocuments deletes the documents, and the SourceState of their files, so that adding those files again rereads them. WasDeleted
// reports them afterwards. If a document does not exist, that is not an error; without ids, nothing happens.
func (db *Catalogue) DeleteDocuments(ctx context.Context, lib concordat.LibraryID, ids ...concordat.DocumentID) error {
	if len(ids) == 0 {
		return nil
	}
	err := db.write(ctx, func(c engine.Conn) error {
		source, err := c.Prepare(ctx, `DELETE FROM source WHERE library = ? AND path =
			(SELECT d.source FROM document d WHERE d.library = ? AND d.id = ?)`)
		if err != nil {
			return err
		}
		defer source.Close()
		document, err := c.Prepare(ctx, `DELETE FROM document WHERE library = ? AND id = ?`)
		if err != nil {
			return err
		}
		defer document.Close()
		for _, id := range ids {
			if _, err := source.ExecContext(ctx, lib, lib, id); err != nil {
				return err
			}
			if err := dropShort(ctx, c, lib, id); err != nil {
				return err
			}
			if err := noteGone(ctx, c, lib, id); err != nil {
				return err
			}
			if _, err := document.ExecContext(ctx, lib, id); err != nil {
				return err
			}
		}
		return nil
	})
	return db.fail(err, "delete %d documents of %s", len(ids), lib)
}
