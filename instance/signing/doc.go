// Package signing signs what a site gives out, with its keys: reports in JSON and PDF, and receipts of deletions.
//
// Start from [Source], which finds the [Signer] of a site and looks for changed keys once an hour. A site without keys
// has no Signer: its reports go out without a signature. Verification is report verify's, in cmd/concordat.
package signing
