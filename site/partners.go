package site

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"concordat"
	"concordat/profile"
	"concordat/report"
	"concordat/site/compare"
)

// Asker asks partners about submissions and compares submissions with mirrors of their libraries.
type Asker interface {
	// Ask adds the answers of partners and mirrors to a submission's findings. A partner that does not answer is reported in
	// Findings.Consulted; an error comes from this site or from ctx.
	Ask(ctx context.Context, a *Asking) error
}

// Asking is a submission that was compared with the site's own documents and is now sent to partners and mirrors.
type Asking struct {
	Task       concordat.TaskID // task under which findings are stored as they arrive; can be empty
	Submission Submission
	Options    *CheckOptions
	Findings   *report.Findings       // findings so far, to be completed by Ask
	Candidates []*compare.Candidate   // compared documents at this site
	Shared     *compare.SharedWording // wording of the submission known, before any question, to be shared
	Progress   func(Progress)
}

// These values select the sentences that partners are asked about (CheckOptions.Forward). Partners are never asked about a sentence if at
// least half of its text is already known to be legitimately shared: templates, reference lists, and wording found in enough documents of
// this site or of a batch.
const (
	// ForwardUnmatched selects sentences with less than half of their letters, marks and digits in passages found at this site, before
	// any report rule is applied. Matches in mirrors do not count. Sentences are the submission's sentences under the partner's scheme
	// ([concordat.Profile.Questions]); one without letters is never selected.
	ForwardUnmatched = "unmatched"
	ForwardAll       = "all"  // every sentence
	ForwardNone      = "none" // no sentence; partners are not contacted
)

// Forwards are the values of CheckOptions.Forward, the default first.
var Forwards = []string{ForwardUnmatched, ForwardAll, ForwardNone}

// Partner is another site as a check asks it. Its methods are safe for concurrent use, return when ctx ends, and
// fail with a *concordat.Refusal if the partner refuses and with concordat.ErrUnavailable if it does not answer.
type Partner interface {
	Site() concordat.SiteID
	Ask(ctx context.Context, a *concordat.Ask) (*concordat.SiteAnswer, error)
	Outline(ctx context.Context, a *concordat.OutlineAsk) (*concordat.Outlines, error)
	Edges(ctx context.Context, a *concordat.EdgesAsk) (*concordat.Edges, error)
	Leads(ctx context.Context, a *concordat.LeadAsk) (*concordat.LeadAnswer, error)
}

// PartnerLibraries is a partner to ask in a check, with the data needed to ask it. Partner, Epoch, Profiler and Libraries are mandatory.
type PartnerLibraries struct {
	Partner   Partner
	Epoch     concordat.Epoch
	Profiler  *profile.Profiler // keyed with the epoch's fingerprint key
	SketchKey []byte            // the epoch's key for outlines and edges; nil disables the second round by words
	CellKey   []byte            // the epoch's key for leads; nil disables leads
	Libraries []concordat.LibraryID
	Documents int            // number of documents in these libraries, as stated by the partner; 0 if unknown
	Name      string         // display name of the partner; can be empty
	Level     concordat.Show // highest requested level; empty means metadata
	// Deadline is the time limit for all rounds with the partner together; 0 means DefaultDeadline.
	Deadline time.Duration
	Purpose  string     // word agreed in the federation, for example thesis
	Authors  [][16]byte // pseudonyms of the submission's authors
	// MaxAsked is the maximum number of sentences in one ask; 0, or more than concordat.MaxAsked, means concordat.MaxAsked.
	MaxAsked int
}

// DefaultDeadline is how long a partner can take for all rounds of a check.
const DefaultDeadline = 60 * time.Second

// PartnerState is the state of a partner in a check.
type PartnerState string

// The states of a partner.
const (
	PartnerAsked    PartnerState = "asked"    // the first round is in progress
	PartnerAnswered PartnerState = "answered" // the first round is complete; documents are being compared
	PartnerDone     PartnerState = "done"     // nothing more will arrive
	PartnerFailed   PartnerState = "failed"   // nothing usable arrived; Consulted says why
	PartnerRefused  PartnerState = "refused"  // the partner refused to answer, and says why
	PartnerSilent   PartnerState = "silent"   // the partner cannot be reached, or did not answer in time
)

// Ended reports whether nothing more will arrive.
func (s PartnerState) Ended() bool { return s != PartnerAsked && s != PartnerAnswered }

// validate returns an error about the first invalid field of p.
func (p *PartnerLibraries) validate() error {
	switch {
	case p.Partner == nil || p.Profiler == nil:
		return fmt.Errorf("partner is missing its client or profiler: %w", concordat.ErrInvalid)
	case len(p.Libraries) == 0:
		return fmt.Errorf("partner %s: no library specified: %w", p.Partner.Site(), concordat.ErrInvalid)
	case p.Documents < 0:
		return fmt.Errorf("partner %s: number of documents %d: %w", p.Partner.Site(), p.Documents, concordat.ErrInvalid)
	case p.Deadline < 0:
		return fmt.Errorf("partner %s: deadline %s: %w", p.Partner.Site(), p.Deadline, concordat.ErrInvalid)
	}
	return nil
}

// ValidatePartners returns ErrInvalid if the partner options are invalid.
func (o *CheckOptions) ValidatePartners() error {
	switch o.Forward {
	case "", ForwardUnmatched, ForwardAll, ForwardNone:
	default:
		return fmt.Errorf("forward %q: %w: want unmatched, all or none", o.Forward, concordat.ErrInvalid)
	}
	for i := range o.Partners {
		if err := o.Partners[i].validate(); err != nil {
			return err
		}
	}
	for i := range o.Mirrors {
		if err := o.Mirrors[i].Validate(); err != nil {
			return err
		}
	}
	return nil
}

// Forwarded returns o.Forward, or the default if it is empty.
func (o *CheckOptions) Forwarded() string {
	if len(o.Partners) == 0 {
		return ForwardNone
	}
	return cmp.Or(o.Forward, ForwardUnmatched)
}

// MirroredLibrary is a local copy of a partner's library, and the index that contains it.
type MirroredLibrary struct {
	Site     concordat.SiteID
	Library  concordat.LibraryID
	Epoch    concordat.Epoch
	Profiler *profile.Profiler // keyed with the epoch's fingerprint key
	Index    concordat.Index   // index with the epoch's scheme, which can contain mirrors from several partners
}

func (m *MirroredLibrary) Validate() error {
	if m.Site == "" || m.Library == "" || m.Profiler == nil || m.Index == nil {
		return fmt.Errorf("mirror of %s/%s: missing profiler or index: %w", m.Site, m.Library, concordat.ErrInvalid)
	}
	return nil
}
