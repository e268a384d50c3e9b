package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"concordat"
	"concordat/site/ask"
	"concordat/store"
	"concordat/web/message"
)

// Joining is how a site becomes a partner of others, for the pages of administration. by is the account that does it. An error
// that has a method Why is the administrator's to mend, who is told so in his language. Safe for concurrent use.
type Joining struct {
	Standing func(ctx context.Context) (Standing, error)
	// Cards are what the partners say of themselves.
	Cards func(ctx context.Context) (map[concordat.SiteID]PartnerCard, error)
	// SetAddress says where partners reach this site, and begins to listen for them if it does not yet.
	SetAddress func(ctx context.Context, by, address, listen string) error
	Invite     func(ctx context.Context, by string, o InvitationOffer) (Invitation, error)
	Redeem     func(ctx context.Context, by, invitation string) (concordat.SiteID, error)
	// Confirm makes a partner active whose six words are these.
	Confirm func(ctx context.Context, by string, site concordat.SiteID, words string) error
	Revoke  func(ctx context.Context, by string, site concordat.SiteID) error
	// Reach tries the address of a partner, and Catalogue asks it what it opens.
	Reach     func(ctx context.Context, site concordat.SiteID) error
	Catalogue func(ctx context.Context, site concordat.SiteID) error

	CreateFederation func(ctx context.Context, by string, f concordat.FederationID) error
	AddMember        func(ctx context.Context, by string, f concordat.FederationID, site concordat.SiteID) error
	JoinFederation   func(ctx context.Context, by string, f concordat.FederationID, leader concordat.SiteID) error
}

// Standing is this site as partners see it.
type Standing struct {
	Site        concordat.SiteID // empty: it has no keys
	Addresses   []string         // of its card
	Listens     bool
	Listen      string    // where, as configured
	Clustered   bool      // each machine is told by its configuration where to listen
	Exported    time.Time // when the root key was written elsewhere; zero: never
	WantsExport bool
}

// Reachable reports whether partners can reach the site, as far as it knows itself.
func (s Standing) Reachable() bool { return s.Listens && len(s.Addresses) > 0 }

// PartnerCard is what a partner says of itself.
type PartnerCard struct {
	Name      string
	Addresses []string
	Contact   string
}

// InvitationOffer says what an invitation is to hold.
type InvitationOffer struct {
	Note   string // whom it is for
	Grants []store.Grant
}

// Invitation is one that was just made.
type Invitation struct {
	Text string
	Ends time.Time
}

func (w adminPages) partnerRoutes() {
	w.page("GET /admin/partners", overseers, w.adminPartnersPage)
	w.page("POST /admin/partners", administrators, w.changePartners)
	w.page("GET /admin/partners/{site}", overseers, w.partnerPage)
	w.page("POST /admin/partners/{site}", administrators, w.changePartner)
}

// joining is what makes partners; it fails where nothing does.
func (w *Web) joining() (*Joining, error) {
	if w.o.Admin == nil || w.o.Admin.Joining == nil {
		return nil, errNoAdmin
	}
	return w.o.Admin.Joining, nil
}

// explained is an error of an administrator, by its reason.
type explained interface {
	error
	Why() string
}

// partnerProblem returns the key of the message for an error with a reason, and what else is known of it; empty: it has none.
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

