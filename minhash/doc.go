// Package minhash makes 100-bit fingerprints by b-bit minwise hashing, and estimates resemblance from the distance of
// two of them. Features come from package segment, and simhash is the other kind of fingerprint. Open minhash.go first.
//
// Start from [New]. The 100/b hashes come from fast similarity sketching (Dahlgaard, Knudsen and
// Thorup 2017) instead of as many independent permutations: every feature is thrown into a bin
// again and again until no bin is empty, which takes about as many steps as there are features and
// bins together, and estimates the resemblance of small sets with less spread. From each bin's
// winner b bits are kept (Li and König 2010).
package minhash
