// Package ask asks a site's partners about a submission, and keeps mirrors of their libraries.
//
// Package answer decides what a site discloses to others; package site has its own libraries. Start with merge.go, which has [Asker.Ask],
// and round.go, which handles one submission at one partner.
package ask
