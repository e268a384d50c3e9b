package screen

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"concordat/minhash"
)

// SketchJoin finds the pairs of similar sketches in bounded memory, regardless of their number, by splitting, computing and merging
// (Broder 1997, section 3). It sorts the values of all sketches with their documents and records each pair of documents with a common
// value. It sorts and adds up the records, to obtain the number of values that two documents share. It measures the pairs that can reach
// the threshold. Data that does not fit into memory is sorted using Space.
type SketchJoin struct {
	Options SketchOptions
	Space   Space
	Bytes   int64 // approximate memory for sorting; at least 64 KiB is used
	// Documents is the number of documents, at most 2^32-1.
	Documents int
	// Sketch returns the sketch of a document. It is called for all documents in order, and then for any of them again. The next call may
	// overwrite the result.
	Sketch func(i int) (minhash.MinSketch, error)
}

// SketchStats holds the counts of a SketchJoin.
type SketchStats struct {
	Common   int // number of values that were too common
	Noted    int // number of pairs with a value in common
	Measured int // number of pairs not skipped for having too few common values
}

// Run calls emit with every pair of sketches that has a common value (or super-shingle, depending on the options) and reaches the
// threshold, ordered by A, then B. The pairs correspond to Broder 1997, section 3. Run fails with the first error of Sketch, Space or
// emit, or with the cause of a cancelled ctx.
func (j *SketchJoin) Run(ctx context.Context, emit func(SketchPair) error) (stats SketchStats, err error) {
	if j.Documents < 0 || int64(j.Documents) > math.MaxUint32 || j.Options.Threshold < 0 || j.Options.Threshold > 1 {
		return stats, fmt.Errorf("sketch join: number of documents (%d) or threshold (%v) is out of range", j.Documents, j.Options.Threshold)
	}
	if j.Options.Common == 0 {
		j.Options.Common = maxSharing
	}
	pairs := newSorter(j.Space, j.Bytes/2, true)
	stats.Common, err = j.share(ctx, pairs)
	if err == nil {
		err = j.measure(ctx, pairs, &stats, emit)
	}
	return stats, errors.Join(err, pairs.close())
}

// share records in pairs how many values each pair of documents shares.
func (j *SketchJoin) share(ctx context.Context, pairs *sorter) (common int, err error) {
	values := newSorter(j.Space, j.Bytes/2, false)
	defer func() { err = errors.Join(err, values.close()) }()
	for i := range j.Documents {
		m, err := j.Sketch(i)
		if err = errors.Join(err, context.Cause(ctx)); err != nil {
			return 0, err
		}
		for _, v := range j.Options.keys(m) {
			if err := values.add(v, uint64(i)); err != nil {
				return 0, err
			}
		}
	}
	var last uint64
	var docs []uint64 // the value's last documents, at most Common
	n := 0            // number of the value's documents so far
	for r, err := range values.all() {
		if err = errors.Join(err, context.Cause(ctx)); err != nil {
			return 0, err
		}
		if r.key != last {
			last, docs, n = r.key, docs[:0], 0
		}
		n++
		for _, d := range docs {
			if err := pairs.add(d<<32|r.value, 1); err != nil {
				return 0, err
			}
		}
		if len(docs) == j.Options.Common {
			copy(docs, docs[1:])
			docs = docs[:len(docs)-1]
		}
		docs = append(docs, r.value)
		if n == j.Options.Common+1 {
			common++
		}
	}
	return common, nil
}

// measure estimates the pairs. If no value was too common, so that every value counted, it skips a pair with too small a count without
// reading its sketches.
func (j *SketchJoin) measure(ctx context.Context, pairs *sorter, stats *SketchStats, emit func(SketchPair) error) error {
	prune := stats.Common == 0 && !j.Options.Contained && j.Options.Super == 0
	var a minhash.MinSketch
	at := -1
	for r, err := range pairs.all() {
		if err = errors.Join(err, context.Cause(ctx)); err != nil {
			return err
		}
		stats.Noted++
		p := SketchPair{A: int(r.key >> 32), B: int(uint32(r.key))}
		if p.A != at {
			if a, err = j.Sketch(p.A); err != nil {
				return err
			}
			a.Values = slices.Clone(a.Values)
			at = p.A
		}
		// There are at least as many trials as values in the sketch of A, and at most r.value hits.
		if prune && float64(r.value) < j.Options.Threshold*float64(len(a.Values)) {
			continue
		}
		stats.Measured++
		b, err := j.Sketch(p.B)
		if err != nil {
			return err
		}
		if p.measure(a, b, j.Options) {
			if err := emit(p); err != nil {
				return err
			}
		}
	}
	return nil
}
