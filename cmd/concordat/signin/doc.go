// Package signin implements the commands for external sign-in: links to accounts of identity providers, and learning platforms.
package signin

import "concordat/cmd/cli"

// commands contains the state that this package's commands share, for one site.
type commands struct{ *cli.Site }
