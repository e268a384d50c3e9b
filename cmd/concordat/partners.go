package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"concordat"
	"concordat/cmd/internal/cli"
	"concordat/crypto"
	"concordat/federation"
	"concordat/instance"
	"concordat/profile"
	"concordat/site"
	"concordat/store"
)

// orderPurpose names the local key by which asked sentences are shuffled.
const orderPurpose = "order of sentences"

// circle is the site among its partners: what a process needs to speak with them. It is safe for
// concurrent use.
type circle struct {
	o      *instance.Instance
	keys   *instance.Keystore
	roster *roster
	// observe is told of each exchange with a partner; nil: nobody is.
	observe func(concordat.SiteID, federation.Outcome, time.Duration)

	mu        sync.Mutex // guards the rest
	profilers map[string]*profile.Profiler
	seen      fs.FileInfo // of the keystore that was read last; nil: none
	renewed   time.Time   // when it was last looked whether the card is due
}

// circle opens the keystore and the card of the site. It fails with ErrNoKeys where there are no keys.
func (a *app) circle(ctx context.Context, o *instance.Instance) (*circle, error) {
	k, id, err := a.openKeys(o.Dir)
	if err != nil {
		return nil, err
	}
	k.Shared = o.SharedKeys()
	r, err := a.roster(ctx, o, id)
	if err != nil {
		return nil, err
	}
	return &circle{o: o, keys: k, roster: r, observe: a.observe, profilers: map[string]*profile.Profiler{}}, nil
}

// self is the name by which partners know this site.
func (c *circle) self() crypto.SiteID {
	id, _ := c.roster.Self()
	return id.Site()
}

// client returns a client of a partner, which its caller closes.
func (c *circle) client(partner concordat.SiteID, timeout time.Duration) (*federation.Client, error) {
	to, err := crypto.ParseSiteID(string(partner))
	if err != nil {
		return nil, err
	}
	id, _ := c.roster.Self()
	return federation.NewClient(to, c.roster, id.LocalKey(orderPurpose), federation.ClientOptions{Timeout: timeout, Journal: c.roster, Observe: c.observe}), nil
}

// profiler returns the maker of fingerprints under an epoch's key.
func (c *circle) profiler(f crypto.Federation, e crypto.FederationEpoch) (*profile.Profiler, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	name := fmt.Sprintf("%s/%d", f.Name, e.Number)
	if p := c.profilers[name]; p != nil {
		return p, nil
	}
	public, err := profile.New(profile.Options{Recipe: c.o.Config.Scheme})
	if err != nil {
		return nil, err
	}
	p, err := profile.New(profile.Options{Recipe: c.o.Config.Scheme, Key: e.FingerprintKey(string(public.Scheme()))})
	if err == nil {
		c.profilers[name] = p
	}
	return p, err
}

