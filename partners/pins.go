package partners

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"concordat/crypto"
	"concordat/instance"
	"concordat/store"
)

// errPinTaken is the error for a card that names the TLS key of another site.
var errPinTaken = errors.New("its card names a TLS key of another site")

// pinsAreFree fails with errPinTaken if the card names a TLS key that this site's card or another partner's card also names. A card with
// proven keys (crypto.Card.Proven) prevails over cards that merely name them: an unproven card, as made by earlier versions, cannot take a
// key away from the site that holds it. Revoked partners do not count.
func (r *Roster) pinsAreFree(ctx context.Context, c *crypto.Card) error {
	_, own := r.Self()
	if own.Site != c.Site && sharePin(own, c) {
		return fmt.Errorf("%w: it belongs to this site", errPinTaken)
	}
	ps, err := r.db.Partners.Partners(ctx)
	if err != nil {
		return err
	}
	for _, p := range ps {
		if p.State == store.PartnerRevoked || p.Site == instance.PartnerName(c.Site) {
			continue
		}
		other, err := r.card(p)
		if err != nil {
			continue // such a key is never looked up either
		}
		if (other.Proven || !c.Proven) && sharePin(other, c) {
			return fmt.Errorf("%w: it belongs to %s", errPinTaken, p.Site)
		}
	}
	return nil
}

func sharePin(a, b *crypto.Card) bool { return slices.ContainsFunc(a.TLS, b.PinnedTLS) }
