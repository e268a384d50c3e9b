// Package segment splits a text into paragraphs, sentences and words, groups sentences into blocks for fingerprinting, and converts a
// block to features. Package extract reads files; packages minhash and simhash make fingerprints. Open segment.go first, then split.go,
// block.go and feature.go, in the order of processing.
//
// Start from [Split]. Words are folded for matching (compatibility forms, case, look-alike letters, traditional Chinese) by one committed
// rune table, and record their positions in the original, so that evidence always cites the submitted text. A block's features depend
// only on the block, never on its surroundings, so equal blocks have equal features in every document.
//
// The package is pure, except that the first Chinese text loads the Chinese dictionary, once per process (doc/evaluation/README.md states
// the time and memory). Everything is safe for concurrent use.
package segment
