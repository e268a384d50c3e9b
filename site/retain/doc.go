// Package retain deletes for good, by hand and by the rules of a site, and hands out receipts.
//
// Start with erase.go, which follows one deletion; retain.go takes the bytes off the disk and sweeps by age. What takes a
// document out of the index alone is in package site.
package retain
