// Package site implements the operations of one federation member: Ingest adds documents, Check compares a submission with them, and
// Findings returns the results. Subpackages ask partners ([concordat/site/ask]), answer them ([concordat/site/answer]), compare the
// documents of a batch ([concordat/site/batch]), delete data ([concordat/site/retain]) and implement comparison
// ([concordat/site/compare]). Open site.go first, then ingest.go and check.go.
//
// Start from [New]. A Site uses an index, a store and a profiler; it does not access disks or networks, and is safe for
// concurrent use. Everything that it has acknowledged is durable in both the index and the store; the index is written first, so that the
// store never promises more than exists.
package site
