// Package alerting implements the commands about what standing checks find: alerts, and the cases that this site shares with partners.
// The packages site and site/retain do the work. Start from [AlertCommand] and [CaseCommand].
package alerting

import "concordat/cmd/cli"

// commands contains the state that the commands about alerts share, for one site.
type commands struct{ *cli.Site }
