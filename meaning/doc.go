// Package meaning gives sentences vectors that compare them beyond their equal words. Encoders that other programs
// serve are not here (package meaning/remote), nor the search of a library (packages site/compare and site/ask). Open
// encoder.go first, then leads.go and cells.go. It is pure: no files, network, clock or goroutines. Start from
// Default, the embedded table, and NewEncoder.
//
// The table has a vector for each of some 135,000 pieces of words, made from the input rows of multilingual-e5-small: they are taken on
// the axes along which verses of the Bible differ most as against translations of one verse. It holds pieces in Latin and Han script
// alone: text in other scripts has no vector here. The mean of a sentence is the weighted mean of the vectors of its pieces (Arora,
// Liang and Ma 2017, without the removal of the first component: the caller subtracts a centre instead, see Centred). Dot compares two
// such vectors, Shared the rare pieces that two sentences have in common.
//
// The table was measured for English with English, Chinese with Chinese, and English with Chinese, with few German and Spanish sources
// (doc/evaluation/meaning.md). Nothing is claimed for other languages.
//
// Read cuts a text into sentences, and Leads finds the passages of one text that seem to say what passages of others
// say, in one language or two. What it finds is a reason to read both places, never evidence: Lead.WorthReading says
// whether a lead stands out at all.
//
// Cells, of which DefaultCells returns the embedded one, says in which five cells of 20 bits a sentence lies, so that
// an index can find sentences near to it. Encoder.Cells returns the cells that a document is indexed by,
// Text.Questions those that a check asks; Cells.Direction, Point, Of and Near do the single steps. Compare digests
// before cells: those of another table or other cells mean nothing.
package meaning
