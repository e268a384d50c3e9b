package answer

import (
	"context"
	"crypto/hmac"
	"encoding/binary"
	"errors"
	"fmt"

	"concordat"
	"concordat/store"
)

// A shipment ends when it reaches one of these limits.
const (
	shipDocuments = 200
	shipSentences = 20_000
)

// AnswerShip returns the changes in a library since the partner's cursor, as fingerprints of whole documents, in the order in which they
// were made. If the cursor belongs to another set, it fails with a *concordat.Refusal with ReasonUnknown; the partner then drops its
// mirror and starts over. A text that the partner has as word sets is reported as withheld rather than shipped.
func (s *Answerer) AnswerShip(ctx context.Context, from concordat.SiteID, a *concordat.ShipAsk) (*concordat.Shipment, error) {
	line := auditShip{Epoch: a.Epoch.String(), Library: cut(a.Library)}
	out, err := s.ship(ctx, from, a)
	line.Refused = reasonOf(err)
	if err == nil {
		for _, d := range out.Documents {
			line.Documents++
			line.Sentences += len(d.Sentences)
			if d.Removed {
				line.Removed++
			}
		}
	}
	if err2 := s.audit(ctx, from, "ship", line); err2 != nil {
		return nil, err2
	}
	return out, err
}

func (s *Answerer) ship(ctx context.Context, from concordat.SiteID, a *concordat.ShipAsk) (*concordat.Shipment, error) {
	set, err := s.epochFor(from, a.Epoch)
	if err != nil {
		return nil, err
	}
	g, refusal, err := s.grant(ctx, from, a.Library, anyPurpose)
	if err != nil {
		return nil, err
	}
	if refusal == nil && !g.rule.Ship {
		refusal = refuse(concordat.ReasonLevel, "library %s may not be mirrored", a.Library)
	}
	if refusal != nil {
		return nil, refusal
	}
	after, err := set.readCursor(from, a)
	if err != nil {
		return nil, err
	}
	out := &concordat.Shipment{Scheme: set.Profiler.Scheme()}
	shipped, last, err := s.shipPage(ctx, set, g, after, out)
	if err != nil {
		return nil, err
	}
	out.Cursor = set.cursor(from, a.Library, last)
	return out, s.o.Store.Answers.AddShipped(ctx, from, set.Epoch, shipped)
}

// shipPage adds the changes after the given number to out. It returns the records of the changes sent, and the number of the last change
// examined.
func (s *Answerer) shipPage(ctx context.Context, set *epochSet, g *grant, after int64,
	out *concordat.Shipment) (shipped []store.Shipped, last int64, err error) {
	changes, err := s.o.Store.Answers.EpochChanges(ctx, set.Epoch, g.library.ID, after, shipDocuments)
	if err != nil {
		return nil, 0, err
	}
	if len(changes) > 0 {
		if err := s.pay(ctx, g.shipped(len(changes))); err != nil {
			return nil, 0, err
		}
	}
	out.More = len(changes) == shipDocuments
	last = after
	sentences := 0
	for _, c := range changes {
		if sentences > 0 && sentences+c.Sentences > shipSentences {
			out.More = true
			break
		}
		last = c.Seq
		d, hash, err := s.shipOne(ctx, set, g, c)
		if err != nil {
			return nil, 0, err
		}
		if d == nil {
			continue
		}
		sentences += len(d.Sentences)
		out.Documents = append(out.Documents, *d)
		if !d.Removed {
			shipped = append(shipped, store.Shipped{Handle: d.Handle, Library: g.library.ID, Document: c.ID, Hash: hash})
		}
	}
	return shipped, last, nil
}

// shipOne returns a changed document for shipment, or nil if it is not shipped.
func (s *Answerer) shipOne(ctx context.Context, set *epochSet, g *grant,
	c store.EpochDocument) (*concordat.ShippedDocument, string, error) {
	d := &concordat.ShippedDocument{Handle: set.handle(g.from, g.library.ID, c.ID)}
	if c.Removed {
		return s.shipRemoval(ctx, set, g, d)
	}
	row, err := s.o.Store.Answers.HeldDocument(ctx, set.Epoch, g.library.ID, c.ID)
	if isNotFound(err) {
		return nil, "", nil // it is still changing, and will reappear with a later number
	}
	if err != nil {
		return nil, "", err
	}
	doc, err := s.document(ctx, g.library.ID, c.ID)
	if err != nil || doc == nil || store.TextHash(doc.Text) != row.Hash {
		return nil, "", err
	}
	p, err := set.Profiler.ForIndex(*doc)
	if err != nil {
		return nil, "", err
	}
	err = s.o.Store.Asks.Show(ctx, store.Showing{Partner: g.from, Hash: row.Hash, Form: store.FormFingerprints, Library: g.library.ID,
		Document: c.ID, Epoch: set.Epoch, Sentences: len(p.Indexed)})
	if errors.Is(err, concordat.ErrRefused) {
		d.Withheld = true // the mirror may contain an earlier text, and the partner must learn that this one is missing
		return d, row.Hash, nil
	}
	if err != nil {
		return nil, "", err
	}
	if atLeast(g.rule.Level, concordat.ShowMetadata) {
		d.Title, d.Author, d.Contact, d.Date = row.Title, row.Author, g.rule.Contact, row.Added
	}
	for i, sentence := range p.Indexed {
		d.Sentences = append(d.Sentences, concordat.ShippedSentence{Fingerprint: sentence.Fingerprint, Ordinal: i})
	}
	return d, row.Hash, nil
}

