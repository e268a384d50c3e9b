package partners

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"concordat"
	"concordat/crypto"
	"concordat/instance"
	"concordat/store"
)

// Grant returns the grant for a member of a federation that this site leads, or a Refusal.
func Grant(ctx context.Context, db *store.DB, id *crypto.Identity, to concordat.SiteID, f concordat.FederationID) ([]byte, error) {
	none := &concordat.Refusal{Reason: concordat.ReasonUnknown, Words: "this site does not lead that federation, or the requesting site is not a member"}
	ms, err := db.Partners.Memberships(ctx)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(ms, func(m store.Membership) bool { return m.Federation == f && m.Leader == instance.PartnerName(id.Site()) })
	if i < 0 || !slices.Contains(instance.Members(ms[i]), to) {
		return nil, none
	}
	secrets, err := id.Federation(string(f))
	if err != nil {
		return nil, none
	}
	g := &crypto.FederationGrant{Federation: secrets.Bounded(), Leader: id.Site()}
	for _, m := range instance.Members(ms[i]) {
		s, err := crypto.ParseSiteID(string(m))
		if err != nil {
			return nil, err
		}
		g.Members = append(g.Members, s)
	}
	return g.Bytes()
}

// EarlyError is returned if the leader of a federation began an epoch sooner than the site accepts without consent.
type EarlyError struct {
	Federation concordat.FederationID
	Leader     concordat.SiteID
	Epoch      uint32
	From       time.Time
}

func (e *EarlyError) Error() string {
	return fmt.Sprintf("epoch %d of federation %s begins at %s, less than %d days after the previous one; each epoch lets its leader compare "+
		"another set of fingerprints of the same sentences, so an administrator here has to agree by running concordat federation join %s %s",
		e.Epoch, e.Federation, e.From.Format(time.RFC3339), crypto.EpochAge/(24*time.Hour), e.Federation, e.Leader)
}

// Take stores a grant from the leader of a federation, starting with the secrets. changed reports whether the keystore received anything
// new. The notes are recorded in the audit together with the membership. Unless agreed is set, meaning that an administrator consents, an
// epoch that begins less than crypto.EpochAge after the previous one is refused with an EarlyError.
func Take(ctx context.Context, db *store.DB, k *instance.Keystore, f concordat.FederationID, leader concordat.SiteID,
	g *crypto.FederationGrant, agreed bool, notes ...store.AuditNote) (id *crypto.Identity, changed bool, err error) {
	if concordat.FederationID(g.Federation.Name) != f || instance.PartnerName(g.Leader) != leader {
		return nil, false, errors.New("the answer is about a different federation")
	}
	id, err = k.Update(ctx, func(id *crypto.Identity) (*crypto.Identity, error) {
		if held, err := id.Federation(string(f)); err == nil && !agreed {
			if e, early := held.Early(g); early {
				return nil, &EarlyError{f, leader, e.Number, e.From}
			}
		}
		next, err := id.Join(g)
		if err != nil {
			return nil, err
		}
		changed = !slices.Equal(EpochSpans(next), EpochSpans(id))
		if !changed {
			return id, nil
		}
		return next, nil
	})
	if err != nil {
		return nil, false, err
	}
	var sites []concordat.SiteID
	for _, m := range g.Members {
		sites = append(sites, instance.PartnerName(m))
	}
	return id, changed, db.Atomic(ctx, func(tx *store.DB) error {
		if err := tx.Partners.Join(ctx, f, leader, sites...); err != nil {
			return err
		}
		return tx.Audit.Notes(ctx, notes...)
	})
}

// grantEvery is the interval at which a member asks the leader of a federation for news.
const grantEvery = time.Hour

// joinAnew fetches current grants from the leaders of the site's federations.
func (c *Client) joinAnew(ctx context.Context, log *slog.Logger) {
	ms, err := c.o.Store.Partners.Memberships(ctx)
	if err != nil {
		log.Error("federations", "error", err)
		return
	}
	for _, m := range ms {
		if m.Leader == instance.PartnerName(c.self()) {
			continue
		}
		err := c.joinOne(ctx, m)
		if err == nil {
			continue
		}
		log.Warn("federation secrets", "federation", m.Federation, "leader", m.Leader, "error", err)
		c.epochRefused(m, err)
	}
}

// epochRefused raises an alarm about the leader of a federation if err means that its epochs were refused.
func (c *Client) epochRefused(m store.Membership, err error) {
	var early *EarlyError
	if errors.As(err, &early) || errors.Is(err, crypto.ErrEpoch) {
		c.roster.alarm(store.PartnerAlarm{Partner: m.Leader, Kind: store.AlarmEpoch}, "the leader of a federation began an epoch that this site does not accept",
			"epoch refused", map[string]any{"federation": m.Federation, "why": err.Error()})
	}
}

func (c *Client) joinOne(ctx context.Context, m store.Membership) error {
	cl, err := c.Connect(m.Leader, time.Minute)
	if err != nil {
		return err
	}
	defer cl.Close()
	g, err := cl.Grant(ctx, m.Federation)
	if err != nil {
		return err
	}
	_, _, err = Take(ctx, c.o.Store, c.keys, m.Federation, m.Leader, g, false)
	return err
}

// reread picks up changes that commands made to the keystore, and renews the card when due.
func (c *Client) reread(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.o.Keys.Sync(ctx); err != nil {
		return err
	}
	info, err := os.Stat(c.keys.Path)
	if err != nil {
		return err
	}
	now := time.Now()
	if c.seen != nil && os.SameFile(info, c.seen) && info.ModTime().Equal(c.seen.ModTime()) && now.Sub(c.renewed) < grantEvery {
		return nil // using a passphrase costs a second of work, so open the file only if it changed
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
		return fmt.Errorf("read this site's card: %w", concordat.ErrNotFound)
	}
	if id, card, _, err = instance.RefreshCard(ctx, c.o.Store, c.keys, id, card, now); err != nil {
		return err
	}
	c.roster.Use(id, card)
	c.seen, c.renewed = info, now
	return nil
}

// EpochSpan describes an epoch of a federation without its secret.
type EpochSpan struct {
	Federation concordat.FederationID `json:"federation"`
	Number     uint32                 `json:"epoch"`
	From       time.Time              `json:"from"`
	To         time.Time              `json:"to,omitzero"`
}

// EpochSpans returns the epochs of all federations with secrets in the identity.
func EpochSpans(id *crypto.Identity) []EpochSpan {
	rows := []EpochSpan{}
	for _, f := range id.Federations() {
		for _, e := range f.Epochs {
			rows = append(rows, EpochSpan{concordat.FederationID(f.Name), e.Number, e.From, e.To})
		}
	}
	return rows
}
