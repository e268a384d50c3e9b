package site_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"concordat"
	"concordat/site"
	"concordat/store"
)

// errStore is the error of a broken store.
var errStore = errors.New("the store is broken")

// brokenStore is a store of which one call fails, by script, without doing anything.
type brokenStore struct {
	*store.DB

	mu    sync.Mutex // guards what follows
	calls []string   // since the script began, by name
	fail  int        // the call that fails, from 0; less: none
	since bool       // all later ones fail too
}

var _ site.Store = (*brokenStore)(nil)

// begin forgets the calls so far. The call with the number fails, and all that follow if the store stays broken;
// below 0 none does.
func (b *brokenStore) begin(fail int, stays bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls, b.fail, b.since = nil, fail, stays
}

// made returns the calls since the script began.
func (b *brokenStore) made() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.calls)
}

func (b *brokenStore) fails(name string, do func() error) error {
	b.mu.Lock()
	n := len(b.calls)
	b.calls = append(b.calls, name)
	bad := b.fail >= 0 && (n == b.fail || b.since && n > b.fail)
	b.mu.Unlock()
	if bad {
		return errStore
	}
	return do()
}

func (b *brokenStore) AppendAudit(ctx context.Context, actor, action string, detail json.RawMessage) (v store.AuditEntry, err error) {
	err = b.fails("AppendAudit", func() error { v, err = b.DB.AppendAudit(ctx, actor, action, detail); return err })
	return v, err
}

// Atomic fails as a whole: what the calls within do, they do together or not at all.
func (b *brokenStore) Atomic(ctx context.Context, f func(tx *store.DB) error) error {
	return b.fails("Atomic", func() error { return b.DB.Atomic(ctx, f) })
}

func (b *brokenStore) PutShare(ctx context.Context, x store.Share) (v store.Share, err error) {
	err = b.fails("PutShare", func() error { v, err = b.DB.PutShare(ctx, x); return err })
	return v, err
}

func (b *brokenStore) Share(ctx context.Context, lib concordat.LibraryID, partner concordat.SiteID) (v store.Share, err error) {
	err = b.fails("Share", func() error { v, err = b.DB.Share(ctx, lib, partner); return err })
	return v, err
}

func (b *brokenStore) Shares(ctx context.Context, lib concordat.LibraryID, partner concordat.SiteID) (v []store.Share, err error) {
	err = b.fails("Shares", func() error { v, err = b.DB.Shares(ctx, lib, partner); return err })
	return v, err
}

func (b *brokenStore) DeleteShare(ctx context.Context, lib concordat.LibraryID, partner concordat.SiteID) error {
	return b.fails("DeleteShare", func() error { return b.DB.DeleteShare(ctx, lib, partner) })
}

func (b *brokenStore) Spend(ctx context.Context, xs ...store.Spending) (v []int, err error) {
	err = b.fails("Spend", func() error { v, err = b.DB.Spend(ctx, xs...); return err })
	return v, err
}

func (b *brokenStore) ForgetSpent(ctx context.Context, before time.Time) error {
	return b.fails("ForgetSpent", func() error { return b.DB.ForgetSpent(ctx, before) })
}

func (b *brokenStore) SeeEpoch(ctx context.Context, e concordat.Epoch, scheme concordat.Scheme) error {
	return b.fails("SeeEpoch", func() error { return b.DB.SeeEpoch(ctx, e, scheme) })
}

func (b *brokenStore) Epochs(ctx context.Context) (v []store.EpochRow, err error) {
	err = b.fails("Epochs", func() error { v, err = b.DB.Epochs(ctx); return err })
	return v, err
}

func (b *brokenStore) DropEpoch(ctx context.Context, e concordat.Epoch) error {
	return b.fails("DropEpoch", func() error { return b.DB.DropEpoch(ctx, e) })
}

func (b *brokenStore) Unset(ctx context.Context, e concordat.Epoch, lib concordat.LibraryID, after concordat.DocumentID,
	limit int) (v []store.DocumentRow, err error) {
	err = b.fails("Unset", func() error { v, err = b.DB.Unset(ctx, e, lib, after, limit); return err })
	return v, err
}

func (b *brokenStore) Leftover(ctx context.Context, e concordat.Epoch, lib concordat.LibraryID, all bool,
	limit int) (v []concordat.DocumentID, err error) {
	err = b.fails("Leftover", func() error { v, err = b.DB.Leftover(ctx, e, lib, all, limit); return err })
	return v, err
}

