// Package site has the operations of one member of the federation: Ingest adds documents, Check compares a submission with
// them, and Findings returns what was found. Subpackages ask partners ([concordat/site/ask]), answer them
// ([concordat/site/answer]), compare many documents with one another ([concordat/site/batch]) and delete
// ([concordat/site/retain]); [concordat/site/compare] does the comparing. Open site.go first, then ingest.go and check.go.
//
// Start from [New]. A Site sees an index, a store and a maker of profiles; it knows neither disks nor networks, and is safe for
// concurrent use. What it has acknowledged is durable in the index and in the store; the index is written first, so that the
// store never promises more than exists.
package site
