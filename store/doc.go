// Package store contains all small data: settings of the site, libraries and their policies, the catalogue of documents, the outcome of
// ingest for each file, tasks, findings, results and the audit. Texts and fingerprints are in package index, the rules of accounts in
// package people. Open store.go first; then one file per subject, for example task.go, share.go or audit.go.
//
// Start from [Open], which returns a [DB] over one SQLite file. A change is durable when its call returns without error, and a call that
// fails changes nothing. A DB is safe for concurrent use: writers queue, readers do not wait for them.
//
// A DB is made of parts by subject: [Catalogue], [Checks], [Batches], [Alerts], [Partners], [Answers], [Asks], [People], [AuditLog],
// [Webhooks], [LTI] and [Retention]. Callers write db.Checks.Task, or accept only the parts that they need. [DB.Atomic] combines changes to
// several parts into one transaction.
//
// Times are stored to the microsecond and returned in UTC; the zero time is returned as zero. Names (ids, keys, hashes) must be valid UTF-8
// without NUL, otherwise a call fails with concordat.ErrInvalid. In titles and other prose, such bytes become U+FFFD.
//
// All statements are plain SQL that SQLite and PostgreSQL both accept. Connections, transactions, migrations and all
// differences between the two are in package engine.
package store
