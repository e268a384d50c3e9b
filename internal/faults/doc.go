// Package faults contains only tests: they run a cluster of real processes, each in its own network
// namespace, with real ZooKeeper servers, break it in every way that doc/cluster.md mentions, and compare
// the answers that clients got with what every copy holds at the end. Start from TestFaults;
// doc/evaluation/cluster.md says what it found.
package faults
