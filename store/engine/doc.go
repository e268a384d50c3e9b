// Package engine opens the database of a store, which is a SQLite file or a PostgreSQL schema, and runs its transactions. It contains the
// migrations, one set for both engines, and copies, checks and purges whole databases. Package store gives the tables their meaning.
//
// Start from [Options.Open], which returns a [DB]: [DB.Read] is for statements that change nothing, [DB.Write] for a transaction. The
// writers of all processes queue; readers do not wait for them. dialect.go lists all differences between the engines; sqlite.go and
// postgres.go implement them.
package engine
