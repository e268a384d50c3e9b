// Package profile turns a document into its fingerprinted sentences by a named recipe. Splitting and features are in package segment, the
// sketches in packages minhash and simhash. Open profile.go first.
//
// Start from [New]. A recipe fixes everything that a fingerprint depends on: the rune table and
// stop lists, the packing of sentences into blocks, the features, the sketch and its key. Its
// digest is part of the scheme's name, so that two recipes are never mistaken for one another.
package profile
