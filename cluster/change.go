package cluster

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"

	"concordat"
	"concordat/cluster/wal"
	"concordat/index"
)

// The payload of a put starts with its layout version (doc/cluster.md).
const (
	changeVersion = 1
	// cellsVersion is the layout with meaning cells at the end. It does not say by which definition they were computed.
	cellsVersion = 2
	// definedVersion adds the digest of that definition.
	definedVersion = 3

	digestLength = 16
)

// Slot returns the slot of a document, 0 to 255: xxhash64 of library, NUL and identity, mod 256.
func Slot(lib concordat.LibraryID, id concordat.DocumentID) uint8 {
	return uint8(xxhash.Sum64String(string(lib) + "\x00" + string(id)))
}

// ShardOf returns the number of the shard, among the given number of shards, that contains documents of the slot.
func ShardOf(slot uint8, shards int) int { return int(slot) * shards / 256 }

// record returns the record of a change, without its position. A library's name contains no NUL.
func record(c *index.Change) (wal.Record, error) {
	lib, id := c.Delete.Library, c.Delete.Document
	r := wal.Record{Kind: wal.Delete, Payload: []byte{}}
	if c.Put != nil {
		lib, id = c.Put.Document.Library, c.Put.Document.ID
		r.Kind, r.Payload = wal.Put, appendProfile(nil, c.Put)
	}
	if strings.Contains(string(lib), "\x00") || len(lib)+1+len(id) > wal.MaxID || len(r.Payload) > wal.MaxPayload {
		return r, fmt.Errorf("%s/%s: the name or the document cannot be written to the log: %w", lib, id, concordat.ErrInvalid)
	}
	r.Slot, r.ID = Slot(lib, id), string(lib)+"\x00"+string(id)
	return r, nil
}

// readable returns the change in a form whose record can be read by programs that read payloads up to the given version: before
// definedVersion, cells are by an unknown definition.
func readable(c index.Change, payload int) index.Change {
	if p := c.Put; p != nil && p.Cells != nil && payload < definedVersion {
		older := *p
		older.CellsBy = index.UnknownCells
		c.Put = &older
	}
	return c
}

// change is the inverse of record; ok is false for a record that does not change a document. It fails with concordat.ErrCorrupt.
func change(r *wal.Record, site concordat.SiteID) (c index.Change, ok bool, err error) {
	if r.Kind == wal.Noop {
		return c, false, nil
	}
	lib, id, found := strings.Cut(r.ID, "\x00")
	bad := func(what string) error {
		return fmt.Errorf("record %d: %s: %w", r.Seq, what, concordat.ErrCorrupt)
	}
	switch {
	case !found:
		return c, false, bad("the document is missing")
	case r.Kind == wal.Delete:
		c.Delete = concordat.Ref{Site: site, Library: concordat.LibraryID(lib), Document: concordat.DocumentID(id)}
		return c, true, nil
	case r.Kind == wal.Put:
		p, good := parseProfile(r.Payload)
		if !good {
			return c, false, bad("the document is damaged")
		}
		p.Document.Library, p.Document.ID = concordat.LibraryID(lib), concordat.DocumentID(id)
		c.Put = p
		return c, true, nil
	}
	return c, false, bad(fmt.Sprintf("unknown kind of record, %d", r.Kind))
}

