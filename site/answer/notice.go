package answer

import (
	"context"
	"encoding/hex"
	"fmt"
	"time"

	"concordat"
	"concordat/store"
)

// Bounds on the words of one notice, in bytes, and on the number of notices that one partner may send.
const (
	maxWords      = 4 << 10
	hourlyNotices = 1000
	dailyNotices  = 5000
)

// Receive handles a partner's notice. It takes effect at once. A notice about something that this site never asked is dropped. Decisions
// are stored for [Notices.Inbox], since the partner must be asked again. A partner that no longer wants notices of matches gets none.
func (s *Answerer) Receive(ctx context.Context, from concordat.SiteID, n *concordat.Notice) error {
	if err := checkNotice(n); err != nil {
		return err
	}
	_, refusal, err := s.spend(ctx, store.Spending{Partner: from, Kind: spendNotices, Amount: 1,
		Windows: []store.Window{{Within: hour, Most: hourlyNotices}, {Within: Day, Most: dailyNotices}}})
	if err != nil {
		return err
	}
	if refusal != nil {
		refusal.Reason = concordat.ReasonBusy // so that the partner repeats the notice and does not give up
		return refusal
	}
	line := auditNotice{Kind: n.Kind, Library: n.Library}
	if n.Job != (concordat.JobID{}) {
		line.Job = hex.EncodeToString(n.Job[:])
	}
	if n.Kind == concordat.NoticeCase {
		err = s.caseNoticed(ctx, from, n)
	} else if n.Kind == concordat.NoticeEnded {
		err = s.endStanding(ctx, from, n.Job)
	} else if _, err = s.o.Noticed(ctx, from, n); err == nil && n.Kind == concordat.NoticeDisclosure {
		err = s.o.Store.Partners.PutReceived(ctx, from, n)
	}
	if err != nil {
		return err
	}
	return s.audit(ctx, from, "notice", line)
}

// endStanding deletes a partner's standing question.
func (s *Answerer) endStanding(ctx context.Context, from concordat.SiteID, job concordat.JobID) error {
	err := s.o.Store.Partners.DropStandingAsks(ctx, from, job)
	for _, e := range s.epochSets() {
		e.forgetStanding()
	}
	return err
}

// caseNoticed records a partner's position in a case that it shares with this site. A decision by the partner about its own document ends
// its question: the fingerprints are removed, and package retain makes a receipt. A notice overtaken by a later one changes nothing. If
// there is no such case, the alert that opens it may still arrive, so the partner is asked to send the notice again.
func (s *Answerer) caseNoticed(ctx context.Context, from concordat.SiteID, n *concordat.Notice) error {
	was, err := s.o.Store.Cases.Case(ctx, n.Case.ID)
	if isNotFound(err) || err == nil && (was.Partner != from || was.Job != n.Job) {
		return &concordat.Refusal{Reason: concordat.ReasonBusy}
	}
	if err != nil || !n.At.After(was.Theirs.At) {
		return err
	}
	x := was
	x.Theirs = store.CasePosition{State: n.Case.State, Words: n.Words, Contact: n.Case.Contact, At: n.At, Decision: n.Case.Decision}
	if n.Case.Receipt != ([32]byte{}) {
		x.Theirs.Receipt = hex.EncodeToString(n.Case.Receipt[:])
	}
	if x.Side == store.AlertFound || x.Theirs.Decision == concordat.Undecided || was.Theirs.Decision != concordat.Undecided {
		return s.o.Store.Cases.Keep(ctx, was, x, "partner")
	}
	if was.Work != "" && was.Work != store.CaseWait { // this site is deleting its own document, and receipts are made one after the other
		return &concordat.Refusal{Reason: concordat.ReasonBusy}
	}
	if x.Questions, err = s.o.Store.Partners.StandingSentences(ctx, from, n.Job); err != nil {
		return err
	}
	x.Work = store.CaseErase
	if err := s.o.Store.Cases.Keep(ctx, was, x, "partner"); err != nil {
		return err
	}
	return s.endStanding(ctx, from, n.Job)
}

func checkNotice(n *concordat.Notice) error {
	invalid := func(format string, args ...any) error {
		return fmt.Errorf("notice: %w: %s", concordat.ErrInvalid, fmt.Sprintf(format, args...))
	}
	job := n.Job != concordat.JobID{}
	switch n.Kind {
	case concordat.NoticeAlert:
		if n.Answer == nil || !job {
			return invalid("an alert of nothing")
		}
	case concordat.NoticeCase:
		if !job || n.Case == nil || n.Case.State == "" || len(n.Case.Contact) > concordat.MaxCaseContact ||
			len(n.Words) > concordat.MaxCaseWords {
			return invalid("a case of nothing")
		}
	case concordat.NoticeDisclosure, concordat.NoticeEnded:
		if !job {
			return invalid("no job")
		}
	case concordat.NoticeWithdrawn:
		if n.Library == "" {
			return invalid("no library")
		}
	default:
		return invalid("kind %q", cut(n.Kind))
	}
	if len(n.Words) > maxWords || len(n.Library) > concordat.LongestName {
		return invalid("%d bytes of words", len(n.Words))
	}
	return nil
}

// Outbox returns up to limit due notices for partners. The caller delivers them and calls [Notices.Delivered] or [Notices.Undelivered] for
// each. A notice may be delivered twice.
func (s *Notices) Outbox(ctx context.Context, limit int) ([]store.Outgoing, error) {
	return s.o.Store.Partners.Outbox(ctx, limit)
}

// Delivered removes a notice from the outbox.
func (s *Notices) Delivered(ctx context.Context, o store.Outgoing) error {
	return s.o.Store.Partners.Delivered(ctx, o.Seq)
}

// Undelivered schedules the next attempt to deliver a notice: after a minute, then after twice as long each time, up to six
// hours. A notice that a partner has not accepted within thirty days is dropped.
func (s *Notices) Undelivered(ctx context.Context, o store.Outgoing, cause error) error {
	now := s.o.Now()
	if now.Sub(o.Made) > noticeLife {
		s.o.Logger.Warn("a notice is given up", "site", o.Partner, "kind", o.Notice.Kind, "attempts", o.Attempts+1, "err", cause)
		return s.o.Store.Partners.Delivered(ctx, o.Seq)
	}
	wait := min(time.Minute<<min(o.Attempts, 10), 6*time.Hour)
	return s.o.Store.Partners.Undelivered(ctx, o.Seq, now.Add(wait), cause.Error())
}

const noticeLife = 30 * Day

// Inbox returns at most limit of the decisions that partners sent, oldest first, beginning after the given number.
func (s *Notices) Inbox(ctx context.Context, after int64, limit int) ([]store.Received, error) {
	return s.o.Store.Partners.Inbox(ctx, after, limit)
}

// TakenIn removes notices up to the given number from the inbox.
func (s *Notices) TakenIn(ctx context.Context, last int64) error {
	return s.o.Store.Partners.DropReceived(ctx, last)
}
