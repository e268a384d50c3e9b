// Package segment cuts a text into paragraphs, sentences and words, groups sentences into the blocks that are fingerprinted, and turns a
// block into features. Package extract reads files, and packages minhash and simhash make fingerprints. Open segment.go first, then
// split.go, block.go and feature.go, in the order of processing.
//
// Start from [Split]. Words are folded for matching (compatibility forms, case, look-alike letters,
// traditional Chinese) by one committed rune table, and record their place in the original, so that evidence
// always cites what was submitted. A block's features depend on the block alone, never on its surroundings:
// equal blocks have equal features in every document.
//
// The package is pure with one exception: the first Chinese text loads the dictionary of its words, once per process
// (doc/evaluation/README.md has the time and memory). Everything is safe for concurrent use.
package segment
