package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"concordat"
)

// These are the names of the Bleve documents' fields; DESIGN.md lists them with their options.
const (
	fieldFingerprints = "fp"
	fieldSpans        = "sp"
	fieldDocument     = "doc"
	fieldText         = "text"
	fieldTerms        = "terms"
)

// bandFields holds the names of the five band fields.
var bandFields = [concordat.Bands]string{"a", "b", "c", "d", "e"}

const (
	blockSentences     = 20   // sentences per block
	longBlockSentences = 64   // sentences per block in documents of more than longDocument sentences
	longDocument       = 1280 // sentences
	maxSentences       = longBlockSentences << 16

	maxName  = 4 << 10 // bytes of a library or document ID
	maxTitle = 64 << 10

	// metaVersion is the format version for documents with cells by the present definition. When PresentCells changes, a new version
	// replaces it, and the old one joins staleVersion.
	metaVersion = 4
	// staleVersion is the same format for documents with cells by an earlier definition.
	staleVersion = 3
	// plainVersion is the format version for documents whose cells are unknown; it does not store cells.
	plainVersion = 2
)

// blockSize returns the number of sentences in every block of a document but the last.
func blockSize(sentences int) int {
	if sentences > longDocument {
		return longBlockSentences
	}
	return blockSentences
}

// blockCount returns a document's number of blocks. A document without sentences has one block.
func blockCount(sentences int) int {
	size := blockSize(sentences)
	return max(1, (sentences+size-1)/size)
}

// blockID returns a block's Bleve identity: the document number and the block's ordinal, big-endian.
func blockID(number uint32, block int) string {
	var b [6]byte
	binary.BigEndian.PutUint32(b[:], number)
	binary.BigEndian.PutUint16(b[4:], uint16(block))
	return string(b[:])
}

// textID returns the Bleve identity of a document's text.
func textID(number uint32) string {
	b := [5]byte{0: 't'}
	binary.BigEndian.PutUint32(b[1:], number)
	return string(b[:])
}

// parseBlockID is the inverse of blockID; for the identity of a text, ok is false.
func parseBlockID(id []byte) (number uint32, block int, ok bool) {
	if len(id) != 6 {
		return 0, 0, false
	}
	return binary.BigEndian.Uint32(id), int(binary.BigEndian.Uint16(id[4:])), true
}

// parseTextID is the inverse of textID.
func parseTextID(id []byte) (number uint32, ok bool) {
	if len(id) != 5 || id[0] != 't' {
		return 0, false
	}
	return binary.BigEndian.Uint32(id[1:]), true
}

var errStored = errors.New("the stored data is damaged")

// appendFingerprints appends the stored form of the fingerprints, 13 bytes each.
func appendFingerprints(b []byte, ss []concordat.Sentence) []byte {
	for i := range ss {
		b, _ = ss[i].Fingerprint.AppendBinary(b) // cannot fail
	}
	return b
}

// decodeFingerprints decodes stored fingerprints and appends them to dst.
func decodeFingerprints(dst []concordat.Fingerprint, b []byte) ([]concordat.Fingerprint, error) {
	if len(b)%concordat.FingerprintBytes != 0 {
		return dst, fmt.Errorf("the fingerprints have the wrong length, %d bytes: %w", len(b), errStored)
	}
	for ; len(b) > 0; b = b[concordat.FingerprintBytes:] {
		f, err := concordat.ParseFingerprint(b[:concordat.FingerprintBytes])
		if err != nil {
			return dst, fmt.Errorf("%w: %w", err, errStored)
		}
		dst = append(dst, f)
	}
	return dst, nil
}

// appendSpans appends the stored form of the spans of one block, which is the distance of each from the end of the previous span (for the
// first, from 0), and its length, as uvarints. If all spans of a block are empty and at 0, it appends nothing. The spans must be ordered
// and disjoint.
func appendSpans(b []byte, ss []concordat.Sentence) []byte {
	none := true
	for i := range ss {
		none = none && ss[i].Span == concordat.Span{}
	}
	if none {
		return b
	}
	end := 0
	for i := range ss {
		b = binary.AppendUvarint(b, uint64(ss[i].Span.Start-end))
		b = binary.AppendUvarint(b, uint64(ss[i].Span.Len()))
		end = ss[i].Span.End
	}
	return b
}

// maxOffset bounds every stored span, so that sums of decoded lengths cannot overflow.
const maxOffset = 1 << 40

