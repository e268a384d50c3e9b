package retain

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"concordat"
	"concordat/site"
	"concordat/store"
)

// CaseMove is a move of this site in a shared case.
type CaseMove struct {
	State    concordat.CaseState // empty for no change
	Words    string              // message to the partner
	Contact  string              // contact for the partner; empty for no change
	Decision concordat.CaseDecision
	Keep     bool // the decision deletes nothing
	// After is the time between decision and deletion; 0 means at once.
	After time.Duration
}

// CaseTerms are, for each decision, the time until this site's document is deleted; 0 means at once.
type CaseTerms struct{ Accepted, Rejected, Withdrawn time.Duration }

// Of returns the term that applies to a decision.
func (t CaseTerms) Of(d concordat.CaseDecision) time.Duration {
	switch d {
	case concordat.Accepted:
		return t.Accepted
	case concordat.Rejected:
		return t.Rejected
	case concordat.Withdrawn:
		return t.Withdrawn
	}
	return 0
}

func (m CaseMove) validate(was store.SharedCase) error {
	invalid := func(format string, args ...any) error {
		return fmt.Errorf("case %s: %w: %s", was.ID, concordat.ErrInvalid, fmt.Sprintf(format, args...))
	}
	switch {
	case m.State != "" && !slices.Contains(concordat.CaseStates(), m.State):
		return invalid("unknown state %q", m.State)
	case !slices.Contains(concordat.CaseDecisions(), m.Decision):
		return invalid("unknown decision %q", m.Decision)
	case m.State == "" && m.Decision == concordat.Undecided:
		return invalid("a state or a decision is required")
	case len(m.Words) > concordat.MaxCaseWords:
		return invalid("the message has %d bytes, but at most %d are allowed", len(m.Words), concordat.MaxCaseWords)
	case len(m.Contact) > concordat.MaxCaseContact:
		return invalid("the contact has %d bytes, but at most %d are allowed", len(m.Contact), concordat.MaxCaseContact)
	case m.Decision != concordat.Undecided && was.Own.Decision != concordat.Undecided:
		return invalid("a decision has already been made: %s", was.Own.Decision)
	}
	return nil
}

// MoveCase records this site's position in a case and notifies the partner. A decision deletes the text and fingerprints of this site's
// document, unless the move keeps them. It does so here at once or after a term, at the case's partner at once, and at other partners
// when the text here is deleted. It can be called in any process of the site; the process that performs the deletion sends the partner
// the receipt.
func MoveCase(ctx context.Context, s *site.Site, db *store.DB, id concordat.CaseID, actor string, m CaseMove) (store.SharedCase, error) {
	was, err := db.Cases.Case(ctx, id)
	if err == nil {
		err = m.validate(was)
	}
	if err != nil {
		return was, err
	}
	x := was
	now := s.Options().Now()
	x.Own.By, x.Own.At, x.Own.Words = actor, later(now, was.Own.At), m.Words
	if m.State != "" {
		x.Own.State = m.State
	} else if x.Own.State == "" {
		x.Own.State = concordat.CaseOpen
	}
	if m.Contact != "" {
		x.Own.Contact = m.Contact
	}
	var targets []Target
	if m.Decision != concordat.Undecided {
		x.Own.Decision = m.Decision
		if !m.Keep {
			if was.Work == store.CaseReceipt {
				return was, fmt.Errorf("case %s: %w: a deletion for this case is in progress; try again in a minute", id, concordat.ErrChanged)
			}
			if targets, err = caseTargets(ctx, s, db, was); err != nil {
				return was, err
			}
			if m.After > 0 && len(targets) > 0 {
				targets, x.Own.Due = nil, now.Add(m.After)
				if x.Work == "" {
					x.Work = store.CaseWait
				}
			}
		}
	}
	err = db.Atomic(ctx, func(tx *store.DB) error {
		detail := map[string]any{"case": id.String(), "state": x.Own.State}
		if m.Decision != concordat.Undecided {
			detail["decision"] = m.Decision
		}
		for _, t := range targets {
			deletion, err := Ask(ctx, s, tx, actor, "decided: "+string(m.Decision), t)
			if err != nil {
				return err
			}
			x.Erasure, x.Work, detail["deletion"] = deletion, store.CaseReceipt, deletion
		}
		if err := tx.Cases.Keep(ctx, was, x, "own"); err != nil {
			return err
		}
		if err := tellCase(ctx, tx, x); err != nil {
			return err
		}
		if len(targets) > 0 && x.Side == store.AlertFound && x.Task != "" {
			if err := endQuestions(ctx, tx, x.Task, now); err != nil {
				return err
			}
		}
		return tx.Audit.Note(ctx, actor, "case_moved", detail)
	})
	if err != nil {
		return was, err
	}
	return db.Cases.Case(ctx, id)
}

