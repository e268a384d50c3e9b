// Package profile converts a document to fingerprinted sentences, according to a named recipe. Package segment implements splitting and
// features, and packages minhash and simhash implement the sketches. Open profile.go first.
//
// Start from [New]. A recipe determines everything on which a fingerprint depends: the rune table and stop lists, the packing of
// sentences into blocks, the features, the sketch and its key. Its digest is part of the scheme's name, so that two recipes cannot be
// confused.
package profile
