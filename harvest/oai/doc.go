// Package oai reads repositories by the Open Archives Initiative Protocol for Metadata Harvesting, version 2.0
// (https://www.openarchives.org/OAI/2.0/openarchivesprotocol.htm), and their descriptions of works. Start from Client.List, which reads
// one page of a list. describe.go extracts a work and the locations of its text from a record in Dublin Core, DataCite, METS with MODS,
// ORE, JATS, MARC or DSpace's own format.
//
// The package tolerates faulty repositories. An unreadable record is returned with its name and the reason, and does not affect the other
// records on its page. It has no state; the caller stores resumption tokens.
package oai