// later returns now, or a millisecond after the previous move if that is later, because partners order moves by time in milliseconds.
func later(now, before time.Time) time.Time {
	if least := before.Add(time.Millisecond); !before.IsZero() && now.Before(least) {
		return least
	}
	return now
}

// caseTargets returns the targets that a decision deletes, which are a check's text with the documents made from it, or a library
// document. The last target is the one named in the case.
func caseTargets(ctx context.Context, s *site.Site, db *store.DB, x store.SharedCase) ([]Target, error) {
	if x.Side == store.AlertTold {
		switch {
		case x.Source.Document == "" && x.Handle != concordat.Handle{}:
			return nil, nil // already deleted
		case !named(ctx, db, x.Source):
			return nil, fmt.Errorf("case %s: %w: the alert does not name the document; keep the document, or delete it by name", x.ID,
				concordat.ErrInvalid)
		}
		t := Target{Library: x.Source.Library, Documents: []concordat.DocumentID{x.Source.Document}}
		if x.Work == store.CaseErase { // one receipt covers both
			t.Questions = questionOf(x)
		}
		return []Target{t}, nil
	}
	if x.Task == "" {
		return nil, nil
	}
	t, err := db.Checks.Task(ctx, x.Task)
	if err != nil {
		return nil, err
	}
	if !t.State.Ended() {
		return nil, fmt.Errorf("case %s: check %s: %w: the check is still running", x.ID, x.Task, concordat.ErrChanged)
	}
	origin := x.Task
	var j site.Job
	if len(t.Request) > 0 && json.Unmarshal(t.Request, &j) == nil && j.Again != "" {
		origin = j.Again
	}
	libraries, err := db.Catalogue.Libraries(ctx)
	if err != nil {
		return nil, err
	}
	made, err := s.CaseDocuments(ctx, origin, libraries)
	var out []Target
	for _, r := range made {
		out = append(out, Target{Library: r.Library, Documents: []concordat.DocumentID{r.Document}})
	}
	return append(out, Target{Texts: []concordat.TaskID{x.Task}}), err
}

// named reports whether the catalogue contains a document.
func named(ctx context.Context, db *store.DB, r concordat.Ref) bool {
	if r.Document == "" {
		return false
	}
	_, err := db.Catalogue.DocumentRow(ctx, r.Library, r.Document)
	return err == nil
}

// tellCase adds this site's position to the outbox.
func tellCase(ctx context.Context, tx *store.DB, x store.SharedCase) error {
	n := &concordat.CaseNote{ID: x.ID, State: x.Own.State, Decision: x.Own.Decision, Contact: x.Own.Contact}
	if x.Own.Receipt != "" {
		if _, err := hex.Decode(n.Receipt[:], []byte(x.Own.Receipt)); err != nil {
			return fmt.Errorf("case %s: %w: receipt: %w", x.ID, concordat.ErrCorrupt, err)
		}
	}
	return tx.Partners.Queue(ctx, x.Partner, concordat.Notice{Kind: concordat.NoticeCase, Job: x.Job, Library: x.Source.Library,
		Words: x.Own.Words, At: x.Own.At, Case: n})
}

// endQuestions ends the questions of a check at all partners that store them.
func endQuestions(ctx context.Context, tx *store.DB, task concordat.TaskID, at time.Time) error {
	asks, err := tx.Asks.Asks(ctx, task)
	for _, a := range asks {
		if err == nil && a.Standing {
			if err = tx.Partners.Queue(ctx, a.Site, concordat.Notice{Kind: concordat.NoticeEnded, Job: a.Job, At: at}); err == nil {
				err = tx.Asks.SetAskStanding(ctx, a.Job, false)
			}
		}
	}
	return err
}

// maxCases is the maximum number of cases handled in one pass; the rest follow in the next one.
const maxCases = 100

