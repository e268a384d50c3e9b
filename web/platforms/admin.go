package platforms

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"concordat"
	"concordat/store"
	"concordat/web"
	"concordat/web/lti"
	"concordat/web/pages"
)

const (
	// purposeLTI is the purpose of a single-use link for a platform to register itself.
	purposeLTI   store.Purpose = "lti"
	registerTime               = 24 * time.Hour
	// recentAssets is the number of files from platforms on the page.
	recentAssets = 50
)

type platformsPage struct {
	Platforms []store.LTIPlatform
	Assets    []store.LTIAsset
	Tool      lti.Tool
	Link      string // link for a platform to register itself; shown only once
	Problem   string
	Form      url.Values
}

// Field returns the value entered in a field, so that it can be shown again.
func (p platformsPage) Field(name string) string { return p.Form.Get(name) }

func (d *Tool) platformsPage(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	d.showPlatforms(rw, r, v, http.StatusOK, platformsPage{})
}

func (d *Tool) showPlatforms(rw http.ResponseWriter, r *http.Request, v *pages.Visitor, code int, p platformsPage) {
	var err error
	p.Tool = d.tool()
	if p.Platforms, err = d.w.Options().Store.LTI.LTIPlatforms(r.Context()); err == nil {
		p.Assets, err = d.w.Options().Store.LTI.LTIAssets(r.Context(), recentAssets)
	}
	if err != nil {
		d.w.Fail(rw, r, v, err)
		return
	}
	d.w.Show(rw, r, v, code, "platforms", "title.platforms", p)
}

// changePlatforms adds, changes and removes platforms, and creates registration links.
func (d *Tool) changePlatforms(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	if err := pages.ParseForm(rw, r); err != nil {
		d.w.Fail(rw, r, v, err)
		return
	}
	f, ctx := r.PostForm, r.Context()
	action := f.Get("action")
	var err error
	switch action {
	case "add":
		err = d.AddPlatform(ctx, v.Name, platformForm(f))
		if errors.Is(err, concordat.ErrInvalid) || errors.Is(err, concordat.ErrExists) {
			d.showPlatforms(rw, r, v, http.StatusBadRequest, platformsPage{Problem: err.Error(), Form: f})
			return
		}
	case "deployments", "enable", "disable":
		err = d.ChangePlatform(ctx, v.Name, f.Get("id"), action, lines(f.Get("deployments")))
	case "remove":
		err = d.RemovePlatform(ctx, v.Name, f.Get("id"))
	case "link":
		secret, now := rand.Text(), d.w.Options().Now()
		err = d.w.Options().Store.People.PutToken(ctx, secret, store.Token{Purpose: purposeLTI, Account: v.Name, Made: now,
			Expires: now.Add(registerTime)})
		if err == nil {
			d.showPlatforms(rw, r, v, http.StatusOK, platformsPage{Link: d.w.Options().Base + "/lti/register?key=" + secret})
			return
		}
	default:
		err = fmt.Errorf("action %q: %w", action, concordat.ErrInvalid)
	}
	if err != nil {
		d.w.Fail(rw, r, v, err)
		return
	}
	http.Redirect(rw, r, "/platforms", http.StatusSeeOther)
}

// lines splits a field at line breaks and commas.
func lines(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' || r == ',' || r == ' ' })
}

func platformForm(f url.Values) store.LTIPlatform {
	field := func(name string) string { return strings.TrimSpace(f.Get(name)) }
	return store.LTIPlatform{ID: field("id"), Name: field("name"), Issuer: field("issuer"), Client: field("client"),
		AuthURL:  field("auth_url"),
		TokenURL: field("token_url"), TokenAudience: field("token_aud"), KeysURL: field("keys_url"), Deployments: lines(f.Get("deployments")),
		Hosts: lines(f.Get("hosts"))}
}

