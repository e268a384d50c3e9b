// Package fst writes dictionaries, maps of terms of equal length to numbers, in the format of vellum (version 1), which
// reads them. Start from [Writer].
//
// Vellum's own builder handles terms of any length, for which it keeps a table of shared nodes and a pool of nodes.
// Terms of equal length form a plain tree whose nodes hardly ever repeat, so all that is needed is a list of edges
// for each byte of a term. That is five to ten times faster; vellum's builder took half of the time of a merge. Only
// nodes of single terms, frequent in small dictionaries, are shared. TestWriter always compares what vellum reads,
// and, if there is nothing to share, also the bytes with those of vellum's builder.
package fst

import (
	"encoding/binary"
	"math"
)

// Longest is the greatest length of a term, in bytes.
const Longest = 4

// Writer writes one dictionary after another: Reset, Add each term, Bytes. It is for one goroutine.
//
// A node's edge carries the smallest value below it, less what the edges above carry, so vellum sums
// up the value of a term along its path.
type Writer struct {
	b     []byte
	edges [Longest][]edge // of the unfinished node of each depth
	last  [Longest]byte   // the last term
	n     int             // terms
	at    int             // address of the last node
	lone  [256]int        // the last node with one edge that ends a term; 0 if there is none
	// narrow leaves out the addresses of the ends of terms, which are all 0, if a node has no other
	// addresses. Vellum's builder writes a byte for each; its readers take the width from the node's head,
	// and read 0 if that is 0.
	narrow bool
}

type edge struct {
	in    byte
	node  int    // address; 0 for the end of a term
	value uint64 // the smallest value below it
}

const (
	version   = 1
	alone     = 1 << 7 // a node of one edge,
	following = 1 << 6 // an edge to the node before it, without a value
	maxHere   = 1<<6 - 1
	// shared is the maximum distance back to a node that is shared; beyond it, the address of the node takes
	// more space than the node.
	shared = 1 << 15
)

// common lists the bytes that the head of a node of one edge can hold, numbered from 1.
const common = "te/oasripcnw.hlm-du012g=:bf3y5&_4v9678k%?xCDASFIBEjPTzRNM+LOqHG"

// Reset begins a dictionary; what Bytes returned is no longer valid. A narrow dictionary is smaller by one byte for each
// term, and depends on behaviour of vellum's readers (v1.2.0) that vellum's builder never uses.
func (d *Writer) Reset(narrow bool) {
	d.narrow = narrow
	d.b = binary.LittleEndian.AppendUint64(d.b[:0], version)
	d.b = binary.LittleEndian.AppendUint64(d.b, 0) // type
	for i := range d.edges {
		d.edges[i] = d.edges[i][:0]
	}
	d.n, d.at = 0, 1
	d.lone = [256]int{}
}

// Add adds a term, which must be greater than all earlier ones, of the same length as they are, and 1 to Longest
// bytes long. It does not retain the term.
func (d *Writer) Add(term []byte, value uint64) {
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
	d.edges[leaf] = append(d.edges[leaf], edge{term[leaf], 0, value})
}

// close writes the unfinished nodes deeper than to.
func (d *Writer) close(length, to int) {
	for depth := length - 1; depth > to; depth-- {
		least := uint64(math.MaxUint64)
		for _, e := range d.edges[depth] {
			least = min(least, e.value)
		}
		node := d.node(d.edges[depth], least)
		d.edges[depth] = d.edges[depth][:0]
		d.edges[depth-1] = append(d.edges[depth-1], edge{d.last[depth-1], node, least})
	}
}

// Bytes ends the dictionary of terms of the given length, and returns it, valid until Reset.
func (d *Writer) Bytes(length int) []byte {
	if d.n > 0 {
		d.close(length, 0)
	}
	root := d.node(d.edges[0], 0)
	d.b = binary.LittleEndian.AppendUint64(d.b, uint64(d.n))
	d.b = binary.LittleEndian.AppendUint64(d.b, uint64(root))
	return d.b
}

// node writes a node, reducing the values of its edges by base, and returns its address.
func (d *Writer) node(edges []edge, base uint64) int {
	lone := len(edges) == 1 && edges[0].node == 0 && edges[0].value == base
	if lone {
		if at := d.lone[edges[0].in]; at != 0 && len(d.b)-at < shared {
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

// delta returns the distance from start back to a node; for the address 0 it returns 0.
func delta(start int, e edge) uint64 {
	if e.node == 0 {
		return 0
	}
	return uint64(start - e.node)
}

func (d *Writer) one(e edge, base uint64) {
	value, next := e.value-base, byte(0)
	if value == 0 && e.node == d.at {
		next = following
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
	d.b = append(d.b, alone|next|code)
}

var commonCode = func() (codes [256]byte) {
	for i := range len(common) {
		codes[common[i]] = byte(i + 1)
	}
	return codes
}()

func (d *Writer) several(edges []edge, base uint64) {
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
		d.b = append(d.b, 1, 0) // a single edge is never written in this form
	case n > maxHere || n == 0:
		d.b = append(d.b, byte(n), 0)
	default:
		d.b = append(d.b, byte(n))
	}
}

// step returns the width of addresses up to a distance.
func (d *Writer) step(farthest uint64) int {
	if d.narrow && farthest == 0 {
		return 0
	}
	return packed(farthest)
}

// pack appends the lower bytes of v, lowest first.
func (d *Writer) pack(v uint64, bytes int) {
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
