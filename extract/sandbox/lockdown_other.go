//go:build !linux || !(amd64 || arm64)

package sandbox

// lockDown has nothing to offer here beyond the parent's limit on time and the reader's on memory.
func lockDown(_, _ int64) ([]string, error) { return nil, nil }
