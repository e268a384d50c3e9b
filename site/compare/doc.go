// Package compare finds the documents in an index that share text with a submission, decides which text is legitimately shared, and
// aligns the rest.
//
// It knows nothing of libraries, tasks or partners: a [Comparer] sees one index, and a [SharedWording] only the texts passed to it. For
// how candidates are found and compared, start with comparer.go; for the text that is not evidence, wording.go.
package compare
