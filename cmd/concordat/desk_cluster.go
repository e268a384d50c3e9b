package main

import (
	"context"
	"os"
	"time"

	"concordat/cluster/coord"
	"concordat/cluster/zk"
	"concordat/web"
)

// clusterPages returns what the page of the cluster asks: ZooKeeper, if the environment names one, in a
// session of its own for each page; nil, if not.
func (a *app) clusterPages() func(context.Context) (web.Cluster, error) {
	if os.Getenv(zookeeperVariable) == "" {
		return nil
	}
	return func(ctx context.Context) (c web.Cluster, err error) {
		z := zookeeperFlags{timeout: 5 * time.Second}
		err = z.with(ctx, a, func(ctx context.Context, s *zk.Session, v coord.View) error {
			c, err = clusterOf(ctx, s, v)
			return err
		})
		return c, err
	}
}
