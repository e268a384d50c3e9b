package store

import (
	"context"
	"time"

	"concordat"
	"concordat/store/engine"
)

// MirrorKey identifies a mirror: a partner's library as fingerprints for one epoch.
type MirrorKey struct {
	Site    concordat.SiteID
	Library concordat.LibraryID
	Epoch   concordat.Epoch
}

// Mirror is the state of a mirror.
type Mirror struct {
	MirrorKey
	Scheme    concordat.Scheme
	Cursor    []byte    // where the next synchronization continues
	Synced    time.Time // time of the last shipment; zero for never
	Complete  bool      // nothing remained to be fetched at that time
	Withdrawn time.Time // when its owner closed it; zero if open
	Documents int       // set by the store; ignored on input
	Sentences int       // set by the store; ignored on input
	Withheld  int       // documents of the library that the owner does not ship to this site; also set by the store
}

// Lacks returns the share of the library's documents missing from the mirror, 0 to 1.
func (m *Mirror) Lacks() float64 {
	if m.Withheld == 0 {
		return 0
	}
	return float64(m.Withheld) / float64(m.Withheld+m.Documents)
}

// MirrorDocument is the row of a document in a mirror; its fingerprints are in an index.
type MirrorDocument struct {
	ID        concordat.DocumentID // the owner's pseudonym
	Title     string
	Author    string
	Contact   string
	Date      time.Time
	Sentences int
	Withheld  bool // not in the mirror; all fields but ID are empty
}

const mirrorColumns = `m.site, m.library, m.federation, m.epoch, m.scheme, m.cursor, m.synced, m.complete, m.withdrawn, count(d.id),
	COALESCE(sum(d.sentences), 0), COALESCE(sum(d.withheld), 0)`

const mirrorFrom = ` FROM mirror m LEFT JOIN mirror_document d
	ON d.site = m.site AND d.library = m.library AND d.federation = m.federation AND d.epoch = m.epoch`

const ofMirror = ` site = ? AND library = ? AND federation = ? AND epoch = ?`

func (k MirrorKey) args(more ...any) []any {
	return append([]any{k.Site, k.Library, k.Epoch.Federation, k.Epoch.Number}, more...)
}

func scanMirror(s engine.Scanner) (Mirror, error) {
	var m Mirror
	var synced, withdrawn int64
	err := s.Scan(&m.Site, &m.Library, &m.Epoch.Federation, &m.Epoch.Number, &m.Scheme, &m.Cursor, &synced, &m.Complete, &withdrawn,
		&m.Documents, &m.Sentences, &m.Withheld)
	m.Documents -= m.Withheld
	m.Synced, m.Withdrawn = instant(synced), instant(withdrawn)
	return m, err
}

// PutMirror sets the state of a mirror, creating it if necessary, stores the given documents and deletes the removed ones, in one
// transaction.
func (db *Asks) PutMirror(ctx context.Context, m Mirror, docs []MirrorDocument, removed []concordat.DocumentID) error {
	for _, name := range []string{string(m.Site), string(m.Library), string(m.Epoch.Federation)} {
		if err := checkName("name", name); err != nil {
			return db.fail(err, "put mirror")
		}
	}
	cursor := m.Cursor
	if cursor == nil {
		cursor = []byte{}
	}
	err := db.write(ctx, func(c engine.Conn) error {
		_, err := c.Exec(ctx, `INSERT INTO mirror (site, library, federation, epoch, scheme, cursor, synced, complete, withdrawn)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (site, library, federation, epoch) DO UPDATE SET
			scheme = excluded.scheme, cursor = excluded.cursor, synced = excluded.synced, complete = excluded.complete,
			withdrawn = excluded.withdrawn`,
			m.args(m.Scheme, cursor, stamp(m.Synced), m.Complete, stamp(m.Withdrawn))...)
		if err != nil {
			return err
		}
		for _, id := range removed {
			if _, err := c.Exec(ctx, `DELETE FROM mirror_document WHERE`+ofMirror+` AND id = ?`, m.args(id)...); err != nil {
				return err
			}
		}
		for _, d := range docs {
			_, err := c.Exec(ctx, `INSERT INTO mirror_document (site, library, federation, epoch, id, title, author, contact, date, sentences,
				withheld) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (site, library, federation, epoch, id) DO UPDATE SET
				title = excluded.title, author = excluded.author, contact = excluded.contact, date = excluded.date, sentences = excluded.sentences,
				withheld = excluded.withheld`, m.args(d.ID, cleanText(d.Title), cleanText(d.Author), cleanText(d.Contact), stamp(d.Date),
				d.Sentences, d.Withheld)...)
			if err != nil {
				return err
			}
		}
		return nil
	})
	return db.fail(err, "put mirror of %s/%s", m.Site, m.Library)
}

