// Package concordat defines the vocabulary of the system: identities, documents, sentences and their fingerprints, questions and answers,
// evidence and reports, and the few interfaces that have several implementations.
//
// Start from [Matcher], which finds known sentences near given ones; a shard implements it, and so does a site's whole index, on one
// machine or several. A [Document] becomes a [Profile], which contains its sentences and their fingerprints; an [Index] stores profiles
// and answers a [Query]. Another site is not a Matcher; it is sent an [Ask], sees only what that reveals, and answers according to its
// policy as an [Answerer].
//
// The package imports only the standard library and has no state. Everything in it is safe for concurrent use if values are not changed
// after they have been passed on.
package concordat
