// Package meaning gives sentences vectors by which they can be compared beyond their equal words. Encoders served by other programs are in
// package meaning/remote, and the search of a library is in packages site/compare and site/ask. Open encoder.go first, then leads.go and
// cells.go. It is pure: no files, network, clock or goroutines. Start from Default, the embedded table, and NewEncoder.
//
// The table has a vector for each of some 135,000 pieces of words, made from the input rows of multilingual-e5-small: these are projected
// on the axes along which different Bible verses differ most compared with translations of one verse. It holds only pieces in Latin and Han
// script; text in other scripts has no vector. A sentence's mean is the weighted mean of the vectors of its pieces (Arora, Liang and Ma
// 2017, without the removal of the first component; the caller subtracts a centre instead, see Centred). Dot compares two such vectors, and
// Shared compares two sentences by the rare pieces they have in common.
//
// The table was measured for English with English, Chinese with Chinese, and English with Chinese, with few German and Spanish sources
// (doc/evaluation/meaning.md). Nothing is claimed for other languages.
//
// Read cuts a text into sentences, and Leads finds the passages of one text that seem to restate passages of others, in one language or
// two. A lead is a reason to read both places, never evidence; Lead.WorthReading says whether a lead stands out at all.
//
// Cells maps a sentence to five cells of 20 bits, so that an index can find sentences near it; DefaultCells returns the embedded Cells.
// Encoder.Cells returns the cells by which a document is indexed, and Text.Questions those that a check asks about; Cells.Direction,
// Point, Of and Near are the individual steps. Compare digests before comparing cells: results from different tables or different Cells
// cannot be compared.
package meaning
