package meaning

import "unsafe"

// dotRowsPlain writes to out the scalar products of x with count consecutive rows. count and dimensions, the length of x and of each row,
// are multiples of 4. It adds each product in the same order as Dot, so that the result has the same bits on every machine.
func dotRowsPlain(out, x, rows *float32, dimensions, count int) {
	a := unsafe.Slice(x, dimensions)
	all, to := unsafe.Slice(rows, dimensions*count), unsafe.Slice(out, count)
	for r := range to {
		b := all[r*dimensions:][:len(a)]
		var s0, s1, s2, s3 float32
		for i := 0; i+3 < len(a); i += 4 {
			s0 += float32(a[i] * b[i])
			s1 += float32(a[i+1] * b[i+1])
			s2 += float32(a[i+2] * b[i+2])
			s3 += float32(a[i+3] * b[i+3])
		}
		to[r] = s0 + s1 + s2 + s3
	}
}