// shared returns the federations that this site is in together with a partner, by name.
func (c *circle) shared(ctx context.Context, partner concordat.SiteID) ([]crypto.Federation, error) {
	ms, err := c.o.Store.Memberships(ctx)
	if err != nil {
		return nil, err
	}
	id, _ := c.roster.Self()
	var out []crypto.Federation
	for _, m := range ms {
		if !slices.Contains(instance.Members(m), partner) {
			continue
		}
		f, err := id.Federation(string(m.Federation))
		if errors.Is(err, crypto.ErrNoKey) {
			continue // not joined yet
		}
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// wanted is a partner that a check is to ask, and the libraries of it; none: all that it opens.
type wanted struct {
	partner   store.Partner
	libraries []concordat.LibraryID
}

// wantedPartners reads values such as all, SITE and SITE/LIBRARY.
func (c *circle) wantedPartners(ctx context.Context, values []string) ([]wanted, error) {
	var out []wanted
	add := func(p store.Partner, lib string) {
		i := slices.IndexFunc(out, func(w wanted) bool { return w.partner.Site == p.Site })
		if i < 0 {
			i = len(out)
			out = append(out, wanted{partner: p})
		}
		if lib != "" {
			out[i].libraries = append(out[i].libraries, concordat.LibraryID(lib))
		}
	}
	for _, v := range values {
		if v == "all" {
			ps, err := c.o.Store.Partners(ctx)
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
		p, err := c.o.Partner(ctx, who)
		if err != nil {
			return nil, err
		}
		if p.State != store.PartnerActive {
			return nil, cli.Usagef("--partner %s: the partner is %s", who, p.State)
		}
		add(p, lib)
	}
	return out, nil
}

// asking is how a check speaks to partners.
type asking struct {
	level    concordat.Show
	purpose  string
	deadline time.Duration
}

// unknownLibrary stands for the libraries of a partner that has never told which it opens.
const unknownLibrary = "(libraries not known)"

// catalogueSetting is where the latest catalogue of a partner is kept.
func catalogueSetting(p concordat.SiteID) string { return "catalogue " + string(p) }

// setOthers adds the mirrors that the site has and the partners that are to be asked; end closes them.
// busy: a mirror is left out because another process changes it.
func (f *checkFlags) setOthers(ctx context.Context, a *app, o *instance.Instance, out *site.CheckOptions) (busy bool, end func(), err error) {
	end = func() {}
	var rows []store.Mirror
	if !f.noMirrors {
		if rows, err = o.Mirrors(ctx); err != nil {
			return false, nil, err
		}
	}
	if len(rows) == 0 && len(f.partners) == 0 {
		return false, end, nil
	}
	c, err := a.circle(ctx, o)
	if err != nil {
		if len(rows) > 0 {
			err = fmt.Errorf("%w (--no-mirrors checks without the mirrors of this site)", err)
		}
		return false, nil, err
	}
	m, err := a.openAll(o, c, rows)
	if err != nil {
		return false, nil, err
	}
	out.Mirrors = m.in
	closing, err := f.setPartners(ctx, a, c, m, out)
	if err != nil {
		return false, nil, errors.Join(err, m.close())
	}
	return m.busy, func() {
		closing()
		if err := m.close(); err != nil {
			a.Warn("mirrors: %v", err)
		}
	}, nil
}

// setPartners adds the partners that are to be asked about what is not mirrored; end ends the connections
// to them.
func (f *checkFlags) setPartners(ctx context.Context, a *app, c *circle, m *mirrors, out *site.CheckOptions) (end func(), err error) {
	named, err := c.wantedPartners(ctx, f.partners)
	if err != nil {
		return nil, err
	}
	var want []wanted
	for _, w := range named {
		some := len(w.libraries) > 0
		if w.libraries = m.without(a, w.partner.Site, w.libraries, f.standing); len(w.libraries) > 0 || !some {
			want = append(want, w)
		}
	}
	all, end, err := c.partners(ctx, want, asking{level: concordat.Show(f.level), purpose: f.purpose, deadline: f.deadline})
	if err != nil {
		return nil, err
	}
	for i, p := range all {
		if len(want[i].libraries) == 0 { // all that the partner opens
			p.Libraries = m.without(a, want[i].partner.Site, p.Libraries, f.standing)
		}
		if len(p.Libraries) > 0 {
			out.Partners = append(out.Partners, p)
		}
	}
	return end, nil
}

// partners returns what a check needs of each partner that is wanted. A partner that does not answer now
// is in it too, with the libraries that it told before: the report then says what was not measured.
// closing ends the connections.
func (c *circle) partners(ctx context.Context, want []wanted, how asking) (out []site.PartnerLibraries, closing func(), err error) {
	var clients []*federation.Client
	closing = func() {
		for _, cl := range clients {
			cl.Close()
		}
	}
	var group federation.Group
	for _, w := range want {
		cl, err := c.client(w.partner.Site, how.deadline)
		if err != nil {
			closing()
			return nil, nil, err
		}
		clients = append(clients, cl)
		group.Partners = append(group.Partners, cl)
	}
	group.Timeout = min(how.deadline, 20*time.Second)
	catalogues := map[concordat.SiteID]*concordat.Catalogue{}
	for got, err := range federation.Gather(ctx, group, func(ctx context.Context, p concordat.Partner) (*concordat.Catalogue, error) { return p.Catalogue(ctx) }) {
		if err == nil {
			catalogues[got.Site] = got.Value
			if b, err := json.Marshal(got.Value); err == nil {
				err = c.o.Store.SetSetting(ctx, catalogueSetting(got.Site), string(b))
				if err != nil {
					c.roster.log.Warn("keep a catalogue", "site", got.Site, "error", err)
				}
			}
		}
	}
	for i, w := range want {
		p, err := c.partner(ctx, w, clients[i], catalogues[w.partner.Site], how)
		if err != nil {
			closing()
			return nil, nil, err
		}
		out = append(out, *p)
	}
	return out, closing, ctx.Err()
}

// partner fills in what a check needs of one partner.
func (c *circle) partner(ctx context.Context, w wanted, cl *federation.Client, cat *concordat.Catalogue, how asking) (*site.PartnerLibraries, error) {
	feds, err := c.shared(ctx, w.partner.Site)
	if err != nil {
		return nil, err
	}
	if len(feds) == 0 {
		return nil, cli.Usagef("--partner %s: no federation in common; see concordat federation show", cmp.Or(w.partner.Name, string(w.partner.Site)))
	}
	if cat == nil {
		cat = &concordat.Catalogue{}
		if kept, err := c.o.Store.Setting(ctx, catalogueSetting(w.partner.Site)); err == nil {
			if err := json.Unmarshal([]byte(kept), cat); err != nil {
				return nil, fmt.Errorf("kept catalogue of %s: %w: %v", w.partner.Site, concordat.ErrCorrupt, err)
			}
		}
	}
	libraries := w.libraries
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
	p, err := c.profiler(f, e)
	if err != nil {
		return nil, err
	}
	owner, err := crypto.ParseSiteID(string(w.partner.Site))
	if err != nil {
		return nil, err
	}
	return &site.PartnerLibraries{Partner: cl, Documents: documentsOf(cat, libraries), Epoch: concordat.Epoch{Federation: concordat.FederationID(f.Name), Number: e.Number},
		Name: c.title(w.partner), Profiler: p, SketchKey: e.SketchKey(c.self(), owner), Libraries: libraries, Level: how.level, Deadline: how.deadline, Purpose: how.purpose}, nil
}

// documentsOf returns how many documents a partner's libraries have, 0 if its catalogue does not tell of each.
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

// title is the name that a partner gives itself.
func (c *circle) title(p store.Partner) string {
	card, err := c.roster.card(p)
	if err != nil {
		return p.Name
	}
	return card.Name
}

// latest returns the newest epoch for which the partner has fingerprints, of the federations in common; or
// the present epoch of the first where nothing is known of the partner.
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

// grantEvery is how often a member asks the leader of a federation for what is new.
const grantEvery = time.Hour

// joinAnew fetches what is new from the leaders of the federations that the site is in.
func (c *circle) joinAnew(ctx context.Context, log *slog.Logger) {
	ms, err := c.o.Store.Memberships(ctx)
	if err != nil {
		log.Error("federations", "error", err)
		return
	}
	for _, m := range ms {
		if m.Leader == instance.PartnerName(c.self()) {
			continue
		}
		if err := c.joinOne(ctx, m); err != nil {
			log.Warn("federation secrets", "federation", m.Federation, "leader", m.Leader, "error", err)
		}
	}
}

func (c *circle) joinOne(ctx context.Context, m store.Membership) error {
	cl, err := c.client(m.Leader, time.Minute)
	if err != nil {
		return err
	}
	defer cl.Close()
	g, err := cl.Grant(ctx, m.Federation)
	if err != nil {
		return err
	}
	_, _, err = take(ctx, c.o.Store, c.keys, m.Federation, m.Leader, g)
	return err
}

// reread takes up what commands changed in the keystore, and renews the card where it is due.
func (c *circle) reread(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.o.SyncKeystore(ctx); err != nil {
		return err
	}
	info, err := os.Stat(c.keys.Path)
	if err != nil {
		return err
	}
	now := time.Now()
	if c.seen != nil && os.SameFile(info, c.seen) && info.ModTime().Equal(c.seen.ModTime()) && now.Sub(c.renewed) < grantEvery {
		return nil // a passphrase costs a second of work, so the file is opened only where it changed
	}
	b, err := os.ReadFile(c.keys.Path)
	if err != nil {
		return err
	}
	id, err := crypto.Unlock(b, c.keys.Secret)
	if err != nil {
		return err
	}
	card, err := instance.OwnCard(ctx, c.o.Store, id)
	if err != nil {
		return err
	}
	if card == nil {
		return fmt.Errorf("own card: %w", concordat.ErrNotFound)
	}
	if id, card, _, err = instance.RefreshCard(ctx, c.o.Store, c.keys, id, card, now); err != nil {
		return err
	}
	c.roster.use(id, card)
	c.seen, c.renewed = info, now
	return nil
}

// epochsName is the folder of the fingerprints of all epochs.
const epochsName = "epochs"

// epochFolder is where the fingerprints of an epoch lie.
func epochFolder(dir string, e concordat.Epoch) string {
	return filepath.Join(dir, epochsName, fmt.Sprintf("%s-%d", e.Federation, e.Number))
}
