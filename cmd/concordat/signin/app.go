package signin

import "concordat/cmd/cli"

// commands holds the state that the commands of this package share, for one site.
type commands struct{ *cli.Site }
