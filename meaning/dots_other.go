//go:build !amd64 || purego

package meaning

func dotRows(out, x, rows *float32, dimensions, count int) {
	dotRowsPlain(out, x, rows, dimensions, count)
}
