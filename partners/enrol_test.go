package partners

import (
	"crypto/rand"
	"database/sql"
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"concordat"
	"concordat/federation"
	"concordat/instance"
	"concordat/store"
)

// TestRevokedGetsNothing: after its revocation, a partner finds every library closed. The federations that it still belongs to are
// listed, so that it can be removed from them, and it cannot be revoked again.
func TestRevokedGetsNothing(t *testing.T) {
	o := storeOnly(t)
	m := members(t, 2)
	north := m[1]
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(o.Store.Partners.AddPartner(t.Context(), store.Partner{Site: north.name, Serial: north.card.Serial, Card: north.card.Bytes()}))
	must(o.Store.Partners.SetPartnerState(t.Context(), north.name, store.PartnerPending, store.PartnerActive))
	change := func(statement string) {
		t.Helper()
		db, err := sql.Open("sqlite3", filepath.Join(o.Dir, instance.StoreName))
		must(err)
		defer db.Close()
		_, err = db.ExecContext(t.Context(), statement)
		must(err)
	}
	for _, lib := range []concordat.LibraryID{"theses", "papers"} {
		must(o.Store.Catalogue.CreateLibrary(t.Context(), store.Library{ID: lib}))
		rule := store.ShareRule{Level: concordat.ShowMetadata}
		_, err := o.Answers.Shares.Share(t.Context(), store.Share{Library: lib, Partner: north.name, Rule: rule})
		must(err)
	}
	must(o.Store.Partners.Join(t.Context(), "health", m[0].name, m[0].name, north.name))
	must(o.Store.Partners.Join(t.Context(), "law", m[0].name, m[0].name))
	p, err := o.Store.Partners.Partner(t.Context(), north.name)
	must(err)
	change(`CREATE TRIGGER stuck BEFORE DELETE ON share BEGIN SELECT RAISE(ABORT, 'stuck'); END`)
	if _, err := Revoke(t.Context(), o, p, "root"); err == nil {
		t.Error("a library could not be closed, and nothing is said")
	}
	change(`DROP TRIGGER stuck`)
	must(o.Store.Partners.SetPartnerState(t.Context(), north.name, store.PartnerRevoked, store.PartnerActive))
	in, err := Revoke(t.Context(), o, p, "root")
	if err != nil || !slices.Equal(in, []concordat.FederationID{"health"}) {
		t.Errorf("it is still in %v, want health (%v)", in, err)
	}
	if p, err = o.Store.Partners.Partner(t.Context(), north.name); err != nil || p.State != store.PartnerRevoked {
		t.Errorf("its state is %s, %v", p.State, err)
	}
	if shares, err := o.Store.Answers.Shares(t.Context(), "", north.name); err != nil || len(shares) > 0 {
		t.Errorf("%d libraries are open to it, %v", len(shares), err)
	}
	if _, err := Revoke(t.Context(), o, p, "root"); err == nil {
		t.Error("it was revoked twice")
	}
	entries, err := o.Store.Audit.Audit(t.Context(), 0, 0)
	must(err)
	if !slices.ContainsFunc(entries, func(e store.AuditEntry) bool { return e.Action == "partner revoked" }) {
		t.Error("the audit does not have it")
	}
}

// TestStrangersComeForTenMinutes: a caller without a card can connect only while an invitation is open and for ten minutes after it was
// used, in case the reply was lost, however many invitations there were.
func TestStrangersComeForTenMinutes(t *testing.T) {
	m := members(t, 2)
	r := m[0].Roster
	at := func(after time.Duration) bool {
		r.now = func() time.Time { return time.Now().Add(after) }
		return r.Inviting()
	}
	if at(0) {
		t.Error("strangers are heard without an invitation")
	}
	hash := [32]byte{1}
	if err := r.db.Partners.AddInvitation(t.Context(), store.Invitation{Hash: hash, Expires: time.Now().Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	if !at(0) {
		t.Error("the invited site is not heard")
	}
	stranger := members(t, 1)[0]
	if err := r.db.Partners.Redeem(t.Context(), hash, [32]byte{2}, store.Partner{Site: stranger.name, Serial: stranger.card.Serial,
		Card: stranger.card.Bytes()}); err != nil {
		t.Fatal(err)
	}
	for after, want := range map[time.Duration]bool{time.Minute: true, receiptTime - time.Minute: true, receiptTime + time.Minute: false,
		24 * time.Hour: false} {
		if got := at(after); got != want {
			t.Errorf("%s after the enrolment strangers are heard: %v, want %v", after, got, want)
		}
	}
}

// TestAnswerOf: AnswerOf preserves every error, and adds the reason to an error from another site.
func TestAnswerOf(t *testing.T) {
	own := errors.New("the disk is full")
	if got := AnswerOf(own); !errors.Is(got, own) {
		t.Errorf("an error of this site becomes %v", got)
	}
	for kind, want := range map[federation.Kind]Refused{federation.KindSilent: RefusedSilent, federation.KindRejected: RefusedTurnedAway,
		federation.KindStranger: RefusedImpostor} {
		theirs := &federation.Error{Kind: kind, Err: own}
		var e *RefusedError
		if got := AnswerOf(theirs); !errors.As(got, &e) || e.Reason != want || !errors.Is(got, theirs) {
			t.Errorf("%v becomes %#v, want the reason %v", theirs, got, want)
		}
	}
}

// TestFederationNotJoinedYet: a federation whose keys this site has not yet received does not delay the others.
func TestFederationNotJoinedYet(t *testing.T) {
	o := storeOnly(t)
	m := members(t, 2)
	id, err := m[0].id.NewEpoch("health", time.Now(), time.Hour, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	m[0].Use(id, m[0].card)
	for f, who := range map[concordat.FederationID][]concordat.SiteID{"arts": {m[0].name, m[1].name}, "health": {m[0].name, m[1].name},
		"law": {m[0].name}} {
		if err := o.Store.Partners.Join(t.Context(), f, m[0].name, who...); err != nil {
			t.Fatal(err)
		}
	}
	got, err := (&Client{o: o, roster: m[0].Roster}).shared(t.Context(), m[1].name)
	if err != nil || len(got) != 1 || got[0].Name != "health" {
		t.Errorf("shared are %v, %v; want health", got, err)
	}
}
