package daemon

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"concordat"
	"concordat/crypto"
	"concordat/federation"
	"concordat/instance"
	"concordat/partners"
	"concordat/store"
	partnerpages "concordat/web/pages/partners"
)

// joinTime is the time limit for another site's answer while an administrator waits.
const joinTime = 30 * time.Second

// joining lets administrators join other sites on the pages; like the commands, it uses the functions of package partners.
type joining struct{ s *Daemon }

// parts returns what the pages need to join other sites.
func (j joining) parts() *partnerpages.Joining {
	return &partnerpages.Joining{Self: j, Contact: j, Partnership: j, Federations: j}
}

func (j joining) Standing(ctx context.Context) (partnerpages.Standing, error) {
	out := partnerpages.Standing{Listen: j.s.o.Live.Now().Federation.Listen, Clustered: j.s.o.Config.Clustered(),
		Listens: j.s.Partners.Load() != nil}
	k, err := j.s.o.Keys.State(ctx)
	if err != nil || !k.Made {
		return out, err
	}
	out.Site, out.Exported, out.WantsExport = instance.PartnerName(k.Site), k.Exported, k.WantsExport()
	if k.Card != nil {
		out.Addresses = k.Card.URLs
	}
	return out, nil
}

func (j joining) Cards(ctx context.Context) (map[concordat.SiteID]partnerpages.PartnerCard, error) {
	ps, err := j.s.o.Store.Partners.Partners(ctx)
	out := map[concordat.SiteID]partnerpages.PartnerCard{}
	for _, p := range ps {
		c, err := crypto.ParseCard(p.Card)
		if err != nil {
			j.s.log.Error("card of a partner", "site", p.Site, "error", err)
			continue
		}
		out[p.Site] = partnerpages.PartnerCard{Name: c.Name, Addresses: c.URLs, Contact: c.Contact}
	}
	return out, err
}

// errClosed is returned for operations that require the site to listen for partners.
var errClosed = &partners.RefusedError{Reason: partners.RefusedClosed,
	Err: errors.New("this site does not listen for partners yet: enter the address at which partners can reach the site")}

// client returns the client for communicating with partners.
func (s *Daemon) client() (*partners.Client, error) {
	p := s.Partners.Load()
	if p == nil {
		return nil, errClosed
	}
	return p.Client(), nil
}

// SetAddress issues a card with the address at which partners reach the site, and starts listening if necessary.
func (j joining) SetAddress(ctx context.Context, by, address, listen string) error {
	j.s.joinMu.Lock()
	defer j.s.joinMu.Unlock()
	address, err := partnerAddress(address)
	if err != nil {
		return err
	}
	var l net.Listener
	if j.s.Partners.Load() == nil {
		if j.s.o.Config.Clustered() {
			return &partners.RefusedError{Reason: partners.RefusedCluster, Err: errors.New("set federation.listen on each machine, and restart each machine's server")}
		}
		if l, err = listenAt(listen); err != nil {
			return err
		}
	}
	if err = j.s.makeCard(ctx, by, address); err == nil && l != nil {
		err = j.s.answerFrom(ctx, l, listen)
	} else if err == nil {
		err = j.s.Partners.Load().Reread(ctx)
	}
	if err != nil && l != nil {
		return errors.Join(err, l.Close())
	}
	return err
}

// partnerAddress completes an address entered by a person; https is the default scheme.
func partnerAddress(text string) (string, error) {
	text = strings.TrimRight(strings.TrimSpace(text), "/")
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.Scheme != "https" {
		return "", &partners.RefusedError{Reason: partners.RefusedAddress, Err: instance.Usagef("address %q: must be in the form https://HOST:PORT", text)}
	}
	return text, nil
}

func listenAt(address string) (net.Listener, error) {
	_, _, err := net.SplitHostPort(address)
	var l net.Listener
	if err == nil {
		l, err = instance.Listen("federation.listen", "", address)
	}
	if err != nil {
		return nil, &partners.RefusedError{Reason: partners.RefusedListen, Err: err}
	}
	return l, nil
}

// makeCard issues a card with the address.
func (s *Daemon) makeCard(ctx context.Context, by, address string) error {
	k, id, err := s.o.Keys.Open()
	if err != nil {
		return err
	}
	if !id.HasRoot() {
		return &partners.RefusedError{Reason: partners.RefusedRoot,
			Err: errors.New("the root key is kept elsewhere: run concordat site card --url https://HOST:PORT --root FILE")}
	}
	card, err := instance.OwnCard(ctx, s.o.Store, id)
	if err != nil {
		return err
	}
	fields := s.o.Keys.CardFields()
	if card != nil {
		fields = card.CardFields
	}
	fields.URLs = []string{address}
	_, _, err = instance.MakeCard(ctx, s.o.Store, k, fields, nil, time.Now(), by)
	if errors.Is(err, crypto.ErrFormat) {
		return &partners.RefusedError{Reason: partners.RefusedAddress, Err: err}
	}
	return err
}

