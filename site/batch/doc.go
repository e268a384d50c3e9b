// Package batch compares many documents with each other and with the libraries of a site, for example the applications for one call or
// the papers of one course.
//
// Start with batch.go, where [Run] takes a batch through its stages; view.go provides the view of a batch for readers. Package site has
// the queue of single checks.
package batch
