// Package concordat defines the vocabulary of the system: identities, documents, sentences and their fingerprints, questions and answers,
// evidence and reports, and the few interfaces that have several implementations.
//
// Start from [Matcher]: a shard and a site's whole index, on one machine or on several, answer "which known sentences lie near these?"
// through the same interface. A [Document] becomes a [Profile] (its sentences with their fingerprints); an [Index] stores profiles and
// answers a [Query]. Another site is not a Matcher: it is asked through [Partner], sees only what a question gives away, and answers with
// what its policy allows.
//
// The package imports only the standard library and holds no state. Everything in it is safe for concurrent use as long as values are not
// changed after they are handed over.
package concordat
