// Package align finds the passages of one text that occur, changed or unchanged, in another. Other packages decide what is aligned: package
// align/wording finds legitimately shared wording, and package site/compare finds the documents worth comparing. Open align.go first.
//
// Start from [Pair]. Each text is prepared once with [Prepare]; a pair costs time and memory linear
// in its size, whatever the texts hold. Spans are bytes of the original texts, on rune boundaries.
//
// The method is that of Sanchez-Perez, Gelbukh and Sidorov (2014, "A winning approach to text alignment for text reuse detection at PAN
// 2014"): units of about a sentence are compared by weighted cosine, similar pairs are seeds, and seeds that are close together on both
// sides form passages. The differences are:
//   - long sentences are divided, so that the edges of passages are sharp;
//   - a seed gains support from the similar pairs around it, and weights lean on a background where
//     the texts are short;
//   - every word is evidence only once: a passage ends where its words have better counterparts already,
//     and must share enough rare words, not only a mean similarity;
//   - a summary is a passage that is close together in A and scattered in B;
//   - equal word runs are found separately, with exact edges.
//
// Two sites that must not show each other their texts align what they may show: keyed word sets ([Sketch]) or fingerprints ([PairPrints]).
// Both go through the same decision rule, and [Literal], [Order] and [Copies] give the exact edges of literal copies.
//
// doc/evaluation/align.md has the measurements. The package is pure: no files, network, clock, logger
// or goroutines.
package align
