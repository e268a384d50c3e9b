// Package cluster provides the index of a site, either in one process, accessed by other processes on the same machine, or in shards with
// copies on several machines. Package index implements a single shard. Package cluster/replica implements the rules of doc/cluster.md by
// which the copies agree, without disks and networks; cluster/wal has the log; cluster/zk and cluster/local have the coordinators. Open
// node.go for a site on several machines, alone.go for one on a single machine, and remote.go for access from another process.
//
// Start from [OpenNode] or [OpenAlone], from [Handler] for a process that serves its indexes, or from [Dial], which provides another
// process of the same site with a concordat.Index over them. Both ends of a socket must run the same build; otherwise, calls fail with
// concordat.ErrUnavailable, and the error says so. The connection is trusted, because only the site's own user can open the socket.
package cluster
