package daemon

import (
	"context"
	"time"

	"concordat"
	"concordat/partners"
)

// partnerTime is the time limit for a partner's answer while a person waits for a page.
const partnerTime = time.Minute

// partnerOf returns a connection to a partner for the pages, and a function that closes it.
func (s *Daemon) partnerOf(ctx context.Context, id concordat.SiteID) (concordat.Partner, func(), error) {
	c, err := partners.Open(ctx, s.o, s.partnerOptions())
	if err != nil {
		return nil, nil, err
	}
	cl, err := c.Connect(id, partnerTime)
	if err != nil {
		return nil, nil, err
	}
	return cl, cl.Close, nil
}
