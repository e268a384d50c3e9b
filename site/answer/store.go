package answer

import (
	"context"
	"encoding/json"
	"time"

	"concordat"
	"concordat/store"
)

// Store is the part of the store that answering partners uses; *store.DB has it.
type Store interface {
	Atomic(ctx context.Context, f func(tx *store.DB) error) error
	Library(ctx context.Context, id concordat.LibraryID) (store.Library, error)
	DocumentRow(ctx context.Context, lib concordat.LibraryID, id concordat.DocumentID) (store.DocumentRow, error)
	Templates(ctx context.Context, lib concordat.LibraryID) ([]store.Template, error)
	Term(ctx context.Context, lib concordat.LibraryID, id concordat.DocumentID) (store.Term, error)
	Expose(ctx context.Context, site concordat.SiteID, form string, digests []store.Digest) ([]bool, error)

	AppendAudit(ctx context.Context, actor, action string, detail json.RawMessage) (store.AuditEntry, error)

	PutShare(ctx context.Context, x store.Share) (store.Share, error)
	Share(ctx context.Context, lib concordat.LibraryID, partner concordat.SiteID) (store.Share, error)
	Shares(ctx context.Context, lib concordat.LibraryID, partner concordat.SiteID) ([]store.Share, error)
	DeleteShare(ctx context.Context, lib concordat.LibraryID, partner concordat.SiteID) error
	Spend(ctx context.Context, xs ...store.Spending) ([]int, error)
	ForgetSpent(ctx context.Context, before time.Time) error

	SeeEpoch(ctx context.Context, e concordat.Epoch, scheme concordat.Scheme) error
	Epochs(ctx context.Context) ([]store.EpochRow, error)
	DropEpoch(ctx context.Context, e concordat.Epoch) error
	Unset(ctx context.Context, e concordat.Epoch, lib concordat.LibraryID, after concordat.DocumentID, limit int) ([]store.DocumentRow, error)
	Leftover(ctx context.Context, e concordat.Epoch, lib concordat.LibraryID, all bool, limit int) ([]concordat.DocumentID, error)
	EpochLibraries(ctx context.Context, e concordat.Epoch) ([]concordat.LibraryID, error)
	BeginEpochDocuments(ctx context.Context, e concordat.Epoch, lib concordat.LibraryID, ids []concordat.DocumentID) error
	EndEpochDocuments(ctx context.Context, e concordat.Epoch, lib concordat.LibraryID, ds []store.EpochDocument) error
	RemoveEpochDocuments(ctx context.Context, e concordat.Epoch, lib concordat.LibraryID, ids []concordat.DocumentID) error
	HeldDocument(ctx context.Context, e concordat.Epoch, lib concordat.LibraryID, id concordat.DocumentID) (store.DocumentRow, error)
	HeldDocuments(ctx context.Context, e concordat.Epoch, lib concordat.LibraryID,
		ids []concordat.DocumentID) (map[concordat.DocumentID]store.DocumentRow, error)
	EpochReady(ctx context.Context, e concordat.Epoch, lib concordat.LibraryID) (held, all int, err error)
	EpochEver(ctx context.Context, e concordat.Epoch) ([]concordat.LibraryID, error)
	EpochBehind(ctx context.Context, e concordat.Epoch, lib concordat.LibraryID, after int64) (int, error)
	EpochChanges(ctx context.Context, e concordat.Epoch, lib concordat.LibraryID, after int64, limit int) ([]store.EpochDocument, error)

	UseAnswerJob(ctx context.Context, j store.AnswerJob) (store.AnswerJob, error)
	AnswerJob(ctx context.Context, partner concordat.SiteID, job concordat.JobID) (store.AnswerJob, error)
	ForgetAnswerJobs(ctx context.Context, before time.Time) error
	AddAnswerHits(ctx context.Context, partner concordat.SiteID, job concordat.JobID, ds []store.AnswerDocument, hits []store.AnswerHit) error
	AnswerDocument(ctx context.Context, partner concordat.SiteID, job concordat.JobID, h concordat.Handle) (store.AnswerDocument, error)
	AnswerHits(ctx context.Context, partner concordat.SiteID, job concordat.JobID, h concordat.Handle) ([]store.AnswerHit, error)
	CountQuestions(ctx context.Context, a store.Asking, since time.Time, most int, questions []store.Question) ([]store.Counted, error)
	ForgetQuestions(ctx context.Context, before time.Time) error
	Outline(ctx context.Context, x store.Outlined, since time.Time, most int, units []int) ([]bool, error)
	ForgetOutlined(ctx context.Context, before time.Time) error
	AddShipped(ctx context.Context, partner concordat.SiteID, e concordat.Epoch, ds []store.Shipped) error
	DropShipped(ctx context.Context, partner concordat.SiteID, lib concordat.LibraryID) error
	ShippedDocument(ctx context.Context, partner concordat.SiteID, e concordat.Epoch, h concordat.Handle) (store.Shipped, error)

	OftenAnswered(ctx context.Context, least int) ([]store.PartnerAlarm, error)
	MuchShown(ctx context.Context, since time.Time, told, outlined store.Part) ([]store.PartnerAlarm, error)
	RaiseAlarm(ctx context.Context, a store.PartnerAlarm) (bool, error)
	Show(ctx context.Context, xs ...store.Showing) error

	PutDisclosure(ctx context.Context, d store.Disclosure) error
	Disclosure(ctx context.Context, id string) (store.Disclosure, error)
	DisclosuresOf(ctx context.Context, direction string, partner concordat.SiteID, job concordat.JobID,
		h concordat.Handle) ([]store.Disclosure, error)
	DisclosuresAfter(ctx context.Context, id string, limit int) ([]store.Disclosure, error)
	PendingDisclosures(ctx context.Context, partner concordat.SiteID) (int, error)
	SetDisclosure(ctx context.Context, id, from, to, actor, words string, until time.Time) error

	AddStandingAsk(ctx context.Context, x store.StandingAsk, most int) error
	StandingAsks(ctx context.Context, e concordat.Epoch) ([]store.StandingAsk, error)
	PutAlert(ctx context.Context, a store.Alert) (int64, error)
	ForgetAlerts(ctx context.Context, before time.Time) error
	DropStandingAsks(ctx context.Context, partner concordat.SiteID, job concordat.JobID) error

	Queue(ctx context.Context, partner concordat.SiteID, ns ...concordat.Notice) error
	Outbox(ctx context.Context, limit int) ([]store.Outgoing, error)
	Delivered(ctx context.Context, seq int64) error
	Undelivered(ctx context.Context, seq int64, next time.Time, cause string) error
	PutReceived(ctx context.Context, partner concordat.SiteID, n *concordat.Notice) error
	DropReceived(ctx context.Context, last int64) error
	Inbox(ctx context.Context, after int64, limit int) ([]store.Received, error)
}
