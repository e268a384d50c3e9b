package partners

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"concordat"
	"concordat/crypto"
	"concordat/federation"
	"concordat/instance"
	"concordat/site"
	"concordat/site/compare"
	"concordat/store"
)

// Wanted is a partner that a check should query, with the libraries to query. If Libraries is empty, the query covers everything open to
// this site.
type Wanted struct {
	Partner   store.Partner
	Libraries []concordat.LibraryID
}

// WantedPartners parses the values all, SITE and SITE/LIBRARY.
func (c *Client) WantedPartners(ctx context.Context, values []string) ([]Wanted, error) {
	var out []Wanted
	add := func(p store.Partner, lib string) {
		i := slices.IndexFunc(out, func(w Wanted) bool { return w.Partner.Site == p.Site })
		if i < 0 {
			i = len(out)
			out = append(out, Wanted{Partner: p})
		}
		if lib != "" {
			out[i].Libraries = append(out[i].Libraries, concordat.LibraryID(lib))
		}
	}
	for _, v := range values {
		if v == "all" {
			ps, err := c.o.Store.Partners.Partners(ctx)
			if err != nil {
				return nil, err
			}
			for _, p := range ps {
				if p.State == store.PartnerActive {
					add(p, "")
				}
			}
			continue
		}
		who, lib, _ := strings.Cut(v, "/")
		p, err := instance.Partner(ctx, c.o.Store, who)
		if err != nil {
			return nil, err
		}
		if p.State != store.PartnerActive {
			return nil, instance.Usagef("--partner %s: the partner is %s", who, p.State)
		}
		add(p, lib)
	}
	return out, nil
}

// askOptions contains the options for querying partners in a check.
type askOptions struct {
	level    concordat.Show
	purpose  string
	deadline time.Duration
}

// unknownLibrary represents the libraries of a partner that has never announced any.
const unknownLibrary = "(libraries not known)"

// CatalogueSetting returns the name of the setting with a partner's latest catalogue.
func CatalogueSetting(p concordat.SiteID) string { return "catalogue " + string(p) }

// Comparison selects the partners and mirrors to compare with, in addition to the site's libraries.
type Comparison struct {
	Partners  []string // all, SITE and SITE/LIBRARY
	NoMirrors bool
	Standing  bool // partners also compare future documents
	Level     concordat.Show
	Purpose   string
	Deadline  time.Duration // per partner
}

// AddTo adds the site's mirrors and the partners to query to out; end closes them. busy reports whether a mirror is omitted because
// another process is changing it.
func (w *Comparison) AddTo(ctx context.Context, out *site.CheckOptions, o *instance.Instance, options Options) (busy bool, end func(),
	err error) {
	end = func() {}
	var rows []store.Mirror
	if !w.NoMirrors {
		if rows, err = o.Asks.Mirrors(ctx); err != nil {
			return false, nil, err
		}
	}
	if len(rows) == 0 && len(w.Partners) == 0 {
		return false, end, nil
	}
	c, err := Open(ctx, o, options)
	if err != nil {
		if len(rows) > 0 {
			err = fmt.Errorf("%w (to check without this site's mirrors, use --no-mirrors)", err)
		}
		return false, nil, err
	}
	m, err := c.openUsable(rows)
	if err != nil {
		return false, nil, err
	}
	closing, err := w.addPartners(ctx, c, m, out)
	if err != nil {
		return false, nil, errors.Join(err, m.close())
	}
	out.Mirrors = m.in
	return m.busy, func() {
		closing()
		if err := m.close(); err != nil {
			c.tell("mirrors: %v", err)
		}
	}, nil
}

// addPartners adds the partners to query about libraries without a mirror; end closes the connections to them.
func (w *Comparison) addPartners(ctx context.Context, c *Client, m *mirrorSet, out *site.CheckOptions) (end func(), err error) {
	named, err := c.WantedPartners(ctx, w.Partners)
	if err != nil {
		return nil, err
	}
	var want []Wanted
	for _, x := range named {
		some := len(x.Libraries) > 0
		if x.Libraries = m.without(c.tell, x.Partner.Site, x.Libraries, w.Standing); len(x.Libraries) > 0 || !some {
			want = append(want, x)
		}
	}
	all, end, err := c.ask(ctx, want, askOptions{level: w.Level, purpose: w.Purpose, deadline: w.Deadline})
	if err != nil {
		return nil, err
	}
	for i, p := range all {
		if len(want[i].Libraries) == 0 { // everything that the partner opens
			p.Libraries = m.without(c.tell, want[i].Partner.Site, p.Libraries, w.Standing)
		}
		if len(p.Libraries) > 0 {
			out.Partners = append(out.Partners, p)
		}
	}
	return end, nil
}

// ask returns the data that a check needs about each wanted partner. A partner that does not answer now is included with the libraries
// that it announced earlier, so that the report can list them as not measured. closing closes the connections.
func (c *Client) ask(ctx context.Context, want []Wanted, how askOptions) (out []site.PartnerLibraries, closing func(), err error) {
	var clients []*federation.Client
	closing = func() {
		for _, cl := range clients {
			cl.Close()
		}
	}
	group := federation.Group[owner]{Timeout: min(how.deadline, 20*time.Second)}
	for _, w := range want {
		cl, err := c.Connect(w.Partner.Site, how.deadline)
		if err != nil {
			closing()
			return nil, nil, err
		}
		clients = append(clients, cl)
		group.Partners = append(group.Partners, cl)
	}
	catalogues := c.catalogues(ctx, group)
	for i, w := range want {
		p, err := c.askOne(ctx, w, clients[i], catalogues[w.Partner.Site], how)
		if err != nil {
			closing()
			return nil, nil, err
		}
		out = append(out, *p)
	}
	return out, closing, ctx.Err()
}

