// Package retain deletes data permanently, on request and by a site's rules, and issues receipts.
//
// Start with erase.go, which follows one deletion; retain.go erases data from disk and sweeps by age. Package site only removes documents
// from the index.
package retain