// shipRemoval returns d marked as removed if the partner has it, otherwise nil.
func (s *Answerer) shipRemoval(ctx context.Context, set *epochSet, g *grant,
	d *concordat.ShippedDocument) (*concordat.ShippedDocument, string, error) {
	_, err := s.o.Store.Answers.ShippedDocument(ctx, g.from, set.Epoch, d.Handle)
	if isNotFound(err) {
		return nil, "", nil
	}
	d.Removed = true
	return d, "", err
}

const cursorBytes = 24

// cursor encodes a position in the changes of a library, for one partner.
func (e *epochSet) cursor(from concordat.SiteID, lib concordat.LibraryID, seq int64) []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(seq))
	tag := keyedID(e.HandleKey, "concordat/cursor/1", []byte(from), []byte(e.Epoch.String()), []byte(lib), b)
	return append(b, tag[:]...)
}

// readCursor decodes the position of the asker's cursor, or returns 0 if there is none.
func (e *epochSet) readCursor(from concordat.SiteID, a *concordat.ShipAsk) (int64, error) {
	if len(a.Cursor) == 0 {
		return 0, nil
	}
	if len(a.Cursor) > 64 {
		return 0, fmt.Errorf("cursor is too long (%d bytes): %w", len(a.Cursor), concordat.ErrInvalid)
	}
	if len(a.Cursor) == cursorBytes {
		seq := int64(binary.BigEndian.Uint64(a.Cursor))
		if hmac.Equal(e.cursor(from, a.Library, seq), a.Cursor) {
			return seq, nil
		}
	}
	return 0, unknown("the cursor belongs to a different fingerprint set; start again")
}

// OpenTo returns the libraries that are or will be open to a partner, in order, with the opening dates of the latter.
func (s *Answerer) OpenTo(ctx context.Context, from concordat.SiteID) (*concordat.Catalogue, error) {
	shares, err := s.o.Store.Answers.Shares(ctx, "", from)
	if err != nil {
		return nil, err
	}
	out := &concordat.Catalogue{}
	for _, x := range shares {
		g, refusal, err := s.grant(ctx, from, x.Library, anyPurpose)
		if err != nil {
			return nil, err
		}
		if refusal != nil && refusal.Reason != concordat.ReasonEmbargo {
			continue
		}
		l, err := s.openLibrary(ctx, g)
		if err != nil {
			return nil, err
		}
		out.Libraries = append(out.Libraries, *l)
	}
	return out, nil
}

func (s *Answerer) openLibrary(ctx context.Context, g *grant) (*concordat.OpenLibrary, error) {
	r := &g.rule
	l := &concordat.OpenLibrary{ID: g.library.ID, Title: g.library.Title, Documents: roundUp(g.library.Documents), Level: r.Level,
		Outline: r.Outline, Purposes: r.Purposes, Ship: r.Ship, Standing: r.Standing, Embargo: r.Embargo, Expires: r.Expires,
		Sentences: r.Limits.Sentences, Disclosures: r.Limits.Disclosures, Ready: []concordat.EpochReadiness{}}
	if p := g.library.Policy; p.Embargo.After(l.Embargo) {
		l.Embargo = p.Embargo
	}
	if p := g.library.Policy; !p.Expires.IsZero() && (l.Expires.IsZero() || p.Expires.Before(l.Expires)) {
		l.Expires = p.Expires
	}
	for _, e := range s.epochSets() {
		if e.retired(s.o.Now()) || !e.member(g.from) {
			continue
		}
		ready, err := s.Sets.readyOf(ctx, e, g.library.ID)
		if err != nil {
			return nil, err
		}
		l.Ready = append(l.Ready, concordat.EpochReadiness{Epoch: e.Epoch, Scheme: e.Profiler.Scheme(), Ready: ready.share()})
	}
	return l, nil
}

// roundUp rounds n up to two significant digits, so that a catalogue does not reveal individual documents.
func roundUp(n int) int {
	unit := 1
	for n > 100*unit {
		unit *= 10
	}
	return (n + unit - 1) / unit * unit
}