// appendProfile appends the data that an index stores of p, except library and identity.
func appendProfile(b []byte, p *concordat.Profile) []byte {
	if b == nil {
		b = make([]byte, 0, 128+len(p.Document.Text)+len(p.Document.Title)+18*len(p.Indexed)+4*len(p.Terms)+3*len(p.Cells)+len(p.CellsBy))
	}
	str := func(s string) {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	version, by := byte(changeVersion), cmp.Or(p.CellsBy, index.PresentCells)
	switch {
	case p.Cells == nil:
	case isDigest(by):
		version = definedVersion
	default:
		version = cellsVersion
	}
	b = append(b, version)
	str(string(p.Scheme))
	str(p.Document.Title)
	b = binary.AppendVarint(b, p.Document.Added.Unix())
	b = binary.AppendUvarint(b, uint64(p.Document.Added.Nanosecond()))
	str(p.Document.Text)
	b = binary.AppendUvarint(b, uint64(len(p.Indexed)))
	end := 0
	for i := range p.Indexed {
		s := &p.Indexed[i]
		b = binary.AppendVarint(b, int64(s.Span.Start-end))
		b = binary.AppendVarint(b, int64(s.Span.Len()))
		end = s.Span.End
		b, _ = s.Fingerprint.AppendBinary(b) // this never fails
	}
	b = binary.AppendUvarint(b, uint64(len(p.Terms)))
	last := concordat.Term(0)
	for _, t := range p.Terms {
		b = binary.AppendUvarint(b, uint64(t.Term-last))
		b = binary.AppendUvarint(b, uint64(t.Count))
		last = t.Term
	}
	if p.Cells == nil {
		return b
	}
	b = binary.AppendUvarint(b, uint64(len(p.Cells)))
	before := concordat.Cell(0)
	for _, c := range p.Cells {
		b = binary.AppendUvarint(b, uint64(c-before))
		before = c
	}
	if version == definedVersion {
		b = append(b, by...)
	}
	return b
}

// content returns a payload without what depends on the versions that other nodes read, because a write may be repeated after they change.
func content(payload []byte) []byte {
	switch {
	case len(payload) > digestLength && payload[0] == definedVersion:
		return payload[1 : len(payload)-digestLength]
	case len(payload) > 0 && payload[0] == cellsVersion:
		return payload[1:]
	}
	return payload
}

// isDigest reports whether s has the form of a digest of cells, unlike index.UnknownCells.
func isDigest(s string) bool {
	return len(s) == digestLength && strings.Trim(s, "0123456789abcdef") == ""
}

// reader consumes values from the front of b; ok becomes false when one is missing.
type reader struct {
	b  []byte
	ok bool
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if r.ok = r.ok && n > 0; !r.ok {
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.b)
	if r.ok = r.ok && n > 0; !r.ok {
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) bytes(n uint64) []byte {
	if r.ok = r.ok && n <= uint64(len(r.b)); !r.ok {
		return nil
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func (r *reader) str() string { return string(r.bytes(r.uvarint())) }

// count reads the number of following items, each of at least size bytes.
func (r *reader) count(size int) int {
	n := r.uvarint()
	if r.ok = r.ok && n <= uint64(len(r.b)/size); !r.ok {
		return 0
	}
	return int(n)
}

// parseProfile is the inverse of appendProfile. It does not check whether an index would accept the profile.
func parseProfile(b []byte) (*concordat.Profile, bool) {
	r := &reader{b, true}
	version := r.bytes(1)
	if !r.ok || version[0] < changeVersion || version[0] > definedVersion {
		return nil, false
	}
	p := &concordat.Profile{Scheme: concordat.Scheme(r.str())}
	p.Document.Title = r.str()
	sec, nano := r.varint(), r.uvarint()
	if nano >= 1e9 {
		return nil, false
	}
	p.Document.Added = time.Unix(sec, int64(nano)).UTC()
	p.Document.Text = r.str()
	if n := r.count(2 + concordat.FingerprintBytes); n > 0 {
		p.Indexed = make([]concordat.Sentence, n)
	}
	end := 0
	for i := range p.Indexed {
		s := &p.Indexed[i]
		s.Span.Start = end + int(r.varint())
		s.Span.End = s.Span.Start + int(r.varint())
		end = s.Span.End
		s.Section = -1
		var err error
		if s.Fingerprint, err = concordat.ParseFingerprint(r.bytes(concordat.FingerprintBytes)); err != nil {
			return nil, false
		}
	}
	if n := r.count(2); n > 0 {
		p.Terms = make([]concordat.TermCount, n)
	}
	last := concordat.Term(0)
	for i := range p.Terms {
		last += concordat.Term(r.uvarint())
		p.Terms[i] = concordat.TermCount{Term: last, Count: int(r.uvarint())}
	}
	if version[0] >= cellsVersion {
		p.Cells = make([]concordat.Cell, r.count(1))
		before := concordat.Cell(0)
		for i := range p.Cells {
			before += concordat.Cell(r.uvarint())
			p.Cells[i] = before
		}
		p.CellsBy = index.UnknownCells
	}
	if version[0] == definedVersion {
		switch p.CellsBy = string(r.bytes(digestLength)); {
		case !isDigest(p.CellsBy):
			return nil, false
		case p.CellsBy == index.PresentCells:
			p.CellsBy = ""
		}
	}
	return p, r.ok && len(r.b) == 0 && utf8.ValidString(p.Document.Text)
}

// packChanges encodes changes in the form used in the log, for a program that reads payloads up to the given version.
func packChanges(changes []index.Change, payload int) ([]byte, error) {
	records := make([]wal.Record, len(changes))
	for i := range changes {
		c := readable(changes[i], payload)
		var err error
		if records[i], err = record(&c); err != nil {
			return nil, err
		}
		records[i].Seq, records[i].Epoch = uint64(i+1), 1
	}
	return wal.AppendRecords(nil, records), nil
}

// unpackChanges is the inverse of packChanges. Errors: concordat.ErrInvalid, concordat.ErrCorrupt.
func unpackChanges(b []byte, site concordat.SiteID) ([]index.Change, error) {
	records, err := wal.ParseRecords(b)
	if err != nil {
		return nil, err
	}
	var changes []index.Change
	for i := range records {
		c, ok, err := change(&records[i], site)
		if err != nil {
			return nil, err
		}
		if ok {
			changes = append(changes, c)
		}
	}
	return changes, nil
}
