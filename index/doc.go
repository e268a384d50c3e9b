// Package index is one shard on one disk: it stores the profiles of many documents, and answers the question "which
// known sentences are near these?". Package cluster manages several shards and their copies on other machines;
// package profile makes the fingerprints. Open shard.go first; DESIGN.md gives the overview.
//
// Start from [Shard], which [Open] returns and which is a [concordat.Index]. A Bleve index holds everything
// that must last: for every block of about twenty sentences, the terms of the five bands, the fingerprints
// and the spans; and for every document, its title, its text and the terms of the text, by which SearchText
// ranks. From the stored fingerprints the shard derives a table in memory that answers Match; MatchStored
// gives the same answers from Bleve's dictionaries alone, for comparison and as a fallback.
//
// What Put has acknowledged survives the death of the process at any moment. Match sees every acknowledged
// document completely, and no part of any other. Only one process at a time has a shard open. The package
// uses no network; replication and placement are tasks of other packages.
//
// DESIGN.md describes the life cycle and every stored byte.
package index