// spanAt decodes span i of a block.
func spanAt(b []byte, i int) (concordat.Span, error) {
	var s concordat.Span
	if len(b) == 0 {
		return s, nil
	}
	for ; i >= 0; i-- {
		gap, n := binary.Uvarint(b)
		if n <= 0 || gap > maxOffset {
			return s, fmt.Errorf("spans: %w", errStored)
		}
		length, m := binary.Uvarint(b[n:])
		if m <= 0 || length > maxOffset {
			return s, fmt.Errorf("spans: %w", errStored)
		}
		b = b[n+m:]
		s.Start = s.End + int(gap)
		s.End = s.Start + int(length)
		if s.End > maxOffset {
			return s, fmt.Errorf("spans: %w", errStored)
		}
	}
	return s, nil
}

// checkSpans reports whether b is the stored form of exactly n spans, or is empty.
func checkSpans(b []byte, n int) error {
	if len(b) == 0 {
		return nil
	}
	end := uint64(0)
	for i := range 2 * n {
		v, m := binary.Uvarint(b)
		if m <= 0 || v > maxOffset || end+v > maxOffset {
			return fmt.Errorf("span %d: %w", i/2, errStored)
		}
		end += v
		b = b[m:]
	}
	if len(b) != 0 {
		return fmt.Errorf("%d extra bytes after the spans: %w", len(b), errStored)
	}
	return nil
}

// meta is a document's metadata, stored in its block 0.
type meta struct {
	library   concordat.LibraryID
	id        concordat.DocumentID
	title     string
	added     time.Time
	sentences int
	text      bool   // whether a text is stored
	words     int    // number of term occurrences in the text
	meant     bool   // whether its cells are known
	stale     bool   // whether its known cells were computed by an earlier definition
	cells     []byte // as appendCells writes them
}

// appendMeta appends the stored form of m.
func appendMeta(b []byte, m *meta) []byte {
	flags := byte(0)
	if m.text {
		flags |= 1
	}
	version := byte(plainVersion)
	switch {
	case m.stale:
		version = staleVersion
	case m.meant:
		version = metaVersion
	}
	b = append(b, version, flags)
	b = binary.AppendUvarint(b, uint64(m.sentences))
	b = binary.AppendUvarint(b, uint64(m.words))
	b = binary.AppendVarint(b, m.added.Unix())
	b = binary.AppendUvarint(b, uint64(m.added.Nanosecond()))
	for _, s := range []string{string(m.library), string(m.id), m.title} {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	return append(b, m.cells...)
}

// decodeMeta decodes metadata written by appendMeta; the cells share the memory of b.
func decodeMeta(b []byte) (*meta, error) {
	if len(b) < 2 {
		return nil, fmt.Errorf("the document data is too short (%d bytes): %w", len(b), errStored)
	}
	if b[0] < plainVersion || b[0] > metaVersion {
		return nil, fmt.Errorf("the document data has version %d, but this program supports versions %d to %d", b[0], plainVersion, metaVersion)
	}
	if b[1] > 1 {
		return nil, fmt.Errorf("the document has unknown flags, %#x: %w", b[1], errStored)
	}
	m := &meta{text: b[1]&1 != 0, meant: b[0] != plainVersion, stale: b[0] == staleVersion}
	r := reader{b: b[2:]}
	m.sentences = int(r.uvarint(maxSentences))
	m.words = int(r.uvarint(maxWords))
	seconds, nanos := r.varint(), r.uvarint(999_999_999)
	m.library = concordat.LibraryID(r.str(maxName))
	m.id = concordat.DocumentID(r.str(maxName))
	m.title = r.str(maxTitle)
	if m.meant {
		m.cells, r.b = r.b, nil
	}
	if r.bad || len(r.b) != 0 {
		return nil, fmt.Errorf("cannot decode the document data: %w", errStored)
	}
	m.added = time.Unix(seconds, int64(nanos)).UTC()
	return m, nil
}

// reader reads values from the front of b; after an invalid value, it returns only zeros.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) uvarint(most uint64) uint64 {
	v, n := binary.Uvarint(r.b)
	if r.bad || n <= 0 || v > most {
		r.bad = true
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.b)
	if r.bad || n <= 0 {
		r.bad = true
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) str(most int) string {
	n := r.uvarint(uint64(most))
	if r.bad || n > uint64(len(r.b)) {
		r.bad = true
		return ""
	}
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}
