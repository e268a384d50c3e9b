// Package cluster is the index of a site: in one process, reached by others of the same machine, or in shards with copies on
// several machines. Package index does the work within one shard. Package cluster/replica has the rules of doc/cluster.md by
// which the copies agree, without disks and networks; cluster/wal has the log, and cluster/zk and cluster/local the
// coordinators. Open node.go for a site of several machines, alone.go for one of a single machine, and remote.go for access
// from another process.
//
// Start from [OpenNode], from [OpenAlone], or from [Handler], which a process that holds indexes serves, and [Dial], which
// gives another process of the same site a concordat.Index over it. Both ends of a socket must run the same build;
// otherwise calls fail with concordat.ErrUnavailable, and the error says so. The connection is trusted: it is a socket that
// only the site's own user may open.
package cluster
