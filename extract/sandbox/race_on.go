//go:build race

package sandbox

// detectorShare is the number of bytes that the race detector uses per byte of the program, plus one for the byte itself: four of shadow,
// half of metadata, and its own allocations, rounded up.
const detectorShare = 8
