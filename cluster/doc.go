// Package cluster is the index of a site: in one process, reached by others of the same machine, or in shards with copies on
// several machines. What one shard does is not here (package index), nor what the copies agree on without disks and
// networks (cluster/replica, the rules of doc/cluster.md), the log (cluster/wal) or the coordinators (cluster/zk,
// cluster/local). Open node.go for a machine of several, alone.go for the only one, and remote.go for another process.
//
// Start from [OpenNode], from [OpenAlone], or from [Handler], which a process that holds indexes serves, and [Dial], which
// gives another process of the same site a concordat.Index over it. Both ends of a socket must be of the same build; a call
// to another one fails with concordat.ErrUnavailable and says so. The connection is trusted: it is a socket that only the
// site's own user may open.
package cluster
