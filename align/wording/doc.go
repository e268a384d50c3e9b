// Package wording finds the wording of a text that others share legitimately: that of a form, an assignment or a declaration given to
// everybody. It is found before texts are compared, so that it is neither evidence nor a bridge between two pieces of evidence.
//
// Start from [Split]. A [Counter] receives every text of a batch, or the texts that a check compares, and [Counter.Common] returns the
// grams that at least [Least] of them hold; [Common.In] finds the stretches of a text that are made of such grams. [Calls] finds the forms
// of calls in a library that holds many calls. [Forms] finds sentences that read like those of a form when there are only two texts to go
// by. Grams are runs of five words, compared letter by letter as far as the folding of package segment keeps letters apart.
//
// The package is pure: no files, network, clock, logger or goroutines. It decides about stretches of text, never about passages between two
// texts, so that the decision on a stretch does not depend on the text that it is compared with.
package wording
