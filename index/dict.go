package index

import (
	"encoding/binary"
	"math"

	"concordat"
)

// dictWriter writes the dictionary of a field whose terms all have the same length, in vellum's format
// version 1, which vellum reads. Vellum's own builder keeps a table of nodes to share and a pool of
// them, for terms of any length; terms of equal length form a plain tree, whose nodes hardly ever
// repeat, so a list of edges for each byte of a term is all that is needed. That is five to ten times
// quicker, and was half of the time of a merge. TestDictWriter compares it with vellum's builder, byte by
// byte where there is nothing to share. Only nodes of one term, of which small segments have many, are shared.
//
// A node's edge carries the smallest value below it, less what the edges above carry; so vellum adds
// up the value of a term along its way.
type dictWriter struct {
	b     []byte
	edges [wordBytes][]dictEdge // of the unfinished node of each depth
	last  [wordBytes]byte       // the last term
	n     int                   // terms
	at    int                   // address of the last node
	lone  [256]int              // the last node of one edge that ends a term; 0: none
	// narrow leaves the addresses of the ends of terms, which are all 0, out where a node has nothing
	// else. Vellum's builder writes a byte for each, its readers take the width from the node's head and read
	// 0 where it is 0. That saves 5 bytes a sentence, one in seven. Only bands are written so: if a later
	// vellum should refuse it, TestDictWriter and TestSegment fail, and nothing but MatchStored reads bands: a merge
	// writes them anew from the fingerprints.
	narrow bool
}

type dictEdge struct {
	in    byte
	node  int    // address; 0: the end of a term
	value uint64 // the smallest below it
}

const (
	dictVersion  = 1
	dictHeader   = 16
	dictOne      = 1 << 7 // a node of one edge,
	dictNext     = 1 << 6 // to the node before it, without value
	dictMostHere = 1<<6 - 1
	// dictShare is how far back a node is shared: beyond, its address costs more than the node.
	dictShare = 1 << 15
)

// dictCommon lists the bytes that the head of a node of one edge can hold, from 1 on.
const dictCommon = "te/oasripcnw.hlm-du012g=:bf3y5&_4v9678k%?xCDASFIBEjPTzRNM+LOqHG"

// reset begins a dictionary, narrow or not; what bytes returned is no longer valid.
func (d *dictWriter) reset(narrow bool) {
	d.narrow = narrow
	d.b = binary.LittleEndian.AppendUint64(d.b[:0], dictVersion)
	d.b = binary.LittleEndian.AppendUint64(d.b, 0) // type
	for i := range d.edges {
		d.edges[i] = d.edges[i][:0]
	}
	d.n, d.at = 0, 1
	d.lone = [256]int{}
}

// add adds a term, which is above all before it and as long; at most wordBytes.
func (d *dictWriter) add(term []byte, value uint64) {
	if d.n > 0 {
		same := 0
		for term[same] == d.last[same] {
			same++
		}
		d.close(len(term), same)
	}
	copy(d.last[:], term)
	d.n++
	leaf := len(term) - 1
	d.edges[leaf] = append(d.edges[leaf], dictEdge{term[leaf], 0, value})
}

// close writes the unfinished nodes deeper than to.
func (d *dictWriter) close(length, to int) {
	for depth := length - 1; depth > to; depth-- {
		least := uint64(math.MaxUint64)
		for _, e := range d.edges[depth] {
			least = min(least, e.value)
		}
		node := d.node(d.edges[depth], least)
		d.edges[depth] = d.edges[depth][:0]
		d.edges[depth-1] = append(d.edges[depth-1], dictEdge{d.last[depth-1], node, least})
	}
}

// bytes ends the dictionary of terms of the given length and returns it; it is valid until reset.
func (d *dictWriter) bytes(length int) []byte {
	if d.n > 0 {
		d.close(length, 0)
	}
	root := d.node(d.edges[0], 0)
	d.b = binary.LittleEndian.AppendUint64(d.b, uint64(d.n))
	d.b = binary.LittleEndian.AppendUint64(d.b, uint64(root))
	return d.b
}

