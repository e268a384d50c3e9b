// Package site has the verbs of one member of the federation: Ingest takes documents in, Check compares a submission
// with what is known, and Findings returns what was found. Packages below it ask partners ([concordat/site/ask]), answer
// them ([concordat/site/answer]), compare many documents with one another ([concordat/site/batch]) and delete
// ([concordat/site/retain]); the comparing itself is in [concordat/site/compare]. Open site.go first, then ingest.go
// and check.go.
//
// Start from [New]. A Site sees an index, a store and a maker of profiles; it knows neither disks
// nor networks, and is safe for concurrent use. What it has acknowledged is durable in the index
// and in the store; the index is written first, so that the store never promises more than there is.
package site
