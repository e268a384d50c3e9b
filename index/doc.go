// Package index is one shard on one disk: the profiles of many documents, and the answer to "which known sentences are
// near these?". Several shards, and copies of them on other machines, are in package cluster; making fingerprints is
// in package profile. Open shard.go first; DESIGN.md gives the overview.
//
// Start from [Shard], which [Open] returns and which is a [concordat.Index]. A Bleve index holds
// everything that must last: for every block of about twenty sentences the five band terms, the
// fingerprints and the spans, and for every document its title, its text and the terms of the text,
// which SearchText ranks by. From the stored
// fingerprints the shard derives a table in memory that answers Match; MatchStored gives the same
// answers from Bleve's dictionaries alone, for comparison and as a fallback.
//
// What Put acknowledged survives the death of the process at any moment. Match sees every
// acknowledged document completely, and no part of any other. Only one process holds a shard
// at a time. The package knows no network; replication and placement are the task of other
// packages.
//
// DESIGN.md describes the life cycle and every stored byte.
package index
