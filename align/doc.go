// Package align finds which passages of one text stand, changed or unchanged, in another.
//
// Start from [Pair]. Each text is prepared once with [Prepare]; a pair costs time and memory linear
// in its size, whatever the texts hold. Spans are bytes of the original texts, on rune boundaries.
//
// The method is the one of Sanchez-Perez, Gelbukh and Sidorov (2014, "A winning approach to text
// alignment for text reuse detection at PAN 2014") with four changes: sentences are divided so that
// edges are sharp, a seed gains support from the seeds around it, equal word runs are found apart
// and exactly, and the parameters come from cross-validation (doc/evaluation-align.md).
//
// The package is pure: no files, network, clock, logger or goroutines.
package align
