// Package partners serves the pages that show a site's partners to administrators and auditors, list what each partner was shown, and add
// others. Start with New.
package partners

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"concordat"
	"concordat/site/ask"
	"concordat/store"
	"concordat/web/message"
	"concordat/web/pages"
	"concordat/web/pages/shares"
)

// Joining connects the site with partners for the administration pages. In the methods of its parts, by is the acting account. An error
// with a method Why is one that an administrator can fix; the page shows it in the administrator's language. The methods are safe for
// concurrent use.
type Joining struct {
	Self        Self
	Contact     Contact
	Partnership Partnership
	Federations Federations
}

// Self is this site as partners see it.
type Self interface {
	Standing(ctx context.Context) (Standing, error)
	// SetAddress sets the address that partners use to reach this site, and starts listening for partners if the site is not listening
	// yet.
	SetAddress(ctx context.Context, by, address, listen string) error
}

// Contact sends questions to partners and knows how they describe themselves.
type Contact interface {
	// Cards returns the partners' own descriptions of themselves.
	Cards(ctx context.Context) (map[concordat.SiteID]PartnerCard, error)
	// Reach tests a partner's address, and Catalogue asks which libraries the partner opens.
	Reach(ctx context.Context, site concordat.SiteID) error
	Catalogue(ctx context.Context, site concordat.SiteID) error
}

// Partnership makes sites partners and ends partnerships.
type Partnership interface {
	Invite(ctx context.Context, by string, o InvitationOffer) (Invitation, error)
	Redeem(ctx context.Context, by, invitation string) (concordat.SiteID, error)
	// Confirm activates a partner if the given words match its six words.
	Confirm(ctx context.Context, by string, site concordat.SiteID, words string) error
	Revoke(ctx context.Context, by string, site concordat.SiteID) error
}

// Federations creates federations, adds members to them, and joins others.
type Federations interface {
	CreateFederation(ctx context.Context, by string, f concordat.FederationID) error
	AddMember(ctx context.Context, by string, f concordat.FederationID, site concordat.SiteID) error
	JoinFederation(ctx context.Context, by string, f concordat.FederationID, leader concordat.SiteID) error
}

// Standing describes this site as partners see it.
type Standing struct {
	Site        concordat.SiteID // empty if the site has no keys
	Addresses   []string         // addresses on its card
	Listens     bool
	Listen      string    // configured listening address
	Clustered   bool      // each machine reads its address from its own configuration
	Exported    time.Time // when the root key was exported; zero if never
	WantsExport bool
}

// Reachable reports whether, as far as the site knows, partners can reach it.
func (s Standing) Reachable() bool { return s.Listens && len(s.Addresses) > 0 }

// PartnerCard is a partner's description of itself.
type PartnerCard struct {
	Name      string
	Addresses []string
	Contact   string
}

// InvitationOffer describes what an invitation opens.
type InvitationOffer struct {
	Note   string // the intended recipient
	Grants []store.Grant
}

// Invitation is a newly created invitation.
type Invitation struct {
	Text string
	Ends time.Time
}

// Options configures the pages.
type Options struct {
	Store   *store.DB
	Asks    *ask.Asker    // asks partners, and knows what they were shown
	Shares  shares.Shares // opens libraries to partners
	Joining *Joining      // if nil, partners are added with commands
	Logger  *slog.Logger
	Now     func() time.Time
}

// Partners shows the partners of a site, and adds others.
type Partners struct {
	frame pages.Frame
	o     Options
}

// New adds the pages to a site.
func New(frame pages.Frame, o Options) Partners {
	w := Partners{frame, o}
	frame.AddPage("GET /admin/partners", pages.Overseers, w.partnersPage)
	frame.AddPage("POST /admin/partners", pages.Administrators, w.changePartners)
	frame.AddPage("GET /admin/partners/{site}", pages.Overseers, w.partnerPage)
	frame.AddPage("POST /admin/partners/{site}", pages.Administrators, w.changePartner)
	return w
}

// joining returns the site's Joining, or an error if there is none.
func (w Partners) joining() (*Joining, error) {
	if w.o.Joining == nil {
		return nil, pages.ErrNoProcess
	}
	return w.o.Joining, nil
}

// explained is an error with a reason that is shown to administrators.
type explained interface {
	error
	Why() string
}

// partnerProblem returns the message key for an error with a reason, and details. The key is empty if the error has no reason.
func partnerProblem(err error) (key, detail string) {
	var e explained
	if !errors.As(err, &e) {
		return "", ""
	}
	switch e.Why() {
	case "silent", "listen", "settings", "impostor":
		detail = err.Error()
	}
	return "partner.wrong." + e.Why(), detail
}

// Unconfirmed returns the number of partners whose six words an administrator has not compared yet.
func (w Partners) Unconfirmed(ctx context.Context, v *pages.Visitor) int {
	if v == nil || v.Role != store.RoleAdministrator {
		return 0
	}
	all, err := w.o.Store.Partners.Partners(ctx)
	if err != nil {
		w.o.Logger.Error("partners that wait", "error", err)
	}
	n := 0
	for _, p := range all {
		if p.State == store.PartnerPending {
			n++
		}
	}
	return n
}

// namedMember is a federation member with its name.
type namedMember struct {
	Site concordat.SiteID
	Name string // empty for this site
}

// namedFederation is a federation with its members' names.
type namedFederation struct {
	Name    concordat.FederationID
	Leader  namedMember
	Led     bool // this site leads it
	Members []namedMember
}

