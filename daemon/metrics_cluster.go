package daemon

import (
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"concordat/cluster/replica"
	"concordat/instance"
)

// These are the metrics of a node of a site of several machines. Nodes and shards are reported as this node sees them, so every node
// reports all of them; log metrics concern only its own copies.
var (
	metricOnline   = metric("cluster_coordinator_up", "1 while the coordinator has confirmed the node's session within its timeout.")
	metricSessions = metric("cluster_sessions_total",
		"Sessions with the coordinator since the process began; if there is more than one, the earlier ones were lost.")
	metricNode     = metric("cluster_node_up", "1 for each node of the cluster that is live, 0 for one that is away.", "node", "zone")
	metricVersions = metric("cluster_versions", "How many versions of the program the live nodes run.")
	metricShards   = metric("cluster_shards",
		"Shards by state: ok, moving (a copy catches up), degraded (a node is away), down (no master).", "state")
	metricAsides = metric("cluster_copies_aside",
		"Copies of this node that were put aside because they were damaged or contradicted their master; see concordat cluster salvage.")
	metricLeads       = metric("cluster_shard_master", "1 for each copy of this node that is its shard's master.", "shard")
	metricInSync      = metric("cluster_copy_in_sync", "1 for each copy of this node that is in sync.", "shard")
	metricEnd         = metric("cluster_log_end", "Number of the last record in the log of this node's copy.", "shard")
	metricApplied     = metric("cluster_log_applied", "Number of the last record that the index of this node's copy contains.", "shard")
	metricCertificate = metric("cluster_certificate_expires_seconds", "When the node's certificate expires, in seconds since 1970.")
	metricAuthority   = metric("cluster_authority_expires_seconds", "When the cluster's authority expires, in seconds since 1970.")
)

// collectCluster reports the metrics of the cluster, if there is one.
func (c *siteCollector) collectCluster(gauge func(*prometheus.Desc, float64, ...string), out chan<- prometheus.Metric) {
	if c.s.o.Member == nil {
		return
	}
	n := c.s.o.Member.Node
	gauge(metricOnline, yes(n.Online()))
	out <- prometheus.MustNewConstMetric(metricSessions, prometheus.CounterValue, float64(n.Sessions()))
	ends, authority := c.s.o.Member.Trust.Ends()
	gauge(metricCertificate, float64(ends.Unix()))
	gauge(metricAuthority, float64(authority.Unix()))
	v, _ := n.View()
	if l, err := n.Layout(); err == nil {
		for id, m := range l.Members {
			_, live := v.Live[id]
			gauge(metricNode, yes(live), string(id), m.Zone)
		}
	}
	versions := map[string]bool{}
	for _, live := range v.Live {
		versions[live.Version] = true
	}
	gauge(metricVersions, float64(len(versions)))
	if asides, err := instance.AsidesOf(c.s.o.Dir); err == nil {
		gauge(metricAsides, float64(len(asides)))
	}
	states := map[string]int{"ok": 0, "moving": 0, "degraded": 0, "down": 0}
	for _, id := range slices.Sorted(maps.Keys(v.Shards)) {
		states[instance.ShardState(v, v.Shards[id]).State]++
		copied, ok := n.Copy(id)
		if !ok {
			continue
		}
		st, err := copied.Status()
		gauge(metricLeads, yes(err == nil && st.Role == replica.Master), string(id))
		gauge(metricInSync, yes(err == nil && st.InSync && !st.Quarantined), string(id))
		gauge(metricEnd, float64(st.End), string(id))
		gauge(metricApplied, float64(st.Applied), string(id))
	}
	for state, n := range states {
		gauge(metricShards, float64(n), state)
	}
}
