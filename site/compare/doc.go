// Package compare finds which documents of an index share text with a submission, decides which text is shared legitimately, and aligns the
// rest.
//
// It does not deal with libraries, tasks or partners: a [Comparer] sees one index, and a [SharedWording] only the texts passed to it.
// Start with comparer.go for how candidates are found and compared, and with wording.go for the text that is not evidence.
package compare
