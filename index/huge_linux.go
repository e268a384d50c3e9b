package index

import (
	"syscall"
	"unsafe"
)

// huge returns n zeroes in memory, in pages of 2 MB if the system supports them. A look-up reads from about ten unrelated places, and
// with pages of 4 KB, translating addresses takes as long as reading. Without large pages, look-ups only take longer.
func huge[T any](n int) []T {
	const page = 2 << 20
	s := make([]T, n)
	bytes := uintptr(n) * unsafe.Sizeof(*new(T))
	if bytes < 2*page {
		return s
	}
	from := uintptr(unsafe.Pointer(&s[0]))
	skip := -from & (page - 1)
	whole := (bytes - skip) &^ (page - 1)
	// The pages contain no other data; the advice would do it no harm anyway.
	_ = syscall.Madvise(unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(&s[0]), skip)), whole), syscall.MADV_HUGEPAGE)
	return s
}
