//go:build !race

package sandbox

// detectorShare is 1, since a program without the race detector needs only its own memory.
const detectorShare = 1
