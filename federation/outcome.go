package federation

import (
	"errors"

	"concordat"
)

// Outcome is the outcome of a message, which is one of the constants or, for a failed call, a Kind.
type Outcome string

// Outcomes other than the kinds of failure.
const (
	OutcomeAnswered Outcome = "answered" // including a sealed refusal by the partner asked
	OutcomeRefused  Outcome = "refused"  // refused by the partner asked
	OutcomeRejected Outcome = "rejected" // not from an active partner, or malformed
	OutcomeBusy     Outcome = "busy"
	OutcomeFailed   Outcome = "failed"
)

func outcomeOf(err error) Outcome {
	var refusal *concordat.Refusal
	var failed *Error
	switch {
	case err == nil:
		return OutcomeAnswered
	case errors.As(err, &refusal):
		return OutcomeRefused
	case errors.As(err, &failed):
		return Outcome(failed.Kind)
	}
	return OutcomeFailed
}
