// Package signing signs what a site issues, with its keys: reports in JSON and PDF, and receipts of deletions.
//
// Start from [Source], which finds the [Signer] of a site and looks for changed keys once an hour. A site without keys has no
// Signer: it issues its reports without a signature. Verification is in cmd/concordat (report verify).
package signing
