package screen

import (
	"cmp"
	"fmt"
	"slices"
)

const (
	// symbols is the number of symbols, which are the positions 0 to 63 of the highest differing bit of two neighbours, and equality.
	symbols     = 65
	equalSymbol = 64
	// longestCode is the maximum length of a code word in bits, because a table of 4,096 entries decodes it.
	longestCode = 12
)

// code is a canonical Huffman code for the symbols.
type code struct {
	lengths [symbols]uint8 // 0 if the symbol does not occur
	words   [symbols]uint16
	decode  [1 << longestCode]entry
}

type entry struct{ symbol, length uint8 } // length is 0 if no code word begins with these bits

// huffman returns the shortest code for symbols with the given counts and words of at most longestCode bits. If a word is longer, it
// raises the counts of rare symbols.
func huffman(counts [symbols]uint64) *code {
	for {
		if l := huffmanLengths(counts); slices.Max(l[:]) <= longestCode {
			c, err := newCode(l)
			if err != nil {
				panic(err) // cannot happen, because the lengths come from a tree
			}
			return c
		}
		for i, n := range counts {
			if n > 0 {
				counts[i] = n/4 + 1
			}
		}
	}
}

// huffmanLengths returns the depths of the symbols in a Huffman tree. A single symbol gets length 1.
func huffmanLengths(counts [symbols]uint64) [symbols]uint8 {
	type node struct {
		weight  uint64
		members []int
	}
	var nodes []node
	var lengths [symbols]uint8
	for s, n := range counts {
		if n > 0 {
			nodes = append(nodes, node{n, []int{s}})
		}
	}
	if len(nodes) == 1 {
		lengths[nodes[0].members[0]] = 1
	}
	for len(nodes) > 1 {
		// With 65 symbols, sorting each time takes negligible time. The sort is stable, so equal counts give the same code.
		slices.SortStableFunc(nodes, func(a, b node) int { return cmp.Compare(b.weight, a.weight) })
		a, b := nodes[len(nodes)-1], nodes[len(nodes)-2]
		joined := node{a.weight + b.weight, slices.Concat(a.members, b.members)}
		for _, s := range joined.members {
			lengths[s]++
		}
		nodes = append(nodes[:len(nodes)-2], joined)
	}
	return lengths
}

// newCode returns the canonical code of the lengths. Words of one length ascend in order of symbol, and shorter words precede longer
// ones. It refuses lengths that no prefix code has.
func newCode(lengths [symbols]uint8) (*code, error) {
	c := &code{lengths: lengths}
	next := 0 // next word, left-aligned in longestCode bits
	for l := uint8(1); l <= longestCode; l++ {
		for s, n := range lengths {
			if n != l {
				continue
			}
			end := next + 1<<(longestCode-l)
			if end > len(c.decode) {
				return nil, fmt.Errorf("the code lengths do not form a prefix code")
			}
			c.words[s] = uint16(next >> (longestCode - l))
			for i := next; i < end; i++ {
				c.decode[i] = entry{uint8(s), l}
			}
			next = end
		}
	}
	if slices.Max(lengths[:]) > longestCode {
		return nil, fmt.Errorf("code of %d bits is longer than the maximum of %d", slices.Max(lengths[:]), longestCode)
	}
	return c, nil
}
