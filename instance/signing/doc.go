// Package signing signs the reports and the receipts of deletions that a site issues, with the site's keys.
//
// Start from [Source], which finds the [Signer] of a site and looks for changed keys once an hour. A site without keys has no
// Signer: it issues its reports without a signature. Verification is in cmd/concordat (report verify).
package signing