func (b *brokenStore) EpochLibraries(ctx context.Context, e concordat.Epoch) (v []concordat.LibraryID, err error) {
	err = b.fails("EpochLibraries", func() error { v, err = b.DB.EpochLibraries(ctx, e); return err })
	return v, err
}

func (b *brokenStore) BeginEpochDocuments(ctx context.Context, e concordat.Epoch, lib concordat.LibraryID,
	ids []concordat.DocumentID) error {
	return b.fails("BeginEpochDocuments", func() error { return b.DB.BeginEpochDocuments(ctx, e, lib, ids) })
}

func (b *brokenStore) EndEpochDocuments(ctx context.Context, e concordat.Epoch, lib concordat.LibraryID, ds []store.EpochDocument) error {
	return b.fails("EndEpochDocuments", func() error { return b.DB.EndEpochDocuments(ctx, e, lib, ds) })
}

func (b *brokenStore) RemoveEpochDocuments(ctx context.Context, e concordat.Epoch, lib concordat.LibraryID,
	ids []concordat.DocumentID) error {
	return b.fails("RemoveEpochDocuments", func() error { return b.DB.RemoveEpochDocuments(ctx, e, lib, ids) })
}

func (b *brokenStore) HeldDocument(ctx context.Context, e concordat.Epoch, lib concordat.LibraryID,
	id concordat.DocumentID) (v store.DocumentRow, err error) {
	err = b.fails("HeldDocument", func() error { v, err = b.DB.HeldDocument(ctx, e, lib, id); return err })
	return v, err
}

func (b *brokenStore) HeldDocuments(ctx context.Context, e concordat.Epoch, lib concordat.LibraryID,
	ids []concordat.DocumentID) (v map[concordat.DocumentID]store.DocumentRow, err error) {
	err = b.fails("HeldDocuments", func() error { v, err = b.DB.HeldDocuments(ctx, e, lib, ids); return err })
	return v, err
}

func (b *brokenStore) EpochReady(ctx context.Context, e concordat.Epoch, lib concordat.LibraryID) (held, all int, err error) {
	err = b.fails("EpochReady", func() error { held, all, err = b.DB.EpochReady(ctx, e, lib); return err })
	return held, all, err
}

func (b *brokenStore) EpochEver(ctx context.Context, e concordat.Epoch) (v []concordat.LibraryID, err error) {
	err = b.fails("EpochEver", func() error { v, err = b.DB.EpochEver(ctx, e); return err })
	return v, err
}

func (b *brokenStore) EpochBehind(ctx context.Context, e concordat.Epoch, lib concordat.LibraryID, after int64) (v int, err error) {
	err = b.fails("EpochBehind", func() error { v, err = b.DB.EpochBehind(ctx, e, lib, after); return err })
	return v, err
}

func (b *brokenStore) EpochChanges(ctx context.Context, e concordat.Epoch, lib concordat.LibraryID, after int64,
	limit int) (v []store.EpochDocument, err error) {
	err = b.fails("EpochChanges", func() error { v, err = b.DB.EpochChanges(ctx, e, lib, after, limit); return err })
	return v, err
}

func (b *brokenStore) UseAnswerJob(ctx context.Context, j store.AnswerJob) (v store.AnswerJob, err error) {
	err = b.fails("UseAnswerJob", func() error { v, err = b.DB.UseAnswerJob(ctx, j); return err })
	return v, err
}

func (b *brokenStore) AnswerJob(ctx context.Context, partner concordat.SiteID, job concordat.JobID) (v store.AnswerJob, err error) {
	err = b.fails("AnswerJob", func() error { v, err = b.DB.AnswerJob(ctx, partner, job); return err })
	return v, err
}

func (b *brokenStore) CountQuestions(ctx context.Context, a store.Asking, since time.Time, most int,
	questions []store.Question) (v []store.Counted, err error) {
	err = b.fails("CountQuestions", func() error { v, err = b.DB.CountQuestions(ctx, a, since, most, questions); return err })
	return v, err
}

func (b *brokenStore) ForgetQuestions(ctx context.Context, before time.Time) error {
	return b.fails("ForgetQuestions", func() error { return b.DB.ForgetQuestions(ctx, before) })
}

