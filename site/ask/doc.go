// Package ask has a site's questions to its partners about a submission, and its mirrors of their libraries.
//
// Package answer has what a site discloses to others, package site its own libraries. Start with merge.go, which has
// [Asker.Ask], and round.go, which is one submission at one partner.
package ask