// Has reports whether a site is a member.
func (f namedFederation) Has(site concordat.SiteID) bool {
	return slices.ContainsFunc(f.Members, func(m namedMember) bool { return m.Site == site })
}

func (w Partners) federations(ctx context.Context, own concordat.SiteID, rows []Row) ([]namedFederation, error) {
	ms, err := w.o.Store.Partners.Memberships(ctx)
	if err != nil {
		return nil, err
	}
	named := func(site concordat.SiteID) namedMember {
		one := namedMember{Site: site}
		if site == own {
			return one
		}
		one.Name = string(site)
		if i := slices.IndexFunc(rows, func(p Row) bool { return p.Site == site }); i >= 0 {
			one.Name = rows[i].Title
		}
		return one
	}
	var out []namedFederation
	for _, m := range ms {
		one := namedFederation{Name: m.Federation, Leader: named(m.Leader), Led: m.Leader == own}
		for _, x := range m.Members {
			if x.Removed.IsZero() {
				one.Members = append(one.Members, named(x.Site))
			}
		}
		out = append(out, one)
	}
	return out, nil
}

// listPage is the list of partners, with a guide for adding others.
type listPage struct {
	pages.Administration
	Rows        []Row
	Standing    *Standing // nil if partners cannot be added through the pages
	Federations []namedFederation
	Open        []store.Invitation // invitations that can still be redeemed
	Libraries   []store.Library
	Levels      []concordat.Show

	Made            *Invitation // new invitation, shown only once
	Problem, Detail string
	Asked           url.Values // rejected values, to be shown again
}

// Was returns the value that was sent in a field, or otherwise if there is none.
func (p listPage) Was(name, otherwise string) string {
	if p.Asked.Has(name) {
		return p.Asked.Get(name)
	}
	return otherwise
}

// Address returns the current address for partners.
func (p listPage) Address() string {
	if len(p.Standing.Addresses) == 0 {
		return ""
	}
	return p.Standing.Addresses[0]
}

func (w Partners) partnersPage(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	w.showPartners(rw, r, v, http.StatusOK, listPage{})
}

func (w Partners) showPartners(rw http.ResponseWriter, r *http.Request, v *pages.Visitor, code int, p listPage) {
	ctx := r.Context()
	var err error
	p.Administration, p.Levels = pages.AdministrationFor(v), concordat.Levels()[1:]
	if p.Rows, err = w.Rows(ctx); err == nil {
		p.Libraries, err = w.o.Store.Catalogue.Libraries(ctx)
	}
	if j, none := w.joining(); none == nil && err == nil {
		var s Standing
		if s, err = j.Self.Standing(ctx); err == nil {
			p.Standing = &s
			p.Federations, err = w.federations(ctx, s.Site, p.Rows)
		}
	}
	var all []store.Invitation
	if err == nil {
		all, err = w.o.Store.Partners.Invitations(ctx)
	}
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	for _, i := range all {
		if i.Used.IsZero() && w.o.Now().Before(i.Expires) {
			p.Open = append(p.Open, i)
		}
	}
	w.frame.Show(rw, r, v, code, "admin_partners", "title.admin", p)
}

// changePartners performs a step of the guide.
func (w Partners) changePartners(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	j, err := w.joining()
	if err == nil {
		err = pages.ParseForm(rw, r)
	}
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	ctx, f, to := r.Context(), r.PostForm, "/admin/partners"
	switch action := f.Get("action"); action {
	case "address":
		err = j.Self.SetAddress(ctx, v.Name, f.Get("address"), strings.TrimSpace(f.Get("listen")))
	case "invite":
		var offer InvitationOffer
		var made Invitation
		if offer, err = readOffer(f); err == nil {
			made, err = j.Partnership.Invite(ctx, v.Name, offer)
		}
		if err == nil {
			w.showPartners(rw, r, v, http.StatusOK, listPage{Made: &made})
			return
		}
	case "redeem":
		var site concordat.SiteID
		if site, err = j.Partnership.Redeem(ctx, v.Name, f.Get("invitation")); err == nil {
			to = partnerPath(site)
		}
	case "federation":
		err = j.Federations.CreateFederation(ctx, v.Name, concordat.FederationID(strings.TrimSpace(f.Get("federation"))))
	default:
		err = fmt.Errorf("action %q: %w", action, concordat.ErrInvalid)
	}
	if key, detail := partnerProblem(err); key != "" {
		w.o.Logger.Info("refused", "path", r.URL.Path, "error", err)
		w.showPartners(rw, r, v, http.StatusBadRequest, listPage{Problem: key, Detail: detail, Asked: f})
		return
	}
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	http.Redirect(rw, r, to, http.StatusSeeOther)
}

// readOffer reads an InvitationOffer from a form. One rule applies to all libraries.
func readOffer(f url.Values) (InvitationOffer, error) {
	o := InvitationOffer{Note: strings.TrimSpace(f.Get("note"))}
	if len(o.Note) > pages.MaxNote {
		return o, message.Invalid("wrong.long", pages.MaxNote)
	}
	for _, id := range f["library"] {
		g := store.Grant{Library: concordat.LibraryID(id), Rule: store.DefaultShareRule()}
		if err := shares.ReadRule(&g.Rule, url.Values{"level": f["level"], "purposes": f["purposes"]}); err != nil {
			return o, err
		}
		o.Grants = append(o.Grants, g)
	}
	return o, nil
}

func partnerPath(site concordat.SiteID) string {
	return "/admin/partners/" + url.PathEscape(string(site))
}
