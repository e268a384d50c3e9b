// Package store contains all small data: site settings, libraries and their policies, the document catalogue, the ingest outcome of each
// file, tasks, findings, results and the audit log. Texts and fingerprints are in package index; the rules for accounts are in package
// people. Open store.go first, then the file for a subject, for example task.go, share.go or audit.go.
//
// Start from [Open], which returns a [DB] over one SQLite file. A change is durable when its call returns without error, and a failed
// call changes nothing. A DB is safe for concurrent use: writers queue, and readers do not wait for them.
//
// A DB consists of parts by subject: [Catalogue], [Checks], [Batches], [Alerts], [Partners], [Answers], [Asks], [People], [AuditLog],
// [Webhooks], [LTI] and [Retention]. Callers write db.Checks.Task, or accept only the parts they need. [DB.Atomic] combines changes to
// several parts into one transaction.
//
// Times are stored to the microsecond and returned in UTC; the zero time is returned as zero. Names (ids, keys, hashes) must be valid
// UTF-8 without NUL; otherwise, a call fails with concordat.ErrInvalid. In titles and other prose, such bytes become U+FFFD.
//
// All statements are plain SQL accepted by both SQLite and PostgreSQL. Package engine handles connections, transactions, migrations and
// all differences between the two.
package store
