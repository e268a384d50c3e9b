package store

import (
	"context"
	"fmt"
	"time"

	"concordat"
	"concordat/store/engine"
)

// Template is wording about which a library's keeper has decided, for every check against the library. Unless it counts, it is a form, a
// cover page or a declaration handed out by the library, so its presence in a submission does not indicate reuse.
type Template struct {
	Library concordat.LibraryID
	Name    string // unique within the library, for example the name of its file
	Text    string
	Added   time.Time
	Counts  bool // it counts even if so many documents contain it that a person would otherwise have to decide
}

// Limits on the templates of a library.
const (
	MaxTemplate  = 1 << 20 // maximum size of a template in bytes
	MaxTemplates = 100
)

// PutTemplate stores a template, replacing any with its library and name. It fails with concordat.ErrNotFound if the library does not
// exist, and with concordat.ErrInvalid if the template is empty or too long or there are already MaxTemplates.
func (db *Catalogue) PutTemplate(ctx context.Context, t Template) error {
	err := checkName("template", t.Name)
	if err == nil && (t.Text == "" || len(t.Text) > MaxTemplate) {
		err = fmt.Errorf("%w: the template has %d bytes, want 1 to %d", concordat.ErrInvalid, len(t.Text), MaxTemplate)
	}
	if err == nil {
		err = db.write(ctx, func(c engine.Conn) error {
			n, err := c.Exec(ctx, `INSERT INTO template (library, name, text, added, counts) SELECT ?, ?, ?, ?, ?
				WHERE (SELECT count(*) FROM template WHERE library = ? AND name <> ?) < ?
				ON CONFLICT (library, name) DO UPDATE SET text = excluded.text, added = excluded.added, counts = excluded.counts`,
				t.Library, t.Name, cleanText(t.Text), stamp(t.Added), flag(t.Counts), t.Library, t.Name, MaxTemplates)
			if err == nil && n == 0 {
				err = fmt.Errorf("%w: a library can have at most %d templates", concordat.ErrInvalid, MaxTemplates)
			}
			return err
		})
	}
	return db.fail(err, "put template %s of %s", t.Name, t.Library)
}

// Templates returns a library's templates ordered by name.
func (db *Catalogue) Templates(ctx context.Context, lib concordat.LibraryID) ([]Template, error) {
	ts, err := engine.Collect(ctx, db.read(), func(s engine.Scanner) (Template, error) {
		var t Template
		var added int64
		err := s.Scan(&t.Library, &t.Name, &t.Text, &added, &t.Counts)
		t.Added = instant(added)
		return t, err
	}, `SELECT library, name, text, added, counts FROM template WHERE library = ? ORDER BY name`, lib)
	return ts, db.fail(err, "list the templates of %s", lib)
}

// DeleteTemplate deletes a template, or fails with concordat.ErrNotFound.
func (db *Catalogue) DeleteTemplate(ctx context.Context, lib concordat.LibraryID, name string) error {
	err := db.write(ctx, func(c engine.Conn) error {
		n, err := c.Exec(ctx, `DELETE FROM template WHERE library = ? AND name = ?`, lib, name)
		return oneOf(n, err)
	})
	return db.fail(err, "delete template %s of %s", name, lib)
}
