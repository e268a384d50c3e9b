package eval

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"syscall"
	"time"

	"concordat/meaning/remote"
	"concordat/profile"
)

// Evaluation is one measurement of detection on a corpus with the product's own code.
type Evaluation struct {
	Name  string
	About string
	// Long means that the evaluation has no short form.
	Long bool
	run  func(*run) error
}

// Options are the options of an evaluation.
type Options struct {
	Corpora string // folder of the evaluation texts
	Short   bool   // use a sample that takes seconds and has its own bounds
	// Scenarios are folders of the corpus, or the beginnings of their names, and Modes are the ways of comparing to measure, for an
	// evaluation that has several. Empty means all.
	Scenarios, Modes []string
	// Passages, if not empty, is a file for the passages judged by such an evaluation, one JSON object per line.
	Passages string
	// Leads, if not empty, is a file for all conspicuous places in an evaluation of leads, one checked document per line.
	Leads string
	// Every mixes one in this many of the unrelated texts with the sources; 0 or 1 means all of them.
	Every int
	// Encoder verifies leads; nil if none does.
	Encoder *remote.Encoder
	// EncoderIndex makes checks find documents by the encoder's vectors, too.
	EncoderIndex bool
}

// Figure is one measured value and its bounds.
type Figure struct {
	Of      string   `json:"of"` // what was measured, for example a kind of reuse
	Measure string   `json:"measure"`
	Value   float64  `json:"value"`
	Total   int      `json:"total,omitempty"` // if above 0, Value is a number out of this many
	Least   *float64 `json:"least,omitempty"`
	Most    *float64 `json:"most,omitempty"`
}

// Missed reports whether the value is outside the figure's bounds.
func (f Figure) Missed() bool {
	return f.Least != nil && !(f.Value >= *f.Least) || f.Most != nil && !(f.Value <= *f.Most)
}

// String returns the value and its bounds, if any.
func (f Figure) String() string {
	number := func(v float64) string {
		if v == math.Trunc(v) && (f.Total > 0 || math.Abs(v) > 1) {
			return fmt.Sprintf("%.0f", v)
		}
		return fmt.Sprintf("%.4g", v)
	}
	s := number(f.Value)
	if f.Total > 0 {
		s += fmt.Sprintf(" of %d", f.Total)
	}
	if f.Least != nil {
		s += ", at least " + number(*f.Least)
	}
	if f.Most != nil {
		s += ", at most " + number(*f.Most)
	}
	if f.Missed() {
		s += "  MISSED"
	}
	return s
}

// Outcome is the result of an evaluation.
type Outcome struct {
	Evaluation string   `json:"evaluation"`
	Skipped    string   `json:"skipped,omitempty"` // why nothing was measured
	CPU        float64  `json:"cpu_s"`             // processor time of the process, in seconds
	Figures    []Figure `json:"figures,omitempty"`
	Tables     []Table  `json:"tables,omitempty"` // values without bounds
}

// Missed returns the number of figures outside their bounds.
func (o Outcome) Missed() int {
	n := 0
	for _, f := range o.Figures {
		if f.Missed() {
			n++
		}
	}
	return n
}

// Measure runs the evaluation. It skips an evaluation whose corpus is missing and states this in the outcome. Figures outside their
// bounds are not an error. It needs space in the folder for temporary files.
func (e Evaluation) Measure(ctx context.Context, o Options) (Outcome, error) {
	out := Outcome{Evaluation: e.Name}
	switch {
	case o.Corpora == "":
		out.Skipped = "CONCORDAT_CORPORA is not set to a folder"
		return out, nil
	case e.Long && o.Short:
		out.Skipped = "no short version"
		return out, nil
	}
	dir, err := os.MkdirTemp("", "concordat-eval-")
	if err != nil {
		return out, err
	}
	r := &run{ctx: ctx, corpora: corpusDir(o.Corpora), short: o.Short, dir: dir, o: o}
	begun := processTime()
	err = errors.Join(e.run(r), r.close(), os.RemoveAll(dir))
	out.CPU = (processTime() - begun).Seconds()
	out.Figures, out.Tables = r.figures, r.tables
	if errors.Is(err, fs.ErrNotExist) {
		out.Skipped, err = err.Error(), nil
	}
	if err != nil {
		return out, fmt.Errorf("%s: %w", e.Name, err)
	}
	return out, nil
}