var platformID = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`)

// Check returns the errors in a registration; private has the same meaning as in Options.
func Check(p store.LTIPlatform, private bool) error {
	if !platformID.MatchString(p.ID) {
		return fmt.Errorf("%w: id %q: want lower-case letters, digits and hyphens, at most 32", concordat.ErrInvalid, p.ID)
	}
	return platformOf(p).Validate(private)
}

// AddPlatform registers a platform; if the ID is taken it fails with concordat.ErrExists.
func (d *Tool) AddPlatform(ctx context.Context, who string, p store.LTIPlatform) error {
	if err := Check(p, d.o.Private); err != nil {
		return err
	}
	p.Made = d.w.Options().Now()
	detail := map[string]any{"platform": p.ID, "issuer": p.Issuer, "client": p.Client}
	return pages.Change(ctx, d.w.Options().Store, who, "lti_platform_added", detail, func(tx *store.DB) error {
		if _, err := tx.LTI.LTIPlatform(ctx, p.ID); err == nil {
			return fmt.Errorf("platform %s: %w", p.ID, concordat.ErrExists)
		}
		return tx.LTI.PutLTIPlatform(ctx, p)
	})
}

// ChangePlatform sets the accepted deployments of a platform, or disables or enables it.
func (d *Tool) ChangePlatform(ctx context.Context, who, id, action string, deployments []string) error {
	detail := map[string]any{"platform": id}
	return pages.Change(ctx, d.w.Options().Store, who, "lti_platform_"+action, detail, func(tx *store.DB) error {
		p, err := tx.LTI.LTIPlatform(ctx, id)
		if err != nil {
			return err
		}
		switch action {
		case "deployments":
			p.Deployments = deployments
		default:
			p.Disabled = action == "disable"
		}
		detail["deployments"] = p.Deployments
		return tx.LTI.PutLTIPlatform(ctx, p)
	})
}

// RemovePlatform removes a platform but keeps the checks that it requested.
func (d *Tool) RemovePlatform(ctx context.Context, who, id string) error {
	return pages.Change(ctx, d.w.Options().Store, who, "lti_platform_removed", map[string]any{"platform": id}, func(tx *store.DB) error {
		return tx.LTI.DeleteLTIPlatform(ctx, id)
	})
}

type registerView struct{ Key, Offer, Token, Issuer, Family string }

// registerPage asks a platform's administrator whether to register it (Dynamic Registration 1.0, section 3.3). The page is reached
// through a secret link created by an administrator of the site.
func (d *Tool) registerPage(rw http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	p := registerView{Key: q.Get("key"), Offer: q.Get("openid_configuration"), Token: q.Get("registration_token")}
	if _, err := d.w.Options().Store.People.Token(r.Context(), p.Key, purposeLTI); err != nil {
		d.w.Fail(rw, r, nil, err)
		return
	}
	o, err := d.client.ReadOffer(r.Context(), p.Offer)
	if err != nil {
		d.w.Fail(rw, r, nil, err)
		return
	}
	p.Issuer, p.Family = o.Issuer, o.Platform.Family
	d.frame(rw, store.LTIPlatform{Issuer: o.Issuer, AuthURL: o.AuthURL}, web.ContentPolicy)
	d.w.Show(rw, r, nil, http.StatusOK, "lti_register", "title.lti.register", p)
}

func (d *Tool) register(rw http.ResponseWriter, r *http.Request) {
	if err := pages.ParseForm(rw, r); err != nil {
		d.w.Fail(rw, r, nil, err)
		return
	}
	f, ctx := r.PostForm, r.Context()
	t, err := d.w.Options().Store.People.Token(ctx, f.Get("key"), purposeLTI)
	var o *lti.Offer
	if err == nil {
		o, err = d.client.ReadOffer(ctx, f.Get("openid_configuration"))
	}
	var p *lti.Platform
	if err == nil {
		p, err = d.client.Register(ctx, o, f.Get("registration_token"), d.tool())
	}
	if err == nil {
		var id string
		if id, err = d.freeID(ctx, o); err == nil {
			err = d.AddPlatform(ctx, t.Account, store.LTIPlatform{ID: id, Name: o.Platform.Family, Issuer: p.Issuer, Client: p.ClientID,
				AuthURL:  p.AuthURL,
				TokenURL: p.TokenURL, TokenAudience: p.TokenAudience, KeysURL: p.KeysURL, Deployments: p.Deployments})
		}
	}
	if err == nil {
		err = d.w.Options().Store.People.DeleteToken(ctx, f.Get("key"))
	}
	if err != nil {
		d.w.Fail(rw, r, nil, err)
		return
	}
	d.frame(rw, store.LTIPlatform{Issuer: o.Issuer, AuthURL: o.AuthURL}, web.ContentPolicy)
	d.w.Show(rw, r, nil, http.StatusOK, "lti_registered", "title.lti.register", len(p.Deployments) == 0)
}

// freeID returns an unused ID derived from the host of a platform.
func (d *Tool) freeID(ctx context.Context, o *lti.Offer) (string, error) {
	u, err := url.Parse(o.Issuer)
	if err != nil {
		return "", err
	}
	name := strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(u.Hostname())), "-")
	name = strings.Trim(name[:min(len(name), 28)], "-")
	all, err := d.w.Options().Store.LTI.LTIPlatforms(ctx)
	if err != nil {
		return "", err
	}
	for n := 1; ; n++ {
		id := name
		if n > 1 {
			id = fmt.Sprintf("%s-%d", name, n)
		}
		if !slices.ContainsFunc(all, func(p store.LTIPlatform) bool { return p.ID == id }) {
			return id, nil
		}
	}
}
