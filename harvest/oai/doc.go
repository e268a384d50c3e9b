// Package oai reads repositories by the Open Archives Initiative Protocol for Metadata Harvesting, version 2.0
// (https://www.openarchives.org/OAI/2.0/openarchivesprotocol.htm), and the descriptions of works that they give out. Start from
// Client.List, which reads one page of a list; describe.go makes a work, and the places of its text, from a record in Dublin
// Core, DataCite, METS with MODS, ORE, JATS, MARC or the form of DSpace.
//
// It is lenient where repositories are wrong: a record that cannot be read comes back with its name and the reason, and does not
// hold up the others of its page. It keeps no state: resumption tokens are the caller's.
package oai
