// Package instance opens a site from its folder: configuration, keystore, store, index, and the lock that keeps other processes off the
// index. If another process serves the site, it provides access to the index; on a machine of a cluster, the index belongs to the node.
// Package daemon serves a site. Open instance.go first.
//
// Start from [Open], whose [Mode] specifies which parts are needed; [Create] creates a site. An [Instance] holds the *site.Site and the
// parts that it uses: [LiveConfig], [Keys], [Encoding] and, on a machine of a cluster, [Member]. Errors caused by a flag, a name or the
// configuration are *[UsageError].
//
// The package prints nothing, reads no command line and serves no requests; package cmd/concordat/program contains the commands.
package instance
