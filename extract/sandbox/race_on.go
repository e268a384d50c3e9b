//go:build race

package sandbox

// detectorShare is how many bytes the race detector keeps for each byte of the program, plus one for
// the byte itself: four of shadow, half of meta data, and its own allocations, rounded up.
const detectorShare = 8
