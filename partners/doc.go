// Package partners connects a site with its partners: the list of partners, questions to them, and answers to theirs. It joins
// the protocol (package federation) and the content of questions and answers (packages site/ask and site/answer) with the
// keystore and the folder of an instance. Open client.go and server.go first.
//
// Start from [Open], whose [Client] connects to partners, accepts grants from leaders of federations, and reads mirrors; [Comparison] adds
// partners and mirrors to a check. [Listen] makes the [Server] that answers partners and delivers notices. [Roster] is the store as package
// federation sees it; [MirrorStore] changes mirrors.
package partners