// unconfirmed is how many partners wait until an administrator has compared the six words.
func (w *Web) unconfirmed(ctx context.Context, v *visitor) int {
	if v == nil || v.Role != store.RoleAdministrator {
		return 0
	}
	all, err := w.o.Store.Partners(ctx)
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

// namedMember is a site in a federation by its name.
type namedMember struct {
	Site concordat.SiteID
	Name string // empty: this site
}

// namedFederation is a federation with the names of its members.
type namedFederation struct {
	Name    concordat.FederationID
	Leader  namedMember
	Led     bool // by this site
	Members []namedMember
}

// Has reports whether a site is a member.
func (f namedFederation) Has(site concordat.SiteID) bool {
	return slices.ContainsFunc(f.Members, func(m namedMember) bool { return m.Site == site })
}

func (w adminPages) federations(ctx context.Context, own concordat.SiteID, rows []partnerRow) ([]namedFederation, error) {
	ms, err := w.o.Store.Memberships(ctx)
	if err != nil {
		return nil, err
	}
	named := func(site concordat.SiteID) namedMember {
		one := namedMember{Site: site}
		if site == own {
			return one
		}
		one.Name = string(site)
		if i := slices.IndexFunc(rows, func(p partnerRow) bool { return p.Site == site }); i >= 0 {
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

// partnersPage is the list of partners with the guide by which a site joins others.
type partnersPage struct {
	adminFrame
	Rows        []partnerRow
	Standing    *Standing // nil: pages make no partners
	Federations []namedFederation
	Open        []store.Invitation // that can still be redeemed
	Libraries   []store.Library
	Levels      []concordat.Show

	Made            *Invitation // a moment ago; it is shown once
	Problem, Detail string
	Asked           url.Values // what was asked for, beside a problem
}

// Was returns what was asked for in a field, or else the default.
func (p partnersPage) Was(name, otherwise string) string {
	if p.Asked.Has(name) {
		return p.Asked.Get(name)
	}
	return otherwise
}

// Address is the address at which partners reach the site now.
func (p partnersPage) Address() string {
	if len(p.Standing.Addresses) == 0 {
		return ""
	}
	return p.Standing.Addresses[0]
}

func (w adminPages) adminPartnersPage(rw http.ResponseWriter, r *http.Request, v *visitor) {
	w.showPartners(rw, r, v, http.StatusOK, partnersPage{})
}

func (w adminPages) showPartners(rw http.ResponseWriter, r *http.Request, v *visitor, code int, p partnersPage) {
	ctx := r.Context()
	var err error
	p.adminFrame, p.Levels = adminFor(v), concordat.Levels()[1:]
	if p.Rows, err = w.adminPartners(ctx); err == nil {
		p.Libraries, err = w.o.Store.Libraries(ctx)
	}
	if j, none := w.joining(); none == nil && err == nil {
		var s Standing
		if s, err = j.Standing(ctx); err == nil {
			p.Standing = &s
			p.Federations, err = w.federations(ctx, s.Site, p.Rows)
		}
	}
	var all []store.Invitation
	if err == nil {
		all, err = w.o.Store.Invitations(ctx)
	}
	if err != nil {
		w.fail(rw, r, v, err)
		return
	}
	for _, i := range all {
		if i.Used.IsZero() && w.o.Now().Before(i.Expires) {
			p.Open = append(p.Open, i)
		}
	}
	w.show(rw, r, v, code, "admin_partners", "title.admin", p)
}

// changePartners does a step of the guide.
func (w adminPages) changePartners(rw http.ResponseWriter, r *http.Request, v *visitor) {
	j, err := w.joining()
	if err == nil {
		err = form(rw, r)
	}
	if err != nil {
		w.fail(rw, r, v, err)
		return
	}
	ctx, f, to := r.Context(), r.PostForm, "/admin/partners"
	switch action := f.Get("action"); action {
	case "address":
		err = j.SetAddress(ctx, v.Name, f.Get("address"), strings.TrimSpace(f.Get("listen")))
	case "invite":
		var offer InvitationOffer
		var made Invitation
		if offer, err = readOffer(f); err == nil {
			made, err = j.Invite(ctx, v.Name, offer)
		}
		if err == nil {
			w.showPartners(rw, r, v, http.StatusOK, partnersPage{Made: &made})
			return
		}
	case "redeem":
		var site concordat.SiteID
		if site, err = j.Redeem(ctx, v.Name, f.Get("invitation")); err == nil {
			to = partnerPath(site)
		}
	case "federation":
		err = j.CreateFederation(ctx, v.Name, concordat.FederationID(strings.TrimSpace(f.Get("federation"))))
	default:
		err = fmt.Errorf("action %q: %w", action, concordat.ErrInvalid)
	}
	if key, detail := partnerProblem(err); key != "" {
		w.o.Logger.Info("refused", "path", r.URL.Path, "error", err)
		w.showPartners(rw, r, v, http.StatusBadRequest, partnersPage{Problem: key, Detail: detail, Asked: f})
		return
	}
	if err != nil {
		w.fail(rw, r, v, err)
		return
	}
	http.Redirect(rw, r, to, http.StatusSeeOther)
}

// readOffer takes what an invitation is to open from a form: the same rule for each library.
func readOffer(f url.Values) (InvitationOffer, error) {
	o := InvitationOffer{Note: strings.TrimSpace(f.Get("note"))}
	if len(o.Note) > mostNote {
		return o, message.Invalid("wrong.long", mostNote)
	}
	for _, id := range f["library"] {
		g := store.Grant{Library: concordat.LibraryID(id), Rule: store.ShareRule{Outline: concordat.OutlineWords}}
		if err := readShare(&g.Rule, url.Values{"level": f["level"], "purposes": f["purposes"]}); err != nil {
			return o, err
		}
		o.Grants = append(o.Grants, g)
	}
	return o, nil
}

func partnerPath(site concordat.SiteID) string {
	return "/admin/partners/" + url.PathEscape(string(site))
}

// onePartnerPage is a partner: what it was shown, and what is to be done with it next.
type onePartnerPage struct {
	adminFrame
	Partner     partnerRow
	Card        PartnerCard
	Exposure    *ask.Exposure
	Shares      []store.Share
	Alarms      []store.PartnerAlarm
	Joins       bool // pages make partners
	Federations []namedFederation
	Opens       []concordat.OpenLibrary // to this site, as it told last
	Told        bool                    // it has
	Libraries   []store.Library
	Levels      []concordat.Show

	Problem, Detail string
	Done            string // key of what was just done
}

// Common are the federations that both sites are in.
func (p onePartnerPage) Common() []namedFederation {
	return slices.DeleteFunc(slices.Clone(p.Federations), func(f namedFederation) bool { return !f.Has(p.Partner.Site) })
}

// ToAdd are the federations of this site of which the partner is no member yet.
func (p onePartnerPage) ToAdd() []namedFederation {
	return slices.DeleteFunc(slices.Clone(p.Federations), func(f namedFederation) bool { return !f.Led || f.Has(p.Partner.Site) })
}

func (w adminPages) partnerPage(rw http.ResponseWriter, r *http.Request, v *visitor) {
	w.showPartner(rw, r, v, http.StatusOK, onePartnerPage{})
}

func (w adminPages) showPartner(rw http.ResponseWriter, r *http.Request, v *visitor, code int, p onePartnerPage) {
	ctx := r.Context()
	rows, err := w.adminPartners(ctx)
	if err != nil {
		w.fail(rw, r, v, err)
		return
	}
	i := slices.IndexFunc(rows, func(p partnerRow) bool { return string(p.Site) == r.PathValue("site") })
	if i < 0 {
		w.fail(rw, r, v, fmt.Errorf("partner %s: %w", r.PathValue("site"), concordat.ErrNotFound))
		return
	}
	p.adminFrame, p.Partner, p.Card, p.Levels = adminFor(v), rows[i], rows[i].Card, concordat.Levels()[1:]
	if p.Exposure, err = w.o.Asks.Exposure(ctx, p.Partner.Site, showingsShown); err == nil {
		p.Shares, err = w.o.Store.Shares(ctx, "", p.Partner.Site)
	}
	if err == nil {
		p.Alarms, err = w.o.Store.PartnerAlarms(ctx, p.Partner.Site, showingsShown)
	}
	if err == nil {
		err = w.readJoining(ctx, &p, rows)
	}
	if err != nil {
		w.fail(rw, r, v, err)
		return
	}
	w.show(rw, r, v, code, "admin_partner", "title.admin", p)
}

// readJoining reads what the next steps with a partner need.
func (w adminPages) readJoining(ctx context.Context, p *onePartnerPage, rows []partnerRow) error {
	j, none := w.joining()
	if none != nil {
		return nil // commands make partners
	}
	p.Joins = true
	s, err := j.Standing(ctx)
	if err != nil {
		return err
	}
	if p.Federations, err = w.federations(ctx, s.Site, rows); err != nil {
		return err
	}
	if p.Libraries, err = w.o.Store.Libraries(ctx); err != nil {
		return err
	}
	active, err := w.o.Partners(ctx)
	for _, x := range active {
		if x.Site == p.Partner.Site {
			p.Opens, p.Told = x.Libraries, x.Libraries != nil
		}
	}
	return err
}

// changePartner does what comes next with a partner.
func (w adminPages) changePartner(rw http.ResponseWriter, r *http.Request, v *visitor) {
	j, err := w.joining()
	if err == nil {
		err = form(rw, r)
	}
	site := concordat.SiteID(r.PathValue("site"))
	if err == nil {
		_, err = w.o.Store.Partner(r.Context(), site)
	}
	if err != nil {
		w.fail(rw, r, v, err)
		return
	}
	done, err := w.doPartner(r.Context(), v, j, site, r.PostForm)
	switch key, detail := partnerProblem(err); {
	case key != "":
		w.o.Logger.Info("refused", "path", r.URL.Path, "error", err)
		w.showPartner(rw, r, v, http.StatusBadRequest, onePartnerPage{Problem: key, Detail: detail})
	case err != nil:
		w.fail(rw, r, v, err)
	case done != "":
		w.showPartner(rw, r, v, http.StatusOK, onePartnerPage{Done: done})
	default:
		http.Redirect(rw, r, partnerPath(site), http.StatusSeeOther)
	}
}

// doPartner does what a form asks for, and returns the key of a message about it; empty: the page shows it.
func (w adminPages) doPartner(ctx context.Context, v *visitor, j *Joining, site concordat.SiteID, f url.Values) (done string, err error) {
	name := concordat.FederationID(strings.TrimSpace(f.Get("federation")))
	switch action := f.Get("action"); action {
	case "confirm":
		return "", j.Confirm(ctx, v.Name, site, f.Get("words"))
	case "revoke":
		return "", j.Revoke(ctx, v.Name, site)
	case "reach":
		return "partner.reached", j.Reach(ctx, site)
	case "libraries":
		return "", j.Catalogue(ctx, site)
	case "member":
		return "", j.AddMember(ctx, v.Name, name, site)
	case "join":
		if err := j.JoinFederation(ctx, v.Name, name, site); err != nil {
			return "", err
		}
		if err := j.Catalogue(ctx, site); err != nil { // the page has a button for it
			w.o.Logger.Info("libraries of a partner", "site", site, "error", err)
		}
		return "", nil
	case "share":
		l, err := w.o.Store.Library(ctx, concordat.LibraryID(f.Get("library")))
		if err != nil {
			return "", err
		}
		f.Set("partner", string(site))
		return "", w.library.shareLibrary(ctx, v, l, f)
	default:
		return "", fmt.Errorf("action %q: %w", action, concordat.ErrInvalid)
	}
}

// partnerRow is a partner in the list.
type partnerRow struct {
	store.Partner
	Card  PartnerCard
	Title string // that it gives itself, or has here
	Asked int    // texts of this site that it was asked about
}

func (w adminPages) adminPartners(ctx context.Context) ([]partnerRow, error) {
	all, err := w.o.Store.Partners(ctx)
	if err != nil {
		return nil, err
	}
	asked, err := w.o.Store.Exposures(ctx)
	if err != nil {
		return nil, err
	}
	told, err := w.o.Partners(ctx)
	if err != nil {
		return nil, err
	}
	cards := map[concordat.SiteID]PartnerCard{}
	if j, none := w.joining(); none == nil {
		if cards, err = j.Cards(ctx); err != nil {
			return nil, err
		}
	}
	out := []partnerRow{}
	for _, p := range all {
		one := partnerRow{p, cards[p.Site], p.Name, asked[p.Site]}
		if name := cards[p.Site].Name; name != "" {
			one.Title = name
		}
		for _, x := range told {
			if x.Site == p.Site {
				one.Title = x.Name
			}
		}
		if one.Title == "" {
			one.Title = string(p.Site)
		}
		out = append(out, one)
	}
	return out, nil
}

// showingsShown is how many single showings a page lists.
const showingsShown = 100
