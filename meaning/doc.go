// Package meaning tells passages that say the same in other words or, as far as its table goes, in another language. It is
// pure: no files, network, clock or goroutines.
//
// An embedded table has a vector for each of some 135,000 pieces of words, in Latin and Han script. The vector of a
// sentence is the weighted mean of those of its pieces (Arora, Liang and Ma 2017, without the removal of the first
// component: centres are subtracted instead). Two sentences are compared by the cosine of these vectors and by the rare
// pieces that they share, and what counts is the margin above what each of them has in common with other documents
// (Artetxe and Schwenk 2019). Passages are clusters of such pairs.
//
// What it finds is a lead: a reason to read both places, and never part of a share.
package meaning
