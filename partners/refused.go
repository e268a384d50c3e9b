package partners

import (
	"concordat/instance"
)

// Refused names the reason why something about partners is refused, so that pages can show it in every language.
type Refused string

// The reasons of a RefusedError.
const (
	RefusedClosed     Refused = "closed"     // other sites cannot reach this one
	RefusedAddress    Refused = "address"    // an address is missing or invalid
	RefusedListen     Refused = "listen"     // the site cannot listen there
	RefusedRoot       Refused = "root"       // the root key is elsewhere, so no card can be made
	RefusedCluster    Refused = "cluster"    // the machines of the site read it from their own configuration
	RefusedSettings   Refused = "settings"   // the configuration cannot be written
	RefusedFormat     Refused = "format"     // not an invitation
	RefusedOwn        Refused = "own"        // the site's own invitation
	RefusedEnded      Refused = "ended"      // it has expired
	RefusedKnown      Refused = "known"      // the site is a partner already
	RefusedSilent     Refused = "silent"     // the other site does not answer
	RefusedTurnedAway Refused = "turnedaway" // the other site answers, but does not accept the invitation
	RefusedImpostor   Refused = "impostor"   // another site answers
	RefusedState      Refused = "state"      // the partner is in another state
	RefusedWords      Refused = "words"      // the six words differ
	RefusedName       Refused = "name"       // invalid name of a federation
	RefusedExists     Refused = "exists"     // the federation is known already
	RefusedLed        Refused = "led"        // another site leads it
	RefusedFull       Refused = "full"       // it already has the largest number of members
	RefusedEpoch      Refused = "epoch"      // the leader's epochs are too many, or too close to one another
	RefusedMember     Refused = "member"     // the leader says that this site is not a member, or that there is no such federation
)

// RefusedError is an error made by the caller, with its reason. Nothing was changed.
type RefusedError struct {
	Reason Refused
	Err    error // what to do, for the command line
}

// Error returns the message of Err.
func (e *RefusedError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *RefusedError) Unwrap() error { return e.Err }

// Why returns the reason as a word.
func (e *RefusedError) Why() string { return string(e.Reason) }

// refusedf returns a usage error with a reason.
func refusedf(why Refused, format string, args ...any) error {
	return &RefusedError{why, instance.Usagef(format, args...)}
}
