package daemon

import (
	"context"
	"time"

	"concordat"
	"concordat/partners"
	"concordat/web/pages"
)

// partnerTime is the time limit for a partner's answer while a person waits for a page.
const partnerTime = time.Minute

// connector connects the pages to partners.
type connector struct{ s *Daemon }

var _ pages.Connector = connector{}

// Connect returns a connection to a partner, and a function that closes it.
func (c connector) Connect(ctx context.Context, id concordat.SiteID) (pages.Connection, func(), error) {
	all, err := partners.Open(ctx, c.s.o, c.s.partnerOptions())
	if err != nil {
		return nil, nil, err
	}
	cl, err := all.Connect(id, partnerTime)
	if err != nil {
		return nil, nil, err
	}
	return cl, cl.Close, nil
}
