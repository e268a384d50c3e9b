package ask

import (
	"context"

	"concordat"
	"concordat/store"
)

// Exposure is a summary of which of this site's texts a partner was shown.
type Exposure struct {
	Partner concordat.SiteID   `json:"partner"`
	Sums    []store.ShowingSum `json:"sums"`
	// Documents lists each showing, the latest first.
	Documents []store.Showing `json:"documents,omitempty"`
}

// Exposure returns a summary of which texts a partner was shown, with at most limit single showings.
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
