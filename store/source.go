package store

import (
	"context"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"concordat"
	"concordat/store/engine"
)

// SourceState is the outcome of reading one file for one library. A file need not be reread if its size and modification time, or its
// hash, are unchanged.
type SourceState struct {
	Library concordat.LibraryID
	// Path is the path of the file, or archive!/member. A path that is not valid UTF-8 is returned quoted, as by strconv.QuoteToASCII.
	Path      string
	Size      int64 // in bytes
	Modified  time.Time
	Hash      string    // hexadecimal SHA-256 of the file; empty if not computed
	Documents int       // number of documents in the file
	Code      string    // code of the failure, for example encrypted; empty if the file was processed
	Detail    string    // sentence that explains the failure
	Handled   time.Time // time of processing
}

// Unchanged reports whether the file was read successfully and has not changed since, judging by its size and modification time.
func (s SourceState) Unchanged(size int64, modified time.Time) bool {
	return s.Code == "" && s.Size == size && stamp(s.Modified) == stamp(modified)
}

// pathKey returns path itself if it is a valid name, and otherwise its quoted form, since file names can contain any bytes.
func pathKey(path string) string {
	if utf8.ValidString(path) && !strings.ContainsRune(path, 0) {
		return path
	}
	return strconv.QuoteToASCII(path)
}

const sourceColumns = `library, path, size, modified, hash, documents, code, detail, handled`

func scanSource(s engine.Scanner) (SourceState, error) {
	var r SourceState
	var modified, handled int64
	err := s.Scan(&r.Library, &r.Path, &r.Size, &modified, &r.Hash, &r.Documents, &r.Code, &r.Detail, &handled)
	r.Modified, r.Handled = instant(modified), instant(handled)
	return r, err
}

// PutSourceState records the states in one transaction, each replacing the one with the same library and path. If a library does not
// exist, it fails with concordat.ErrNotFound.
func (db *Catalogue) PutSourceState(ctx context.Context, states ...SourceState) error {
	for _, s := range states {
		if err := checkName("path", pathKey(s.Path)); err != nil {
			return db.fail(err, "put source of %s", s.Library)
		}
	}
	if len(states) == 0 {
		return nil
	}
	err := db.write(ctx, func(c engine.Conn) error {
		put, err := c.Prepare(ctx, `INSERT INTO source (`+sourceColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (library, path) DO UPDATE SET size = excluded.size, modified = excluded.modified,
				hash = excluded.hash, documents = excluded.documents, code = excluded.code,
				detail = excluded.detail, handled = excluded.handled`)
		if err != nil {
			return err
		}
		defer put.Close()
		for _, s := range states {
			_, err := put.ExecContext(ctx, s.Library, pathKey(s.Path), s.Size, stamp(s.Modified), cleanText(s.Hash),
				s.Documents, cleanText(s.Code), cleanText(s.Detail), stamp(s.Handled))
			if err != nil {
				return err
			}
		}
		return nil
	})
	return db.fail(err, "put %d sources", len(states))
}

// SourceState returns the record of a file of a library, or concordat.ErrNotFound.
func (db *Catalogue) SourceState(ctx context.Context, lib concordat.LibraryID, path string) (SourceState, error) {
	s, err := scanSource(db.read().Row(ctx,
		`SELECT `+sourceColumns+` FROM source WHERE library = ? AND path = ?`, lib, pathKey(path)))
	return s, db.fail(err, "source %s of %s", path, lib)
}
