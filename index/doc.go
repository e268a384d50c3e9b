// Package index implements one shard on one disk; it stores the profiles of many documents and answers the question "which known
// sentences are near these?". Package cluster manages several shards and their copies on other machines; package profile computes the
// fingerprints. Open shard.go first; DESIGN.md has the overview.
//
// The main type is [Shard], which implements [concordat.Index]; [Open] returns one. A Bleve index stores all persistent data. It has, for
// every block of about twenty sentences, the terms of the five bands, the fingerprints and the spans, and for every document the title,
// the text and the terms by which SearchText ranks it. From the stored fingerprints, the shard derives the in-memory table that answers
// Match. MatchStored answers in the same way from Bleve's dictionaries alone, for comparison and as a fallback.
//
// Profiles acknowledged by Put survive a crash at any moment. Match sees every acknowledged document in full, and no part of any other.
// Only one process at a time can have a shard open for writing. The package uses no network; other packages replicate and place shards.
//
// DESIGN.md describes the life cycle and every stored byte.
package index
