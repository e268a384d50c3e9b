//go:build linux

package faults

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"concordat"
	"concordat/cluster/coord"
)

// entry is one line of a history.
type entry struct {
	Kind  string // run, write, read, fault, heal, copy, note
	At    time.Duration
	End   time.Duration     `json:",omitempty"`
	Node  coord.NodeID      `json:",omitempty"` // node that was asked, that failed, or that has the copy
	Shard concordat.ShardID `json:",omitempty"`
	Err   string            `json:",omitempty"`

	// The following fields describe a write: one client writes a document, one operation after another; a delete is a revision without
	// the document. OK means that it was acknowledged. An operation with neither outcome might have taken effect.
	Doc    string `json:",omitempty"`
	Rev    int    `json:",omitempty"`
	Delete bool   `json:",omitempty"`
	OK     bool   `json:",omitempty"`

	// These fields describe a read (of one document or a group) or a copy.
	Group    *int           `json:",omitempty"`
	Complete bool           `json:",omitempty"`
	Docs     map[string]int `json:",omitempty"`
	Wrong    []string       `json:",omitempty"`

	// These fields describe a run, a fault or a note.
	Words string              `json:",omitempty"`
	Leads []concordat.ShardID `json:",omitempty"` // shards known to have the failing node as master
	Alone bool                `json:",omitempty"` // everything had recovered from earlier faults
}

// history is stored in memory and in a file. It is safe for concurrent use.
type history struct {
	start time.Time

	mu  sync.Mutex // guards the fields below
	all []entry
	w   *bufio.Writer
}

func newHistory(w io.Writer) *history { return &history{start: time.Now(), w: bufio.NewWriter(w)} }

func (h *history) now() time.Duration { return time.Since(h.start) }

func (h *history) add(e entry) {
	b, err := json.Marshal(e)
	if err != nil {
		panic(err) // an entry can always be marshalled
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, e)
	_, _ = h.w.Write(append(b, '\n')) // the last Flush returns the error
}

func (h *history) flush() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.w.Flush()
}

func (h *history) entries() []entry {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.all)
}

// readHistory reads a stored history.
func readHistory(r io.Reader) ([]entry, error) {
	var all []entry
	d := json.NewDecoder(r)
	for {
		var e entry
		if err := d.Decode(&e); err == io.EOF {
			return all, nil
		} else if err != nil {
			return all, err
		}
		all = append(all, e)
	}
}

// verdict is the checker's judgement of a history.
type verdict struct {
	Acknowledged, Unknown int // numbers of writes
	Reads, CompleteReads  int
	Checked               int // number of documents in all copies
	Lost                  int // acknowledged documents that are missing from a copy or have an older revision there
	Resurrected           int // deleted documents that are in a copy
	Missed                int // complete answers without an acknowledged write
	Differ                int // copies that differ from the first copy of their shard
	Other                 int // documents that were never written, texts of another revision, or an index that contradicts its documents
	Words                 []string
}

func (v *verdict) violations() int { return v.Lost + v.Resurrected + v.Missed + v.Differ + v.Other }

const maxWords = 40

func (v *verdict) say(count *int, format string, args ...any) {
	if *count++; len(v.Words) < maxWords {
		v.Words = append(v.Words, fmt.Sprintf(format, args...))
	}
}

// writes are the operations on one document, in order.
type writes []entry

// value returns the value that a read finds after the operation, or 0 if none.
func value(e *entry) int {
	if e.Delete {
		return 0
	}
	return e.Rev
}

// allowed returns the values that a read between from and to may find: the result of the last write acknowledged before it began, or of
// any later write.
func (w writes) allowed(from, to time.Duration) map[int]bool {
	out := map[int]bool{0: true}
	for i := range w {
		switch e := &w[i]; {
		case e.At >= to:
		case e.OK && e.End < from:
			out = map[int]bool{value(e): true}
		default:
			out[value(e)] = true
		}
	}
	return out
}

