package answer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"concordat"
	"concordat/internal/sitetest"
	"concordat/internal/storetest"
	"concordat/site"
	"concordat/store"
)

// newBroken returns an owner with a scripted store failure and one document disclosed to north.
func newBroken(t *testing.T) (*sitetest.Owner, *storetest.Script) {
	t.Helper()
	o := sitetest.NewOwner(t, "theses", "grants")
	db, b := storetest.Scripted(o.Store)
	o.Services = sitetest.Open(site.Options{ID: "here", Index: o.Index, Store: db, Profiler: sitetest.Profiler(t), Now: o.Clock.Now})
	o.Use(t, o.NewSet(t, sitetest.TestEpoch))
	o.AddDocuments(t, "theses", site.Incoming{ID: "a", Title: "Rivers", Text: sitetest.Long(sitetest.Passage, 30)})
	return o, b
}

// operation is a use of the store by a site. make prepares the site and returns the operation; whole checks the state after a failure if
// a reported error is not enough.
type operation struct {
	name  string
	make  func(t *testing.T, o *sitetest.Owner) func(context.Context) error
	whole func(t *testing.T, o *sitetest.Owner, call string)
}

// withdrawalsOf counts the notices that tell north about the end of its mirror of theses.
func withdrawalsOf(t *testing.T, o *sitetest.Owner) (n int) {
	t.Helper()
	all, err := o.Store.Partners.Outbox(t.Context(), 0)
	sitetest.Must(t, err)
	for _, x := range all {
		if x.Notice.Kind == concordat.NoticeWithdrawn && x.Partner == "north" {
			n++
		}
	}
	return n
}

func forgetNotices(t *testing.T, o *sitetest.Owner) {
	t.Helper()
	all, err := o.Store.Partners.Outbox(t.Context(), 0)
	sitetest.Must(t, err)
	for _, x := range all {
		sitetest.Must(t, o.Store.Partners.Delivered(t.Context(), x.Seq))
	}
}

// toldOfEnd requires that the partner is told if the mirror has ended.
func toldOfEnd(t *testing.T, o *sitetest.Owner, call string) {
	t.Helper()
	x, err := o.Store.Answers.Share(t.Context(), "theses", "north")
	if over := errors.Is(err, concordat.ErrNotFound) || err == nil && !x.Rule.Ship; over && withdrawalsOf(t, o) == 0 {
		t.Errorf("%s failed: the mirror is over, and the partner is not told", call)
	}
}

