package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"concordat"
	"concordat/cluster/coord"
)

// Layout is shared by all nodes of a site; the coordinator stores it as coord.Config.
type Layout struct {
	Format  int              `json:"format"`
	Cluster string           `json:"cluster"` // drawn at random when the cluster was created; unique to it
	Site    concordat.SiteID `json:"site"`
	Scheme  concordat.Scheme `json:"scheme"`
	Shards  int              `json:"shards"` // 1 to 256; never changes
	Copies  int              `json:"copies"` // desired number of copies of each shard
	// Members lists the nodes that have joined, live or not.
	Members map[coord.NodeID]Member `json:"members"`
}

// Member is a node that has joined.
type Member struct {
	Zone string `json:"zone,omitempty"`
	// Drained means that the node gets no copies.
	Drained bool `json:"drained,omitempty"`
	// Boot identifies the last start of the node. Its folder records the same value, unless the folder is an older version of itself or
	// another node has taken the name.
	Boot string `json:"boot,omitempty"`
	// Key is the hexadecimal SHA-256 of the public key that identifies the node; empty if it has not been seen yet.
	Key string `json:"key,omitempty"`
	// Authority means that the node has the key of the cluster's authority.
	Authority bool `json:"authority,omitempty"`
	// Payload is coord.Node.Payload as of the node's last start. A program that does not know this field drops it, for all members; 0
	// means 2.
	Payload int `json:"payload,omitempty"`
}

const (
	layoutFormat = 1
	// MaxShards is the number of slots.
	MaxShards = 256
)

// ShardName returns the name of a shard by its number.
func ShardName(n int) concordat.ShardID { return concordat.ShardID(fmt.Sprintf("%02d", n)) }

// ShardFor returns the shard that contains the document.
func (l *Layout) ShardFor(lib concordat.LibraryID, id concordat.DocumentID) concordat.ShardID {
	return ShardName(ShardOf(Slot(lib, id), l.Shards))
}

// names returns the names of all shards in order.
func (l *Layout) names() []concordat.ShardID {
	out := make([]concordat.ShardID, l.Shards)
	for i := range out {
		out[i] = ShardName(i)
	}
	return out
}

// ParseLayout parses the coordinator's configuration. If there is none yet, it fails with concordat.ErrNotFound.
func ParseLayout(c coord.Config) (*Layout, error) {
	if c.Version == 0 || len(c.Data) == 0 {
		return nil, fmt.Errorf("the cluster has not been created yet: %w", concordat.ErrNotFound)
	}
	var l Layout
	if err := json.Unmarshal(c.Data, &l); err != nil {
		return nil, fmt.Errorf("cannot parse the cluster's configuration: %w: %w", concordat.ErrCorrupt, err)
	}
	if l.Format != layoutFormat {
		return nil, fmt.Errorf("the cluster's configuration has format version %d, but this program supports version %d: %w", l.Format, layoutFormat,
			concordat.ErrInvalid)
	}
	return &l, l.validate()
}

func (l *Layout) validate() error {
	if l.Cluster == "" || l.Site == "" || l.Scheme == "" || l.Shards < 1 || l.Shards > MaxShards || l.Copies < 1 ||
		l.Copies > coord.MaxCopies {
		return fmt.Errorf("cannot use cluster %q of site %s with %d shards and %d copies of each: %w", l.Cluster, l.Site, l.Shards, l.Copies, concordat.ErrInvalid)
	}
	for n := range l.Members {
		if err := CheckNode(n); err != nil {
			return err
		}
	}
	return nil
}

