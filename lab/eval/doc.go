// Package eval measures the product's own code on labelled corpora with established measures. It implements PAN's text alignment scores,
// its file formats, and the commands that use them.
//
// Start from [Align], which writes detections for given pairs of documents, and [Score], which compares detections with the truth like
// PAN's reference program.
package eval