func (b *brokenStore) ForgetAnswerJobs(ctx context.Context, before time.Time) error {
	return b.fails("ForgetAnswerJobs", func() error { return b.DB.ForgetAnswerJobs(ctx, before) })
}

func (b *brokenStore) AddAnswerHits(ctx context.Context, partner concordat.SiteID, job concordat.JobID, ds []store.AnswerDocument,
	hits []store.AnswerHit) error {
	return b.fails("AddAnswerHits", func() error { return b.DB.AddAnswerHits(ctx, partner, job, ds, hits) })
}

func (b *brokenStore) AnswerDocument(ctx context.Context, partner concordat.SiteID, job concordat.JobID,
	h concordat.Handle) (v store.AnswerDocument, err error) {
	err = b.fails("AnswerDocument", func() error { v, err = b.DB.AnswerDocument(ctx, partner, job, h); return err })
	return v, err
}

func (b *brokenStore) AnswerHits(ctx context.Context, partner concordat.SiteID, job concordat.JobID,
	h concordat.Handle) (v []store.AnswerHit, err error) {
	err = b.fails("AnswerHits", func() error { v, err = b.DB.AnswerHits(ctx, partner, job, h); return err })
	return v, err
}

func (b *brokenStore) AddShipped(ctx context.Context, partner concordat.SiteID, e concordat.Epoch, ds []store.Shipped) error {
	return b.fails("AddShipped", func() error { return b.DB.AddShipped(ctx, partner, e, ds) })
}

func (b *brokenStore) OftenAnswered(ctx context.Context, least int) (v []store.PartnerAlarm, err error) {
	err = b.fails("OftenAnswered", func() error { v, err = b.DB.OftenAnswered(ctx, least); return err })
	return v, err
}

func (b *brokenStore) RaiseAlarm(ctx context.Context, a store.PartnerAlarm) (raised bool, err error) {
	err = b.fails("RaiseAlarm", func() error { raised, err = b.DB.RaiseAlarm(ctx, a); return err })
	return raised, err
}

func (b *brokenStore) DropReceived(ctx context.Context, last int64) error {
	return b.fails("DropReceived", func() error { return b.DB.DropReceived(ctx, last) })
}

func (b *brokenStore) DropShipped(ctx context.Context, partner concordat.SiteID, lib concordat.LibraryID) error {
	return b.fails("DropShipped", func() error { return b.DB.DropShipped(ctx, partner, lib) })
}

func (b *brokenStore) ShippedDocument(ctx context.Context, partner concordat.SiteID, e concordat.Epoch,
	h concordat.Handle) (v store.Shipped, err error) {
	err = b.fails("ShippedDocument", func() error { v, err = b.DB.ShippedDocument(ctx, partner, e, h); return err })
	return v, err
}

func (b *brokenStore) Show(ctx context.Context, xs ...store.Showing) error {
	return b.fails("Show", func() error { return b.DB.Show(ctx, xs...) })
}

func (b *brokenStore) Showings(ctx context.Context, partner concordat.SiteID, limit int) (v []store.Showing, err error) {
	err = b.fails("Showings", func() error { v, err = b.DB.Showings(ctx, partner, limit); return err })
	return v, err
}

func (b *brokenStore) ShowingSums(ctx context.Context, partner concordat.SiteID) (v []store.ShowingSum, err error) {
	err = b.fails("ShowingSums", func() error { v, err = b.DB.ShowingSums(ctx, partner); return err })
	return v, err
}

func (b *brokenStore) PutDisclosure(ctx context.Context, d store.Disclosure) error {
	return b.fails("PutDisclosure", func() error { return b.DB.PutDisclosure(ctx, d) })
}

func (b *brokenStore) Disclosure(ctx context.Context, id string) (v store.Disclosure, err error) {
	err = b.fails("Disclosure", func() error { v, err = b.DB.Disclosure(ctx, id); return err })
	return v, err
}

func (b *brokenStore) DisclosuresOf(ctx context.Context, direction string, partner concordat.SiteID, job concordat.JobID,
	h concordat.Handle) (v []store.Disclosure, err error) {
	err = b.fails("DisclosuresOf", func() error { v, err = b.DB.DisclosuresOf(ctx, direction, partner, job, h); return err })
	return v, err
}

