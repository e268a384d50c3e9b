package clustering

import (
	"context"
	"os"

	"concordat/instance"
)

// When a site with a single machine becomes the first node of a cluster, its documents are in a single index. The first serve moves them
// into shards before it answers requests, and then deletes the old index, so that no deleted documents survive in it. An interrupted move
// resumes at the next start.

// tellFill announces the work that the first serve will do.
func tellFill(ctx context.Context, o *instance.Instance, a *commands) error {
	if _, err := os.Stat(o.OneMachine()); err != nil {
		return nil
	}
	libraries, err := o.Store.Catalogue.Libraries(ctx)
	n := 0
	for _, l := range libraries {
		n += l.Documents
	}
	a.Say("the site has %d documents in a single-machine index: the next concordat serve first moves them into the shards, then removes that index", n)
	return err
}
