// Package screen finds near-duplicates in whole libraries, that is, documents of a collection that are copies, versions or parts of each
// other. It does not handle evidence or reports; package cmd/concordat/screening contains its commands. Open design.go first.
//
// It implements four families of methods from the literature on plain numbers and texts:
//   - prints of documents, compared by Hamming distance: [Design], [NewPlan], [Tables] and [WideTables], [Batch] and [WideBatch],
//     [SelfJoin] and [Packed] (Manku, Jain and Das Sarma 2007);
//   - sketches of shingles, which estimate resemblance and containment: [SketchJoin] (Broder 1997);
//   - an index of the grams of short texts: [Short];
//   - joint use of the sentence fingerprints that the rest of the product computes: [Candidates], [Join] and [Compare].
//
// [Clusters] joins pairs into groups, and [Communities] separates groups joined only by a few pairs. [Lineage] returns the probable
// origin of each document, and [Removable] returns the documents that others can replace. [Sweep] and [Distribution] measure how well
// prints work. doc/screening.md recommends a method for each job.
//
// The package is pure. It reads and writes only through its arguments, starts no goroutines, and returns the same answers on every
// machine. The comment on each type states whether goroutines can share it.
package screen
