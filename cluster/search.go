package cluster

import (
	"cmp"
	"context"
	"encoding/gob"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"concordat"
)

// This file makes the Node an index that merges the answers of all shards.

var _ concordat.Index = (*Node)(nil)

func missingOf(m map[concordat.ShardID]ShardStatus) []concordat.ShardID {
	return slices.Sorted(maps.Keys(m))
}

func compareRefs(a, b concordat.Ref) int {
	return cmp.Or(strings.Compare(string(a.Library), string(b.Library)), strings.Compare(string(a.Document), string(b.Document)))
}

// found is a match with its fingerprint.
type found struct {
	concordat.Match
	fp concordat.Fingerprint
}

// Match implements concordat.Matcher; shards without an answer are listed in Missing.
func (n *Node) Match(ctx context.Context, q *concordat.Query) (*concordat.Answer, error) {
	shards := n.layout.names()
	answers, missing, err := n.askShards(ctx, shards, question{Match: q})
	if err != nil {
		return nil, err
	}
	out := &concordat.Answer{Site: n.layout.Site}
	var all []found
	for _, a := range answers {
		if a.Match == nil || len(a.Found) != len(a.Match.Matches) {
			return nil, fmt.Errorf("shard %s: the response is missing the fingerprints of the matches: %w", a.Shard, concordat.ErrInvalid)
		}
		out.Capped += a.Match.Capped
		for i, m := range a.Match.Matches {
			all = append(all, found{m, a.Found[i]})
		}
	}
	slices.SortFunc(all, func(a, b found) int {
		return cmp.Or(cmp.Compare(a.Sentence, b.Sentence), cmp.Compare(a.Distance, b.Distance), compareRefs(a.Source, b.Source),
			cmp.Compare(a.Ordinal, b.Ordinal))
	})
	all = limited(all, q.Limit, func(f found) int { return f.Sentence })
	if len(shards) > 1 {
		if err := n.countDocuments(ctx, q.Scheme, all, missing); err != nil {
			return nil, err
		}
	}
	for i := range all {
		out.Matches = append(out.Matches, all[i].Match)
	}
	out.Missing = missingOf(missing)
	return out, nil
}

// limited returns the first most matches of each group; 0 means all.
func limited[T any](all []T, most int, group func(T) int) []T {
	if most == 0 {
		return all
	}
	out, count, last := all[:0], 0, -1
	for _, x := range all {
		if g := group(x); g != last {
			count, last = 0, g
		}
		if count++; count <= most {
			out = append(out, x)
		}
	}
	return out
}

// countDocuments sets the number of documents, over all shards, with each matched fingerprint. A shard knows only its own documents, and
// omits fingerprints whose documents were all filtered out, so a separate question asks about the fingerprints found.
func (n *Node) countDocuments(ctx context.Context, scheme concordat.Scheme, all []found, missing map[concordat.ShardID]ShardStatus) error {
	number := map[concordat.Fingerprint]int{}
	q := &concordat.Query{Scheme: scheme, Limit: 1}
	for i := range all {
		if _, ok := number[all[i].fp]; !ok {
			number[all[i].fp] = len(q.Fingerprints)
			q.Fingerprints = append(q.Fingerprints, all[i].fp)
		}
	}
	if len(number) == 0 {
		return nil
	}
	answers, silent, err := n.askShards(ctx, n.layout.names(), question{Match: q})
	if err != nil {
		return err
	}
	maps.Copy(missing, silent)
	counts := make([]int, len(q.Fingerprints))
	for _, a := range answers {
		for _, m := range a.Match.Matches {
			counts[m.Sentence] += m.Documents
		}
	}
	for i := range all {
		// The document was deleted since it was found; it had the fingerprint at the time of the answer.
		all[i].Documents = max(1, counts[number[all[i].fp]])
	}
	return nil
}

