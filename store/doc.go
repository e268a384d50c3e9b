// Package store holds everything small: settings of the site, libraries and their policy, the catalogue of documents, what
// ingest did with each file, tasks, findings, results and the audit. Texts and fingerprints are in package index, the rules of
// accounts in package people. Open store.go first; then one file per subject, for example task.go, share.go or audit.go.
//
// Start from [Open], which gives a [DB] over one SQLite file. A change is durable when its call
// returns without error, and a call that fails changes nothing. A DB is safe for concurrent use:
// writers queue, readers do not wait for them.
//
// A DB is made of parts by subject: [Catalogue], [Checks], [Batches], [Alerts], [Partners], [Answers], [Asks], [People],
// [AuditLog], [Webhooks], [LTI] and [Retention]. Callers write db.Checks.Task, and take the parts that they need.
// [DB.Atomic] makes changes of several parts one transaction.
//
// Times are kept to the microsecond and come back in UTC; the zero time comes back as zero. Names
// (ids, keys, hashes) must be valid UTF-8 without NUL, or a call fails with concordat.ErrInvalid; in
// titles and other prose such bytes become U+FFFD.
//
// All statements are plain SQL that SQLite and PostgreSQL both accept. Connections, transactions, migrations and all
// differences between the two are in package engine.
package store
