package cli

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os/user"
	"time"

	"concordat"
	"concordat/cluster"
	"concordat/crypto"
	"concordat/instance"
	"concordat/partners"
	"concordat/store"
)

// KnownHeads returns the heads of a partner's audit that this site has kept.
func KnownHeads(ctx context.Context, db *store.DB, site concordat.SiteID) ([]store.AuditHead, []store.Witness, error) {
	ws, err := db.Partners.Witnesses(ctx, site)
	if err != nil {
		return nil, nil, err
	}
	heads := make([]store.AuditHead, len(ws))
	for i, w := range ws {
		heads[i] = store.AuditHead{Seq: int64(w.Seq), Hash: hex.EncodeToString(w.Hash[:])}
	}
	return heads, ws, nil
}

// StoredCards returns all stored cards of a site, newest first.
func StoredCards(ctx context.Context, o *instance.Instance, site concordat.SiteID) ([]*crypto.Card, error) {
	signed, err := o.Store.Partners.Cards(ctx, site)
	if err != nil {
		return nil, err
	}
	cards := make([]*crypto.Card, len(signed))
	for i, s := range signed {
		if cards[i], err = crypto.ParseCard(s.Card); err != nil {
			return nil, fmt.Errorf("card %d of %s: %w", s.Serial, site, err)
		}
	}
	return cards, nil
}

// WithKeys opens the store and the keystore.
func (a *Site) WithKeys(ctx context.Context, f func(*instance.Instance, *instance.Keystore, *crypto.Identity) error) error {
	return a.With(ctx, instance.StoreOnly, func(o *instance.Instance) error {
		k, id, err := a.OpenKeys(o.Dir)
		if err != nil {
			return err
		}
		k.Shared = o.Keys.Shared()
		return f(o, k, id)
	})
}

// ReadCards returns the cards to verify against, either from the files or, without files, from this site.
func (a *Site) ReadCards(ctx context.Context, files []string) (Cards, error) {
	out := Cards{}
	if len(files) > 0 {
		return out, out.Read(files)
	}
	return out, a.With(ctx, instance.StoreOnly, func(o *instance.Instance) error { return out.load(ctx, o) })
}

// Cards are the cards that a verifier trusts.
type Cards map[concordat.SiteID][]*crypto.Card

// Read adds the cards in the files.
func (cs Cards) Read(files []string) error {
	for _, file := range files {
		b, err := instance.ReadBounded(file, crypto.MaxCard)
		if err != nil {
			return Usage(err)
		}
		c, err := crypto.ParseCard(b)
		if err != nil {
			return Usagef("%s: %w", file, err)
		}
		cs[instance.PartnerName(c.Site)] = append(cs[instance.PartnerName(c.Site)], c)
	}
	return nil
}

// load adds the cards of the site and of all its current and former partners.
func (cs Cards) load(ctx context.Context, o *instance.Instance) error {
	sites, err := o.Store.Partners.CardSites(ctx)
	if err != nil {
		return err
	}
	for _, s := range sites {
		if cs[s], err = StoredCards(ctx, o, s); err != nil {
			return err
		}
	}
	return nil
}

// Check succeeds if one of the site's cards confirms the signature. The signature also covers the asker and the submission if the
// statement names them.
func (cs Cards) Check(s concordat.Statement) error {
	cards := cs[s.Site]
	if len(cards) == 0 {
		return errors.New("no card is available for the signing site")
	}
	if len(s.Request) != 32 {
		return errors.New("the request digest is not 32 bytes long")
	}
	verify := func(c *crypto.Card) error {
		return c.VerifyStatement(s.KeyEpoch, s.Kind, s.At, [32]byte(s.Request), s.Payload, s.Signature)
	}
	if s.Asker != "" {
		asker, err := crypto.ParseSiteID(string(s.Asker))
		if err != nil {
			return fmt.Errorf("invalid requesting site: %w", err)
		}
		a := &crypto.Answer{Kind: s.Kind, At: s.At, Asker: asker, Request: [32]byte(s.Request), Payload: s.Payload}
		if !fill(a.Job[:], s.Job) || !fill(a.Commitment[:], s.Commitment) {
			return errors.New("the job or commitment of the statement has the wrong length")
		}
		verify = func(c *crypto.Card) error { return c.VerifyAnswer(s.KeyEpoch, a, s.Signature) }
	}
	err := crypto.ErrNoKey
	for _, c := range cards {
		e := verify(c)
		if e == nil {
			return nil
		}
		if !errors.Is(e, crypto.ErrNoKey) {
			err = e
		}
	}
	switch {
	case errors.Is(err, crypto.ErrNoKey):
		return errors.New("the signing site's cards list no key that was valid at the time of signing")
	case errors.Is(err, crypto.ErrSignature):
		return errors.New("the signature does not match the card of the signing site")
	}
	return err
}

// fill copies src into dst; src must be empty or the same length as dst.
func fill(dst, src []byte) bool {
	return copy(dst, src) == len(src) && (len(src) == 0 || len(src) == len(dst))
}

// ParseDate returns the beginning of a day, or the zero time for "".
func ParseDate(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	t, err := time.ParseInLocation(time.DateOnly, s, time.Local)
	if err != nil {
		return t, Usagef("invalid date %q: must be in the form YYYY-MM-DD", s)
	}
	return t, nil
}

// Operator returns the name recorded for the person at the command line.
func Operator() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return "cli:" + u.Username
	}
	return "cli"
}

// WithCluster calls f with the latest view of the cluster.
func (a *Site) WithCluster(ctx context.Context, f func(*instance.Instance, *instance.Observer, *cluster.Layout) error) error {
	return a.With(ctx, instance.StoreOnly, func(o *instance.Instance) error {
		if !o.Config.Clustered() {
			return Usagef("the site runs on a single machine; run concordat cluster init to turn it into a cluster")
		}
		session, err := instance.Observe(ctx, o.Config)
		if err != nil {
			return err
		}
		defer func() { _ = session.Close() }() // read only
		w := &instance.Observer{Session: session}
		if err := w.Next(ctx); err != nil {
			return err
		}
		l, err := cluster.ParseLayout(w.Seen.Config)
		if err != nil {
			return err
		}
		return f(o, w, l)
	})
}

// TellJSON prints v if --json is set.
func (a *Site) TellJSON(v any) error {
	if !a.JSON {
		return nil
	}
	return a.Line(v)
}

// Roster returns the site's view of its partners. The site must have a card.
func (a *Site) Roster(ctx context.Context, o *instance.Instance, id *crypto.Identity) (*partners.Roster, error) {
	return partners.OpenRoster(ctx, o, id, a.PartnerOptions(o).Log)
}
