package answer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"concordat"
	"concordat/store"
)

// leastDocuments is the minimum size of a library that answers at level existence or counts, because in a smaller library, these levels
// reveal too much about individual documents.
const leastDocuments = 20

// few replaces numbers below three at level counts.
const few = 2

// openGate is the distance in bits within which a sentence must match before any text of its document is disclosed, because a more
// distant match can be chance.
const openGate = 15

// Kinds of charges to partners.
const (
	spendSentences   = "sentences"
	spendDisclosures = "disclosures"
	spendDocuments   = "documents"
	spendOutlines    = "outlines"
	spendCharacters  = "characters"
	spendEdges       = "edges"
	spendOpened      = "opened"
	spendCompared    = "compared"
	spendNotices     = "notices"
	spendShipped     = "shipped"
	spendVariants    = "variants" // unanswered variants
	spendCells       = "lead cells"
	spendLeads       = "lead sentences"
	spendLeadNames   = "lead documents"
)

const (
	hour = time.Hour
	Day  = 24 * time.Hour
	year = 365 * Day
)

// rank returns the index of a level in concordat.Levels, or -1.
func rank(l concordat.Show) int { return slices.Index(concordat.Levels(), l) }

// lower returns the lower of two levels.
func lower(a, b concordat.Show) concordat.Show {
	if rank(a) < rank(b) {
		return a
	}
	return b
}

// atLeast reports whether level l includes level want.
func atLeast(l, want concordat.Show) bool { return rank(l) >= rank(want) }

// grant is a partner's current access to a library.
type grant struct {
	from    concordat.SiteID
	library store.Library
	share   store.Share
	rule    store.ShareRule // with defaults filled in
}

// refuse returns a refusal with a formatted message.
func refuse(r concordat.Reason, format string, args ...any) *concordat.Refusal {
	return &concordat.Refusal{Reason: r, Words: fmt.Sprintf(format, args...)}
}

// anyPurpose covers everything a partner does with a mirror. No ask has this purpose.
const anyPurpose = "\x00"

// grant returns the partner's access to a library for a purpose, or the reason why it has none. The answer is the same for closed and
// nonexistent libraries.
func (s *core) grant(ctx context.Context, from concordat.SiteID, lib concordat.LibraryID,
	purpose string) (*grant, *concordat.Refusal, error) {
	g := &grant{from: from}
	var err error
	if g.share, err = s.o.Store.Answers.Share(ctx, lib, from); err == nil {
		g.library, err = s.o.Store.Catalogue.Library(ctx, lib)
	}
	switch {
	case errors.Is(err, concordat.ErrNotFound):
		return nil, refuse(concordat.ReasonLibrary, "library %s does not exist or is not open to you", lib), nil
	case err != nil:
		return nil, nil, err
	}
	g.rule = g.share.Rule.Filled()
	return g, g.refusal(s.o.Now(), purpose), nil
}

// refusal returns a refusal if nothing is answered, or nil.
func (g *grant) refusal(now time.Time, purpose string) *concordat.Refusal {
	if g.rule.Level == concordat.ShowNothing {
		return refuse(concordat.ReasonLibrary, "library %s does not exist or is not open to you", g.library.ID)
	}
	for _, t := range []time.Time{g.rule.Expires, g.library.Policy.Expires} {
		if !t.IsZero() && !now.Before(t) {
			return refuse(concordat.ReasonExpired, "access to library %s ended on %s", g.library.ID, t.Format(time.DateOnly))
		}
	}
	for _, t := range []time.Time{g.rule.Embargo, g.library.Policy.Embargo} {
		if now.Before(t) {
			r := refuse(concordat.ReasonEmbargo, "library %s opens on %s", g.library.ID, t.Format(time.DateOnly))
			r.Retry = t
			return r
		}
	}
	if len(g.rule.Purposes) > 0 && purpose != anyPurpose && !slices.Contains(g.rule.Purposes, purpose) {
		return refuse(concordat.ReasonPurpose, "library %s does not accept questions with purpose %q", g.library.ID, purpose)
	}
	if !atLeast(g.rule.Level, concordat.ShowMetadata) && g.library.Documents < leastDocuments {
		return refuse(concordat.ReasonGate, "library %s is too small to answer at level %s", g.library.ID, g.rule.Level)
	}
	return nil
}

// spend charges the partner, or returns the reason why it cannot be charged.
func (s *core) spend(ctx context.Context, xs ...store.Spending) ([]int, *concordat.Refusal, error) {
	left, err := s.o.Store.Answers.Spend(ctx, xs...)
	var over *store.Overspent
	if errors.As(err, &over) {
		r := refuse(concordat.ReasonBudget, "budget for %s exceeded: %d left", over.Kind, over.Left)
		r.Retry = over.Retry
		return nil, r, nil
	}
	return left, nil, err
}

// spending returns a charge under this grant.
func (g *grant) spending(kind string, amount int, windows ...store.Window) store.Spending {
	return store.Spending{Partner: g.from, Library: g.library.ID, Kind: kind, Amount: amount, Windows: windows}
}

func (g *grant) sentences(n int) store.Spending {
	return g.spending(spendSentences, n, store.Window{Within: Day, Most: g.rule.Limits.Sentences},
		store.Window{Within: hour, Most: g.rule.Limits.Burst})
}

func (g *grant) disclosures(n int) store.Spending {
	return g.spending(spendDisclosures, n, store.Window{Within: Day, Most: g.rule.Limits.Disclosures})
}

func (g *grant) documents(kind string, n int) store.Spending {
	return g.spending(kind, n, store.Window{Within: Day, Most: g.rule.Limits.Documents})
}

