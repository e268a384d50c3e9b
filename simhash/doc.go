// Package simhash makes 100-bit fingerprints by random hyperplanes (Charikar 2002), weighted by a feature's number of occurrences or by
// the caller's weights, and estimates the cosine of two documents from the distance between their fingerprints. Package segment provides
// the features; package minhash makes the other kind of fingerprint. Open simhash.go first.
//
// Start from [New].
package simhash
