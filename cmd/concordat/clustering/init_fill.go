package clustering

import (
	"context"
	"os"

	"concordat/instance"
)

// A site of one machine that becomes the first node of a cluster has its documents in one index. The first serve moves them
// into the shards before it answers, and removes that index, so that deleted documents do not remain in it. An interrupted move
// resumes at the next start.

// tellFill announces what the first serve is going to do.
func tellFill(ctx context.Context, o *instance.Instance, a *commands) error {
	if _, err := os.Stat(o.OneMachine()); err != nil {
		return nil
	}
	libraries, err := o.Store.Catalogue.Libraries(ctx)
	n := 0
	for _, l := range libraries {
		n += l.Documents
	}
	a.Say("the site has %d documents in the index of one machine: the next concordat serve first puts them into the shards, and then removes that index", n)
	return err
}
