// Package auditing implements the commands that show, verify and export the audit log. Packages store and instance do the work. Start from
// [AuditCommand].
package auditing

import "concordat/cmd/cli"

// commands contains the state that this package's commands share, for one site.
type commands struct{ *cli.Site }
