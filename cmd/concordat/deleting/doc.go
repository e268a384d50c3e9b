// Package deleting implements the commands that delete permanently and set retention: "concordat delete" and "concordat retention".
// Package site/retain does the work.
package deleting

import "concordat/cmd/cli"

// commands contains the state that this package's commands share, for one site.
type commands struct{ *cli.Site }
