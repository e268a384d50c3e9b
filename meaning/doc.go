// Package meaning gives sentences vectors, so that they can be compared beyond equal words. Package meaning/remote uses encoders served
// by other programs; packages site/compare and site/ask search libraries. Open encoder.go first, then leads.go and cells.go. The package
// is pure; it uses no files, network, clock or goroutines. Start from Default, the embedded table, and NewEncoder.
//
// The table has a vector for each of about 135,000 word pieces. The vectors derive from the input embeddings of multilingual-e5-small,
// projected on the axes along which different Bible verses differ most compared with translations of one verse. It contains only pieces
// in Latin and Han script; text in other scripts has no vector. A sentence's mean is the weighted mean of its pieces' vectors (Arora,
// Liang and Ma 2017, without the removal of the first component; the caller subtracts a centre instead, see Centred). Dot compares two
// such vectors, and Shared compares two sentences by the rare pieces that they share.
//
// The table was evaluated for English with English, Chinese with Chinese, and English with Chinese, and with a few German and Spanish
// sources (doc/evaluation/meaning.md). It was not evaluated for other languages.
//
// Read splits a text into sentences, and Leads finds passages of one text that seem to restate passages of others, in one language or
// two. A lead is a reason to read both passages, never evidence; Lead.WorthReading reports whether it stands out at all.
//
// Cells maps a sentence to five cells of 20 bits, so that an index can find nearby sentences; DefaultCells returns the embedded Cells.
// Encoder.Cells returns the cells that index a document, and Text.Questions the cells about which a check asks; Cells.Direction, Point,
// Of and Near perform the individual steps. Compare digests before comparing cells, because cells from different tables or different
// Cells cannot be compared.
package meaning
