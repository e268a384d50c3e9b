package cluster

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"concordat"
	"concordat/cluster/coord"
	"concordat/cluster/replica"
	"concordat/cluster/wal"
)

// Messages about writes have a custom byte format, because each gob message describes its types, which takes more time than indexing the
// document. Integers are uvarints (LEB128); strings are prefixed with their length.

const (
	callFetch = "fetch2"
	callWrite = "write2"
	// callReplace is a write of profiles for documents with unchanged text; see Renewer.
	callReplace = "replace1"
)

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendUvarints(b []byte, vs ...uint64) []byte {
	for _, v := range vs {
		b = binary.AppendUvarint(b, v)
	}
	return b
}

// uvarints reads a value into each pointer.
func (r *reader) uvarints(to ...*uint64) {
	for _, v := range to {
		*v = r.uvarint()
	}
}

// bits packs the flags into a number, the first in the lowest bit.
func bits(flags ...bool) (b uint64) {
	for i, f := range flags {
		if f {
			b |= 1 << i
		}
	}
	return b
}

func appendFetch(b []byte, f *replica.Fetch) []byte {
	b = appendString(appendString(b, string(f.From)), string(f.Life))
	return appendUvarints(b, f.ID, f.Epoch, f.Next, f.LastEpoch, f.Heard, bits(f.Full, f.Away))
}

func parseFetch(b []byte) (f replica.Fetch, ok bool) {
	r := &reader{b, true}
	f.From, f.Life = coord.NodeID(r.str()), coord.Incarnation(r.str())
	flags := uint64(0)
	r.uvarints(&f.ID, &f.Epoch, &f.Next, &f.LastEpoch, &f.Heard, &flags)
	f.Full, f.Away = flags&1 != 0, flags&2 != 0
	return f, r.ok && len(r.b) == 0 && flags <= 3
}

// appendReply appends the reply, followed by its records encoded by wal.AppendRecords.
func appendReply(b []byte, m *replica.Reply) []byte {
	size := 128
	for i := range m.Records {
		size += m.Records[i].Size()
	}
	if b == nil {
		b = make([]byte, 0, size)
	}
	b = appendString(b, string(m.From))
	b = appendUvarints(b, m.ID, m.Epoch, m.Next, uint64(m.Kind), m.Commit, m.End, m.EpochStart, m.To, m.ToEpoch, uint64(max(0, m.Lease)),
		bits(m.Away))
	return wal.AppendRecords(b, m.Records)
}

// parseReply is the inverse of appendReply. The payloads of records alias b. It fails with concordat.ErrInvalid.
func parseReply(b []byte) (m replica.Reply, err error) {
	r := &reader{b, true}
	m.From = coord.NodeID(r.str())
	kind, lease, flags := uint64(0), uint64(0), uint64(0)
	r.uvarints(&m.ID, &m.Epoch, &m.Next, &kind, &m.Commit, &m.End, &m.EpochStart, &m.To, &m.ToEpoch, &lease, &flags)
	if !r.ok || kind > uint64(replica.Fenced) || lease > math.MaxInt64 || flags > 1 {
		return m, fmt.Errorf("cannot parse the reply: %w", concordat.ErrInvalid)
	}
	m.Kind, m.Lease, m.Away = replica.ReplyKind(kind), time.Duration(lease), flags == 1
	m.Records, err = wal.ParseRecords(r.b)
	return m, err
}

// wireWrite is a write to be sent to a master.
type wireWrite struct {
	Op      operation
	Changes []byte // see packChanges
}

func appendWrite(b []byte, w *wireWrite) []byte {
	b = appendString(b, w.Op.Sender)
	b = appendUvarints(b, w.Op.Number, w.Op.Done, w.Op.Epoch, w.Op.Rev)
	return append(b, w.Changes...)
}

// parseWrite is the inverse of appendWrite. Changes aliases b.
func parseWrite(b []byte) (w wireWrite, ok bool) {
	r := &reader{b, true}
	w.Op.Sender = r.str()
	r.uvarints(&w.Op.Number, &w.Op.Done, &w.Op.Epoch, &w.Op.Rev)
	w.Changes = r.b
	return w, r.ok
}

// wireWritten is the reply to a wireWrite.
type wireWritten struct {
	Seq    uint64
	Late   []int  // changes that came too late
	Newest uint64 // newest revision
}

func appendWritten(b []byte, w *wireWritten) []byte {
	b = appendUvarints(b, w.Seq, w.Newest, uint64(len(w.Late)))
	for _, i := range w.Late {
		b = binary.AppendUvarint(b, uint64(i))
	}
	return b
}

// parseWritten is the inverse of appendWritten; the reply must be for the given number of changes.
func parseWritten(b []byte, changes int) (w wireWritten, ok bool) {
	r := &reader{b, true}
	r.uvarints(&w.Seq, &w.Newest)
	for range r.count(1) {
		i := r.uvarint()
		if i >= uint64(changes) {
			return w, false
		}
		w.Late = append(w.Late, int(i))
	}
	return w, r.ok && len(r.b) == 0
}
