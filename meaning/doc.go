// Package meaning gives sentences vectors by which two of them can be compared beyond their equal words. It is pure: no
// files, network, clock or goroutines. Start from Default, the embedded table, and NewEncoder.
//
// The table has a vector for each of some 135,000 pieces of words, made from the input rows of multilingual-e5-small by
// principal components, without training. It holds pieces in Latin and Han script alone: text in other scripts has no
// vector here. The mean of a sentence is the weighted mean of the vectors of its pieces (Arora, Liang and Ma 2017, without
// the removal of the first component: the caller subtracts a centre instead, see Centred). Dot compares two such vectors,
// Shared the rare pieces that two sentences have in common.
//
// The table is meant for comparing English with English and Chinese with Chinese. Nothing is claimed for other languages,
// nor for two languages compared with each other.
//
// Read cuts a text into sentences, and Leads finds the passages of one text that seem to say what passages of others say. What
// it finds is a reason to read both places, never evidence: Lead.WorthReading tells which of it stands out at all.
package meaning
