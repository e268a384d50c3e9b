package meaning

import (
	"fmt"
	"slices"
	"strings"
)

// unit is a node of a double array (Aoe 1989): the child of node n by byte c is at base(n)+c if its check is n. Byte 0, which occurs in
// no piece, ends a piece; the base of its unit is the number of the piece.
type unit struct{ base, check int32 }

// vacant is the check of a unit that is not a node. Node 0 is the root.
const vacant = -1

// child returns a node's child by a byte, or -1.
func child(trie []unit, node int32, c byte) int32 {
	at := trie[node].base + int32(c)
	if at < 0 || int(at) >= len(trie) || trie[at].check != node {
		return -1
	}
	return at
}

// pieceAt returns the piece that ends at a node, or -1.
func (t *Table) pieceAt(node int32) int32 {
	at := child(t.trie, node, 0)
	if at < 0 || t.trie[at].base < 0 || int(t.trie[at].base) >= len(t.scores) {
		return -1
	}
	return t.trie[at].base
}

// numbered is a piece with its number.
type numbered struct {
	text string
	at   int32
}

// trieBuilder builds a double array.
type trieBuilder struct {
	units []unit
	first int // no unit before it is vacant
}

func buildTrie(pieces []Piece) ([]unit, error) {
	sorted := make([]numbered, len(pieces))
	for i, p := range pieces {
		if p.Text == "" || strings.IndexByte(p.Text, 0) >= 0 {
			return nil, fmt.Errorf("word piece %d is empty or contains a zero byte", i)
		}
		sorted[i] = numbered{p.Text, int32(i)}
	}
	slices.SortFunc(sorted, func(a, b numbered) int { return strings.Compare(a.text, b.text) })
	for i := 1; i < len(sorted); i++ {
		if sorted[i].text == sorted[i-1].text {
			return nil, fmt.Errorf("duplicate word piece %q", sorted[i].text)
		}
	}
	b := &trieBuilder{units: []unit{{0, 0}}, first: 1}
	if len(sorted) > 0 {
		b.place(0, sorted, 0)
	}
	return b.units, nil
}

// place assigns a node its children, taken from the pieces. The pieces must be sorted and share their first depth bytes.
func (b *trieBuilder) place(node int32, pieces []numbered, depth int) {
	var labels []byte
	var ends []int
	for i, p := range pieces {
		c := byte(0)
		if len(p.text) > depth {
			c = p.text[depth]
		}
		if len(labels) == 0 || labels[len(labels)-1] != c {
			labels, ends = append(labels, c), append(ends, i)
		}
		ends[len(ends)-1] = i + 1
	}
	base := b.room(labels)
	b.units[node].base = base
	for _, c := range labels {
		b.units[base+int32(c)] = unit{0, node}
	}
	from := 0
	for i, c := range labels {
		at := base + int32(c)
		if c == 0 {
			b.units[at].base = pieces[from].at
		} else {
			b.place(at, pieces[from:ends[i]], depth+1)
		}
		from = ends[i]
	}
}

// room returns the smallest base above 0 at which the units for all labels are vacant.
func (b *trieBuilder) room(labels []byte) int32 {
	for b.first < len(b.units) && b.units[b.first].check != vacant {
		b.first++
	}
	for base := max(1, b.first-int(labels[0])); ; base++ {
		for len(b.units) < base+256 {
			b.units = append(b.units, unit{0, vacant})
		}
		if !slices.ContainsFunc(labels, func(c byte) bool { return b.units[base+int(c)].check != vacant }) {
			return int32(base)
		}
	}
}
