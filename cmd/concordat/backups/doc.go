// Package backups implements the commands that copy a site as a whole: backup, restore, and the store's move between a file and a database.
// Package instance/backup defines a backup's form. Start from [BackupCommand], [RestoreCommand] and [StoreCommand].
package backups

import "concordat/cmd/cli"

// commands contains the state that this package's commands share, for one site.
type commands struct{ *cli.Site }
