// Package compare finds the documents in an index that share text with a submission, decides which text is legitimately shared, and
// aligns the rest.
//
// It knows nothing about libraries, tasks or partners. A [Comparer] sees one index, and a [SharedWording] sees only the texts passed to
// it. To see how candidates are found and compared, start with comparer.go; to see which text is not evidence, with wording.go.
package compare