// owner is a partner that lists the libraries that it opens to this site.
type owner interface {
	Site() concordat.SiteID
	Catalogue(ctx context.Context) (*concordat.Catalogue, error)
}

// catalogues fetches the list of open libraries from each partner and stores it. It omits partners that do not answer, and partners with
// an answer that triggers a fault in this program.
func (c *Client) catalogues(ctx context.Context, group federation.Group[owner]) map[concordat.SiteID]*concordat.Catalogue {
	catalogues := map[concordat.SiteID]*concordat.Catalogue{}
	for got, err := range federation.Gather(ctx, group, func(ctx context.Context, p owner) (*concordat.Catalogue,
		error) {
		var v *concordat.Catalogue
		err := compare.Guard(func() (err error) { v, err = p.Catalogue(ctx); return err })
		c.o.Site.NotePanic(err, "site", p.Site())
		return v, err
	}) {
		if err == nil {
			catalogues[got.Site] = got.Value
			if err := c.keepCatalogue(ctx, got.Site, got.Value); err != nil {
				c.roster.log.Warn("keep a catalogue", "site", got.Site, "error", err)
			}
		}
	}
	return catalogues
}

// keepCatalogue stores the libraries that a partner has just announced.
func (c *Client) keepCatalogue(ctx context.Context, site concordat.SiteID, v *concordat.Catalogue) error {
	kept := *v
	kept.Heads = nil // heads of other sites' audits, which are stored separately
	b, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	return c.o.Store.SetSetting(ctx, CatalogueSetting(site), string(b))
}

// FetchCatalogue fetches and stores the list of libraries that a partner opens to this site.
func (c *Client) FetchCatalogue(ctx context.Context, site concordat.SiteID, timeout time.Duration) error {
	cl, err := c.Connect(site, timeout)
	if err != nil {
		return err
	}
	defer cl.Close()
	v, err := cl.Catalogue(ctx)
	if err != nil {
		return err
	}
	return c.keepCatalogue(ctx, site, v)
}

// askOne fills in the data that a check needs about one partner.
func (c *Client) askOne(ctx context.Context, w Wanted, cl *federation.Client, cat *concordat.Catalogue,
	how askOptions) (*site.PartnerLibraries, error) {
	feds, err := c.shared(ctx, w.Partner.Site)
	if err != nil {
		return nil, err
	}
	if len(feds) == 0 {
		return nil, instance.Usagef("--partner %s: this site shares no federation with the partner; see concordat federation show",
			cmp.Or(w.Partner.Name, string(w.Partner.Site)))
	}
	if cat == nil {
		cat = &concordat.Catalogue{}
		if kept, err := c.o.Store.Setting(ctx, CatalogueSetting(w.Partner.Site)); err == nil {
			if err := json.Unmarshal([]byte(kept), cat); err != nil {
				return nil, fmt.Errorf("read the stored catalogue of %s: %w: %v", w.Partner.Site, concordat.ErrCorrupt, err)
			}
		}
	}
	libraries := w.Libraries
	if len(libraries) == 0 {
		for _, l := range cat.Libraries {
			libraries = append(libraries, l.ID)
		}
	}
	if len(libraries) == 0 {
		libraries = []concordat.LibraryID{unknownLibrary}
	}
	f, e, err := latest(feds, cat, time.Now())
	if err != nil {
		return nil, err
	}
	p, err := c.Profiler(f, e)
	if err != nil {
		return nil, err
	}
	owner, err := crypto.ParseSiteID(string(w.Partner.Site))
	if err != nil {
		return nil, err
	}
	return &site.PartnerLibraries{Partner: cl, Documents: documentsOf(cat, libraries),
		Epoch: concordat.Epoch{Federation: concordat.FederationID(f.Name), Number: e.Number},
		Name:  c.title(w.Partner), Profiler: p, SketchKey: e.SketchKey(c.self(), owner), CellKey: e.CellKey(), Libraries: libraries,
		Level:    how.level,
		Deadline: how.deadline, Purpose: how.purpose}, nil
}

// documentsOf returns the number of documents in a partner's libraries, or 0 unless its catalogue has a number for each of them.
func documentsOf(cat *concordat.Catalogue, libraries []concordat.LibraryID) int {
	n := 0
	for _, id := range libraries {
		i := slices.IndexFunc(cat.Libraries, func(l concordat.OpenLibrary) bool { return l.ID == id })
		if i < 0 {
			return 0
		}
		n += max(0, cat.Libraries[i].Documents)
	}
	return n
}

// title returns a partner's name for itself.
func (c *Client) title(p store.Partner) string {
	card, err := c.roster.card(p)
	if err != nil {
		return p.Name
	}
	return card.Name
}

// latest returns the newest epoch in the common federations for which the partner has fingerprints. If nothing is known about the
// partner, it returns the current epoch of the first federation.
func latest(feds []crypto.Federation, cat *concordat.Catalogue, now time.Time) (crypto.Federation, crypto.FederationEpoch, error) {
	ready := map[concordat.Epoch]bool{}
	for _, l := range cat.Libraries {
		for _, r := range l.Ready {
			ready[r.Epoch] = ready[r.Epoch] || r.Ready > 0
		}
	}
	for _, f := range feds {
		for _, e := range slices.Backward(f.Epochs) {
			if e.Serves(now) && ready[concordat.Epoch{Federation: concordat.FederationID(f.Name), Number: e.Number}] {
				return f, e, nil
			}
		}
	}
	e, err := feds[0].Current(now)
	return feds[0], e, err
}
