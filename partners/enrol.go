package partners

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"concordat"
	"concordat/crypto"
	"concordat/federation"
	"concordat/instance"
	"concordat/store"
)

// Offer describes a new invitation.
type Offer struct {
	URL    string        // address of this site; if empty, the first address on its card
	Life   time.Duration // period of validity; 0 means crypto.InvitationLife
	Note   string        // the invited person; not sent to the other site
	Grants []store.Grant // libraries that the invitation opens after both sides have confirmed
}

// Invite creates an invitation and stores the data needed to recognize it. It refuses to create an invitation that could not be redeemed.
// Here and below, by is the person named in the audit.
func Invite(ctx context.Context, o *instance.Instance, id *crypto.Identity, f Offer, by string) (*crypto.Invitation, error) {
	card, err := instance.OwnCard(ctx, o.Store, id)
	if err != nil {
		return nil, err
	}
	switch {
	case o.Live.Now().Federation.Listen == "":
		return nil, refusedf(RefusedClosed, "other sites cannot reach this site to redeem an invitation; set "+
			"federation.listen, and start concordat serve")
	case card == nil || f.URL == "" && len(card.URLs) == 0:
		return nil, refusedf(RefusedAddress, "the site's card has no address yet; to add one, run concordat site card --url https://HOST:PORT")
	}
	if f.URL == "" {
		f.URL = card.URLs[0]
	}
	for _, g := range f.Grants {
		if _, err := instance.Library(ctx, o.Store, string(g.Library)); err != nil {
			return nil, err
		}
		if err := g.Rule.Validate(); err != nil {
			return nil, instance.Usage(err)
		}
	}
	inv, err := id.Invite(f.URL, cmp.Or(f.Life, crypto.InvitationLife), time.Now(), rand.Reader)
	if errors.Is(err, crypto.ErrFormat) {
		return nil, &RefusedError{RefusedAddress, instance.Usage(err)}
	}
	if err != nil {
		return nil, err
	}
	return inv, o.Store.Atomic(ctx, func(tx *store.DB) error {
		if err := tx.Partners.AddInvitation(ctx, store.Invitation{Hash: inv.TokenHash(), Digest: inv.Digest(), Note: f.Note, Grants: f.Grants,
			Expires: inv.Expiry}); err != nil {
			return err
		}
		return tx.Audit.Note(ctx, by, "invited", map[string]any{"note": f.Note, "expires": inv.Expiry, "grants": f.Grants})
	})
}

// ParseInvitation extracts the invitation from a text, or fails if the text is anything else.
func ParseInvitation(text string) (*crypto.Invitation, error) {
	inv, err := crypto.ParseInvitation(text)
	if err != nil {
		return nil, &RefusedError{RefusedFormat, instance.Usage(err)}
	}
	return inv, nil
}

// Redeem redeems an invitation and stores the inviting site as a pending partner named as, which may be empty.
func Redeem(ctx context.Context, o *instance.Instance, r *Roster, inv *crypto.Invitation, as string, timeout time.Duration,
	by string) (store.Partner, error) {
	site := instance.PartnerName(inv.Site)
	id, _ := r.Self()
	p, err := o.Store.Partners.Partner(ctx, site)
	switch {
	case err != nil && !errors.Is(err, concordat.ErrNotFound):
		return p, err
	case inv.Site == id.Site():
		return p, refusedf(RefusedOwn, "the invitation was created by this site; send it to the administrator of the other site, who redeems it there")
	case err == nil && p.State == store.PartnerActive:
		return p, refusedf(RefusedKnown, "%s is already a partner", inv.Site)
	case time.Now().After(inv.Expiry):
		return p, refusedf(RefusedEnded, "the invitation expired on %s; ask the other site for a new one", inv.Expiry.Local().Format(time.DateTime))
	}
	redeemed, err := federation.Redeem(ctx, inv, r, federation.ClientOptions{Timeout: timeout, Allow: o.Config.Federation.Allow})
	if err != nil {
		return p, AnswerOf(err)
	}
	c := redeemed.Inviter
	if err := r.pinsAreFree(ctx, c); errors.Is(err, errPinTaken) {
		return p, &RefusedError{RefusedImpostor, err}
	} else if err != nil {
		return p, err
	}
	p = store.Partner{Site: site, Name: as, Words: strings.Join(redeemed.Words[:], " "), Serial: c.Serial, Card: c.Bytes()}
	if err := o.Store.Atomic(ctx, func(tx *store.DB) error {
		if err := tx.Partners.AddPartner(ctx, p); err != nil {
			return err
		}
		return tx.Audit.Note(ctx, by, "invitation redeemed", map[string]any{"site": c.Site, "card": c.Serial})
	}); err != nil {
		return p, err
	}
	return o.Store.Partners.Partner(ctx, site)
}

