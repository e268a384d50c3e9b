// Package minhash makes 100-bit fingerprints by b-bit minwise hashing, and estimates resemblance from the distance between two
// fingerprints. Package segment provides the features; package simhash makes the other kind of fingerprint. Open minhash.go first.
//
// Start from [New]. The 100/b hashes come from fast similarity sketching (Dahlgaard, Knudsen and Thorup 2017) instead of 100/b
// independent permutations. Every feature is repeatedly thrown into bins until no bin is empty. This takes about as many steps as there
// are features and bins together, and estimates the resemblance of small sets with less variance. Each bin keeps b bits of its winner (Li
// and König 2010).
package minhash
