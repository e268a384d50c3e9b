package main

import (
	"concordat/cmd/internal/cli"
)

// app is the state that all commands share.
type app struct{ cli.Site }