// CheckNode returns nil if n is a valid node name: 1 to 63 lower-case letters, digits and hyphens.
func CheckNode(n coord.NodeID) error {
	ok := len(n) >= 1 && len(n) <= 63
	for _, r := range n {
		ok = ok && (r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-')
	}
	if !ok {
		return fmt.Errorf("node name %q must consist of 1 to 63 lower-case letters, digits and hyphens: %w", string(n), concordat.ErrInvalid)
	}
	return nil
}

// Found creates a cluster with the given members at a coordinator that has none. Calling it again with the same Layout.Cluster completes
// an interrupted call. If a different cluster exists, it fails with concordat.ErrExists.
func Found(ctx context.Context, s coord.Founder, l Layout) error {
	return FoundRestored(ctx, s, l, nil)
}

// FoundRestored is Found for a site whose shards came from a backup. epochs are the epochs that their copies had reached (see Adopt); the
// shards continue with higher ones.
func FoundRestored(ctx context.Context, s coord.Founder, l Layout, epochs map[concordat.ShardID]uint64) error {
	l.Format = layoutFormat
	if err := l.validate(); err != nil {
		return err
	}
	if len(l.Members) == 0 {
		return fmt.Errorf("the cluster has no nodes: %w", concordat.ErrInvalid)
	}
	data, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if _, err = s.Configure(ctx, 0, data); errors.Is(err, coord.ErrStale) {
		now, rerr := readLayout(ctx, s)
		if rerr != nil {
			return rerr
		}
		if now.Cluster != l.Cluster {
			return fmt.Errorf("cluster %s of site %s already exists: %w", now.Cluster, now.Site, concordat.ErrExists)
		}
	} else if err != nil {
		return err
	}
	shards := map[concordat.ShardID]coord.State{}
	for i, nodes := range Place(&l, nil) {
		shards[ShardName(i)] = coord.State{Epoch: epochs[ShardName(i)], ISR: nodes, Replicas: nodes}
	}
	if err := s.Create(ctx, shards); err != nil && !errors.Is(err, concordat.ErrExists) {
		return err
	}
	return nil
}

// readLayout reads the layout from the session's next view, for callers that need nothing else from the view.
func readLayout(ctx context.Context, s coord.Founder) (*Layout, error) {
	select {
	case v := <-s.View():
		return ParseLayout(v.Config)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Place returns, for each shard, the nodes that should have a copy. If enough members are not drained, there are Copies of them, in
// different zones if possible; copies and first places are spread evenly over the nodes. now is the current placement, which Place
// changes only where necessary, or nil if there is none.
func Place(l *Layout, now [][]coord.NodeID) [][]coord.NodeID {
	var nodes []coord.NodeID
	for n, m := range l.Members {
		if !m.Drained {
			nodes = append(nodes, n)
		}
	}
	slices.Sort(nodes)
	p := placing{layout: l, nodes: nodes, most: (l.Shards*min(l.Copies, len(nodes)) + len(nodes) - 1) / max(1, len(nodes)),
		load: map[coord.NodeID]int{}, first: map[coord.NodeID]int{}}
	out := make([][]coord.NodeID, l.Shards)
	for i := range now { // keep whatever is still valid
		for _, n := range now[i] {
			if len(out[i]) < l.Copies && slices.Contains(nodes, n) && p.load[n] < p.most && !p.zoneTaken(out[i], n) {
				out[i] = append(out[i], n)
				p.load[n]++
			}
		}
	}
	for i := range out {
		for len(out[i]) < min(l.Copies, len(nodes)) {
			n := p.next(out[i])
			out[i] = append(out[i], n)
			p.load[n]++
		}
		p.lead(out[i])
	}
	return out
}

type placing struct {
	layout      *Layout
	nodes       []coord.NodeID
	most        int
	load, first map[coord.NodeID]int
}

// zoneTaken reports whether a node in the same zone has a copy although some other zone has none.
func (p *placing) zoneTaken(has []coord.NodeID, n coord.NodeID) bool {
	zones := map[string]bool{}
	for _, m := range p.nodes {
		zones[p.layout.Members[m].Zone] = true
	}
	same := 0
	for _, m := range has {
		if p.layout.Members[m].Zone == p.layout.Members[n].Zone {
			same++
		}
	}
	return same >= (min(p.layout.Copies, len(p.nodes))+len(zones)-1)/len(zones)
}

// next returns the best node for another copy of a shard: in the zones with the fewest copies of the shard, the node with the fewest
// copies overall.
func (p *placing) next(has []coord.NodeID) coord.NodeID {
	inZone := func(n coord.NodeID) (c int) {
		for _, m := range has {
			if p.layout.Members[m].Zone == p.layout.Members[n].Zone {
				c++
			}
		}
		return c
	}
	best := coord.NodeID("")
	for _, n := range p.nodes {
		if slices.Contains(has, n) {
			continue
		}
		if best == "" || inZone(n) < inZone(best) || inZone(n) == inZone(best) && p.load[n] < p.load[best] {
			best = n
		}
	}
	return best
}

// lead moves the node that is first for the fewest shards to the front, since a new shard's first node becomes its first master.
func (p *placing) lead(nodes []coord.NodeID) {
	best := 0
	for i, n := range nodes {
		if p.first[n] < p.first[nodes[best]] {
			best = i
		}
	}
	if len(nodes) > 0 {
		nodes[0], nodes[best] = nodes[best], nodes[0]
		p.first[nodes[0]]++
	}
}

// shardNumber is the inverse of ShardName.
func shardNumber(id concordat.ShardID) (int, bool) {
	n, err := strconv.Atoi(string(id))
	return n, err == nil && n >= 0 && n < MaxShards && ShardName(n) == id
}

// Viewer returns the newest view; Node implements it.
type Viewer interface {
	View() (*coord.View, <-chan struct{})
	Configure(ctx context.Context, version int64, data []byte) (int64, error)
}

// ChangeLayout changes the layout by compare-and-swap, retrying if another change came first. change can be called several times.
func ChangeLayout(ctx context.Context, n Viewer, change func(*Layout) error) error {
	for {
		v, news := n.View()
		l, err := ParseLayout(v.Config)
		if err != nil {
			return err
		}
		if err := errors.Join(change(l), l.validate()); err != nil {
			return err
		}
		data, err := json.Marshal(l)
		if err != nil {
			return err
		}
		if _, err = n.Configure(ctx, v.Config.Version, data); !errors.Is(err, coord.ErrStale) {
			return err
		}
		select {
		case <-news:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
