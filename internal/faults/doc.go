// Package faults has no code of its own: its tests run a cluster of real processes, each in a network
// namespace of its own, with real ZooKeeper servers, break it in every way that doc/cluster.md speaks of,
// and compare what clients were told with what every copy holds at the end. TestFaults is the place to
// start from; doc/evaluation/cluster.md says what it found.
package faults
