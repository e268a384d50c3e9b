// Package runetab is the normaliser's rune table. For every code point, it contains the class for segmentation and the folded letter for
// matching. It defines the format shared by the generator and the reader; doc/format.md describes the bytes.
package runetab

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
)

// Class is the role of a rune in words and sentences.
type Class uint8

// These are the classes.
const (
	Other      Class = iota // separates words
	Letter                  // part of a word
	Mark                    // combining mark, part of a word
	Digit                   // part of a word
	Expand                  // part of a word, folds to several letters
	Drop                    // removed
	Dot                     // can end a sentence
	Terminator              // ends a sentence
	Closer                  // closing bracket or quotation mark; belongs to the sentence that it closes
	Opener                  // opening bracket or quotation mark
	Clause                  // comma or similar; an overlong sentence can be split there
	Newline
	Space
)

// Script distinguishes the kinds of writing that need different features.
type Script uint8

// These are the scripts.
const (
	ScriptNone Script = iota
	Spaced            // alphabets and syllabaries written with spaces
	Han
	Syllabic // kana and hangul; a character counts as about two letters
	Unspaced // alphabets written without spaces: Thai, Lao, Khmer, Myanmar, Tibetan
)

// Entry is a rune's table entry: bits 0-20 target rune or expansion index, 21-24 class, 25-27 script, 28 lower case.
type Entry uint32

// Make returns an entry with the given parts.
func Make(c Class, target rune, s Script, lower bool) Entry {
	e := Entry(target) | Entry(c)<<21 | Entry(s)<<25
	if lower {
		e |= 1 << 28
	}
	return e
}

// Class returns the class.
func (e Entry) Class() Class { return Class(e >> 21 & 15) }

// Target returns the folded rune or, for Expand, the index of the expansion.
func (e Entry) Target() rune { return rune(e & 0x1FFFFF) }

// Script returns the script.
func (e Entry) Script() Script { return Script(e >> 25 & 7) }

// Lower reports whether the rune is a lower-case letter.
func (e Entry) Lower() bool { return e>>28&1 == 1 }

const (
	planes = 0x110000 >> 8
	magic  = "CRT1"
	// most limits the sizes that a reader accepts before allocating.
	most = 1 << 20
)

// Table holds the entries of all runes in blocks of 256, storing equal blocks once.
type Table struct {
	index      [planes]uint16
	blocks     [][256]Entry
	expansions [][]rune
	compose    map[uint64]rune
}

// New returns a table in which every rune is Other.
func New() *Table {
	return &Table{blocks: make([][256]Entry, 1), compose: map[uint64]rune{}}
}

// At returns the entry of r; invalid runes are Other.
func (t *Table) At(r rune) Entry {
	if uint32(r) >= 0x110000 {
		return 0
	}
	return t.blocks[t.index[r>>8]][r&255].shift(r)
}

// Expansion returns the runes of expansion i; a zero rune is a separator.
func (t *Table) Expansion(i rune) []rune { return t.expansions[i] }

// Compose returns the composition of a folded letter and a following mark, or 0.
func (t *Table) Compose(base, mark rune) rune { return t.compose[uint64(base)<<32|uint64(mark)] }

// Set sets the entry of r. The generator uses it.
func (t *Table) Set(r rune, e Entry) {
	p := r >> 8
	if t.index[p] == 0 {
		if e == 0 {
			return
		}
		t.blocks = append(t.blocks, [256]Entry{})
		t.index[p] = uint16(len(t.blocks) - 1)
	}
	t.blocks[t.index[p]][r&255] = e.shift(-r)
}

// shift returns e with r added to the target. Blocks store targets relative to their rune, so that the many blocks of letters that fold
// to themselves are equal and stored once. Other classes have no target rune.
func (e Entry) shift(r rune) Entry {
	if c := e.Class(); c < Letter || c > Digit {
		return e
	}
	return e&^0x1FFFFF | (e+Entry(r))&0x1FFFFF
}

