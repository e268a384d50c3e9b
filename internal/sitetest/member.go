package sitetest

import (
	"context"
	"testing"

	"concordat"
	"concordat/internal/indextest"
	"concordat/internal/storetest"
	"concordat/profile"
	"concordat/site"
	"concordat/site/answer"
	"concordat/site/ask"
	"concordat/store"
)

// InProcess is a site as seen by another site in this process, on top of an Answerer.
type InProcess struct {
	From concordat.SiteID
	To   concordat.Answerer
	ID   concordat.SiteID
}

var (
	_ site.Partner  = InProcess{}
	_ ask.Discloser = InProcess{}
	_ ask.Listener  = InProcess{}
	_ ask.Shipper   = InProcess{}
)

func (l InProcess) Site() concordat.SiteID { return l.ID }

func (l InProcess) Ask(ctx context.Context, a *concordat.Ask) (*concordat.SiteAnswer, error) {
	return l.To.Answer(ctx, l.From, a)
}

func (l InProcess) Outline(ctx context.Context, a *concordat.OutlineAsk) (*concordat.Outlines, error) {
	return l.To.AnswerOutline(ctx, l.From, a)
}

func (l InProcess) Edges(ctx context.Context, a *concordat.EdgesAsk) (*concordat.Edges, error) {
	return l.To.AnswerEdges(ctx, l.From, a)
}

func (l InProcess) Reveal(ctx context.Context, a *concordat.RevealAsk) (*concordat.Revealed, error) {
	return l.To.AnswerReveal(ctx, l.From, a)
}

func (l InProcess) Leads(ctx context.Context, a *concordat.LeadAsk) (*concordat.LeadAnswer, error) {
	return l.To.AnswerLeads(ctx, l.From, a)
}

func (l InProcess) Ship(ctx context.Context, a *concordat.ShipAsk) (*concordat.Shipment, error) {
	return l.To.AnswerShip(ctx, l.From, a)
}

func (l InProcess) Notify(ctx context.Context, n *concordat.Notice) error {
	return l.To.Receive(ctx, l.From, n)
}

// FederationEpoch is the epoch of the members.
var FederationEpoch = concordat.Epoch{Federation: "test", Number: 1}

// Member is a site of a federation within this process.
type Member struct {
	*Parts
	SiteID   concordat.SiteID
	Profiler *profile.Profiler
}

// NewMember creates a site whose own scheme is the federation's, so that its matches can be compared bit by bit with the matches of
// partners.
func NewMember(t testing.TB, id concordat.SiteID, libraries ...concordat.LibraryID) *Member {
	t.Helper()
	db, err := store.Open(t.Context(), storetest.SQLitePath(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	p := Keyed(t, federationKey)
	m := &Member{SiteID: id, Profiler: p}
	m.Parts = &Parts{Store: db, Index: &Faulty{Index: &indextest.Oracle{Site: id, Scheme: p.Scheme()}}}
	m.Services = Open(site.Options{ID: id, Index: m.Index, Store: db, Profiler: p})
	for _, l := range libraries {
		if err := db.Catalogue.CreateLibrary(t.Context(), store.Library{ID: l, Title: string(l)}); err != nil {
			t.Fatal(err)
		}
	}
	err = m.Sets.UseEpochs(t.Context(), answer.EpochSet{Epoch: FederationEpoch, Profiler: p,
		Index:     &indextest.Oracle{Site: id, Scheme: p.Scheme()},
		SketchKey: []byte("sketch key of the federation ..."), CellKey: Key("cells"),
		HandleKey: []byte("handle key of " + string(id) + ".................")})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// ShareAll shares the member's given libraries with another member.
func (m *Member) ShareAll(t testing.TB, to concordat.SiteID, rule store.ShareRule, libraries ...concordat.LibraryID) {
	t.Helper()
	for _, l := range libraries {
		if _, err := m.Answerer.Shares.Share(t.Context(), store.Share{Library: l, Partner: to, Rule: rule}); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Sets.CatchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// SeenBy returns the member as a partner of another member.
func (m *Member) SeenBy(from concordat.SiteID, libraries ...concordat.LibraryID) site.PartnerLibraries {
	return site.PartnerLibraries{Partner: InProcess{from, m.Answerer, m.SiteID}, Epoch: FederationEpoch, Profiler: m.Profiler,
		SketchKey: []byte("sketch key of the federation ..."), CellKey: Key("cells"), Libraries: libraries}
}
