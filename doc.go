// Package concordat holds the words of the system: identities, documents, sentences and their
// fingerprints, questions and answers, evidence and reports, and the few interfaces that have
// several implementations.
//
// Start from [Matcher]: "which known sentences lie near these?" is asked of a shard, of a whole
// site and of a remote site, so all three are one interface. A [Document] becomes a [Profile] (its
// sentences with their fingerprints); an [Index] stores profiles and answers a [Query].
//
// The package imports the standard library only and holds no state. Everything in it is safe for
// concurrent use as long as values that were handed over are not changed afterwards.
package concordat
