//go:build !race

package sandbox

// detectorShare is 1: without the race detector a program's memory is its own.
const detectorShare = 1
