package compare

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"concordat"
	"concordat/profile"
)

// Comparer finds the documents in an index that share text with a submission, and aligns them with it.
type Comparer struct {
	Index    concordat.Index
	Profiler *profile.Profiler
	Workers  int // comparison workers, at least 1
	// Known, if not nil, removes candidates that must not be found.
	Known func(context.Context, []*Candidate) ([]*Candidate, error)
	// Encoder verifies leads; if nil, only the embedded table is used.
	Encoder *Encoder
	// Task is the submission's task, under which its sentence vectors are stored. If empty, they are not stored.
	Task concordat.TaskID
	// EachLead, if not nil, is called with each place that stands out, whether or not it is worth reading.
	EachLead EachLead
}

// Progress receives the progress of a stage; it can be called concurrently.
type Progress func(stage string, done, total int)

// NoProgress discards progress reports.
func NoProgress(string, int, int) {}

// Options select the part of an index with which a submission is compared.
type Options struct {
	Exclude []concordat.Ref // documents never to be found, for example earlier versions of the submission
	Exact   bool            // look up only exact bands, which is faster but finds less
	Channel Channel         // how candidates are nominated
	// Inside means that the text is itself a document of the index, so that only other documents determine the weights of its words.
	Inside     bool
	Candidates int // maximum number compared, best first; 0 means DefaultCandidates
}

const (
	// FairDistance is the distance within which two sentences are evidence. Unrelated sentences are a thousand times less often this
	// close than within the gate.
	FairDistance      = 20
	DefaultCandidates = 200
	// MatchLimit is the maximum number of matches used for one sentence. Beyond it, the wording is common and further sources are of no
	// use to a reader.
	MatchLimit = 64
	// contextBytes is the number of bytes of a source kept on either side of a passage.
	contextBytes = 240
)

// Found is the result of searching the libraries.
type Found struct {
	Candidates []*Candidate
	Left       int // candidates omitted because of the limit
	Missing    []concordat.ShardID
	Capped     int
}

// Find searches for the documents to compare, by fingerprints and by words.
func (m *Comparer) Find(ctx context.Context, p *concordat.Profile, q *concordat.Query, o Options, progress Progress) (*Found, error) {
	out := &Found{}
	if len(q.Libraries) == 0 {
		return out, nil
	}
	var prints, texts []*Candidate
	if n := len(q.Fingerprints); n > 0 && o.Channel != ChannelText {
		progress("match", 0, n)
		a, err := m.Index.Match(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("match: %w", err)
		}
		prints, out.Missing, out.Capped = Nominate(p.Questions(), a.Matches, m.Profiler.Nearness), a.Missing, a.Capped
		progress("match", n, n)
	}
	if n := len(p.Windows); n > 0 && o.Channel != ChannelFingerprints {
		progress("search", 0, n)
		var missing []concordat.ShardID
		var err error
		if texts, missing, err = m.nominateText(ctx, p, q, o.Inside); err != nil {
			return nil, fmt.Errorf("search: %w", err)
		}
		out.Missing = slices.Compact(slices.Sorted(slices.Values(append(out.Missing, missing...))))
		progress("search", n, n)
	}
	out.Candidates, out.Left = merge(prints, texts, cmp.Or(o.Candidates, DefaultCandidates))
	if m.Known != nil {
		var err error
		if out.Candidates, err = m.Known(ctx, out.Candidates); err != nil {
			return nil, fmt.Errorf("search: %w", err)
		}
	}
	return out, nil
}

// Query returns the query for the sentences of a profile.
func (m *Comparer) Query(p *concordat.Profile, o Options, libraries []concordat.LibraryID) *concordat.Query {
	q := &concordat.Query{Scheme: p.Scheme, Exclude: o.Exclude, MaxDistance: profile.MaxGate, MaxHashes: m.Profiler.MaxHashes(),
		Limit: MatchLimit, Probe: concordat.ProbeOne, Libraries: libraries}
	if o.Exact {
		q.Probe = concordat.ProbeExact
	}
	for _, sentence := range p.Questions() {
		q.Fingerprints = append(q.Fingerprints, sentence.Fingerprint)
	}
	return q
}
