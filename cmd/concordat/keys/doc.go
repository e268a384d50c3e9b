// Package keys implements the commands about the site's identity: its keys and its signed card. Package instance does the work. Start from
// [SiteCommand].
package keys

import "concordat/cmd/cli"

// commands contains the state that this package's commands share, for one site.
type commands struct{ *cli.Site }
