// Package federation carries what partners say to each other: it is the wire and the transport between a
// concordat.Partner, which [Client] is for one partner, and a concordat.Answerer, which [Server] serves to all of them.
// The content of answers is not here (package site/answer), nor the list of partners (package partners) or the
// envelopes themselves (package crypto). Open federation.go first, then client.go and server.go, which are the two
// ends.
//
// A request is sealed to the partner's key and signed by the asking site; its answer is sealed to a key
// that serves this one request, and is signed twice: as a message, and as a statement that can be kept
// and checked by others. Both travel in mutual TLS 1.3 with pinned keys. A partner is known by its site
// card, never by its address; who partners are is the business of a [Roster].
//
// What a partner sees of a document is padded and shuffled (package wire). A partner that is down, slow,
// or talks nonsense costs its own answer and nothing else: see [Gather].
package federation
