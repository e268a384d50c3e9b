// Package fst writes dictionaries, maps of terms of equal length to numbers, in the format of vellum (version 1), which reads them. The
// main type is [Writer].
//
// Vellum's own builder supports terms of any length and therefore maintains a table of shared nodes and a pool of nodes. Terms of equal
// length form a plain tree whose nodes rarely repeat, so a list of edges for each byte of a term suffices. This is five to ten times
// faster; vellum's builder took half the time of a merge. Only nodes of single terms, which are frequent in small dictionaries, are
// shared. TestWriter checks what vellum reads and, where no nodes can be shared, compares the bytes with vellum's builder.
package fst

import (
	"encoding/binary"
	"math"
)

// Longest is the maximum length of a term, in bytes.
const Longest = 4

// Writer writes one dictionary after another; call Reset, Add for each term, then Bytes. Only one goroutine may use it.
//
// Each edge carries the smallest value below it minus the values on the edges above it, so vellum adds up a term's value along its path.
type Writer struct {
	b     []byte
	edges [Longest][]edge // edges of the unfinished node at each depth
	last  [Longest]byte   // previous term
	n     int             // number of terms
	at    int             // address of the last node
	lone  [256]int        // last one-edge node that ends a term; 0 if none
	// narrow omits the addresses of a node if all of them are 0, which marks the end of a term. Vellum's builder writes one byte for
	// each; its readers take the width from the node's head, and for width 0 read 0.
	narrow bool
}

type edge struct {
	in    byte
	node  int    // address; 0 for the end of a term
	value uint64 // smallest value below it
}

const (
	version   = 1
	alone     = 1 << 7 // node with one edge
	following = 1 << 6 // edge to the preceding node, without a value
	maxHere   = 1<<6 - 1
	// shared is the maximum distance back to a shared node; beyond it, the node's address takes more space than the node.
	shared = 1 << 15
)

// common lists the bytes that fit in the head of a one-edge node, numbered from 1.
const common = "te/oasripcnw.hlm-du012g=:bf3y5&_4v9678k%?xCDASFIBEjPTzRNM+LOqHG"

// Reset begins a dictionary and invalidates the previous result of Bytes. A narrow dictionary is one byte smaller per term but relies on
// behaviour of vellum's readers (v1.2.0) that vellum's builder never uses.
func (d *Writer) Reset(narrow bool) {
	d.narrow = narrow
	d.b = binary.LittleEndian.AppendUint64(d.b[:0], version)
	d.b = binary.LittleEndian.AppendUint64(d.b, 0) // type of the dictionary
	for i := range d.edges {
		d.edges[i] = d.edges[i][:0]
	}
	d.n, d.at = 0, 1
	d.lone = [256]int{}
}

// Add adds a term, which must be greater than all earlier ones, of the same length, and 1 to Longest bytes long. It does not retain the
// slice.
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

// close writes all unfinished nodes deeper than to.
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

// Bytes completes the dictionary of terms of the given length and returns it; the result is valid until Reset.
func (d *Writer) Bytes(length int) []byte {
	if d.n > 0 {
		d.close(length, 0)
	}
	root := d.node(d.edges[0], 0)
	d.b = binary.LittleEndian.AppendUint64(d.b, uint64(d.n))
	d.b = binary.LittleEndian.AppendUint64(d.b, uint64(root))
	return d.b
}

// node writes a node, subtracts base from the values of its edges, and returns its address.
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

// delta returns the distance from start back to a node, or 0 for address 0.
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
		d.b = append(d.b, 1, 0) // a single edge never uses this form
	case n > maxHere || n == 0:
		d.b = append(d.b, byte(n), 0)
	default:
		d.b = append(d.b, byte(n))
	}
}

// step returns the width of an address at the farthest distance.
func (d *Writer) step(farthest uint64) int {
	if d.narrow && farthest == 0 {
		return 0
	}
	return packed(farthest)
}

// pack appends the low bytes of v, lowest first.
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
