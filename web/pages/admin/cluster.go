package admin

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"concordat"
	"concordat/web/pages"
)

// Cluster describes the machines of this site, as the coordinator reports them.
type Cluster struct {
	Alone    bool             `json:"alone" doc:"Whether the site is one machine without a coordinator"`
	Site     concordat.SiteID `json:"site,omitempty"`
	Cluster  string           `json:"cluster,omitempty" doc:"Random identifier, chosen when the cluster was founded"`
	Nodes    []ClusterNode    `json:"nodes"`
	Shards   []ClusterShard   `json:"shards"`
	Config   *ClusterVersion  `json:"config,omitempty" doc:"What the nodes agree on; absent: never set"`
	Settings *ClusterVersion  `json:"settings,omitempty" doc:"What is set for all nodes; absent: never set"`
}

// Nodes describes the machines of a site. It is safe for concurrent use.
type Nodes interface {
	Cluster(ctx context.Context) (Cluster, error)
}

// ClusterNode is one machine.
type ClusterNode struct {
	ID      string `json:"id"`
	Live    bool   `json:"live"`
	Zone    string `json:"zone,omitempty"`
	Address string `json:"address,omitempty"`
	Version string `json:"version,omitempty"`
	Free    int64  `json:"free_bytes,omitempty"`
	Drained bool   `json:"drained,omitempty" doc:"Whether the node must not hold copies"`
	Copies  int    `json:"copies" doc:"Number of shards that the node should have copies of"`
	Leads   int    `json:"leads" doc:"Number of shards that the node is master of"`
}

// ShardHealth is the state of a shard.
type ShardHealth string

// A shard is healthy if every copy is in sync. It has fewer copies if a copy is out of sync or its node is absent, and no master if no
// node accepts changes.
const (
	ShardHealthy  ShardHealth = "healthy"
	ShardFewer    ShardHealth = "fewer copies"
	ShardNoMaster ShardHealth = "no master"
)

// ClusterShard is one shard.
type ClusterShard struct {
	ID       concordat.ShardID `json:"id"`
	State    ShardHealth       `json:"state" enum:"healthy,fewer copies,no master"`
	Master   string            `json:"master,omitempty"`
	Epoch    uint64            `json:"epoch"`
	InSync   []string          `json:"in_sync" doc:"Nodes whose copies have every acknowledged change"`
	Hold     []string          `json:"hold,omitempty" doc:"Nodes that may not lead for now"`
	Replicas []string          `json:"replicas" doc:"Nodes that should have a copy"`
	Coming   []string          `json:"coming,omitempty" doc:"Nodes whose copies are being made or are catching up"`
	Leaving  []string          `json:"leaving,omitempty" doc:"Nodes whose copies will be removed once the other copies are in sync"`
}

// ClusterVersion is the current version of a document shared by the nodes.
type ClusterVersion struct {
	Version int64     `json:"version"`
	Set     time.Time `json:"set"`
}

// versions returns the program versions of the live nodes.
func (c Cluster) versions() []string {
	var all []string
	for _, x := range c.Nodes {
		if x.Live && !slices.Contains(all, x.Version) {
			all = append(all, x.Version)
		}
	}
	slices.Sort(all)
	return all
}

// Moves counts the shards whose copies are being moved.
func (c Cluster) Moves() int {
	n := 0
	for _, x := range c.Shards {
		if len(x.Coming)+len(x.Leaving) > 0 {
			n++
		}
	}
	return n
}

// unhealthy counts the shards in state s.
func (c Cluster) unhealthy(s ShardHealth) int {
	n := 0
	for _, x := range c.Shards {
		if x.State == s {
			n++
		}
	}
	return n
}

// Names joins names for display.
func (ClusterShard) Names(names []string, between string) string { return strings.Join(names, between) }

// Join joins names for display.
func (Cluster) Join(names []string, between string) string { return strings.Join(names, between) }

// Key returns the message key of the state.
func (s ClusterShard) Key() string { return "cluster." + strings.ReplaceAll(string(s.State), " ", "") }

// Cluster describes the machines of the site.
func (w Admin) Cluster(ctx context.Context) (Cluster, error) {
	if w.o.Nodes == nil {
		return Cluster{Alone: true, Nodes: []ClusterNode{}, Shards: []ClusterShard{}}, nil
	}
	return w.o.Nodes.Cluster(ctx)
}

func (w Admin) clusterPage(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	c, err := w.Cluster(r.Context())
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	p := struct {
		pages.Administration
		Cluster
		NoMaster, Fewer int
		Mixed           []string // program versions, if they differ
	}{pages.AdministrationFor(v), c, c.unhealthy(ShardNoMaster), c.unhealthy(ShardFewer), nil}
	if vs := c.versions(); len(vs) > 1 {
		p.Mixed = vs
	}
	w.frame.Show(rw, r, v, http.StatusOK, "admin_cluster", "title.admin", p)
}
