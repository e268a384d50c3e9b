package instance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"concordat"
)

// CheckShards is CheckIndex for a site with several machines. It compares the counts of all copies, but reads the bytes only of the
// copies on this machine.
func (o *Instance) CheckShards(ctx context.Context, quick bool) (*IndexState, error) {
	out := &IndexState{}
	for try := 0; ; try++ { // a change between the two readings causes a difference only once
		known := 0
		if err := o.EachDocument(ctx, func(concordat.Ref) { known++ }); err != nil {
			return nil, err
		}
		n, err := o.Member.Node.Documents(ctx)
		if err != nil {
			return nil, err
		}
		out.Documents, out.Missing, out.Extra = n, max(0, known-n), max(0, n-known)
		if known == n || try == 3 {
			break
		}
	}
	out.Sentences = o.Member.Node.Stats().Sentences
	if err := o.checkMeaning(ctx, out, quick); err != nil {
		return nil, err
	}
	if quick {
		return out, nil
	}
	v, _ := o.Member.Node.View()
	for _, id := range slices.Sorted(maps.Keys(v.Shards)) {
		c, ok := o.Member.Node.Copy(id)
		if !ok {
			continue
		}
		if err := c.Index().Verify(ctx); errors.Is(err, concordat.ErrCorrupt) {
			out.Fault = fmt.Sprintf("shard %s: %v", id, err)
		} else if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// IndexState describes the index and its differences from the catalogue.
type IndexState struct {
	Documents int      `json:"documents"`
	Sentences int      `json:"sentences"`
	Fault     string   `json:"fault,omitempty"` // error from Verify
	Missing   int      `json:"missing"`         // number of documents in the catalogue but not in the index
	Extra     int      `json:"extra"`           // number of documents in the index but not in the catalogue
	Some      []string `json:"some,omitempty"`  // examples of both, as LIBRARY/DOCUMENT
	// Numbers of documents that lack meaning cells, have cells by an earlier version of the program, might lack cells, or have superfluous
	// ones.
	Lacking     int `json:"lacking"`
	Stale       int `json:"stale"`
	MayLack     int `json:"may_lack"`
	Superfluous int `json:"superfluous"`
	// Disagree is set if the site's nodes index by meaning in different ways. It names the nodes and suggests a fix.
	Disagree string `json:"disagree,omitempty"`
}

// maxNamed is the maximum number of documents to list.
const maxNamed = 20

// CheckIndex compares the index with the catalogue and, unless quick is set, reads every byte of the index.
func (o *Instance) CheckIndex(ctx context.Context, quick bool) (*IndexState, error) {
	st := o.own.shard.Index().Stats()
	out := &IndexState{Documents: st.Documents, Sentences: st.Sentences}
	// When added, a document enters the index before the catalogue; when deleted, it leaves the index first. With writers blocked during
	// the two readings, only interrupted work can cause a difference.
	var refs []concordat.Ref
	known := map[concordat.Ref]bool{}
	err := o.own.shard.PauseWrites(func() error {
		refs = o.own.shard.Index().Refs()
		return o.EachDocument(ctx, func(r concordat.Ref) { known[r] = true })
	})
	if err != nil {
		return nil, err
	}
	name := func(r concordat.Ref) {
		if len(out.Some) < maxNamed {
			out.Some = append(out.Some, string(r.Library)+"/"+string(r.Document))
		}
	}
	for _, r := range refs {
		if !known[r] {
			out.Extra++
			name(r)
		}
		delete(known, r)
	}
	out.Missing = len(known)
	for r := range known {
		name(r)
	}
	slices.Sort(out.Some)
	if err := o.checkMeaning(ctx, out, quick); err != nil {
		return nil, err
	}
	if !quick {
		if err := o.own.shard.Index().Verify(ctx); errors.Is(err, concordat.ErrCorrupt) {
			out.Fault = err.Error()
		} else if err != nil {
			return nil, err
		}
	}
	return out, nil
}
