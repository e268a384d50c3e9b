package eval

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestEqualBlocks compares the result with a search that tries every block, on random sequences of few distinct elements.
func TestEqualBlocks(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		a, b := make([]byte, r.IntN(30)), make([]byte, r.IntN(30))
		for i := range a {
			a[i] = byte('a' + r.IntN(3))
		}
		for i := range b {
			b[i] = byte('a' + r.IntN(3))
		}
		want := joinBlocks(allBlocks(a, b, 0, 0))
		if got := equalBlocks(a, b); !slices.Equal(got, want) {
			t.Fatalf("%s and %s: got %v, want %v", a, b, got, want)
		}
	}
}

// allBlocks computes equalBlocks by definition, without joining.
func allBlocks(a, b []byte, offsetA, offsetB int) []equalBlock {
	var best equalBlock
	for i := range a {
		for j := range b {
			n := 0
			for i+n < len(a) && j+n < len(b) && a[i+n] == b[j+n] {
				n++
			}
			if n > best.n {
				best = equalBlock{i, j, n}
			}
		}
	}
	if best.n == 0 {
		return nil
	}
	out := allBlocks(a[:best.a], b[:best.b], offsetA, offsetB)
	out = append(out, equalBlock{offsetA + best.a, offsetB + best.b, best.n})
	return append(out, allBlocks(a[best.a+best.n:], b[best.b+best.n:], offsetA+best.a+best.n, offsetB+best.b+best.n)...)
}

func joinBlocks(in []equalBlock) []equalBlock {
	var out []equalBlock
	for _, x := range in {
		if n := len(out); n > 0 && out[n-1].a+out[n-1].n == x.a && out[n-1].b+out[n-1].n == x.b {
			out[n-1].n += x.n
			continue
		}
		out = append(out, x)
	}
	return out
}
