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

// Calibration says how likely leads are, as the lab command likelihood measured it on texts of known origin
// (doc/evaluation/meaning.md).
type Calibration struct {
	Table string `json:"table"` // digest of the table whose leads were measured
	// Most is the likelihood beyond which there were too few texts to measure.
	Most   float64 `json:"most"`
	Within Curve   `json:"within"` // one language, by words and table
	Across Curve   `json:"across"` // two languages, by the table
	// Encoder is of the leads that an encoder verified.
	Encoder EncoderCalibration `json:"encoder"`
}

// EncoderCalibration says how likely the leads are that one model verified, within one language or between two: of the latter too few
// wrong ones stand out for a curve of their own. Scores of other models are on another scale.
type EncoderCalibration struct {
	Models []string `json:"models"` // names of that model
	Curve  Curve    `json:"curve"`
}

// Measured reports whether the likelihoods are those of a model, by its name, before which a folder may stand.
func (c *EncoderCalibration) Measured(model string) bool {
	return slices.Contains(c.Models, model[strings.LastIndex(model, "/")+1:])
}

// Curve is a logistic regression of what leads are on their scores and lengths: it rises with both.
type Curve struct {
	// WorthReading is the likelihood from which a lead is shown; 0: its score says.
	WorthReading float64 `json:"worth_reading,omitempty"`

	Base      float64 `json:"base"`
	Score     float64 `json:"score"`     // for each unit of Lead.Score, 0 or more
	Sentences float64 `json:"sentences"` // for each natural logarithm of Lead.Sentences, 0 or more
	Passages  int     `json:"passages"`  // in other words, that were measured
	Documents int     `json:"documents"` // that were measured
}

// At returns the likelihood of a lead, 0 upwards: how many times more often places stand out so much in a passage put in other words
// than in a document outside of such passages.
func (c *Curve) At(score float64, sentences int) float64 {
	return math.Exp(c.Base + c.Score*score + c.Sentences*math.Log(float64(max(sentences, 1))))
}

//go:embed data/likelihood.json
var likelihoodData []byte

// Calibrated returns the embedded calibration.
var Calibrated = sync.OnceValue(func() *Calibration {
	c := new(Calibration)
	if err := json.Unmarshal(likelihoodData, c); err != nil {
		panic(fmt.Sprintf("meaning: data/likelihood.json: %v", err)) // a test reads it
	}
	return c
})

func encoderCurve(c *Calibration) *Curve { return &c.Encoder.Curve }

// curve returns the function that gives a lead's likelihood; nil: it was not measured.
func (l Lead) curve() *Curve {
	if l.by == nil || l.by.curve == nil {
		return nil
	}
	return l.by.curve(Calibrated())
}

// Likelihood returns how many times more often places stand out as much as these in a passage put in other words than in a document
// outside of such passages, up to Calibration.Most; 0: it was not measured.
func (l Lead) Likelihood() float64 {
	curve := l.curve()
	if curve == nil {
		return 0
	}
	return min(curve.At(l.Score, l.Sentences), Calibrated().Most)
}

// WorthReading reports whether a lead is likely enough to be shown, and few enough sources say the same.
func (l Lead) WorthReading() bool { return !l.Many && l.StandsOut() }

// StandsOut reports whether a lead is likely enough to be shown, whether or not many sources say the same.
func (l Lead) StandsOut() bool {
	switch {
	case l.by == nil || l.Sentences == 0:
		return false
	case l.by.least[0] > 0:
		return l.Score >= l.by.least[min(l.Sentences, len(l.by.least))-1]
	}
	return l.Likelihood() >= l.curve().WorthReading
}
