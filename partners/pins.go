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

// errPinTaken means that a card contains another site's TLS key.
var errPinTaken = errors.New("the card names a TLS key that belongs to another site")

// pinsAreFree fails with errPinTaken if the card contains a TLS key that is also on this site's card or on another partner's. A card with
// proven keys (crypto.Card.Proven) prevails over cards that merely contain them, so an unproven card, as created by earlier versions,
// cannot take a key away from its owner. Revoked partners are ignored.
func (r *Roster) pinsAreFree(ctx context.Context, c *crypto.Card) error {
	_, own := r.Self()
	if own.Site != c.Site && sharePin(own, c) {
		return fmt.Errorf("%w: the key belongs to this site", errPinTaken)
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
			continue // such a key is never looked up
		}
		if (other.Proven || !c.Proven) && sharePin(other, c) {
			return fmt.Errorf("%w: the key belongs to %s", errPinTaken, p.Site)
		}
	}
	return nil
}

func sharePin(a, b *crypto.Card) bool { return slices.ContainsFunc(a.TLS, b.PinnedTLS) }
