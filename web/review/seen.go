package review

import (
	"context"
	"fmt"
	"slices"

	"concordat"
	"concordat/report"
	"concordat/store"
	"concordat/web/pages"
)

// See is the part of their own reports that submitters see.
type See string

// The levels of access for submitters.
const (
	SeeEverything See = "everything"
	SeeReport     See = "report" // the report without other people's wording
	SeeScore      See = "score"
	SeeNothing    See = "nothing"
)

// From is the event after which submitters see their reports.
type From string

// The events.
const (
	FromDone    From = "done"    // the check is done
	FromVerdict From = "verdict" // an officer has given a verdict
	FromSigned  From = "signed"  // a second officer has agreed
)

// ErrNotShown means that the site's policy hides this report from submitters, at least for now.
var ErrNotShown = fmt.Errorf("%w: the site's policy does not allow this report to be shown, at least not yet", concordat.ErrRefused)

// seesMore lists the levels of access to findings, lowest first.
var seesMore = []See{SeeNothing, SeeScore, SeeReport, SeeEverything}

// Shows reports whether level s permits findings that require at least level least.
func (s See) Shows(least See) bool { return slices.Index(seesMore, s) >= slices.Index(seesMore, least) }

// Part returns the visible part of a report, or nil if nothing is visible.
func (s See) Part(rep *report.Report) *report.Report {
	switch s {
	case SeeReport:
		return report.WithoutWording(rep)
	case SeeScore:
		return report.ScoreOnly(rep)
	case SeeNothing:
		return nil
	}
	return rep
}

// Sees returns the part of a report with this review that the visitor may currently see.
func (w *Reviews) Sees(v *pages.Visitor, now *Review) See {
	if v.SeesAll() {
		return SeeEverything
	}
	if w.o.From == FromVerdict && now.Verdict == nil || w.o.From == FromSigned && len(now.Signed) == 0 {
		return SeeNothing
	}
	return w.o.See
}

// SeesBatch returns the visitor's current level of access to the findings among a batch's documents. It is the lowest level for any of
// their reports, since a pair reveals something about both documents.
func (w *Reviews) SeesBatch(ctx context.Context, v *pages.Visitor, members []store.BatchMember) (See, error) {
	if v.SeesAll() {
		return SeeEverything, nil
	}
	if w.o.From == FromDone {
		return w.o.See, nil
	}
	least := w.o.See
	for _, m := range members {
		switch {
		case !m.Cause.IsZero():
			continue // the document has no report
		case m.Task == "":
			return SeeNothing, nil
		}
		now, err := w.OfTask(ctx, m.Task)
		if err != nil {
			return SeeNothing, err
		}
		if s := w.Sees(v, now); !s.Shows(least) {
			least = s
		}
	}
	return least, nil
}
