// Package partners connects a site with its partners. It manages the list of partners, questions to them, and answers to theirs. It
// connects the protocol (package federation) and the content of questions and answers (packages site/ask and site/answer) with the
// keystore and folder of an instance. Open client.go and server.go first.
//
// Start from [Open], whose [Client] connects to partners, accepts grants from leaders of federations, and reads mirrors; [Comparison]
// adds partners and mirrors to a check. [Listen] returns the [Server] that answers partners and delivers notices. [Roster] adapts the
// store for package federation; [MirrorStore] changes mirrors.
package partners
