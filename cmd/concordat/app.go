package main

import (
	"concordat/cmd/internal/cli"
)

// app is what all commands share.
type app struct{ cli.Site }