func operations() []operation {
	share := func(ctx context.Context, o *sitetest.Owner, r store.ShareRule) error {
		_, err := o.Answerer.Shares.Share(ctx, store.Share{Library: "theses", Partner: "north", Rule: r})
		return err
	}
	reveal := func(level concordat.Show, decided bool) func(t *testing.T, o *sitetest.Owner) func(context.Context) error {
		return func(t *testing.T, o *sitetest.Owner) func(context.Context) error {
			o.Clock.Move(time.Second)
			o.ShareWith(t, "theses", "north", sitetest.Sharing(false))
			a, d, _ := o.Named(t, "north", sitetest.Passage, "theses")
			q := o.RevealAsk(a, d, level, sitetest.Long(sitetest.Passage, 30), sitetest.River+sitetest.Winter, sitetest.River+sitetest.Winter)
			if decided {
				decidedOn(t, o, q, true)
			}
			return func(ctx context.Context) error { _, err := o.AnswerReveal(ctx, "north", q); return err }
		}
	}
	pending := func(t *testing.T, o *sitetest.Owner) (store.Disclosure, *concordat.RevealAsk) {
		o.Clock.Move(time.Second) // makes it the latest
		o.ShareWith(t, "theses", "north", sitetest.Sharing(false))
		a, d, _ := o.Named(t, "north", sitetest.Passage, "theses")
		q := o.RevealAsk(a, d, concordat.ShowPassage, sitetest.Long(sitetest.Passage, 30), sitetest.River+sitetest.Winter,
			sitetest.River+sitetest.Winter)
		_, err := o.AnswerReveal(context.Background(), "north", q)
		sitetest.Must(t, err)
		return lastAsked(t, o), q
	}
	return []operation{
		{"Share, which ends a mirror", func(t *testing.T, o *sitetest.Owner) func(context.Context) error {
			sitetest.Must(t, share(t.Context(), o, sitetest.Sharing(true)))
			forgetNotices(t, o)
			return func(ctx context.Context) error { return share(ctx, o, sitetest.Sharing(false)) }
		}, toldOfEnd},
		{"Unshare", func(t *testing.T, o *sitetest.Owner) func(context.Context) error {
			sitetest.Must(t, share(t.Context(), o, sitetest.Sharing(true)))
			forgetNotices(t, o)
			return func(ctx context.Context) error { return o.Answerer.Shares.Unshare(ctx, "theses", "north") }
		}, toldOfEnd},
		{"CatchUp, with a share that has expired", func(t *testing.T, o *sitetest.Owner) func(context.Context) error {
			r := sitetest.Sharing(true)
			r.Expires = o.Clock.Now().Add(time.Hour)
			sitetest.Must(t, share(t.Context(), o, r))
			forgetNotices(t, o)
			o.Clock.Move(2 * time.Hour)
			return func(ctx context.Context) error { return o.Sets.CatchUp(ctx) }
		}, toldOfEnd},
		{"CatchUp, with a document to add and one to take out", func(t *testing.T, o *sitetest.Owner) func(context.Context) error {
			o.ShareWith(t, "theses", "north", sitetest.Sharing(false))
			sitetest.Must(t, o.DeleteDocuments(context.Background(), "theses", "b", "c"))
			sitetest.Must(t, o.Ingest(context.Background(), "theses", sitetest.Docs(site.Incoming{ID: "b", Text: sitetest.Mill}),
				func(site.Ingested) error { return nil }))
			sitetest.Must(t, o.Sets.CatchUp(context.Background()))
			sitetest.Must(t, o.DeleteDocuments(context.Background(), "theses", "b"))
			sitetest.Must(t, o.Ingest(context.Background(), "theses", sitetest.Docs(site.Incoming{ID: "c", Text: sitetest.Bridge}),
				func(site.Ingested) error { return nil }))
			return func(ctx context.Context) error { return o.Sets.CatchUp(ctx) }
		}, nil},
		{"Answer", func(t *testing.T, o *sitetest.Owner) func(context.Context) error {
			o.ShareWith(t, "theses", "north", sitetest.Sharing(false))
			o.Clock.Move(time.Minute) // so that readiness is looked up
			a := o.Question(t, sitetest.Passage, concordat.ShowMetadata, "theses")
			return func(ctx context.Context) error { _, err := o.Answer(ctx, "north", a); return err }
		}, nil},
		{"Answer, of a later ask of a job", func(t *testing.T, o *sitetest.Owner) func(context.Context) error {
			o.ShareWith(t, "theses", "north", sitetest.Sharing(false))
			a := o.Question(t, sitetest.Passage, concordat.ShowMetadata, "theses")
			o.Told(t, "north", a)
			return func(ctx context.Context) error { _, err := o.Answer(ctx, "north", a); return err }
		}, nil},
		{"Answer, of an ask that stands", func(t *testing.T, o *sitetest.Owner) func(context.Context) error {
			r := sitetest.Sharing(false)
			r.Standing = true
			o.ShareWith(t, "theses", "north", r)
			o.Clock.Move(time.Minute) // so that readiness is looked up
			a := o.Question(t, sitetest.Passage, concordat.ShowMetadata, "theses")
			a.Standing = true
			return func(ctx context.Context) error { _, err := o.Answer(ctx, "north", a); return err }
		}, nil},
		{"AnswerOutline", func(t *testing.T, o *sitetest.Owner) func(context.Context) error {
			o.ShareWith(t, "theses", "north", sitetest.Sharing(false))
			a, d, ordinals := o.Named(t, "north", sitetest.Passage, "theses")
			ask := &concordat.OutlineAsk{Job: a.Job, Epoch: a.Epoch, Documents: []concordat.OutlineOf{{Handle: d.Handle, Ordinals: ordinals}}}
			return func(ctx context.Context) error { _, err := o.AnswerOutline(ctx, "north", ask); return err }
		}, nil},
		{"AnswerReveal of common words", reveal(concordat.ShowOverlap, false), nil},
		{"AnswerReveal, which asks a person", reveal(concordat.ShowPassage, false), nil},
		{"AnswerReveal of what was granted", reveal(concordat.ShowPassage, true), nil},
		{"AnswerShip", func(t *testing.T, o *sitetest.Owner) func(context.Context) error {
			sitetest.Must(t, share(t.Context(), o, sitetest.Sharing(true)))
			return func(ctx context.Context) error {
				_, err := o.AnswerShip(ctx, "north", &concordat.ShipAsk{Epoch: o.Epoch, Library: "theses"})
				return err
			}
		}, nil},
		{"OpenTo", func(t *testing.T, o *sitetest.Owner) func(context.Context) error {
			sitetest.Must(t, share(t.Context(), o, sitetest.Sharing(true)))
			o.Clock.Move(time.Minute)
			return func(ctx context.Context) error { _, err := o.OpenTo(ctx, "north"); return err }
		}, nil},
		{"Decide", func(t *testing.T, o *sitetest.Owner) func(context.Context) error {
			d, _ := pending(t, o)
			return func(ctx context.Context) error {
				_, err := o.Requests.Decide(ctx, d.ID, "librarian", true, "yes")
				return err
			}
		}, func(t *testing.T, o *sitetest.Owner, call string) {
			if d := lastAsked(t, o); d.State == concordat.DisclosureGranted && !d.Until.Equal(o.Clock.Now().Add(2*time.Hour)) {
				t.Errorf("%s failed: granted until %v, and the rule says two hours", call, d.Until)
			}
		}},
		{"Withdraw", func(t *testing.T, o *sitetest.Owner) func(context.Context) error {
			d, q := pending(t, o)
			decidedOn(t, o, q, true)
			return func(ctx context.Context) error {
				_, err := o.Requests.Withdraw(ctx, d.ID, "librarian", "no")
				return err
			}
		}, nil},
		{"Disclosures, of which one has expired", func(t *testing.T, o *sitetest.Owner) func(context.Context) error {
			pending(t, o)
			o.Clock.Move(3 * time.Hour)
			return func(ctx context.Context) error { _, err := o.Requests.Disclosures(ctx, "", 0); return err }
		}, nil},
		{"Asked", func(t *testing.T, o *sitetest.Owner) func(context.Context) error {
			d, _ := pending(t, o)
			return func(ctx context.Context) error { _, _, err := o.Requests.Asked(ctx, d.ID); return err }
		}, nil},
		{"Requested", func(t *testing.T, o *sitetest.Owner) func(context.Context) error {
			a := o.Question(t, sitetest.Passage, concordat.ShowPassage, "theses")
			q := &concordat.RevealAsk{Job: a.Job, Epoch: a.Epoch, Level: concordat.ShowPassage,
				Passages: []concordat.RevealPassage{{Span: concordat.Span{End: 9}}}}
			sitetest.Must(t, o.Requested(context.Background(), "north", q, &concordat.Revealed{State: concordat.DisclosurePending}))
			return func(ctx context.Context) error {
				return o.Requested(ctx, "north", q, &concordat.Revealed{State: concordat.DisclosureGranted})
			}
		}, nil},
		{"EpochStates", func(t *testing.T, o *sitetest.Owner) func(context.Context) error {
			o.ShareWith(t, "theses", "north", sitetest.Sharing(false))
			return func(ctx context.Context) error { _, err := o.Sets.EpochStates(ctx); return err }
		}, nil},
	}
}