func (b *brokenStore) DisclosuresAfter(ctx context.Context, id string, limit int) (v []store.Disclosure, err error) {
	err = b.fails("DisclosuresAfter", func() error { v, err = b.DB.DisclosuresAfter(ctx, id, limit); return err })
	return v, err
}

func (b *brokenStore) PendingDisclosures(ctx context.Context, partner concordat.SiteID) (v int, err error) {
	err = b.fails("PendingDisclosures", func() error { v, err = b.DB.PendingDisclosures(ctx, partner); return err })
	return v, err
}

func (b *brokenStore) SetDisclosure(ctx context.Context, id, from, to, actor, words string, until time.Time) error {
	return b.fails("SetDisclosure", func() error { return b.DB.SetDisclosure(ctx, id, from, to, actor, words, until) })
}

func (b *brokenStore) AddStandingAsk(ctx context.Context, x store.StandingAsk, most int) error {
	return b.fails("AddStandingAsk", func() error { return b.DB.AddStandingAsk(ctx, x, most) })
}

func (b *brokenStore) StandingAsks(ctx context.Context, e concordat.Epoch) (v []store.StandingAsk, err error) {
	err = b.fails("StandingAsks", func() error { v, err = b.DB.StandingAsks(ctx, e); return err })
	return v, err
}

func (b *brokenStore) DropStandingAsks(ctx context.Context, partner concordat.SiteID, job concordat.JobID) error {
	return b.fails("DropStandingAsks", func() error { return b.DB.DropStandingAsks(ctx, partner, job) })
}

func (b *brokenStore) PutAlert(ctx context.Context, a store.Alert) (v int64, err error) {
	err = b.fails("PutAlert", func() error { v, err = b.DB.PutAlert(ctx, a); return err })
	return v, err
}

func (b *brokenStore) ForgetAlerts(ctx context.Context, before time.Time) error {
	return b.fails("ForgetAlerts", func() error { return b.DB.ForgetAlerts(ctx, before) })
}

func (b *brokenStore) Queue(ctx context.Context, partner concordat.SiteID, ns ...concordat.Notice) error {
	return b.fails("Queue", func() error { return b.DB.Queue(ctx, partner, ns...) })
}

func (b *brokenStore) Outbox(ctx context.Context, limit int) (v []store.Outgoing, err error) {
	err = b.fails("Outbox", func() error { v, err = b.DB.Outbox(ctx, limit); return err })
	return v, err
}

func (b *brokenStore) Delivered(ctx context.Context, seq int64) error {
	return b.fails("Delivered", func() error { return b.DB.Delivered(ctx, seq) })
}

func (b *brokenStore) Undelivered(ctx context.Context, seq int64, next time.Time, cause string) error {
	return b.fails("Undelivered", func() error { return b.DB.Undelivered(ctx, seq, next, cause) })
}

func (b *brokenStore) PutReceived(ctx context.Context, partner concordat.SiteID, n *concordat.Notice) error {
	return b.fails("PutReceived", func() error { return b.DB.PutReceived(ctx, partner, n) })
}

func (b *brokenStore) Inbox(ctx context.Context, after int64, limit int) (v []store.Received, err error) {
	err = b.fails("Inbox", func() error { v, err = b.DB.Inbox(ctx, after, limit); return err })
	return v, err
}

func (b *brokenStore) Library(ctx context.Context, id concordat.LibraryID) (v store.Library, err error) {
	err = b.fails("Library", func() error { v, err = b.DB.Library(ctx, id); return err })
	return v, err
}

func (b *brokenStore) DocumentRow(ctx context.Context, lib concordat.LibraryID, id concordat.DocumentID) (v store.DocumentRow, err error) {
	err = b.fails("DocumentRow", func() error { v, err = b.DB.DocumentRow(ctx, lib, id); return err })
	return v, err
}

func (b *brokenStore) Documents(ctx context.Context, lib concordat.LibraryID, after concordat.DocumentID,
	limit int) (v []store.DocumentRow, err error) {
	err = b.fails("Documents", func() error { v, err = b.DB.Documents(ctx, lib, after, limit); return err })
	return v, err
}

func (b *brokenStore) Expose(ctx context.Context, partner concordat.SiteID, form string, digests []store.Digest) (v []bool, err error) {
	err = b.fails("Expose", func() error { v, err = b.DB.Expose(ctx, partner, form, digests); return err })
	return v, err
}
