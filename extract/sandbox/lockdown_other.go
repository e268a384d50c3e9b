//go:build !linux || !(amd64 || arm64)

package sandbox

// lockDown adds nothing here to the parent's time limit and the reader's memory limit.
func lockDown(_, _ int64) ([]string, error) { return nil, nil }