// Mirror returns a mirror, or concordat.ErrNotFound.
func (db *Asks) Mirror(ctx context.Context, k MirrorKey) (Mirror, error) {
	m, err := scanMirror(db.read().Row(ctx, `SELECT `+mirrorColumns+mirrorFrom+
		` WHERE m.site = ? AND m.library = ? AND m.federation = ? AND m.epoch = ? GROUP BY m.site, m.library, m.federation, m.epoch`,
		k.args()...))
	return m, db.fail(err, "mirror of %s/%s", k.Site, k.Library)
}

// Mirrors returns all mirrors ordered by site, library and epoch.
func (db *Asks) Mirrors(ctx context.Context) ([]Mirror, error) {
	ms, err := engine.Collect(ctx, db.read(), scanMirror, `SELECT `+mirrorColumns+mirrorFrom+
		` GROUP BY m.site, m.library, m.federation, m.epoch ORDER BY m.site, m.library, m.federation, m.epoch`)
	return ms, db.fail(err, "mirrors")
}

// WithdrawMirrors marks the mirrors of a partner's library, for all epochs, as closed by their owner.
func (db *Asks) WithdrawMirrors(ctx context.Context, site concordat.SiteID, lib concordat.LibraryID, at time.Time) error {
	err := db.write(ctx, func(c engine.Conn) error {
		_, err := c.Exec(ctx, `UPDATE mirror SET withdrawn = ? WHERE site = ? AND library = ? AND withdrawn = 0`, stamp(at), site, lib)
		return err
	})
	return db.fail(err, "withdraw mirrors of %s/%s", site, lib)
}

// DeleteMirror deletes a mirror and its documents; if the mirror does not exist, that is not an error.
func (db *Asks) DeleteMirror(ctx context.Context, k MirrorKey) error {
	err := db.write(ctx, func(c engine.Conn) error {
		_, err := c.Exec(ctx, `DELETE FROM mirror WHERE`+ofMirror, k.args()...)
		return err
	})
	return db.fail(err, "delete mirror of %s/%s", k.Site, k.Library)
}

func scanMirrorDocument(s engine.Scanner) (MirrorDocument, error) {
	var d MirrorDocument
	var date int64
	err := s.Scan(&d.ID, &d.Title, &d.Author, &d.Contact, &date, &d.Sentences, &d.Withheld)
	d.Date = instant(date)
	return d, err
}

const mirrorDocumentColumns = `id, title, author, contact, date, sentences, withheld`

// MirrorDocument returns a document of a mirror, or concordat.ErrNotFound.
func (db *Asks) MirrorDocument(ctx context.Context, k MirrorKey, id concordat.DocumentID) (MirrorDocument, error) {
	d, err := scanMirrorDocument(db.read().Row(ctx, `SELECT `+mirrorDocumentColumns+` FROM mirror_document WHERE`+ofMirror+` AND id = ?`,
		k.args(id)...))
	return d, db.fail(err, "document %s of the mirror of %s/%s", id, k.Site, k.Library)
}

// MirrorDocuments returns documents of a mirror after the given one, ordered by id, up to limit, or up to MaxPage if limit is 0 or
// exceeds it.
func (db *Asks) MirrorDocuments(ctx context.Context, k MirrorKey, after concordat.DocumentID, limit int) ([]MirrorDocument, error) {
	ds, err := engine.Collect(ctx, db.read(), scanMirrorDocument, `SELECT `+mirrorDocumentColumns+
		` FROM mirror_document WHERE`+ofMirror+` AND id > ? ORDER BY id LIMIT ?`, k.args(after, page(limit))...)
	return ds, db.fail(err, "documents of the mirror of %s/%s", k.Site, k.Library)
}
