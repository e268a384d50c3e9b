package partners_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"concordat"
	"concordat/internal/webtest"
	"concordat/store"
	"concordat/web"
	"concordat/web/pages/partners"
)

// reason is an error that an administrator can fix.
type reason string

func (r reason) Error() string { return "details of " + string(r) }
func (r reason) Why() string   { return string(r) }

// scripted joins partners without a network. It records what the pages ask for, and fails if told to.
type scripted struct {
	mu    sync.Mutex
	fails error // returned by everything that changes something
	asked []string
}

func (s *scripted) note(words ...string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, strings.Join(words, " "))
	return s.fails
}

func (s *scripted) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fails = err
}

// took returns what was asked for since the last call.
func (s *scripted) took() (out []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out, s.asked = s.asked, nil
	return out
}

func (s *scripted) Standing(context.Context) (partners.Standing, error) {
	return partners.Standing{Site: "HERE", Addresses: []string{"https://here.example:8421"}, Listens: true, Listen: ":8421"}, nil
}

func (s *scripted) SetAddress(_ context.Context, by, address, listen string) error {
	return s.note("address", by, address, listen)
}

func (s *scripted) Cards(context.Context) (map[concordat.SiteID]partners.PartnerCard, error) {
	return map[concordat.SiteID]partners.PartnerCard{"EAST": {Name: "East <Site>", Contact: "dean@east.example"}}, nil
}

func (s *scripted) Reach(_ context.Context, site concordat.SiteID) error {
	return s.note("reach", string(site))
}

func (s *scripted) Catalogue(_ context.Context, site concordat.SiteID) error {
	return s.note("catalogue", string(site))
}

func (s *scripted) Invite(_ context.Context, by string, o partners.InvitationOffer) (partners.Invitation, error) {
	words := []string{"invite", by, o.Note}
	for _, g := range o.Grants {
		words = append(words, string(g.Library), string(g.Rule.Level))
	}
	return partners.Invitation{Text: "concordat-invite-1-SECRET", Ends: time.Now().Add(time.Hour)}, s.note(words...)
}

func (s *scripted) Redeem(_ context.Context, by, invitation string) (concordat.SiteID, error) {
	return "EAST", s.note("redeem", by, invitation)
}

func (s *scripted) Confirm(_ context.Context, by string, site concordat.SiteID, words string) error {
	return s.note("confirm", by, string(site), words)
}

func (s *scripted) Revoke(_ context.Context, by string, site concordat.SiteID) error {
	return s.note("revoke", by, string(site))
}

func (s *scripted) CreateFederation(_ context.Context, by string, f concordat.FederationID) error {
	return s.note("federation", by, string(f))
}

func (s *scripted) AddMember(_ context.Context, by string, f concordat.FederationID, site concordat.SiteID) error {
	return s.note("member", by, string(f), string(site))
}

func (s *scripted) JoinFederation(_ context.Context, by string, f concordat.FederationID, leader concordat.SiteID) error {
	return s.note("join", by, string(f), string(leader))
}