// AnswerOf adds the reason to an error from another site, if it has one, without changing the message.
func AnswerOf(err error) error {
	var e *federation.Error
	if !errors.As(err, &e) {
		return err
	}
	why := map[federation.Kind]Refused{federation.KindDown: RefusedSilent, federation.KindSilent: RefusedSilent,
		federation.KindRejected: RefusedTurnedAway, federation.KindStranger: RefusedImpostor, federation.KindGarbage: RefusedImpostor}[e.Kind]
	return &RefusedError{cmp.Or(why, RefusedSilent), err}
}

// SameWords fails if the words differ from a pending partner's, ignoring case and white space.
func SameWords(p store.Partner, words string) error {
	if strings.Join(strings.Fields(strings.ToLower(words)), " ") != p.Words {
		return &RefusedError{RefusedWords, errors.New("the words differ, so someone may be intercepting the connection between the two sites; nothing was confirmed")}
	}
	return nil
}

// Confirm activates a pending partner after the caller has compared the words, and opens the libraries granted by its invitation. It
// fails if another enrolment with other words has replaced p in the meantime.
func Confirm(ctx context.Context, o *instance.Instance, p store.Partner, by string) error {
	if p.State != store.PartnerPending {
		return refusedf(RefusedState, "partner %s is %s, not pending", cmp.Or(p.Name, string(p.Site)), p.State)
	}
	// Store the rules first, because they apply only to active partners.
	for _, g := range p.Grants {
		if _, err := o.Answers.Shares.Share(ctx, store.Share{Library: g.Library, Partner: p.Site, Rule: g.Rule}); err != nil {
			return err
		}
	}
	return o.Store.Atomic(ctx, func(tx *store.DB) error {
		now, err := tx.Partners.Partner(ctx, p.Site)
		if err != nil {
			return err
		}
		if now.Words != p.Words {
			return &RefusedError{RefusedWords, errors.New("the site has enrolled again, so its words have changed; compare the new words")}
		}
		if err := tx.Partners.SetPartnerState(ctx, p.Site, store.PartnerPending, store.PartnerActive); err != nil {
			return err
		}
		return tx.Audit.Note(ctx, by, "partner confirmed", map[string]any{"site": p.Site, "grants": p.Grants})
	})
}

// Revoke makes the site refuse a partner, and closes all libraries to it. It returns the federations to which the partner still belongs.
func Revoke(ctx context.Context, o *instance.Instance, p store.Partner, by string) ([]concordat.FederationID, error) {
	if p.State == store.PartnerRevoked {
		return nil, refusedf(RefusedState, "partner %s is already revoked", cmp.Or(p.Name, string(p.Site)))
	}
	// Change the state first, so that the partner remains refused even after a failure.
	if err := o.Store.Atomic(ctx, func(tx *store.DB) error {
		if err := tx.Partners.SetPartnerState(ctx, p.Site, p.State, store.PartnerRevoked); err != nil {
			return err
		}
		return tx.Audit.Note(ctx, by, "partner revoked", map[string]any{"site": p.Site})
	}); err != nil {
		return nil, err
	}
	shares, err := o.Store.Answers.Shares(ctx, "", p.Site)
	if err != nil {
		return nil, err
	}
	for _, x := range shares {
		if err := o.Answers.Shares.Unshare(ctx, x.Library, p.Site); err != nil {
			return nil, err
		}
	}
	ms, err := o.Store.Partners.Memberships(ctx)
	if err != nil {
		return nil, err
	}
	var in []concordat.FederationID
	for _, m := range ms {
		for _, x := range m.Members {
			if x.Site == p.Site && x.Removed.IsZero() {
				in = append(in, m.Federation)
			}
		}
	}
	return in, nil
}