// node writes a node whose edges' values are to be less by base, and returns its address.
func (d *dictWriter) node(edges []dictEdge, base uint64) int {
	lone := len(edges) == 1 && edges[0].node == 0 && edges[0].value == base
	if lone {
		if at := d.lone[edges[0].in]; at != 0 && len(d.b)-at < dictShare {
			return at
		}
	}
	if len(edges) == 1 {
		d.one(edges[0], base)
	} else {
		d.several(edges, base)
	}
	d.at = len(d.b) - 1
	if lone {
		d.lone[edges[0].in] = d.at
	}
	return d.at
}

// delta returns the distance of a node from start; 0 stays 0.
func delta(start int, e dictEdge) uint64 {
	if e.node == 0 {
		return 0
	}
	return uint64(start - e.node)
}

func (d *dictWriter) one(e dictEdge, base uint64) {
	value, next := e.value-base, byte(0)
	if value == 0 && e.node == d.at {
		next = dictNext
	} else {
		start, width := len(d.b), 0
		if value != 0 {
			width = packed(value)
			d.pack(value, width)
		}
		to := delta(start, e)
		step := d.step(to)
		d.pack(to, step)
		d.b = append(d.b, byte(step<<4|width))
	}
	code := commonCode[e.in]
	if code == 0 {
		d.b = append(d.b, e.in)
	}
	d.b = append(d.b, dictOne|next|code)
}

var commonCode = func() (codes [256]byte) {
	for i := range len(dictCommon) {
		codes[dictCommon[i]] = byte(i + 1)
	}
	return codes
}()

func (d *dictWriter) several(edges []dictEdge, base uint64) {
	start := len(d.b)
	farthest, most := uint64(0), uint64(0)
	for _, e := range edges {
		farthest, most = max(farthest, delta(start, e)), max(most, e.value-base)
	}
	step, width := d.step(farthest), packed(most)
	if len(edges) == 0 {
		step = 0
	}
	if most == 0 {
		width = 0
	}
	for i := len(edges) - 1; i >= 0 && width > 0; i-- {
		d.pack(edges[i].value-base, width)
	}
	for i := len(edges) - 1; i >= 0; i-- {
		d.pack(delta(start, edges[i]), step)
	}
	for i := len(edges) - 1; i >= 0; i-- {
		d.b = append(d.b, edges[i].in)
	}
	d.b = append(d.b, byte(step<<4|width))
	switch n := len(edges); {
	case n == 256:
		d.b = append(d.b, 1, 0) // a lone edge is never written so
	case n > dictMostHere || n == 0:
		d.b = append(d.b, byte(n), 0)
	default:
		d.b = append(d.b, byte(n))
	}
}

// step returns the width of addresses up to a distance.
func (d *dictWriter) step(farthest uint64) int {
	if d.narrow && farthest == 0 {
		return 0
	}
	return packed(farthest)
}

// pack appends the lower bytes of v, lowest first.
func (d *dictWriter) pack(v uint64, bytes int) {
	d.b = binary.LittleEndian.AppendUint64(d.b, v)[:len(d.b)+bytes]
}

// packed returns the number of bytes that v needs, at least 1.
func packed(v uint64) int {
	n := 1
	for ; v >= 1<<8; v >>= 8 {
		n++
	}
	return n
}

// number gives the values of a band, sorted and with their documents in order, occurrence numbers of
// their own, and leaves out repeats of a value in a document. Terms come as v<<4 and go as v<<4|k.
func number(ts []termDoc) []termDoc {
	n := 0
	last, k := uint32(math.MaxUint32), uint32(0)
	for _, t := range ts {
		switch {
		case t.term != last:
			last, k = t.term, 0
		case ts[n-1].doc == t.doc:
			continue
		default:
			k = min(k+1, lastK)
		}
		ts[n] = termDoc{t.term | k, t.doc}
		n++
	}
	return ts[:n]
}

// addFingerprints notes the bands of the next document, to be numbered.
func (w *segmentWriter) addFingerprints(fps []concordat.Fingerprint) error {
	doc := uint32(len(w.ids))
	if w.sink != nil {
		return w.sink.prints.add(fps, doc)
	}
	for _, f := range fps {
		for band := range concordat.Bands {
			w.terms[band] = append(w.terms[band], termDoc{f.Band(band) << 4, doc})
		}
	}
	return nil
}
