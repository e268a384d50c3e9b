package partners

import (
	"concordat/instance"
)

// Refused names the reason for refusing a request about partners, so that pages can display it in every language.
type Refused string

// The reasons in a RefusedError.
const (
	RefusedClosed     Refused = "closed"     // other sites cannot reach this one
	RefusedAddress    Refused = "address"    // an address is missing or invalid
	RefusedListen     Refused = "listen"     // the site cannot listen there
	RefusedRoot       Refused = "root"       // the root key is elsewhere, so no card can be issued
	RefusedCluster    Refused = "cluster"    // the site's machines read it from their own configuration
	RefusedSettings   Refused = "settings"   // the configuration cannot be written
	RefusedFormat     Refused = "format"     // not an invitation
	RefusedOwn        Refused = "own"        // an invitation from this site itself
	RefusedEnded      Refused = "ended"      // the invitation has expired
	RefusedKnown      Refused = "known"      // the site is already a partner
	RefusedSilent     Refused = "silent"     // the other site does not answer
	RefusedTurnedAway Refused = "turnedaway" // the other site answers but does not accept the invitation
	RefusedImpostor   Refused = "impostor"   // a different site answers
	RefusedState      Refused = "state"      // the partner is in a different state
	RefusedWords      Refused = "words"      // the six words differ
	RefusedName       Refused = "name"       // the name of the federation is invalid
	RefusedExists     Refused = "exists"     // the federation is already known
	RefusedLed        Refused = "led"        // another site leads the federation
	RefusedFull       Refused = "full"       // the federation already has the maximum number of members
	RefusedEpoch      Refused = "epoch"      // the leader's epochs are too many or too close together
	RefusedMember     Refused = "member"     // according to the leader, this site is not a member or the federation does not exist
)

// RefusedError is an error by the caller, with a reason. Nothing was changed.
type RefusedError struct {
	Reason Refused
	Err    error // how to fix it, for the command line
}

// Error returns Err's message.
func (e *RefusedError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *RefusedError) Unwrap() error { return e.Err }

// Why returns the reason as a word.
func (e *RefusedError) Why() string { return string(e.Reason) }

// refusedf returns a usage error with a reason.
func refusedf(why Refused, format string, args ...any) error {
	return &RefusedError{why, instance.Usagef(format, args...)}
}