// nameCard puts the site's title on its card, so that partners see it, and immediately uses the card. A site that cannot issue a new card
// keeps its current one, and Health reports this.
func (s *Daemon) nameCard(ctx context.Context, unnamed bool, by ...string) {
	s.joinMu.Lock()
	defer s.joinMu.Unlock()
	made, err := s.o.Keys.NameCard(ctx, unnamed, by...)
	if p := s.Partners.Load(); made && p != nil {
		err = p.Reread(ctx)
	}
	switch {
	case errors.Is(err, instance.ErrRootAway):
		s.log.Warn("the card keeps the site's former name until concordat site card --name NAME --root FILE changes it", "error", err)
	case err != nil:
		s.log.Error("name on the site's card", "error", err)
	case made:
		s.log.Info("card made", "name", s.o.Live.Now().Site.Title)
	}
}

// answerFrom starts answering partners on l, now and after the next start.
func (s *Daemon) answerFrom(ctx context.Context, l net.Listener, listen string) error {
	p, err := partners.NewServer(ctx, s.o, s.partnerOptions())
	if err != nil {
		return err
	}
	if err := instance.SetListen(s.o.Dir, listen); err != nil {
		return errors.Join(&partners.RefusedError{Reason: partners.RefusedSettings, Err: err}, p.Close())
	}
	now := *s.o.Live.Now()
	now.Federation.Listen = listen
	s.o.Live.Use(&now)
	s.runPartners(p, l)
	s.Partners.Store(p)
	s.log.Info("partners are answered", "listen", p.Address)
	return nil
}

// partnersRunner returns a function that starts answering partners within g.
func (s *Daemon) partnersRunner(ctx context.Context, g *errgroup.Group) func(*partners.Server, net.Listener) {
	return func(p *partners.Server, l net.Listener) {
		p.Run(ctx, g, l, func(ctx context.Context, f func(context.Context) error) error {
			return s.asLeader(ctx, TaskMaintenance, f)
		})
	}
}

func (j joining) Invite(ctx context.Context, by string, a partnerpages.InvitationOffer) (partnerpages.Invitation, error) {
	c, err := j.s.client()
	if err != nil {
		return partnerpages.Invitation{}, err
	}
	inv, err := partners.Invite(ctx, j.s.o, c.Identity(), partners.Offer{Note: a.Note, Grants: a.Grants}, by)
	if err != nil {
		return partnerpages.Invitation{}, err
	}
	return partnerpages.Invitation{Text: inv.String(), Ends: inv.Expiry}, nil
}

func (j joining) Redeem(ctx context.Context, by, text string) (concordat.SiteID, error) {
	c, err := j.s.client()
	if err != nil {
		return "", err
	}
	inv, err := partners.ParseInvitation(text)
	if err != nil {
		return "", err
	}
	p, err := partners.Redeem(ctx, j.s.o, c.Roster(), inv, "", joinTime, by)
	return p.Site, err
}

func (j joining) Confirm(ctx context.Context, by string, site concordat.SiteID, words string) error {
	p, err := j.s.o.Store.Partners.Partner(ctx, site)
	if err == nil && p.State == store.PartnerPending {
		err = partners.SameWords(p, words)
	}
	if err != nil {
		return err
	}
	return partners.Confirm(ctx, j.s.o, p, by)
}

func (j joining) Revoke(ctx context.Context, by string, site concordat.SiteID) error {
	p, err := j.s.o.Store.Partners.Partner(ctx, site)
	if err != nil {
		return err
	}
	_, err = partners.Revoke(ctx, j.s.o, p, by)
	return err
}

// Reach tests the address that a partner announces.
func (j joining) Reach(ctx context.Context, site concordat.SiteID) error {
	p, err := j.s.o.Store.Partners.Partner(ctx, site)
	if err != nil {
		return err
	}
	c, err := crypto.ParseCard(p.Card)
	if err != nil {
		return err
	}
	client, err := j.s.client()
	if err != nil {
		return err
	}
	_, own := client.Roster().Self()
	return partners.AnswerOf(federation.Reach(ctx, c, own, federation.ClientOptions{Timeout: joinTime, Allow: j.s.o.Config.Federation.Allow}))
}

func (j joining) Catalogue(ctx context.Context, site concordat.SiteID) error {
	c, err := j.s.client()
	if err != nil {
		return err
	}
	return partners.AnswerOf(c.FetchCatalogue(ctx, site, joinTime))
}

func (j joining) CreateFederation(ctx context.Context, by string, f concordat.FederationID) error {
	c, err := j.s.client()
	if err != nil {
		return err
	}
	if _, err := partners.CreateFederation(ctx, j.s.o, c.Keystore(), f, by); err != nil {
		return err
	}
	return j.s.Partners.Load().Reread(ctx)
}

func (j joining) AddMember(ctx context.Context, by string, f concordat.FederationID, site concordat.SiteID) error {
	c, err := j.s.client()
	if err != nil {
		return err
	}
	p, err := j.s.o.Store.Partners.Partner(ctx, site)
	if err != nil {
		return err
	}
	if err := partners.AddMembers(ctx, j.s.o, c.Identity(), f, []store.Partner{p}, by); err != nil {
		return err
	}
	return j.s.Partners.Load().Reread(ctx)
}

func (j joining) JoinFederation(ctx context.Context, by string, f concordat.FederationID, site concordat.SiteID) error {
	c, err := j.s.client()
	if err != nil {
		return err
	}
	cl, err := c.Connect(site, joinTime)
	if err != nil {
		return err
	}
	defer cl.Close()
	if _, err := partners.JoinFederation(ctx, j.s.o, c.Keystore(), cl, f, by); err != nil {
		return partners.AnswerOf(err)
	}
	return j.s.Partners.Load().Reread(ctx)
}
