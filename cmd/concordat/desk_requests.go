package main

import (
	"context"
	"time"

	"concordat"
	"concordat/instance"
)

// partnerTime is how long a partner may take to answer somebody at a page.
const partnerTime = time.Minute

// partnerOf returns what connects the pages with a partner.
func (a *app) partnerOf(o *instance.Instance) func(context.Context, concordat.SiteID) (concordat.Partner, func(), error) {
	return func(ctx context.Context, id concordat.SiteID) (concordat.Partner, func(), error) {
		c, err := a.circle(ctx, o)
		if err != nil {
			return nil, nil, err
		}
		cl, err := c.Connect(id, partnerTime)
		if err != nil {
			return nil, nil, err
		}
		return cl, cl.Close, nil
	}
}
