package partners

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"concordat"
	"concordat/site/ask"
	"concordat/store"
	"concordat/web/pages"
)

// onePartnerPage is the page about one partner. It lists what the partner was shown and what can be done next.
type onePartnerPage struct {
	pages.Administration
	Partner     Row
	Card        PartnerCard
	Exposure    *ask.Exposure
	Shares      []store.Share
	Alarms      []store.PartnerAlarm
	Joins       bool // partners can be added through the pages
	Federations []namedFederation
	Opens       []concordat.OpenLibrary // libraries open to this site, as last announced
	Told        bool                    // the partner has announced its libraries
	Libraries   []store.Library
	Levels      []concordat.Show
	People      pages.Names
	Titles      map[concordat.DocumentID]string // titles of the documents shown to the partner

	Problem, Detail string
	Done            string // message key of the latest action
}

// Common returns the federations that both sites belong to.
func (p onePartnerPage) Common() []namedFederation {
	return slices.DeleteFunc(slices.Clone(p.Federations), func(f namedFederation) bool { return !f.Has(p.Partner.Site) })
}

// ToAdd returns the federations of this site that the partner does not belong to yet.
func (p onePartnerPage) ToAdd() []namedFederation {
	return slices.DeleteFunc(slices.Clone(p.Federations), func(f namedFederation) bool { return !f.Led || f.Has(p.Partner.Site) })
}

func (w Partners) partnerPage(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	w.showPartner(rw, r, v, http.StatusOK, onePartnerPage{})
}

func (w Partners) showPartner(rw http.ResponseWriter, r *http.Request, v *pages.Visitor, code int, p onePartnerPage) {
	ctx := r.Context()
	rows, err := w.Rows(ctx)
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	i := slices.IndexFunc(rows, func(p Row) bool { return string(p.Site) == r.PathValue("site") })
	if i < 0 {
		w.frame.Fail(rw, r, v, fmt.Errorf("partner %s: %w", r.PathValue("site"), concordat.ErrNotFound))
		return
	}
	p.Administration, p.Partner, p.Card, p.Levels = pages.AdministrationFor(v), rows[i], rows[i].Card, concordat.Levels()[1:]
	if p.Exposure, err = w.o.Asks.Exposure(ctx, p.Partner.Site, showingsShown); err == nil {
		p.Shares, err = w.o.Store.Answers.Shares(ctx, "", p.Partner.Site)
	}
	if err == nil {
		p.Alarms, err = w.o.Store.Partners.PartnerAlarms(ctx, p.Partner.Site, showingsShown)
	}
	if err == nil {
		err = w.readJoining(ctx, &p, rows)
	}
	if err == nil {
		p.People, err = w.frame.Names(ctx)
	}
	p.Titles = map[concordat.DocumentID]string{}
	for i := 0; err == nil && i < len(p.Exposure.Documents); i++ {
		d := p.Exposure.Documents[i]
		var row store.DocumentRow
		if row, err = w.o.Store.Catalogue.DocumentRow(ctx, d.Library, d.Document); errors.Is(err, concordat.ErrNotFound) {
			err = nil // deleted in the meantime
		}
		p.Titles[d.Document] = pages.Visible(row.Title)
	}
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	w.frame.Show(rw, r, v, code, "admin_partner", "title.admin", p)
}

// readJoining reads the data for the next steps with a partner.
func (w Partners) readJoining(ctx context.Context, p *onePartnerPage, rows []Row) error {
	j, none := w.joining()
	if none != nil {
		return nil // partners are added with commands
	}
	p.Joins = true
	s, err := j.Self.Standing(ctx)
	if err != nil {
		return err
	}
	if p.Federations, err = w.federations(ctx, s.Site, rows); err != nil {
		return err
	}
	if p.Libraries, err = w.o.Store.Catalogue.Libraries(ctx); err != nil {
		return err
	}
	active, err := w.o.Shares.Choices.Partners(ctx)
	for _, x := range active {
		if x.Site == p.Partner.Site {
			p.Opens, p.Told = x.Libraries, x.Libraries != nil
		}
	}
	return err
}

// changePartner performs the next step with a partner.
func (w Partners) changePartner(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	j, err := w.joining()
	if err == nil {
		err = pages.ParseForm(rw, r)
	}
	site := concordat.SiteID(r.PathValue("site"))
	if err == nil {
		_, err = w.o.Store.Partners.Partner(r.Context(), site)
	}
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	done, err := w.doPartner(r.Context(), v, j, site, r.PostForm)
	switch key, detail := partnerProblem(err); {
	case key != "":
		w.o.Logger.Info("refused", "path", r.URL.Path, "error", err)
		w.showPartner(rw, r, v, http.StatusBadRequest, onePartnerPage{Problem: key, Detail: detail})
	case err != nil:
		w.frame.Fail(rw, r, v, err)
	case done != "":
		w.showPartner(rw, r, v, http.StatusOK, onePartnerPage{Done: done})
	default:
		http.Redirect(rw, r, partnerPath(site), http.StatusSeeOther)
	}
}

// doPartner performs the action of a form and returns the message key for the outcome, or "" if the page shows the outcome.
func (w Partners) doPartner(ctx context.Context, v *pages.Visitor, j *Joining, site concordat.SiteID, f url.Values) (
	done string, err error) {
	name := concordat.FederationID(strings.TrimSpace(f.Get("federation")))
	switch action := f.Get("action"); action {
	case "confirm":
		return "", j.Partnership.Confirm(ctx, v.Name, site, f.Get("words"))
	case "revoke":
		return "", j.Partnership.Revoke(ctx, v.Name, site)
	case "reach":
		return "partner.reached", j.Contact.Reach(ctx, site)
	case "libraries":
		return "", j.Contact.Catalogue(ctx, site)
	case "member":
		return "", j.Federations.AddMember(ctx, v.Name, name, site)
	case "join":
		if err := j.Federations.JoinFederation(ctx, v.Name, name, site); err != nil {
			return "", err
		}
		if err := j.Contact.Catalogue(ctx, site); err != nil { // the page has a button to try again
			w.o.Logger.Info("libraries of a partner", "site", site, "error", err)
		}
		return "", nil
	case "share":
		l, err := w.o.Store.Catalogue.Library(ctx, concordat.LibraryID(f.Get("library")))
		if err != nil {
			return "", err
		}
		f.Set("partner", string(site))
		return "", w.o.Shares.Open(ctx, v, l.ID, f)
	default:
		return "", fmt.Errorf("action %q: %w", action, concordat.ErrInvalid)
	}
}

// Row is a partner in the list.
type Row struct {
	store.Partner
	Card  PartnerCard
	Title string // title from the partner, or assigned to it here
	Asked int    // number of this site's texts that the partner asked about
}

func (w Partners) Rows(ctx context.Context) ([]Row, error) {
	all, err := w.o.Store.Partners.Partners(ctx)
	if err != nil {
		return nil, err
	}
	asked, err := w.o.Store.Asks.Exposures(ctx)
	if err != nil {
		return nil, err
	}
	told, err := w.o.Shares.Choices.Partners(ctx)
	if err != nil {
		return nil, err
	}
	cards := map[concordat.SiteID]PartnerCard{}
	if j, none := w.joining(); none == nil {
		if cards, err = j.Contact.Cards(ctx); err != nil {
			return nil, err
		}
	}
	out := []Row{}
	for _, p := range all {
		one := Row{p, cards[p.Site], p.Name, asked[p.Site]}
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

// showingsShown is the maximum number of individual showings on a page.
const showingsShown = 100
