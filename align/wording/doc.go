// Package wording finds legitimately shared wording in a text: the wording of a form, an assignment or a declaration given to everyone.
// It is found before texts are compared, so that it is neither evidence nor a bridge between two pieces of evidence.
//
// The main entry point is [Split]. A [Counter] receives every text of a batch, or the texts compared by a check; [Counter.Common] returns
// the grams found in at least [Least] of them; [Common.In] finds the stretches of a text that consist of such grams. [Calls] finds the
// forms of calls in a library that covers many calls. [Forms] finds sentences that resemble a form when only two texts are available.
// Grams are runs of five words, compared letter by letter as far as the folding of package segment distinguishes letters.
//
// The package is pure and uses no files, network, clock, logger or goroutines. It judges stretches of text, never passages between two
// texts, so the decision on a stretch does not depend on the other text.
package wording
