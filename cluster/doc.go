// Package cluster is the index of a site: in one process, reached by others of the same machine, or in shards with copies on
// several machines. What one shard does is in package index, what the copies agree on, without disks and networks, in
// cluster/replica (the rules of doc/cluster.md), the log in cluster/wal, and the coordinators in cluster/zk and
// cluster/local. Open node.go for one of several machines, alone.go for a single machine, and remote.go for another process.
//
// Start from [OpenNode], from [OpenAlone], or from [Handler], which a process that holds indexes serves, and [Dial], which
// gives another process of the same site a concordat.Index over it. Both ends of a socket must be the same build; otherwise
// a call fails with concordat.ErrUnavailable and says so. The connection is trusted: it is a socket that only the site's
// own user may open.
package cluster
