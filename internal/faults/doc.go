// Package faults contains only tests. They run a cluster of real processes, each in its own network
// namespace, with real ZooKeeper servers, and break it in every way that doc/cluster.md mentions. At the end,
// they compare the answers that clients got with the content of every copy. Start from TestFaults;
// doc/evaluation/cluster.md says what it found.
package faults