// AddExpansion adds the runes as an expansion and returns its index. The generator uses it.
func (t *Table) AddExpansion(rs []rune) rune {
	for i, e := range t.expansions {
		if slices.Equal(e, rs) {
			return rune(i)
		}
	}
	t.expansions = append(t.expansions, rs)
	return rune(len(t.expansions) - 1)
}

// AddComposition records that base and mark compose to whole. The generator uses it.
func (t *Table) AddComposition(base, mark, whole rune) {
	t.compose[uint64(base)<<32|uint64(mark)] = whole
}

// Encode writes the table: magic, then little-endian counts and arrays. It writes equal blocks once.
func (t *Table) Encode(w io.Writer) error {
	seen := map[[256]Entry]uint16{}
	var blocks [][256]Entry
	var index [planes]uint16
	for p := range t.index {
		b := t.blocks[t.index[p]]
		i, ok := seen[b]
		if !ok {
			i = uint16(len(blocks))
			seen[b] = i
			blocks = append(blocks, b)
		}
		index[p] = i
	}
	buf := []byte(magic)
	buf = binary.LittleEndian.AppendUint32(buf, uint32(len(blocks)))
	for _, i := range index {
		buf = binary.LittleEndian.AppendUint16(buf, i)
	}
	for _, b := range blocks {
		for _, e := range b {
			buf = binary.LittleEndian.AppendUint32(buf, uint32(e))
		}
	}
	buf = binary.LittleEndian.AppendUint32(buf, uint32(len(t.expansions)))
	for _, e := range t.expansions {
		buf = append(buf, byte(len(e)))
		for _, r := range e {
			buf = binary.LittleEndian.AppendUint32(buf, uint32(r))
		}
	}
	keys := make([]uint64, 0, len(t.compose))
	for k := range t.compose {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	buf = binary.LittleEndian.AppendUint32(buf, uint32(len(keys)))
	for _, k := range keys {
		buf = binary.LittleEndian.AppendUint64(buf, k)
		buf = binary.LittleEndian.AppendUint32(buf, uint32(t.compose[k]))
	}
	_, err := w.Write(buf)
	return err
}

// Decode decodes the output of Encode. It refuses counts larger than the bytes can contain.
func Decode(b []byte) (*Table, error) {
	d := decoder{b: b}
	if string(d.take(len(magic))) != magic {
		return nil, fmt.Errorf("rune table: missing %s prefix", magic)
	}
	t := &Table{compose: map[uint64]rune{}}
	t.blocks = make([][256]Entry, d.count(256*4))
	for p := range t.index {
		t.index[p] = binary.LittleEndian.Uint16(d.take(2))
		if int(t.index[p]) >= len(t.blocks) {
			return nil, fmt.Errorf("rune table: block %d is out of range for %d blocks", t.index[p], len(t.blocks))
		}
	}
	for i := range t.blocks {
		for j := range t.blocks[i] {
			t.blocks[i][j] = Entry(d.uint32())
		}
	}
	t.expansions = make([][]rune, d.count(1))
	for i := range t.expansions {
		e := make([]rune, d.take(1)[0])
		for j := range e {
			e[j] = rune(d.uint32())
		}
		t.expansions[i] = e
	}
	for range d.count(12) {
		k := binary.LittleEndian.Uint64(d.take(8))
		t.compose[k] = rune(d.uint32())
	}
	if d.short || len(d.b) != 0 {
		return nil, fmt.Errorf("rune table: invalid length")
	}
	return t, nil
}

// decoder returns the bytes of b; beyond the end, it returns zeros and sets short.
type decoder struct {
	b     []byte
	short bool
}

func (d *decoder) take(n int) []byte {
	if len(d.b) < n {
		d.short, d.b = true, nil
		return make([]byte, n)
	}
	head := d.b[:n]
	d.b = d.b[n:]
	return head
}

func (d *decoder) uint32() uint32 { return binary.LittleEndian.Uint32(d.take(4)) }

// count reads a count of items of at least size bytes each. It returns 0 if the remaining bytes cannot contain them.
func (d *decoder) count(size int) int {
	n := d.uint32()
	if n > most || int(n)*size > len(d.b) {
		d.short = true
		return 0
	}
	return int(n)
}
