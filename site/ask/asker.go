package ask

import (
	"log/slog"
	"time"

	"concordat/site"
	"concordat/store"
)

// Options of an Asker. Store is required.
type Options struct {
	Store  *store.DB
	Logger *slog.Logger     // nil means the site's
	Now    func() time.Time // nil means the site's
	// Room fails if the disk lacks space for a partner's data. It is called before each shipment of a mirror, because the partner
	// determines the size. If nil, space is never checked.
	Room func() error
}

// Asker asks one site's partners, and maintains mirrors of their libraries. It is safe for concurrent use.
type Asker struct {
	site *site.Site
	o    Options
	old  versions
}

// New returns an Asker and makes the site's checks use it.
func New(s *site.Site, o Options) *Asker {
	if o.Logger == nil {
		o.Logger = s.Options().Logger
	}
	if o.Now == nil {
		o.Now = s.Options().Now
	}
	if o.Room == nil {
		o.Room = func() error { return nil }
	}
	a := &Asker{site: s, o: o}
	s.AskWith(a)
	return a
}
