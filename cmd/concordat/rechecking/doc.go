// Package rechecking implements the command "concordat recheck", which repeats checks and batches on a schedule. Start from [Command].
package rechecking

import "concordat/cmd/cli"

// commands contains the state that this package's commands share, for one site.
type commands struct{ *cli.Site }
