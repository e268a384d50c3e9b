package crypto_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"concordat/crypto"
)

func cellCipher(t testing.TB, key, job byte) *crypto.CellCipher {
	t.Helper()
	c, err := crypto.NewCellCipher(bytes.Repeat([]byte{key}, 32), [16]byte{job})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const cells = 1 << 20

// TestCellsArePermuted: at each place in a message, every cell represents exactly one other, and can be mapped back.
func TestCellsArePermuted(t *testing.T) {
	c := cellCipher(t, 1, 1)
	seen := make([]bool, cells)
	same := 0
	for cell := range uint32(cells) {
		sealed := c.Seal(7, 3, cell)
		if sealed >= cells || seen[sealed] {
			t.Fatalf("%d becomes %d, as another one does", cell, sealed)
		}
		if seen[sealed] = true; sealed == cell {
			same++
		}
		if got := c.Open(7, 3, sealed); got != cell {
			t.Fatalf("%d becomes %d and comes back as %d", cell, sealed, got)
		}
	}
	if same > 12 { // one is usual, whatever the permutation
		t.Errorf("%d cells stay as they are", same)
	}
}

// TestPermutationsOfCellsDiffer: the permutations at different places, bands, jobs and keys reveal nothing about each other. In two of
// them, a cell represents the same cell only by chance.
func TestPermutationsOfCellsDiffer(t *testing.T) {
	c := cellCipher(t, 1, 1)
	r := rand.New(rand.NewPCG(36, 9))
	for name, other := range map[string]func(cell uint32) uint32{
		"place": func(cell uint32) uint32 { return c.Seal(8, 3, cell) },
		"band":  func(cell uint32) uint32 { return c.Seal(7, 4, cell) },
		"job":   func(cell uint32) uint32 { return cellCipher(t, 1, 2).Seal(7, 3, cell) },
		"key":   func(cell uint32) uint32 { return cellCipher(t, 2, 1).Seal(7, 3, cell) },
	} {
		equal, ones := 0, [20]int{}
		const n = 4000
		for range n {
			cell := r.Uint32N(cells)
			a, b := c.Seal(7, 3, cell), other(cell)
			if a == b {
				equal++
			}
			for bit := range ones {
				ones[bit] += int((a ^ b) >> bit & 1)
			}
		}
		if equal > 3 { // 0.004 is usual
			t.Errorf("another %s: %d of %d cells stand for the same", name, equal, n)
		}
		for bit, k := range ones {
			if k < n/2-200 || k > n/2+200 { // 6 standard deviations
				t.Errorf("another %s: bit %d differs in %d of %d", name, bit, k, n)
			}
		}
	}
}

func TestKeysOfCells(t *testing.T) {
	for _, n := range []int{0, 31, 33, 64} {
		if _, err := crypto.NewCellCipher(make([]byte, n), [16]byte{}); err == nil {
			t.Errorf("a key of %d bytes was taken", n)
		}
	}
}

// TestCellVectors: testdata/cells.txt was made once and contains what other programs need in order to agree with this one.
func TestCellVectors(t *testing.T) {
	b, err := os.ReadFile("testdata/cells.txt")
	if err != nil {
		t.Fatal(err)
	}
	var c *crypto.CellCipher
	var key []byte
	n := 0
	for line := range strings.Lines(string(b)) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch name {
		case "key":
			key = unhex(t, rest)
		case "job":
			if c, err = crypto.NewCellCipher(key, [16]byte(unhex(t, rest))); err != nil {
				t.Fatal(err)
			}
		case "cell":
			var at, band int
			var cell, sealed uint32
			if _, err := fmt.Sscanf(rest, "%d %d %d %d", &at, &band, &cell, &sealed); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			if got := c.Seal(at, band, cell); got != sealed {
				t.Errorf("%q: got %d", line, got)
			}
			if got := c.Open(at, band, sealed); got != cell {
				t.Errorf("%q: comes back as %d", line, got)
			}
			n++
		}
	}
	if n < 20 {
		t.Errorf("only %d vectors", n)
	}
}

func BenchmarkSealCells(b *testing.B) {
	c := cellCipher(b, 1, 1)
	for i := 0; b.Loop(); i++ {
		c.Seal(i, i%5, uint32(i)&(cells-1))
	}
}
