// Package federating implements the commands about other sites: partners and invitations, federations and mirrors. Package partners
// does the work. Start with peer.go.
package federating

import "concordat/cmd/cli"

// commands contains the state that this package's commands share, for one site.
type commands struct{ *cli.Site }
