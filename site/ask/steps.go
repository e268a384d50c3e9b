package ask

import (
	"concordat"
	"concordat/site/compare"
)

// A partner states closeness in steps. Each of its matches gets a distance typical of its step, so that the same rules apply as for
// mirrors, whose distances are known.

const (
	nearDistance = compare.FairDistance + 1
	farDistance  = 24
)

// stepDistance is the typical distance in bits for each step.
var stepDistance = [...]int{concordat.CloseFar: farDistance, concordat.CloseNear: nearDistance, concordat.CloseSame: 0}

// These are the nearness values of the steps, on the scale of [compare.ByBits]. Near sentences are mostly related; far ones are mostly
// not.
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
