// Package faults contains only tests. They run a cluster of real processes, each in its own network namespace, with real ZooKeeper
// servers, and break it in every way mentioned in doc/cluster.md. At the end, they compare the answers received by clients with the
// content of every copy. Start from TestFaults; doc/evaluation/cluster.md describes the results.
package faults