// Evaluations returns all evaluations, in the order of the documents that contain their figures.
func Evaluations() []Evaluation {
	return []Evaluation{
		{"pan13", "PAN 2013 training corpus: alignment of given pairs by texts, sketches and fingerprints", false, panGiven},
		{"pan13-nomination", "PAN 2013: pairs of documents found as candidates of a check", false, panNomination},
		{"pan13-corpus", "PAN 2013: sources found among all documents and then aligned", false, panCorpus},
		{"pan13-crossvalidated", "PAN 2013: parameters chosen on two thirds of the corpus and measured on the rest", true, panCrossValidated},
		{"languages", "Generated reuse in seven languages: alignment by texts, sketches and fingerprints", false, languages},
		{"sealed", "Chinese and Arabic reuse: how much of what texts find is also found by sketches and fingerprints", false, sealed},
		{"substitution", "Fingerprint lookup of sentences with a fifth of their words replaced", false, substitutionRecall},
		{"clough-stevenson", "Copied and independent short answers", false, shortAnswers},
		{"zh-histories", "Real reuse between two Chinese histories", false, histories},
		{"zh-laws", "Dated versions of Chinese laws", false, laws},
		{"sentence-pairs", "Similarity of sentence pairs labelled by people: msrp, zh-sentence-pairs, arpa-armenian", false, sentencePairs},
		{"own-sentences", "The writer's own sentences among reworded sentences: msrp, paws-x-zh", false, ownSentences},
		{"verse-retranslations", "Retranslations of the same verses in eight languages", false, verses},
		{"kau-arabic", "Arabic documents with copied passages", false, kauArabic},
		{"grants", "Calls and awards with near-duplicates", false, grants},
		{"innocent", "Documents that share forms, references and quotations: false accusations, text covered and copies found", false,
			innocentDocuments},
		{"innocent-partners", "The documents of innocent at two sites that do not show each other any text", false, innocentPartners},
		{"innocent-ways", "The documents of innocent with different libraries, orders, batches and keys: differences in coverage", false,
			innocentWays},
		{"innocent-calls", "Generated documents for several calls and years in one library: false accusations, text covered and copies found", false,
			innocentCalls},
		{"twins", "Innocent and guilty documents that look alike: copies found, copies missed and innocent documents accused", false,
			twins},
		{"meaning", "Leads: reworded passages that have a lead, and other texts with false leads", false, otherWords},
		{"meaning-index", "The meaning index compared with the fingerprint index: candidates, sources found and processor time", false, meaningIndex},
		{"screening", "Document prints: default and other settings, I-Match, and estimates of resemblance", false, screening},
		{"unrelated", "False alarms between unrelated documents", false, unrelated},
	}
}

// run is one evaluation in progress.
type run struct {
	ctx     context.Context
	corpora corpusDir
	short   bool
	dir     string
	o       Options
	figures []Figure
	tables  []Table
	benches []*Bench
	// observed, if not nil, is called with each document checked for leads.
	observed func(any) error
}

// figure adds a measured value and returns it for setting its bounds.
func (r *run) figure(of, measure string, value float64) *bounded {
	r.figures = append(r.figures, Figure{Of: of, Measure: measure, Value: value})
	return &bounded{r, len(r.figures) - 1}
}

// count is like figure for a number out of a total.
func (r *run) count(of, measure string, n, total int) *bounded {
	b := r.figure(of, measure, float64(n))
	r.figures[b.i].Total = total
	return b
}

type bounded struct {
	r *run
	i int
}

// least sets a lower bound for the whole corpus, and one for the short form; NaN means no bound.
func (b *bounded) least(whole, short float64) *bounded {
	if v := b.pick(whole, short); !math.IsNaN(v) {
		b.r.figures[b.i].Least = &v
	}
	return b
}

// most is like least for an upper bound.
func (b *bounded) most(whole, short float64) *bounded {
	if v := b.pick(whole, short); !math.IsNaN(v) {
		b.r.figures[b.i].Most = &v
	}
	return b
}

func (b *bounded) pick(whole, short float64) float64 {
	if b.r.short {
		return short
	}
	return whole
}

// pick returns whole for the whole corpus, and short for the short form.
func (r *run) pick(whole, short int) int {
	if r.short {
		return short
	}
	return whole
}

// bench returns a site that contains the documents. It is closed at the end of the evaluation.
func (r *run) bench(docs []Doc) (*Bench, error) {
	b, err := NewBench(r.ctx, fmt.Sprintf("%s/%d", r.dir, len(r.benches)), profile.Natural)
	if err != nil {
		return nil, err
	}
	r.benches = append(r.benches, b)
	return b, b.Add(r.ctx, docs)
}

func (r *run) close() error {
	var errs []error
	for _, b := range r.benches {
		errs = append(errs, b.Close())
	}
	return errors.Join(errs...)
}

// processTime returns the processor time used by the process.
func processTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0 // cannot fail with this argument
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// none means no bound.
var none = math.NaN()