// lastAsked returns north's latest request.
func lastAsked(t *testing.T, o *sitetest.Owner) store.Disclosure {
	t.Helper()
	all, err := o.Store.Answers.DisclosuresAfter(t.Context(), "", 1)
	sitetest.Must(t, err)
	if len(all) != 1 {
		t.Fatal("no request")
	}
	return all[0]
}

// decidedOn lets a person decide on north's request.
func decidedOn(t *testing.T, o *sitetest.Owner, q *concordat.RevealAsk, granted bool) {
	t.Helper()
	_, err := o.AnswerReveal(t.Context(), "north", q)
	sitetest.Must(t, err)
	_, err = o.Requests.Decide(t.Context(), lastAsked(t, o).ID, "librarian", granted, "decided")
	sitetest.Must(t, err)
}

// TestStoreFails makes each call of the store fail in each operation, once alone and once with all later calls. The caller gets an error,
// so nothing is answered, shared or withdrawn without being stored and audited.
func TestStoreFails(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: makes every call of the store fail")
	}
	for _, op := range operations() {
		t.Run(op.name, func(t *testing.T) {
			o, b := newBroken(t)
			do := op.make(t, o)
			b.Begin(-1, false)
			sitetest.Must(t, do(t.Context()))
			calls := b.Made()
			b.Begin(-1, false)
			if len(calls) == 0 {
				t.Fatal("the operation does not use the store")
			}
			for _, stays := range []bool{false, true} {
				if stays && testing.Short() {
					continue
				}
				for n, call := range calls {
					do := op.make(t, o)
					b.Begin(n, stays)
					err := do(t.Context())
					b.Begin(-1, false)
					if !errors.Is(err, storetest.ErrScript) {
						t.Errorf("call %d, %s, failed, the later ones too: %v: error %v, want that of the store", n, call, stays, err)
					}
					if op.whole != nil {
						op.whole(t, o, call)
					}
				}
			}
		})
	}
}

