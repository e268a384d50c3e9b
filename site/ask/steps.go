package ask

import (
	"concordat"
	"concordat/site/compare"
)

// A partner gives closeness in steps. Its matches are given a distance that represents their step, so that they are judged by the same
// rules as those of mirrors, whose distances are known.

const (
	nearDistance = compare.FairDistance + 1
	farDistance  = 24
)

// stepDistance is the distance in bits that represents each step.
var stepDistance = [...]int{concordat.CloseFar: farDistance, concordat.CloseNear: nearDistance, concordat.CloseSame: 0}

// Nearness values of the steps, on the scale of [compare.ByBits]: near sentences are mostly related, far ones mostly not.
const (
	nearWorth = 0.6
	farWorth  = 0.07
)

// byStep returns the nearness of a partner's match.
func byStep(_ concordat.Sentence, m concordat.Match) float64 {
	switch {
	case m.Distance == 0:
		return 1
	case m.Distance <= nearDistance:
		return nearWorth
	}
	return farWorth
}
