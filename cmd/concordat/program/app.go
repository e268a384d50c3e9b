package program

import (
	"concordat/cmd/cli"
)

// app is the state that all commands share.
type app struct{ cli.Site }
