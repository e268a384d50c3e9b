// Package federation carries the messages of partners: it is the wire and the transport between a concordat.Partner, which [Client]
// implements for one partner, and a concordat.Answerer, which [Server] serves to all of them. Other packages have the content of answers
// (package site/answer), the list of partners (package partners) and the envelopes themselves (package crypto). Open federation.go first,
// then client.go and server.go, which are the two ends.
//
// A request is sealed to the partner's key and signed by the asking site; its answer is sealed to a key used for this one request only, and
// is signed twice: as a message, and as a statement that others can keep and check. Both travel over mutual TLS 1.3 with pinned keys. A
// partner is identified by its site card, never by its address; a [Roster] says who the partners are.
//
// The data about a document that a partner sees is padded and shuffled (package wire). A partner that is down, slow, or sends nonsense
// costs only its own answer: see [Gather].
package federation
