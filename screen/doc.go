// Package screen finds near-duplicates in whole libraries: which documents of a collection are copies, versions or
// parts of one another. Evidence and reports are not here, and its commands are in cmd/concordat/screening. Open
// design.go first.
//
// It has the four families of methods of the literature, on plain numbers and texts:
//   - prints of documents, compared by Hamming distance: [Design], [NewPlan], [Tables] and
//     [WideTables], [Batch] and [WideBatch], [SelfJoin] and [Packed] (Manku, Jain and Das Sarma 2007);
//   - sketches of shingles, which estimate resemblance and containment: [SketchJoin]
//     (Broder 1997);
//   - an index of the grams of short texts: [Short];
//   - the joint use of the sentence fingerprints that the rest of the product has: [Candidates], [Join] and
//     [Compare].
//
// [Clusters] joins pairs to groups, [Communities] leaves groups apart that few pairs join, [Lineage] says what may come
// from what, [Removable] what another stands for; [Sweep] and [Distribution] show how well prints do. doc/screening.md
// says which method is for which job.
//
// The package is pure: it reads and writes only what it is handed, starts no goroutines, and gives
// the same answers on every machine. What a caller may share between goroutines is said at each
// type.
package screen
