// Package compare finds which documents of an index share text with a submission, decides which of it is shared legitimately,
// and aligns the rest.
//
// It holds no libraries, tasks or partners: a [Comparer] sees one index, and a [SharedWording] the texts it is shown. Start
// with comparer.go for how candidates are found and compared, and with wording.go for what is not evidence.
package compare