// TestJoining: each form of the pages does what its button says, on the administrator's behalf; a reason that an administrator can fix is
// shown in words, with details only where they help; auditors can read the pages but change nothing.
func TestJoining(t *testing.T) {
	t.Parallel()
	s := &scripted{}
	d := webtest.NewWith(t, true, func(o *web.Options) {
		o.Joining = &partners.Joining{Self: s, Contact: s, Partnership: s, Federations: s}
	})
	err := d.Store.Partners.AddPartner(t.Context(), store.Partner{Site: "EAST", Serial: 1, Card: []byte("card"), Words: "six words"})
	if err != nil {
		t.Fatal(err)
	}
	adam, axel := d.SignedIn(t, "adam", store.RoleAdministrator), d.SignedIn(t, "axel", store.RoleAuditor)
	const list, east = "/admin/partners", "/admin/partners/EAST"
	for _, c := range []struct {
		path string
		form url.Values
		want []string // what is asked for
	}{
		{list, url.Values{"action": {"address"}, "address": {"here.example:8421"}, "listen": {" :8421 "}},
			[]string{"address adam here.example:8421 :8421"}},
		{list, url.Values{"action": {"invite"}, "note": {" East "}, "library": {"theses"}, "level": {"counts"}},
			[]string{"invite adam East theses counts"}},
		{list, url.Values{"action": {"redeem"}, "invitation": {"concordat-invite-1-THEIRS"}},
			[]string{"redeem adam concordat-invite-1-THEIRS"}},
		{list, url.Values{"action": {"federation"}, "federation": {" health "}}, []string{"federation adam health"}},
		{east, url.Values{"action": {"confirm"}, "words": {"six words"}}, []string{"confirm adam EAST six words"}},
		{east, url.Values{"action": {"reach"}}, []string{"reach EAST"}},
		{east, url.Values{"action": {"libraries"}}, []string{"catalogue EAST"}},
		{east, url.Values{"action": {"member"}, "federation": {"health"}}, []string{"member adam health EAST"}},
		{east, url.Values{"action": {"join"}, "federation": {"theirs"}}, []string{"join adam theirs EAST", "catalogue EAST"}},
		{east, url.Values{"action": {"revoke"}}, []string{"revoke adam EAST"}},
	} {
		axel.Post(c.path, http.StatusForbidden, c.form)
		page := adam.Post(c.path, http.StatusOK, c.form)
		if got := s.took(); !slices.Equal(got, c.want) {
			t.Errorf("%v asks for %q, want %q", c.form, got, c.want)
		}
		if invited := c.form.Get("action") == "invite"; strings.Contains(page, "concordat-invite-1-SECRET") != invited {
			t.Errorf("%v: the invitation is shown: %t", c.form, !invited)
		}
	}
	if page := axel.Get(east, http.StatusOK); !strings.Contains(page, "East &lt;Site&gt;") || !strings.Contains(page, "dean@east.example") {
		t.Errorf("not what the partner says of itself:\n%s", page)
	}
	if page := adam.Get(list, http.StatusOK); strings.Contains(page, "concordat-invite-1-SECRET") {
		t.Error("the invitation is shown twice")
	}

	redeem := url.Values{"action": {"redeem"}, "invitation": {"concordat-invite-1-<b>"}}
	for why, details := range map[reason]bool{"known": false, "silent": true} {
		s.fail(why)
		page := adam.Post(list, http.StatusBadRequest, redeem)
		if strings.Contains(page, why.Error()) != details {
			t.Errorf("%s: details %t in\n%s", why, !details, page)
		}
		if strings.Contains(page, "partner.wrong.") || !strings.Contains(page, "concordat-invite-1-&lt;b&gt;") {
			t.Errorf("%s: no words, or what was entered is lost:\n%s", why, page)
		}
	}
	s.fail(reason("words"))
	if page := adam.Post(east, http.StatusBadRequest, url.Values{"action": {"confirm"}, "words": {"other"}}); !strings.Contains(page,
		"The words differ, and nothing was confirmed.") {
		t.Errorf("other words:\n%s", page)
	}
	s.fail(errors.New("a fault"))
	adam.Post(list, http.StatusInternalServerError, redeem)
	s.fail(nil)
	adam.Post(list, http.StatusBadRequest, url.Values{"action": {"dance"}})
	adam.Post(east, http.StatusBadRequest, url.Values{"action": {"dance"}})
	adam.Post("/admin/partners/NONE", http.StatusNotFound, url.Values{"action": {"reach"}})
	adam.Get("/admin/partners/NONE", http.StatusNotFound)
}

// TestAddedByCommands: a site whose process joins no partners shows them and refuses to add others.
func TestAddedByCommands(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	adam := d.SignedIn(t, "adam", store.RoleAdministrator)
	if page := adam.Get("/admin/partners", http.StatusOK); strings.Contains(page, `value="redeem"`) {
		t.Errorf("forms that cannot work:\n%s", page)
	}
	adam.Post("/admin/partners", http.StatusNotFound, url.Values{"action": {"redeem"}, "invitation": {"x"}})
}
