// Package screen finds near-duplicates in whole libraries: which documents of a collection are
// copies, versions or parts of one another.
//
// It has the four families of methods of the literature, on plain numbers and texts:
//   - prints of documents, compared by Hamming distance: [Design], [Plan], [Tables], [Batch] and
//     [Packed] (Manku, Jain and Das Sarma 2007);
//   - sketches of shingles, which estimate resemblance and containment: [Sketch], [Sample]
//     (Broder 1997);
//   - an index of the grams of short texts: [Short];
//   - the joint use of the sentence fingerprints that the rest of the product has: [Join].
//
// [Clusters] joins pairs to groups. doc/screening.md says which method is for which job.
//
// The package is pure: it reads and writes only what it is handed, starts no goroutines, and gives
// the same answers on every machine. What a caller may share between goroutines is said at each
// type.
package screen
