// Package reindexing implements the command "concordat reindex", which recomputes the fingerprints of all documents: next to the old index,
// in place while the site is served, or on the nodes of a cluster. Start from [Command].
package reindexing

import "concordat/cmd/cli"

// commands contains the state of the command, for one site.
type commands struct{ *cli.Site }
