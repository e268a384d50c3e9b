// Package concordat holds the words of the system: identities, documents, sentences and their
// fingerprints, questions and answers, evidence and reports, and the few interfaces that have
// several implementations.
//
// Start from [Matcher]: a shard and a site's whole index, on one machine or on several, answer "which
// known sentences lie near these?" through the same interface. A [Document] becomes a [Profile] (its
// sentences with their fingerprints); an [Index] stores profiles and answers a [Query]. Another site
// is no Matcher: it is asked through [Partner], sees only what a question gives away, and answers
// with what its policy shows.
//
// The package imports the standard library only and holds no state. Everything in it is safe for
// concurrent use as long as values that were handed over are not changed afterwards.
package concordat