// TestStatementsFail makes each statement of each operation fail, including statements in a transaction, and requires an error each time.
func TestStatementsFail(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: makes every statement of an answer fail")
	}
	for _, op := range operations() {
		t.Run(op.name, func(t *testing.T) {
			o, _ := newBroken(t)
			for n := 0; ; n++ {
				do := op.make(t, o)
				ctx := storetest.NewLosing(t.Context(), n)
				err := do(ctx)
				if !ctx.Lost() {
					sitetest.Must(t, err)
					if n == 0 {
						t.Fatal("the operation does not use the store")
					}
					return
				}
				if !errors.Is(err, storetest.ErrLost) {
					t.Errorf("statement %d failed: error %v, want its own", n, err)
				}
				if op.whole != nil {
					op.whole(t, o, fmt.Sprintf("statement %d", n))
				}
			}
		})
	}
}

// TestShareAudited: opening and closing a library each add an audit entry that names the partner.
func TestShareAudited(t *testing.T) {
	o, _ := newBroken(t)
	_, err := o.Answerer.Shares.Share(t.Context(), store.Share{Library: "theses", Partner: "north", Rule: sitetest.Sharing(false)})
	sitetest.Must(t, err)
	sitetest.Must(t, o.Answerer.Shares.Unshare(t.Context(), "theses", "north"))
	var actions []string
	lines, err := o.Store.Audit.Audit(t.Context(), 0, 100)
	sitetest.Must(t, err)
	for _, e := range lines {
		var d struct{ Library, Partner string }
		if json.Unmarshal(e.Detail, &d) == nil && d.Partner == "north" && d.Library == "theses" {
			actions = append(actions, e.Action)
		}
	}
	if len(actions) != 2 || actions[0] != "share" || actions[1] != "unshare" {
		t.Errorf("audited %v", actions)
	}
}
