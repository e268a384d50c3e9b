// Package ask has what a site asks its partners about a submission, and the mirrors of their libraries that it keeps.
//
// What a site tells others is not here (package answer), nor its own libraries (package site). Start with merge.go, which
// has [Asker.Ask], and round.go, which is one submission at one partner.
package ask
