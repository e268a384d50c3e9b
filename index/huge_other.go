//go:build !linux

package index

// huge returns n zeroes; see huge_linux.go.
func huge[T any](n int) []T { return make([]T, n) }
