package signin

import "concordat/cmd/internal/cli"

// commands are those of this package, on one site.
type commands struct{ *cli.Site }
