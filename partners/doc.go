// Package partners is a site among its partners: the list of partners, questions to them, and answers to theirs. The
// protocol is in package federation, the content of questions and answers in packages site/ask and site/answer. Open
// client.go and server.go first.
//
// Start from [Open], whose [Client] connects to partners, takes in what leaders of federations grant, and reads mirrors;
// [Comparison] adds partners and mirrors to a check. [Listen] makes the [Server] that answers partners and delivers
// notices. [Roster] is the store as package federation sees it; [MirrorStore] changes mirrors.
//
// The protocol is package federation's, what is told to whom is package site's; this package joins both with the
// keystore and the folder of an instance.
package partners
