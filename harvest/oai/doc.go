// Package oai reads repositories by the Open Archives Initiative Protocol for Metadata Harvesting, version 2.0
// (https://www.openarchives.org/OAI/2.0/openarchivesprotocol.htm), and their descriptions of works. Start from Client.List,
// which reads one page of a list; describe.go makes a work, and the places of its text, from a record in Dublin Core, DataCite,
// METS with MODS, ORE, JATS, MARC or the form of DSpace.
//
// It tolerates faulty repositories: a record that cannot be read is returned with its name and the reason, and does not affect the others
// on its page. The package keeps no state: the caller keeps resumption tokens.
package oai
