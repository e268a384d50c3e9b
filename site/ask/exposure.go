package ask

import (
	"context"

	"concordat"
	"concordat/store"
)

// Exposure summarises which of this site's texts were disclosed to a partner.
type Exposure struct {
	Partner concordat.SiteID   `json:"partner"`
	Sums    []store.ShowingSum `json:"sums"`
	// Documents lists the individual disclosures, latest first.
	Documents []store.Showing `json:"documents,omitempty"`
}

// Exposure summarises which texts were disclosed to a partner, with at most limit individual disclosures.
func (s *Asker) Exposure(ctx context.Context, partner concordat.SiteID, limit int) (*Exposure, error) {
	sums, err := s.o.Store.Asks.ShowingSums(ctx, partner)
	if err != nil {
		return nil, err
	}
	out := &Exposure{Partner: partner, Sums: sums}
	if limit > 0 {
		out.Documents, err = s.o.Store.Asks.Showings(ctx, partner, limit)
	}
	return out, err
}
