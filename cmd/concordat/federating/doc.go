// Package federating implements the commands about other sites: partners and invitations, federations, shares, mirrors, disclosures and
// alerts. The packages partners and site do the work. Start with peer.go and share.go.
package federating

import "concordat/cmd/cli"

// commands contains the state that this package's commands share, for one site.
type commands struct{ *cli.Site }
