package wal

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"

	"concordat"
)

// Kind is the kind of a record. The log itself interprets only marks.
type Kind uint8

// The kinds of records. A value is never reused for anything else.
const (
	Noop   Kind = 1 // first record of every epoch
	Put    Kind = 2
	Delete Kind = 3
	mark   Kind = 255 // all records up to its Seq were on disk when it was written
)

// Record is one entry of a log.
type Record struct {
	Seq   uint64 // 1 for a shard's first record, then without gaps
	Epoch uint64 // of the master that appended it; never decreases
	Kind  Kind
	Slot  uint8  // slot of the document, which determines its part of the site's documents
	Rev   uint64 // revision of the document
	ID    string // document, at most MaxID bytes
	// Payload must not be modified by the caller or the log.
	Payload []byte
}

const (
	// MaxID is the maximum length of Record.ID, in bytes.
	MaxID = math.MaxUint16
	// MaxPayload is the maximum length of Record.Payload, in bytes.
	MaxPayload = 512 << 20

	frame    = 8                     // length and checksum
	fixed    = 8 + 8 + 1 + 1 + 8 + 2 // from sequence number to length of ID
	markSize = frame + fixed
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Size returns the size of r in a log, in bytes.
func (r *Record) Size() int { return frame + fixed + len(r.ID) + len(r.Payload) }

// append appends the stored form of r, as defined in doc/cluster.md. The checksum starts with the salt, so that bytes from another log,
// or inside a payload, are not mistaken for records of this one.
func (r *Record) append(b []byte, salt uint32) []byte {
	start := len(b)
	b = binary.LittleEndian.AppendUint32(b, uint32(fixed+len(r.ID)+len(r.Payload)))
	b = append(b, 0, 0, 0, 0)
	b = binary.LittleEndian.AppendUint64(b, r.Seq)
	b = binary.LittleEndian.AppendUint64(b, r.Epoch)
	b = append(b, byte(r.Kind), r.Slot)
	b = binary.LittleEndian.AppendUint64(b, r.Rev)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(r.ID)))
	b = append(b, r.ID...)
	b = append(b, r.Payload...)
	binary.LittleEndian.PutUint32(b[start+4:], crc32.Update(salt, castagnoli, b[start+frame:]))
	return b
}

// parse parses the record at the start of b. Its payload aliases b. parse also returns the record's size, or false if b does not start
// with a complete record.
func parse(b []byte, salt uint32) (Record, int, bool) {
	if len(b) < frame+fixed {
		return Record{}, 0, false
	}
	n := binary.LittleEndian.Uint32(b)
	if n < fixed || uint64(n) > uint64(len(b)-frame) {
		return Record{}, 0, false
	}
	body := b[frame : frame+int(n)]
	id := int(binary.LittleEndian.Uint16(body[fixed-2:]))
	if fixed+id > len(body) || crc32.Update(salt, castagnoli, body) != binary.LittleEndian.Uint32(b[4:]) {
		return Record{}, 0, false
	}
	return Record{
		Seq: binary.LittleEndian.Uint64(body), Epoch: binary.LittleEndian.Uint64(body[8:]),
		Kind: Kind(body[16]), Slot: body[17], Rev: binary.LittleEndian.Uint64(body[18:]),
		ID: string(body[fixed : fixed+id]), Payload: body[fixed+id:],
	}, frame + int(n), true
}

// AppendRecords appends records in the form exchanged between nodes, which is the same as in a log, but with salt 0.
func AppendRecords(b []byte, rs []Record) []byte {
	for i := range rs {
		b = rs[i].append(b, 0)
	}
	return b
}

// ParseRecords is the inverse of AppendRecords. Payloads alias b. It fails with concordat.ErrInvalid for anything that AppendRecords does
// not write.
func ParseRecords(b []byte) ([]Record, error) {
	var rs []Record
	for len(b) > 0 {
		r, n, ok := parse(b, 0)
		if !ok || r.Kind == mark {
			return nil, fmt.Errorf("record %d of a message is damaged: %w", len(rs)+1, concordat.ErrInvalid)
		}
		rs, b = append(rs, r), b[n:]
	}
	return rs, nil
}
