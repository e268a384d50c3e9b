// Package signing signs the reports and deletion receipts that a site issues, with the site's keys.
//
// Start from [Source], which finds a site's [Signer] and checks for changed keys once an hour. A site without keys has no Signer, and
// issues unsigned reports. The command report verify in package cmd/concordat/program verifies signatures.
package signing
