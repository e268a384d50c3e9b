// Package ask asks a site's partners about submissions, and maintains mirrors of their libraries.
//
// Package answer decides what a site discloses to others; package site searches the site's own libraries. Start with merge.go, which
// contains [Asker.Ask], and round.go, which handles one submission at one partner.
package ask
