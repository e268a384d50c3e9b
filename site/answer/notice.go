package answer

import (
	"context"
	"encoding/hex"
	"fmt"
	"time"

	"concordat"
	"concordat/store"
)

// Limits on the length of one notice's text, in bytes, and on the number of notices from one partner.
const (
	maxWords      = 4 << 10
	hourlyNotices = 1000
	dailyNotices  = 5000
)

// Receive handles a partner's notice. The notice takes effect at once. A notice about something this site never asked is dropped.
// Decisions are stored for [Notices.Inbox], since the partner has to be asked again. A partner that no longer wants notices of matches is
// sent no more.
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
		refusal.Reason = concordat.ReasonBusy // so that the partner retries instead of giving up
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

// caseNoticed records a partner's position in a case shared with this site. If the partner has decided about its own document, its
// question ends, the fingerprints are removed, and package retain issues a receipt. A notice superseded by a later one has no effect. If
// the case does not exist, the alert that opens it may still be on its way, so the partner is asked to resend the notice.
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
	if was.Work != "" && was.Work != store.CaseWait { // this site is still deleting its own document, and receipts are issued one at a time
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
			return invalid("the alert is missing its job ID or its answer")
		}
	case concordat.NoticeCase:
		if !job || n.Case == nil || n.Case.State == "" || len(n.Case.Contact) > concordat.MaxCaseContact ||
			len(n.Words) > concordat.MaxCaseWords {
			return invalid("the case is incomplete or its text is too long")
		}
	case concordat.NoticeDisclosure, concordat.NoticeEnded:
		if !job {
			return invalid("missing job ID")
		}
	case concordat.NoticeWithdrawn:
		if n.Library == "" {
			return invalid("missing library")
		}
	default:
		return invalid("unknown kind %q", cut(n.Kind))
	}
	if len(n.Words) > maxWords || len(n.Library) > concordat.LongestName {
		return invalid("the message (%d bytes) or the library name is too long", len(n.Words))
	}
	return nil
}

// Outbox returns up to limit notices due for delivery to partners. After each attempt, the caller calls [Notices.Delivered] or
// [Notices.Undelivered]. A notice can be delivered twice.
func (s *Notices) Outbox(ctx context.Context, limit int) ([]store.Outgoing, error) {
	return s.o.Store.Partners.Outbox(ctx, limit)
}

// Delivered removes a notice from the outbox.
func (s *Notices) Delivered(ctx context.Context, o store.Outgoing) error {
	return s.o.Store.Partners.Delivered(ctx, o.Seq)
}

// Undelivered schedules the next delivery attempt after a minute, doubling the time with each attempt up to six hours. A notice that its
// partner has not accepted within thirty days is dropped.
func (s *Notices) Undelivered(ctx context.Context, o store.Outgoing, cause error) error {
	now := s.o.Now()
	if now.Sub(o.Made) > noticeLife {
		s.o.Logger.Warn("gave up delivering a notice", "site", o.Partner, "kind", o.Notice.Kind, "attempts", o.Attempts+1, "err", cause)
		return s.o.Store.Partners.Delivered(ctx, o.Seq)
	}
	wait := min(time.Minute<<min(o.Attempts, 10), 6*time.Hour)
	return s.o.Store.Partners.Undelivered(ctx, o.Seq, now.Add(wait), cause.Error())
}

const noticeLife = 30 * Day

// Inbox returns up to limit of the decisions received from partners, oldest first, starting after the given number.
func (s *Notices) Inbox(ctx context.Context, after int64, limit int) ([]store.Received, error) {
	return s.o.Store.Partners.Inbox(ctx, after, limit)
}

// TakenIn removes notices from the inbox, up to and including the given number.
func (s *Notices) TakenIn(ctx context.Context, last int64) error {
	return s.o.Store.Partners.DropReceived(ctx, last)
}