func (g *grant) characters(kind string, n int) store.Spending {
	return g.spending(kind, n, store.Window{Within: Day, Most: g.rule.Limits.Characters})
}

// opened returns the charge for n sentences of a document with the given number of sentences. The yearly limit is a fixed number or a
// twentieth of the document, whichever is more.
func (g *grant) opened(id concordat.DocumentID, n, sentences int) store.Spending {
	most := g.rule.Limits.Opened
	if most >= 0 {
		most = max(most, sentences/20)
	}
	x := g.spending(spendOpened, n, store.Window{Within: year, Most: most})
	x.Document = id
	return x
}

// shipped returns the charge for n documents of a mirror. The daily limit allows for building the mirror four times, with some changes.
func (g *grant) shipped(n int) store.Spending {
	return g.spending(spendShipped, n, store.Window{Within: Day, Most: 4*g.library.Documents + 2000})
}

// maxComparisons is the maximum number of passages in one document whose edges a partner can request per year. Several drafts of a thesis
// need a few dozen comparisons; trying every possible next word takes 256 for one byte of the hash.
const maxComparisons = 200

// compared returns the charge for n comparisons with a document.
func (g *grant) compared(id concordat.DocumentID, n int) store.Spending {
	most := maxComparisons
	if g.rule.Limits.Opened < 0 {
		most = -1
	}
	x := g.spending(spendCompared, n, store.Window{Within: year, Most: most})
	x.Document = id
	return x
}

// Share opens a library to a partner under a rule, or replaces the rule, and returns the stored share. [Sets.KeepEpochs] then computes
// the fingerprints for the library's partners. The change, the notice to the partner, the audit entry and the changes in also, for
// example an entry that names the person responsible, form one transaction.
func (s *Shares) Share(ctx context.Context, x store.Share, also ...func(tx *store.DB) error) (store.Share, error) {
	if x.Rule.Leads && !atLeast(x.Rule.Level, concordat.ShowMetadata) {
		return x, fmt.Errorf("%w: level %s is too low for leads, which name documents; leads require level metadata or above", concordat.ErrInvalid,
			x.Rule.Level)
	}
	err := s.o.Store.Atomic(ctx, func(tx *store.DB) error {
		before, err := tx.Answers.Share(ctx, x.Library, x.Partner)
		if err != nil && !errors.Is(err, concordat.ErrNotFound) {
			return err
		}
		if err == nil && before.Rule.Ship && !x.Rule.Ship {
			if err := s.withdraw(ctx, tx, x.Partner, x.Library, "mirrors are no longer allowed"); err != nil {
				return err
			}
		}
		if x, err = tx.Answers.PutShare(ctx, x); err != nil {
			return err
		}
		if err := s.note(ctx, tx, "", "share", x); err != nil {
			return err
		}
		return all(tx, also)
	})
	if err != nil {
		return store.Share{}, err
	}
	s.Changed()
	return x, nil
}

// all runs fs in order within a transaction, stopping at the first failure.
func all(tx *store.DB, fs []func(tx *store.DB) error) error {
	for _, f := range fs {
		if err := f(tx); err != nil {
			return err
		}
	}
	return nil
}

// Unshare closes a library to a partner, with a notice if the partner may have a mirror, all in one transaction, like Share.
func (s *Shares) Unshare(ctx context.Context, lib concordat.LibraryID, partner concordat.SiteID,
	also ...func(tx *store.DB) error) error {
	err := s.o.Store.Atomic(ctx, func(tx *store.DB) error {
		x, err := tx.Answers.Share(ctx, lib, partner)
		if err != nil {
			return err
		}
		if x.Rule.Ship {
			if err := s.withdraw(ctx, tx, partner, lib, "the library is no longer open"); err != nil {
				return err
			}
		}
		if err := tx.Answers.DeleteShare(ctx, lib, partner); err != nil {
			return err
		}
		if err := s.note(ctx, tx, "", "unshare", auditShare{Library: lib, Partner: partner, Rule: x.Version}); err != nil {
			return err
		}
		return all(tx, also)
	})
	if err == nil {
		s.Changed()
	}
	return err
}

// Close ends all shares of a library.
func (s *Shares) Close(ctx context.Context, lib concordat.LibraryID) error {
	shares, err := s.o.Store.Answers.Shares(ctx, lib, "")
	if err != nil {
		return err
	}
	for _, x := range shares {
		if err := s.Unshare(ctx, lib, x.Partner); err != nil {
			return err
		}
	}
	return nil
}

// withdraw asks a partner to delete its mirror of a library.
func (s *Shares) withdraw(ctx context.Context, db *store.DB, partner concordat.SiteID, lib concordat.LibraryID, words string) error {
	if err := db.Answers.DropShipped(ctx, partner, lib); err != nil {
		return err
	}
	return db.Partners.Queue(ctx, partner, concordat.Notice{Kind: concordat.NoticeWithdrawn, Library: lib, Words: words, At: s.o.Now()})
}

// withdrawExpired sends partners one notice about mirrors with an expired share.
func (s *Shares) withdrawExpired(ctx context.Context) error {
	shares, err := s.o.Store.Answers.Shares(ctx, "", "")
	if err != nil {
		return err
	}
	now := s.o.Now()
	for _, x := range shares {
		if !x.Rule.Ship || x.Rule.Expires.IsZero() || now.Before(x.Rule.Expires) {
			continue
		}
		if err := s.withdraw(ctx, s.o.Store, x.Partner, x.Library, "the share has expired"); err != nil {
			return err
		}
		x.Rule.Ship = false // so that only one notice is sent, or two after a crash
		if _, err := s.o.Store.Answers.PutShare(ctx, x); err != nil {
			return err
		}
	}
	return nil
}
