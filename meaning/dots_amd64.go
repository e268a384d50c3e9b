//go:build !purego

package meaning

// dotRows is dotRowsPlain with the SSE instructions that every amd64 processor has; it adds in the same order, so that the bits are the
// same.
//
//go:noescape
func dotRows(out, x, rows *float32, dimensions, count int)
