// Package federation transports the messages of partners. It sits between a [Client], which represents one partner to the asking site,
// and a concordat.Answerer, which [Server] serves to all partners. Other packages determine the content of answers (package site/answer),
// keep the list of partners (package partners) and create the envelopes (package crypto). Open federation.go first, then client.go and
// server.go for the two ends.
//
// A request is sealed to the partner's key and signed by the asking site. Its answer is sealed to a key used only for this request, and
// signed twice, as a message and as a statement that others can keep and check. Both travel over mutual TLS 1.3 with pinned keys. A
// partner is identified by its site card, never by its address; a [Roster] lists the partners.
//
// Anything a partner sees about a document is padded and shuffled (package wire). If a partner is down, is slow or sends nonsense, only
// its own answer is lost; see [Gather].
package federation
