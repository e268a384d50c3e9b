package store

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"concordat"
	"concordat/store/engine"
)

// ShortPiece is a piece of a document too short for a fingerprint, with the grams used to find it.
type ShortPiece struct {
	concordat.ShortPiece
	// Grams contains one hash for each of the piece's grams, ascending. ShortCandidates looks them up. Two grams can have the same hash.
	Grams []uint32
}

// putShort replaces the short pieces of a document.
func putShort(ctx context.Context, c engine.Conn, lib concordat.LibraryID, id concordat.DocumentID, pieces []ShortPiece) error {
	if err := dropShort(ctx, c, lib, id); err != nil {
		return err
	}
	for _, p := range pieces {
		text, err := shortText(ctx, c, p)
		if err != nil {
			return err
		}
		_, err = c.Exec(ctx, `INSERT INTO short_place (text, library, document, span_start, span_end, wording) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT DO NOTHING`, text, lib, id, p.Span.Start, p.Span.End, cleanText(p.Text))
		if err != nil {
			return err
		}
	}
	return nil
}

// shortText returns the number of the piece's text, storing it with its grams if it is new.
func shortText(ctx context.Context, c engine.Conn, p ShortPiece) (int64, error) {
	var id int64
	n, err := c.Exec(ctx, `INSERT INTO short_text (letters, grams) VALUES (?, ?) ON CONFLICT DO NOTHING`, cleanText(p.Letters), packGrams(p.Grams))
	if err != nil {
		return 0, err
	}
	if err := c.Row(ctx, `SELECT id FROM short_text WHERE letters = ?`, cleanText(p.Letters)).Scan(&id); err != nil || n == 0 {
		return id, err
	}
	args := make([]any, 0, 3*len(p.Grams))
	for _, g := range p.Grams {
		args = append(args, int64(int32(g)), len(p.Grams), id)
	}
	_, err = c.Exec(ctx, `INSERT INTO short_gram (gram, size, text) VALUES (?, ?, ?)`+strings.Repeat(", (?, ?, ?)",
		len(p.Grams)-1)+` ON CONFLICT DO NOTHING`, args...)
	return id, err
}

// dropShort deletes a document's short pieces, and texts that occur in no other document.
func dropShort(ctx context.Context, c engine.Conn, lib concordat.LibraryID, id concordat.DocumentID) error {
	texts, err := engine.Collect(ctx, c, func(s engine.Scanner) (int64, error) {
		var text int64
		return text, s.Scan(&text)
	}, `SELECT DISTINCT text FROM short_place WHERE library = ? AND document = ?`, lib, id)
	if err != nil || len(texts) == 0 {
		return err
	}
	if _, err := c.Exec(ctx, `DELETE FROM short_place WHERE library = ? AND document = ?`, lib, id); err != nil {
		return err
	}
	for _, text := range texts {
		var grams []byte
		var held bool
		err := c.Row(ctx, `SELECT grams, EXISTS (SELECT 1 FROM short_place p WHERE p.text = t.id) FROM short_text t WHERE id = ?`,
			text).Scan(&grams, &held)
		if err != nil {
			return err
		}
		if held {
			continue
		}
		for _, g := range unpackGrams(grams, nil) {
			if _, err := c.Exec(ctx, `DELETE FROM short_gram WHERE gram = ? AND size = ? AND text = ?`, int64(int32(g)), len(grams)/4,
				text); err != nil {
				return err
			}
		}
		if _, err := c.Exec(ctx, `DELETE FROM short_text WHERE id = ?`, text); err != nil {
			return err
		}
	}
	return nil
}

func packGrams(grams []uint32) []byte {
	out := make([]byte, 0, 4*len(grams))
	for _, g := range grams {
		out = binary.LittleEndian.AppendUint32(out, g)
	}
	return out
}

func unpackGrams(b []byte, out []uint32) []uint32 {
	for ; len(b) >= 4; b = b[4:] {
		out = append(out, binary.LittleEndian.Uint32(b))
	}
	return out
}

// ShortText is a short text that occurs in some document.
type ShortText struct {
	ID      int64
	Letters string
	Grams   []uint32 // ascending; overwritten by the next ShortText
}

// longestList is the length up to which gram lists are counted. Longer lists count as equally long when selecting the shortest.
const longestList = 10_000

