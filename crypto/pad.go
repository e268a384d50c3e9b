package crypto

import (
	"encoding/binary"
	"fmt"
)

const (
	padLeast = 4 << 10
	padStep  = 256 << 10
)

// padded returns the size to which n bytes are padded: 4, 8, 16 ... KiB up to 1 MiB, then the next multiple of 256 KiB. An observer
// learns only the padded size.
func padded(n int) int {
	if n > 1<<20 {
		return (n + padStep - 1) / padStep * padStep
	}
	size := padLeast
	for size < n {
		size *= 2
	}
	return size
}

// pad returns the length of the parts in 4 bytes, then the parts, then zeros up to a padded size.
func pad(parts ...[]byte) []byte {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	b := make([]byte, 4, padded(4+n))
	binary.BigEndian.PutUint32(b, uint32(n))
	for _, p := range parts {
		b = append(b, p...)
	}
	return b[:cap(b)][:padded(4+n)]
}

// unpad is the inverse of pad. It refuses padding that is not zero or has the wrong size, so every message has exactly one form.
func unpad(b []byte) ([]byte, error) {
	d := &decoder{b: b}
	n := uint64(d.u32())
	if d.bad || n > uint64(len(d.b)) || padded(4+int(n)) != len(b) {
		return nil, fmt.Errorf("padding: %w", ErrFormat)
	}
	for _, z := range d.b[n:] {
		if z != 0 {
			return nil, fmt.Errorf("padding: %w", ErrFormat)
		}
	}
	return d.b[:n:n], nil
}