// TextStats implements concordat.TextSearcher.
func (n *Node) TextStats(ctx context.Context, terms []concordat.Term) (*concordat.TextStats, error) {
	answers, missing, err := n.askShards(ctx, n.layout.names(), question{Terms: terms})
	if err != nil {
		return nil, err
	}
	out := &concordat.TextStats{Holding: make([]int, len(terms)), Missing: missingOf(missing)}
	for _, a := range answers {
		if a.Stats == nil || len(a.Stats.Holding) != len(terms) {
			return nil, fmt.Errorf("shard %s: the response is missing counts for some of the requested terms: %w", a.Shard, concordat.ErrInvalid)
		}
		out.Documents += a.Stats.Documents
		out.Words += a.Stats.Words
		out.Meant += a.Stats.Meant
		out.Current += a.Stats.Current // 0 from nodes with an earlier version, whose cells are all by an earlier definition
		for i, h := range a.Stats.Holding {
			out.Holding[i] += h
		}
	}
	return out, nil
}

// SearchText implements concordat.TextSearcher.
func (n *Node) SearchText(ctx context.Context, q *concordat.TextQuery) (*concordat.TextAnswer, error) {
	answers, missing, err := n.askShards(ctx, n.layout.names(), question{Text: q})
	if err != nil {
		return nil, err
	}
	out := &concordat.TextAnswer{Site: n.layout.Site, Missing: missingOf(missing)}
	for _, a := range answers {
		if a.Text != nil {
			out.Matches = append(out.Matches, a.Text.Matches...)
		}
	}
	slices.SortFunc(out.Matches, func(a, b concordat.TextMatch) int {
		return cmp.Or(cmp.Compare(a.Window, b.Window), cmp.Compare(b.Score, a.Score), compareRefs(a.Source, b.Source))
	})
	out.Matches = limited(out.Matches, q.Limit, func(m concordat.TextMatch) int { return m.Window })
	return out, nil
}

// Document implements concordat.Index.
func (n *Node) Document(ctx context.Context, r concordat.Ref) (*concordat.Document, error) {
	id := n.layout.ShardFor(r.Library, r.Document)
	answers, missing, err := n.askShards(ctx, []concordat.ShardID{id}, question{Ref: &r})
	if err != nil {
		return nil, err
	}
	if why, silent := missing[id]; silent {
		return nil, fmt.Errorf("document %s: shard %s: %s: %w", r, id, why, concordat.ErrUnavailable)
	}
	if answers[id].Doc == nil {
		return nil, fmt.Errorf("document %s: shard %s returned an empty response: %w", r, id, concordat.ErrInvalid)
	}
	return answers[id].Doc, nil
}

// Handler answers calls from other nodes of the cluster. The listener decides who can call.
func (n *Node) Handler() http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("POST "+peerPrefix+"-/ask", n.hosting.serveAsk)
	m.HandleFunc("POST "+peerPrefix+"{shard}/purge", n.hosting.serveOrder((*Copy).Purge))
	m.HandleFunc("POST "+peerPrefix+"{shard}/force", n.hosting.serveOrder(func(c *Copy, _ context.Context) error { c.Force(); return nil }))
	m.HandleFunc("POST "+peerPrefix+"{shard}/stepdown", n.hosting.serveOrder(func(c *Copy, _ context.Context) error {
		c.StepDown()
		return nil
	}))
	m.HandleFunc("POST "+peerPrefix+"-/restart", n.serveRestart)
	m.HandleFunc("POST "+peerPrefix+"-/"+callAlive, serveAlive)
	m.HandleFunc("POST "+peerPrefix+"-/"+callState, func(w http.ResponseWriter, _ *http.Request) {
		_ = gob.NewEncoder(w).Encode(n.State()) // a caller that went away misses nothing
	})
	m.HandleFunc("POST "+peerPrefix+"-/hold", n.pauses.servePause)
	m.HandleFunc("POST "+peerPrefix+"-/release", n.pauses.serveResume)
	m.HandleFunc("POST "+peerPrefix+"-/drop", n.pauses.serveDrop)
	m.HandleFunc("GET "+peerPrefix+"{shard}/still/{moment}", n.pauses.serveFrozen)
	m.Handle("/", NodeHandler(n.hosting.get))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c := r.Header.Get(clusterHeader); c != n.layout.Cluster {
			fail(w, fmt.Errorf("this node belongs to cluster %s, but the caller belongs to cluster %q: %w", n.layout.Cluster, c, concordat.ErrRefused))
			return
		}
		if to := r.Header.Get(nodeHeader); to != string(n.o.Node.ID) {
			fail(w, fmt.Errorf("this is node %s, but the request is for node %q: %w", n.o.Node.ID, to, concordat.ErrUnavailable))
			return
		}
		m.ServeHTTP(w, r)
	})
}
