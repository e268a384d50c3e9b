package ask

import (
	"context"
	"time"

	"concordat"
	"concordat/store"
)

// Store is the part of the store that asking partners uses; *store.DB has it.
type Store interface {
	PutAsk(ctx context.Context, a store.Ask) error
	SetAskStanding(ctx context.Context, job concordat.JobID, standing bool) error
	Ask(ctx context.Context, job concordat.JobID) (store.Ask, error)
	Asks(ctx context.Context, task concordat.TaskID) ([]store.Ask, error)
	Expose(ctx context.Context, site concordat.SiteID, form string, digests []store.Digest) ([]bool, error)
	Show(ctx context.Context, xs ...store.Showing) error
	EndStanding(ctx context.Context, task concordat.TaskID) error
	PutAlert(ctx context.Context, a store.Alert) (int64, error)
	Showings(ctx context.Context, partner concordat.SiteID, limit int) ([]store.Showing, error)
	ShowingSums(ctx context.Context, partner concordat.SiteID) ([]store.ShowingSum, error)
	PutDisclosure(ctx context.Context, d store.Disclosure) error
	DisclosuresOf(ctx context.Context, direction string, partner concordat.SiteID, job concordat.JobID,
		h concordat.Handle) ([]store.Disclosure, error)
	SetDisclosure(ctx context.Context, id, from, to, actor, words string, until time.Time) error
	RaiseAlarm(ctx context.Context, a store.PartnerAlarm) (bool, error)
	PutFindings(ctx context.Context, id concordat.TaskID, data []byte) error
	PutMirror(ctx context.Context, m store.Mirror, docs []store.MirrorDocument, removed []concordat.DocumentID) error
	Mirror(ctx context.Context, k store.MirrorKey) (store.Mirror, error)
	Mirrors(ctx context.Context) ([]store.Mirror, error)
	WithdrawMirrors(ctx context.Context, site concordat.SiteID, lib concordat.LibraryID, at time.Time) error
	DeleteMirror(ctx context.Context, k store.MirrorKey) error
	MirrorDocument(ctx context.Context, k store.MirrorKey, id concordat.DocumentID) (store.MirrorDocument, error)
	MirrorDocuments(ctx context.Context, k store.MirrorKey, after concordat.DocumentID, limit int) ([]store.MirrorDocument, error)
}
