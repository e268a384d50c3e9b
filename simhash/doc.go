// Package simhash makes 100-bit fingerprints by random hyperplanes (Charikar 2002), weighted by how often a feature
// occurs or by weights of the caller's, and estimates the cosine of two documents from the distance of their
// fingerprints. Features come from package segment, and minhash is the other kind of fingerprint. Open simhash.go
// first.
//
// Start from [New].
package simhash
