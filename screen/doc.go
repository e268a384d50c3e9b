// Package screen finds near-duplicates in whole libraries: which documents of a collection are copies, versions or parts of one another. It
// does not deal with evidence and reports; its commands are in cmd/concordat/screening. Open design.go first.
//
// It implements the four families of methods in the literature, on plain numbers and texts:
//   - prints of documents, compared by Hamming distance: [Design], [NewPlan], [Tables] and
//     [WideTables], [Batch] and [WideBatch], [SelfJoin] and [Packed] (Manku, Jain and Das Sarma 2007);
//   - sketches of shingles, which estimate resemblance and containment: [SketchJoin]
//     (Broder 1997);
//   - an index of the grams of short texts: [Short];
//   - the joint use of the sentence fingerprints that the rest of the product has: [Candidates], [Join] and
//     [Compare].
//
// [Clusters] joins pairs into groups, [Communities] keeps groups separate that only a few pairs join, [Lineage] returns which document
// may come from which, and [Removable] which document can replace another; [Sweep] and [Distribution] measure how well prints work.
// doc/screening.md says which method suits which job.
//
// The package is pure: it reads and writes only through its arguments, starts no goroutines, and gives the same answers on every machine.
// The comment of each type says whether it may be shared between goroutines.
package screen
