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

// Asker asks partners about submissions, and compares them with mirrors of their libraries.
type Asker interface {
	// Ask adds the answers of partners and mirrors to the findings of a submission. A partner that does not answer is a line of
	// Findings.Consulted; an error is one of this site, or of ctx.
	Ask(ctx context.Context, a *Asking) error
}

// Asking is a submission that has been compared with the site's own documents and is now sent to partners and mirrors.
type Asking struct {
	Task       concordat.TaskID // task under which findings are stored as they arrive; empty if there is none
	Submission Submission
	Options    *CheckOptions
	Findings   *report.Findings       // so far, and completed by Ask
	Candidates []*compare.Candidate   // compared documents of this site
	Shared     *compare.SharedWording // wording of the submission that others may share, as known before any question
	Progress   func(Progress)
}

// What partners are asked about a submission (CheckOptions.Forward). Partners are never asked about sentences if at least half of their
// text is already known to be legitimately shared: templates, lists of references, and wording that enough documents of this site or of a
// batch hold.
const (
	// ForwardUnmatched asks about the sentences with less than half of their letters, marks and digits in passages found at this site,
	// before any rule of a report. Matches in mirrors do not count. A sentence is one of the submission's questions under the partner's
	// scheme, [concordat.Profile.Questions]; one without letters is never asked about.
	ForwardUnmatched = "unmatched"
	ForwardAll       = "all"  // every sentence
	ForwardNone      = "none" // nothing: partners are not contacted
)

// PartnerLibraries is one partner of a check with the data for its questions. Partner, Epoch, Profiler and Libraries are required.
type PartnerLibraries struct {
	Partner   concordat.Partner
	Epoch     concordat.Epoch
	Profiler  *profile.Profiler // keyed with the epoch's fingerprint key
	SketchKey []byte            // key of the epoch, for outlines and edges; nil means no second round by words
	CellKey   []byte            // key of the epoch, for leads; nil means no leads
	Libraries []concordat.LibraryID
	Documents int            // number of documents in these libraries, as stated by the partner; 0 if unknown
	Name      string         // of the partner, for people; may be empty
	Level     concordat.Show // the highest level wanted; empty means metadata
	// Deadline bounds the time of all rounds with the partner together; 0 means DefaultDeadline.
	Deadline time.Duration
	Purpose  string     // a word agreed in the federation, for example thesis
	Authors  [][16]byte // pseudonyms of the submission's authors
	// MaxAsked is the largest number of sentences in one ask; 0, or more than concordat.MaxAsked, means concordat.MaxAsked.
	MaxAsked int
}

// DefaultDeadline is how long a partner may take for all rounds of a check.
const DefaultDeadline = 60 * time.Second

// PartnerState is the progress of a partner in a check.
type PartnerState string

// The states of a partner.
const (
	PartnerAsked    PartnerState = "asked"    // the first round is under way
	PartnerAnswered PartnerState = "answered" // the first round is done; documents are being compared
	PartnerDone     PartnerState = "done"     // nothing more will arrive
	PartnerFailed   PartnerState = "failed"   // nothing usable arrived; Consulted says why
	PartnerRefused  PartnerState = "refused"  // it does not answer this, and says why
	PartnerSilent   PartnerState = "silent"   // it cannot be reached, or did not answer in time
)

// Ended reports whether nothing more will arrive.
func (s PartnerState) Ended() bool { return s != PartnerAsked && s != PartnerAnswered }

// validate returns an error for the first invalid field of p.
func (p *PartnerLibraries) validate() error {
	switch {
	case p.Partner == nil || p.Profiler == nil:
		return fmt.Errorf("a partner without client or profiler: %w", concordat.ErrInvalid)
	case len(p.Libraries) == 0:
		return fmt.Errorf("partner %s: no library: %w", p.Partner.Site(), concordat.ErrInvalid)
	case p.Documents < 0:
		return fmt.Errorf("partner %s: %d documents: %w", p.Partner.Site(), p.Documents, concordat.ErrInvalid)
	case p.Deadline < 0:
		return fmt.Errorf("partner %s: deadline %s: %w", p.Partner.Site(), p.Deadline, concordat.ErrInvalid)
	}
	return nil
}

// ValidatePartners returns ErrInvalid for impossible options about partners.
func (o *CheckOptions) ValidatePartners() error {
	switch o.Forward {
	case "", ForwardUnmatched, ForwardAll, ForwardNone:
	default:
		return fmt.Errorf("forward %q: %w: unmatched, all or none", o.Forward, concordat.ErrInvalid)
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

// Forwarded returns the rule of o, with the default filled in.
func (o *CheckOptions) Forwarded() string {
	if len(o.Partners) == 0 {
		return ForwardNone
	}
	return cmp.Or(o.Forward, ForwardUnmatched)
}

// MirroredLibrary is a partner's library that was shipped here, and the index that holds it.
type MirroredLibrary struct {
	Site     concordat.SiteID
	Library  concordat.LibraryID
	Epoch    concordat.Epoch
	Profiler *profile.Profiler // keyed with the epoch's fingerprint key
	Index    concordat.Index   // an index with the epoch's scheme, which may hold mirrors of several partners
}

func (m *MirroredLibrary) Validate() error {
	if m.Site == "" || m.Library == "" || m.Profiler == nil || m.Index == nil {
		return fmt.Errorf("mirror of %s/%s without profiler or index: %w", m.Site, m.Library, concordat.ErrInvalid)
	}
	return nil
}