// workCases does the outstanding work for cases. It deletes the data of partners that have decided, and sends partners the receipts
// issued.
func (e *Eraser) workCases(ctx context.Context) error {
	all, err := e.o.Store.Cases.ToDo(ctx, maxCases)
	errs := []error{err}
	for _, x := range all {
		err := e.workCase(ctx, x)
		if !errors.Is(err, concordat.ErrChanged) { // otherwise the next pass does this
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// sweepCases requests the deletion of documents whose term after a decision has ended.
func (e *Eraser) sweepCases(ctx context.Context, _ Retention, dry bool, out *Swept) error {
	var errs []error
	for after := int64(0); ; {
		all, err := e.o.Store.Cases.Waiting(ctx, after, maxCases)
		if err != nil || len(all) == 0 {
			return errors.Join(append(errs, err)...)
		}
		for _, x := range all {
			if after = x.Seq; e.s.Options().Now().Before(x.Own.Due) {
				continue
			}
			targets, err := caseTargets(ctx, e.s, e.o.Store, x)
			var ids []string
			if err == nil && !dry {
				ids, err = e.endTerm(ctx, x, targets)
			}
			if err != nil {
				errs = append(errs, err)
				continue
			}
			out.Receipts = append(out.Receipts, ids...)
			if len(targets) > 0 {
				out.Cases++
			}
		}
	}
}

// endTerm requests the deletion of this site's document in a case, and returns the ids of the deletions.
func (e *Eraser) endTerm(ctx context.Context, was store.SharedCase, targets []Target) (ids []string, err error) {
	err = e.o.Store.Atomic(ctx, func(tx *store.DB) error {
		x := was
		x.Own.Due, x.Work, ids = time.Time{}, "", nil
		for _, t := range targets {
			id, err := Ask(ctx, e.s, tx, SweepActor, "decided: "+string(x.Own.Decision), t)
			if err != nil {
				return err
			}
			x.Erasure, x.Work, ids = id, store.CaseReceipt, append(ids, id)
		}
		if err := tx.Cases.Keep(ctx, was, x, "own"); err != nil {
			return err
		}
		if len(targets) > 0 && x.Side == store.AlertFound && x.Task != "" {
			return endQuestions(ctx, tx, x.Task, e.s.Options().Now())
		}
		return nil
	})
	return ids, err
}

func (e *Eraser) workCase(ctx context.Context, was store.SharedCase) error {
	x := was
	if x.Work == store.CaseErase {
		return e.o.Store.Atomic(ctx, func(tx *store.DB) error {
			id, err := Ask(ctx, e.s, tx, SweepActor, "partner decided: "+string(x.Theirs.Decision), Target{Questions: questionOf(x)})
			if err != nil {
				return err
			}
			x.Erasure, x.Work = id, store.CaseReceipt
			return tx.Cases.Keep(ctx, was, x, "own")
		})
	}
	row, err := e.o.Store.Retention.Erasure(ctx, x.Erasure)
	if err != nil || row.State != store.ErasureDone {
		return err
	}
	var r Receipt
	if err := json.Unmarshal(row.Receipt, &r); err != nil {
		return fmt.Errorf("receipt of deletion %s: %w: %w", x.Erasure, concordat.ErrCorrupt, err)
	}
	sum, err := r.Sum()
	if err != nil {
		return err
	}
	x.Own.Receipt, x.Own.At, x.Work = hex.EncodeToString(sum[:]), later(e.s.Options().Now(), was.Own.At), ""
	if !x.Own.Due.IsZero() {
		x.Work = store.CaseWait
	}
	if x.Own.State == "" {
		x.Own.State = concordat.CaseOpen
	}
	if x.Side == store.AlertTold && x.Theirs.Decision != concordat.Undecided && x.Own.Decision == concordat.Undecided {
		x.Own.By = SweepActor
	}
	return e.o.Store.Atomic(ctx, func(tx *store.DB) error {
		if err := tx.Cases.Keep(ctx, was, x, "own"); err != nil {
			return err
		}
		return tellCase(ctx, tx, x)
	})
}

// questionOf returns the partner's question that opened a case.
func questionOf(x store.SharedCase) []Question {
	return []Question{{Partner: x.Partner, Job: hex.EncodeToString(x.Job[:]), Sentences: x.Questions}}
}

// deleteText deletes a check's text and originals but keeps its report.
func (e *Eraser) deleteText(ctx context.Context, r *Receipt, id concordat.TaskID) error {
	t, err := e.s.Options().Store.Checks.Task(ctx, id)
	if errors.Is(err, concordat.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	var j site.Job
	if len(t.Request) > 0 {
		if err := json.Unmarshal(t.Request, &j); err != nil {
			return fmt.Errorf("task %s: %w: %w", id, concordat.ErrCorrupt, err)
		}
	}
	if !slices.ContainsFunc(r.Texts, func(x ErasedText) bool { return x.Task == id }) {
		f, err := e.s.KeptFindings(ctx, id)
		if err != nil && !errors.Is(err, concordat.ErrNotFound) {
			return err
		}
		x := ErasedText{Task: id}
		if err == nil {
			x.Bytes = len(f.Submission.Text)
		}
		r.Texts = append(r.Texts, x)
		if err := e.step(ctx, r, store.ErasureAsked); err != nil {
			return err
		}
	}
	if len(t.Request) == 0 { // a check from the command line has no stored request
		if err := e.unwrite(ctx, id, false); err != nil {
			return err
		}
		_, err := e.withhold(ctx, id, false)
		return err
	}
	_, err = e.discard(ctx, t, j, true, false)
	return err
}

// deleteQuestion deletes a partner's question.
func (e *Eraser) deleteQuestion(ctx context.Context, r *Receipt, q Question) error {
	var job concordat.JobID
	if n, err := hex.Decode(job[:], []byte(q.Job)); err != nil || n != len(job) {
		return fmt.Errorf("job %q: %w", q.Job, concordat.ErrCorrupt)
	}
	if !slices.Contains(r.Questions, q) {
		r.Questions = append(r.Questions, q)
	}
	return e.o.Store.Partners.DropStandingAsks(ctx, q.Partner, job)
}
