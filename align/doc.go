// Package align finds the passages of one text that occur, changed or unchanged, in another. Other packages determine what is aligned.
// Package align/wording finds legitimately shared wording, and package site/compare finds the documents worth comparing. Open align.go
// first.
//
// Start from [Pair]. Each text is prepared once with [Prepare]; a pair costs time and memory linear in its size, whatever the texts
// contain. Spans are bytes of the original texts, on rune boundaries.
//
// The method is that of Sanchez-Perez, Gelbukh and Sidorov (2014, "A winning approach to text alignment for text reuse detection at PAN
// 2014"). Units of about a sentence are compared by weighted cosine, similar pairs become seeds, and seeds close together on both sides
// form passages. It differs in the following ways:
//   - long sentences are split, so that passages have precise edges;
//   - a seed gains support from similar pairs around it, and in short texts the weights rely on a background;
//   - every word is evidence only once, so a passage ends where its words have better counterparts elsewhere, and it must share enough
//     rare words as well as reach a mean similarity;
//   - a summary is a passage that is compact in A and scattered in B;
//   - runs of equal words are found separately, with exact edges.
//
// Two sites that must not disclose their texts to each other align the data that they can disclose: keyed word sets ([Sketch]) or
// fingerprints ([PairPrints]). Both use the same decision rule; [Literal], [Order] and [Copies] determine the exact edges of literal
// copies.
//
// Measurements are in doc/evaluation/align.md. The package is pure and uses no files, network, clock, logger or goroutines.
package align
