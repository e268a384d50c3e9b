// Package instance opens a site from its folder: configuration, keystore, store, index, and the lock that keeps other processes
// off the index. If another process serves the site, the index is reached through it; on a machine of a cluster, the index
// belongs to the node. Package daemon serves a site. Open instance.go first.
//
// Start from [Open], whose [Mode] says which parts are wanted; [Create] makes a site. An [Instance] embeds the *site.Site made of its
// parts. Errors caused by a flag, a name or the configuration are *[UsageError].
//
// The package prints nothing, reads no command line and serves no requests: commands are in cmd/concordat.
package instance
