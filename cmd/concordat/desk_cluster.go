package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"concordat"
	"concordat/cluster/zk"
	"concordat/instance"
	"concordat/web"
)

// clusterPages returns what the page of the cluster asks: the coordinator, in a session of its own for
// each page, so that it tells what others see and not what this process believes; nil for one machine.
func clusterPages(o *instance.Instance) func(context.Context) (web.Cluster, error) {
	if !o.Clustered() {
		return nil
	}
	return func(ctx context.Context) (c web.Cluster, err error) {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		s, err := o.Coordinator(ctx, "")
		if err != nil {
			return c, err
		}
		defer func() { err = errors.Join(err, s.Close()) }()
		select {
		case v := <-s.View():
			if z, ok := s.(*zk.Session); ok {
				return clusterOf(ctx, z, v)
			}
			c = statusOf(v, nil)
			c.Site = o.ID()
			return c, nil
		case <-ctx.Done():
			return c, fmt.Errorf("coordinator: %w: %w", concordat.ErrUnavailable, ctx.Err())
		}
	}
}
