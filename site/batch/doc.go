// Package batch compares many documents with one another and with the libraries of a site: the applications of a call, the
// papers of a course.
//
// Start with batch.go, whose [Run] takes a batch through its stages; view.go has the readers' view of a batch. The queue of
// single checks is in package site.
package batch
