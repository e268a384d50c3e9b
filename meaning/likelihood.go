package meaning

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
)

// Calibration holds the likelihoods of leads, measured with the lab command likelihood on texts of known origin
// (doc/evaluation/meaning.md).
type Calibration struct {
	Table string `json:"table"` // digest of the table used for measuring
	// Most is the highest likelihood for which there were enough texts to measure.
	Most   float64 `json:"most"`
	Within Curve   `json:"within"` // within one language, by words and the table
	Across Curve   `json:"across"` // between two languages, by the table
	// Encoder holds the likelihoods of leads verified by an encoder.
	Encoder EncoderCalibration `json:"encoder"`
}

// EncoderCalibration holds the likelihoods of leads verified by one model, within one language or between two. Between two languages, too
// few wrong leads stand out for a separate curve. Other models use other scales.
type EncoderCalibration struct {
	Models []string `json:"models"` // names of this model
	Curve  Curve    `json:"curve"`
}

// Measured reports whether the likelihoods were measured with the named model; a folder may precede its name.
func (c *EncoderCalibration) Measured(model string) bool {
	return slices.Contains(c.Models, model[strings.LastIndex(model, "/")+1:])
}

// Curve is a logistic regression of the likelihood that a lead is right on its score and length. It increases with both.
type Curve struct {
	// WorthReading is the minimum likelihood of a lead to be shown; if it is 0, the score decides.
	WorthReading float64 `json:"worth_reading,omitempty"`

	Base      float64 `json:"base"`
	Score     float64 `json:"score"`     // coefficient of Lead.Score, 0 or more
	Sentences float64 `json:"sentences"` // coefficient of the natural logarithm of Lead.Sentences, 0 or more
	Passages  int     `json:"passages"`  // number of reworded passages measured
	Documents int     `json:"documents"` // number of documents measured
}

// At returns the likelihood of a lead, 0 or more: how many times more often places stand out this much in a reworded passage than
// elsewhere in a document.
func (c *Curve) At(score float64, sentences int) float64 {
	return math.Exp(c.Base + c.Score*score + c.Sentences*math.Log(float64(max(sentences, 1))))
}

//go:embed data/likelihood.json
var likelihoodData []byte

// Calibrated returns the embedded calibration.
var Calibrated = sync.OnceValue(func() *Calibration {
	c := new(Calibration)
	if err := json.Unmarshal(likelihoodData, c); err != nil {
		panic(fmt.Sprintf("meaning: data/likelihood.json: %v", err)) // a test decodes this file
	}
	return c
})

func encoderCurve(c *Calibration) *Curve { return &c.Encoder.Curve }

// curve returns the likelihood curve for a lead, or nil if it was not measured.
func (l Lead) curve() *Curve {
	if l.by == nil || l.by.curve == nil {
		return nil
	}
	return l.by.curve(Calibrated())
}

// Likelihood returns how many times more often places stand out this much in a reworded passage than elsewhere in a document, up to
// Calibration.Most, or 0 if the likelihood was not measured.
func (l Lead) Likelihood() float64 {
	curve := l.curve()
	if curve == nil {
		return 0
	}
	return min(curve.At(l.Score, l.Sentences), Calibrated().Most)
}

// WorthReading reports whether a lead is likely enough to be shown and few enough sources contain the same.
func (l Lead) WorthReading() bool { return !l.Many && l.StandsOut() }

// StandsOut reports whether a lead is likely enough to be shown, even if many sources contain the same.
func (l Lead) StandsOut() bool {
	switch {
	case l.by == nil || l.Sentences == 0:
		return false
	case l.by.least[0] > 0:
		return l.Score >= l.by.least[min(l.Sentences, len(l.by.least))-1]
	}
	return l.Likelihood() >= l.curve().WorthReading
}
