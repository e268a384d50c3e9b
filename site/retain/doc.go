// Package retain deletes permanently, on request and by the rules of a site, and issues receipts.
//
// Start with erase.go, which follows one deletion; retain.go removes the bytes from the disk and sweeps by age. Package site removes a
// document only from the index.
package retain