// check compares answers, and the copies' final contents, with the acknowledged writes.
func check(all []entry) *verdict {
	v, docs := &verdict{}, map[string]writes{}
	byGroup := map[int][]string{}
	for _, e := range all {
		if e.Kind != "write" {
			continue
		}
		if e.OK {
			v.Acknowledged++
		} else {
			v.Unknown++
		}
		if docs[e.Doc] == nil {
			byGroup[groupOf(e.Doc)] = append(byGroup[groupOf(e.Doc)], e.Doc)
		}
		docs[e.Doc] = append(docs[e.Doc], e)
	}
	for _, w := range docs {
		slices.SortFunc(w, func(a, b entry) int { return int(a.At - b.At) })
	}
	first := map[concordat.ShardID]*entry{}
	for i := range all {
		switch e := &all[i]; e.Kind {
		case "read":
			v.read(e, docs, byGroup)
		case "copy":
			v.copyOf(e, docs, first)
		}
	}
	// Every copy must contain everything in the shard's first copy.
	there := map[string]bool{}
	for _, e := range first {
		for doc := range e.Docs {
			there[doc] = true
		}
	}
	if len(first) > 0 {
		for doc, w := range docs {
			if !there[doc] && !w.allowed(forever, forever)[0] {
				v.say(&v.Lost, "document %s is in no copy, acknowledged was revision %d", doc, w[len(w)-1].Rev)
			}
		}
	}
	slices.Sort(v.Words)
	return v
}

const forever = time.Duration(1 << 62)

// read checks one answer.
func (v *verdict) read(e *entry, docs map[string]writes, byGroup map[int][]string) {
	if e.Err != "" {
		v.Reads++
		return
	}
	v.Reads++
	if e.Complete {
		v.CompleteReads++
	}
	asked := []string{e.Doc}
	if e.Group != nil {
		asked = byGroup[*e.Group]
	}
	for doc := range e.Docs {
		if docs[doc] == nil {
			v.say(&v.Other, "node %s answered with document %s at %v, which nobody wrote", e.Node, doc, e.At)
		}
	}
	for _, doc := range asked {
		got, may := e.Docs[doc], docs[doc].allowed(e.At, e.End)
		if got == 0 && !e.Complete || may[got] {
			continue
		}
		v.say(&v.Missed, "node %s said at %v to %v that document %s is at revision %d (complete %v), it may be %v", e.Node, e.At, e.End, doc,
			got, e.Complete, slices.Sorted(maps.Keys(may)))
	}
}

// copyOf checks one copy at the end.
func (v *verdict) copyOf(e *entry, docs map[string]writes, first map[concordat.ShardID]*entry) {
	for _, w := range e.Wrong {
		v.say(&v.Other, "copy of %s on %s: %s", e.Shard, e.Node, w)
	}
	for doc, rev := range e.Docs {
		v.Checked++
		may := docs[doc].allowed(forever, forever)
		switch {
		case docs[doc] == nil:
			v.say(&v.Other, "copy of %s on %s has document %s, which nobody wrote", e.Shard, e.Node, doc)
		case may[rev]:
		case len(may) == 1 && may[0]:
			v.say(&v.Resurrected, "copy of %s on %s has document %s in revision %d, which was deleted", e.Shard, e.Node, doc, rev)
		default:
			v.say(&v.Lost, "copy of %s on %s has revision %d of %s, acknowledged were %v", e.Shard, e.Node, rev, doc, slices.Sorted(maps.Keys(may)))
		}
	}
	if f := first[e.Shard]; f == nil {
		first[e.Shard] = e
	} else if !maps.Equal(f.Docs, e.Docs) {
		v.say(&v.Differ, "copies of %s on %s and %s differ: %s", e.Shard, f.Node, e.Node, difference(f.Docs, e.Docs))
	}
}

// difference lists the first few documents in which two copies differ.
func difference(a, b map[string]int) string {
	var out []string
	for _, doc := range slices.Sorted(maps.Keys(a)) {
		if a[doc] != b[doc] {
			out = append(out, fmt.Sprintf("%s is %d and %d", doc, a[doc], b[doc]))
		}
	}
	for _, doc := range slices.Sorted(maps.Keys(b)) {
		if _, ok := a[doc]; !ok {
			out = append(out, fmt.Sprintf("%s is 0 and %d", doc, b[doc]))
		}
	}
	return fmt.Sprint(len(out), " documents: ", out[:min(3, len(out))])
}
