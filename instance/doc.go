// Package instance opens a site from its folder: configuration, keystore, store, index, and the lock that keeps other
// processes off the index. Where another process serves the site, the index is reached through it; on a machine of a
// cluster, the index belongs to the node. What serves a site is not here (package daemon). Open instance.go first.
//
// Start from [Open], whose [Mode] says which parts are wanted; [Create] makes a site. An [Instance] embeds the
// *site.Site that its parts make. What goes wrong because of a flag, a name or the configuration is a *[UsageError].
//
// The package prints nothing, reads no command line and serves nobody: commands stand in cmd/concordat.
package instance