// ShortCandidates calls each, in no particular order, with every short text that shares at least least of the given grams and has low to
// high grams itself; it can also call each with other texts. It reads only the shortest lists that are certain to include all such texts,
// since a text that shares least of n grams has at least one of any n-least+1. each ends the search by returning false.
func (db *Catalogue) ShortCandidates(ctx context.Context, grams []uint32, least, low, high int, each func(ShortText) bool) error {
	if least < 1 || least > len(grams) {
		return db.fail(fmt.Errorf("%w: cannot require %d matches among %d grams", concordat.ErrInvalid, least, len(grams)), "search short texts")
	}
	err := func() error {
		c := db.read()
		rare, err := rarest(ctx, c, grams, len(grams)-least+1, low, high)
		if err != nil || len(rare) == 0 {
			return err
		}
		args := make([]any, 0, len(rare)+2)
		for _, g := range rare {
			args = append(args, int64(int32(g)))
		}
		args = append(args, low, high)
		rows, err := c.Query(ctx, `SELECT id, letters, grams FROM short_text WHERE id IN
			(SELECT text FROM short_gram WHERE gram IN (?`+strings.Repeat(", ?", len(rare)-1)+`) AND size BETWEEN ? AND ?)`, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		var grams []uint32
		for rows.Next() {
			var t ShortText
			var packed sql.RawBytes
			if err := rows.Scan(&t.ID, &t.Letters, &packed); err != nil {
				return err
			}
			grams = unpackGrams(packed, grams[:0])
			t.Grams = grams
			if !each(t) {
				return nil
			}
		}
		return rows.Err()
	}()
	return db.fail(err, "search short texts")
}

// rarest returns the n grams with the shortest lists, omitting those without a list.
func rarest(ctx context.Context, c engine.Conn, grams []uint32, n, low, high int) ([]uint32, error) {
	type list struct {
		gram   uint32
		length int
	}
	lists := make([]list, 0, len(grams))
	count, err := c.Prepare(ctx, `SELECT count(*) FROM (SELECT 1 FROM short_gram WHERE gram = ? AND size BETWEEN ? AND ? LIMIT ?) AS few`)
	if err != nil {
		return nil, err
	}
	defer count.Close()
	for _, g := range grams {
		l := list{gram: g}
		if err := count.QueryRowContext(ctx, int64(int32(g)), low, high, longestList).Scan(&l.length); err != nil {
			return nil, err
		}
		lists = append(lists, l)
	}
	slices.SortStableFunc(lists, func(a, b list) int { return a.length - b.length })
	var out []uint32
	for _, l := range lists[:min(n, len(lists))] {
		if l.length > 0 && !slices.Contains(out, l.gram) {
			out = append(out, l.gram)
		}
	}
	return out, nil
}

// ShortPlace is a place of a short text.
type ShortPlace struct {
	Library  concordat.LibraryID
	Document concordat.DocumentID
	Title    string
	Span     concordat.Span // in bytes; zero for the title
	Text     string         // text as in the document
}

// ShortPlaces returns up to limit places of a short text in the libraries, ordered by library, document and span, and the number of
// documents, in any library, that contain it.
func (db *Catalogue) ShortPlaces(ctx context.Context, text int64, libraries []concordat.LibraryID,
	limit int) (places []ShortPlace, documents int, err error) {
	if len(libraries) == 0 {
		return nil, 0, nil
	}
	args := []any{text}
	for _, l := range libraries {
		args = append(args, l)
	}
	places, err = engine.Collect(ctx, db.read(), func(s engine.Scanner) (ShortPlace, error) {
		var p ShortPlace
		return p, s.Scan(&p.Library, &p.Document, &p.Title, &p.Span.Start, &p.Span.End, &p.Text)
	}, `SELECT p.library, p.document, d.title, p.span_start, p.span_end, p.wording
		FROM short_place p JOIN document d ON d.library = p.library AND d.id = p.document
		WHERE p.text = ? AND p.library IN (?`+strings.Repeat(", ?", len(libraries)-1)+`)
		ORDER BY p.library, p.document, p.span_start, p.span_end LIMIT ?`, append(args, limit)...)
	if err == nil {
		err = db.read().Row(ctx, `SELECT count(*) FROM (SELECT DISTINCT library, document FROM short_place WHERE text = ?) AS holding`,
			text).Scan(&documents)
	}
	return places, documents, db.fail(err, "list the places of short text %d", text)
}

// ShortUnknown returns the number of documents in the libraries whose short pieces are not recorded, because an earlier version added
// them. Adding them again, or reindexing, records the pieces.
func (db *Catalogue) ShortUnknown(ctx context.Context, libraries []concordat.LibraryID) (int, error) {
	if len(libraries) == 0 {
		return 0, nil
	}
	var args []any
	for _, l := range libraries {
		args = append(args, l)
	}
	n := 0
	err := db.read().Row(ctx, `SELECT count(*) FROM document WHERE short = 0 AND library IN (?`+strings.Repeat(", ?", len(libraries)-1)+`)`,
		args...).Scan(&n)
	return n, db.fail(err, "count documents without short pieces")
}

// checkShort refuses pieces that cannot be stored.
func checkShort(pieces []ShortPiece) error {
	for _, p := range pieces {
		if len(p.Letters) > maxName || len(p.Text) > maxName || len(p.Grams) > maxName {
			return fmt.Errorf("a short piece has %d bytes: %w: at most %d are allowed", len(p.Text), concordat.ErrInvalid, maxName)
		}
		if p.Letters == "" || len(p.Grams) == 0 {
			return errors.Join(concordat.ErrInvalid, errors.New("a short piece is empty"))
		}
	}
	return nil
}
