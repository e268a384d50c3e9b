//go:build !purego

package meaning

// dotRows is dotRowsPlain with SSE instructions, which every amd64 processor has; it adds in the same order, so the bits are the same.
//
//go:noescape
func dotRows(out, x, rows *float32, dimensions, count int)
