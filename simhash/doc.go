// Package simhash makes 100-bit fingerprints by random hyperplanes (Charikar 2002), weighted by the number of occurrences of a feature or
// by the caller's weights, and estimates the cosine of two documents from the distance of their fingerprints. Features come from package
// segment; package minhash makes the other kind of fingerprint. Open simhash.go first.
//
// Start from [New].
package simhash
