package clustering

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cluster"
	"concordat/cluster/coord"
	"concordat/cmd/cli"
	"concordat/instance"
)

// Nodes restart one at a time; each hands over its leadership, stops, comes back and catches up before the next one restarts. An
// interrupted restart can be repeated from any point.

// rolling is a rolling restart.
type rolling struct {
	a       *commands
	w       *instance.Observer
	peers   *cluster.HTTPPeers
	command string        // the command that restarts a node; if empty, its service manager does
	to      string        // the version expected after the restart; empty means any
	wait    time.Duration // maximum time for each step
	dry     bool
}

// rollStep is a line of the --json output.
type rollStep struct {
	Node    coord.NodeID        `json:"node"`
	Step    string              `json:"step"` // plan, hand over, restart, catch up, done, skip
	Shards  []concordat.ShardID `json:"shards,omitempty"`
	Version string              `json:"version,omitempty"`
	Took    float64             `json:"seconds,omitempty"`
	DryRun  bool                `json:"dry_run,omitempty"`
}

func (a *commands) clusterRestart() *cobra.Command {
	r := &rolling{a: a}
	c := &cobra.Command{Use: "restart [NODE...]", Short: "Restart nodes one after the other while the site keeps running",
		Long: `Restart restarts the named nodes, or all nodes, one after the other: other nodes take over a node's shards, the node
restarts, and the next one follows once the copies of the first are in sync again. It refuses if a shard would lose
its last copy in sync, or too many copies to accept writes.

A node under systemd or in a container exits and is restarted by its service manager. For other nodes, give --command:
sh runs it on this machine with NODE, ADDRESS and ZONE in its environment, for example

  concordat cluster restart --command 'ssh "$NODE" systemctl restart concordat'`,
		RunE: func(cmd *cobra.Command, args []string) error { return r.run(cmd.Context(), args) }}
	r.flags(c)
	return c
}

func (r *rolling) flags(c *cobra.Command) {
	c.ValidArgsFunction = r.a.completeNodes(0)
	f := c.Flags()
	f.StringVar(&r.command, "command", "", "command that restarts $NODE, run here by sh (default: the node's service manager)")
	f.DurationVar(&r.wait, "patience", 10*time.Minute, "how long to wait for a node to come back and catch up")
	f.BoolVar(&r.dry, "dry-run", false, "show what would be done, and whether it is allowed")
}

func (r *rolling) run(ctx context.Context, args []string) error {
	return r.a.WithCluster(ctx, func(o *instance.Instance, w *instance.Observer, l *cluster.Layout) error {
		t, err := instance.Trust(o.Dir, o.Config)
		if err != nil {
			return err
		}
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: t.ClientTLS()}}
		defer client.CloseIdleConnections()
		r.w, r.peers = w, &cluster.HTTPPeers{Client: client, Cluster: t.Cluster}
		nodes, err := r.chosen(l, args)
		if err != nil {
			return err
		}
		if err := r.may(nodes); err != nil {
			return err
		}
		b := r.a.Progress(int64(len(nodes)), "restarting")
		defer b.Done()
		for _, n := range nodes {
			if err := r.one(ctx, n); err != nil {
				return fmt.Errorf("node %s: %w", n, err)
			}
			b.Add(1)
		}
		if !r.dry {
			return r.giveBack(ctx)
		}
		return nil
	})
}

// chosen returns the nodes in increasing order of the number of shards they lead, which minimizes the number of handovers.
func (r *rolling) chosen(l *cluster.Layout, args []string) ([]coord.NodeID, error) {
	var nodes []coord.NodeID
	for _, a := range args {
		if _, ok := l.Members[coord.NodeID(a)]; !ok {
			return nil, cli.Usagef("no node %q", a)
		}
		nodes = append(nodes, coord.NodeID(a))
	}
	if len(args) == 0 {
		nodes = slices.Collect(maps.Keys(l.Members))
	}
	var out []coord.NodeID
	for _, n := range nodes {
		live, ok := r.w.Seen.Live[n]
		switch {
		case !ok && len(args) > 0:
			return nil, fmt.Errorf("node %s is not live; start it on its machine: %w", n, concordat.ErrUnavailable)
		case !ok:
			r.a.Warn("node %s is not live; skipping it", n)
		case r.to != "" && live.Version == r.to:
			r.a.Say("node %s already has version %s", n, r.to)
			if err := r.a.TellJSON(rollStep{Node: n, Step: "skip", Version: r.to}); err != nil {
				return nil, err
			}
		case !slices.Contains(out, n):
			out = append(out, n)
		}
	}
	slices.SortFunc(out, func(x, y coord.NodeID) int {
		return cmp.Or(cmp.Compare(len(r.led(x)), len(r.led(y))), cmp.Compare(x, y))
	})
	return out, nil
}

// may returns an error, before anything is changed, if the restart cannot succeed.
func (r *rolling) may(nodes []coord.NodeID) error {
	var errs []error
	for _, n := range nodes {
		if err := r.spared(n); err != nil {
			errs = append(errs, err)
		}
		if r.command == "" && !r.w.Seen.Live[n].Supervised {
			errs = append(errs, fmt.Errorf("node %s is not run by a service manager that would restart it: give --command, or start it with serve --supervised: %w", n, concordat.ErrRefused))
		}
	}
	return errors.Join(errs...)
}

// led returns the shards that the node leads.
func (r *rolling) led(n coord.NodeID) (out []concordat.ShardID) {
	for _, id := range slices.Sorted(maps.Keys(r.w.Seen.Shards)) {
		if s := r.w.Seen.Shards[id]; s.ISR[0] == n && s.Leader != "" {
			out = append(out, id)
		}
	}
	return out
}

// spared returns the reason why the node must not stop, or nil.
func (r *rolling) spared(n coord.NodeID) error {
	for _, id := range slices.Sorted(maps.Keys(r.w.Seen.Shards)) {
		s := r.w.Seen.Shards[id]
		if !slices.Contains(s.ISR, n) && !slices.Contains(s.Replicas, n) {
			continue
		}
		others := 0
		for _, m := range s.ISR {
			if _, live := r.w.Seen.Live[m]; live && m != n && !slices.Contains(s.Hold, m) {
				others++
			}
		}
		if others == 0 {
			return fmt.Errorf("shard %s has no copy in sync except on node %s, so the shard could not be searched or changed during the restart; wait until other copies are in sync, or add copies (concordat cluster balance): %w", id, n, concordat.ErrRefused)
		}
		if len(s.Replicas) >= 3 && others < 2 {
			return fmt.Errorf("shard %s has only one copy in sync apart from the one on node %s, so the shard could not be changed during the restart; wait until other copies are in sync: %w", id, n, concordat.ErrRefused)
		}
	}
	return nil
}

func (r *rolling) tell(s rollStep, words string) error {
	s.DryRun = r.dry
	if words != "" {
		r.a.Say("node %s: %s", s.Node, words)
	}
	return r.a.TellJSON(s)
}

// one restarts one node.
func (r *rolling) one(ctx context.Context, n coord.NodeID) error {
	led := r.led(n)
	if r.dry {
		how := "its service manager"
		if r.command != "" {
			how = "the command"
		}
		return r.tell(rollStep{Node: n, Step: "plan", Shards: led, Version: r.w.Seen.Live[n].Version},
			fmt.Sprintf("would hand over the %d shards that it leads and be restarted by %s", len(led), how))
	}
	began := time.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, r.wait,
		fmt.Errorf("the node did not come back and get in sync within %v; look at its log, start it, and repeat the command: %w", r.wait, concordat.ErrUnavailable))
	defer cancel()
	// The previously restarted node may have the copies that must be in sync before this one stops.
	if err := r.until(ctx, func() bool { return r.spared(n) == nil }); err != nil {
		return errors.Join(r.spared(n), err)
	}
	if err := r.tell(rollStep{Node: n, Step: "hand over", Shards: led}, fmt.Sprintf("hands over %d shards", len(led))); err != nil {
		return err
	}
	if err := r.handOver(ctx, n); err != nil {
		return err
	}
	was := r.w.Seen.Live[n]
	if err := r.tell(rollStep{Node: n, Step: "restart"}, "restarts"); err != nil {
		return err
	}
	if err := r.restart(ctx, was); err != nil {
		return err
	}
	if err := r.until(ctx, func() bool { now, ok := r.w.Seen.Live[n]; return ok && now.Incarnation != was.Incarnation }); err != nil {
		return err
	}
	now := r.w.Seen.Live[n]
	if r.to != "" && now.Version != r.to {
		return fmt.Errorf("the node came back running version %s instead of %s; check whether the program on the node's machine has been replaced: %w", cmp.Or(now.Version, "unknown"), r.to,
			concordat.ErrInvalid)
	}
	if err := r.tell(rollStep{Node: n, Step: "catch up", Version: now.Version},
		"is back with version "+cmp.Or(now.Version, "unknown")+", catching up"); err != nil {
		return err
	}
	if err := r.until(ctx, func() bool { return r.caughtUp(n) }); err != nil {
		return err
	}
	took := time.Since(began)
	return r.tell(rollStep{Node: n, Step: "done", Version: now.Version, Took: took.Seconds()},
		fmt.Sprintf("in sync after %.1f s", took.Seconds()))
}

// caughtUp reports whether all copies that the node should have are in sync and eligible to lead.
func (r *rolling) caughtUp(n coord.NodeID) bool {
	for _, s := range r.w.Seen.Shards {
		if slices.Contains(s.Replicas, n) && (!slices.Contains(s.ISR, n) || slices.Contains(s.Hold, n) || !r.w.Seen.Leads(s.State)) {
			return false
		}
	}
	return true
}

// until waits until the view satisfies the condition.
func (r *rolling) until(ctx context.Context, pleases func() bool) error {
	for !pleases() {
		if err := r.w.Next(ctx); err != nil {
			return err
		}
	}
	return nil
}

// handOver makes other nodes lead the shards that this node leads. It retries, since followers can be behind at first.
func (r *rolling) handOver(ctx context.Context, n coord.NodeID) error {
	for {
		led := r.led(n)
		if len(led) == 0 {
			return r.until(ctx, func() bool { return r.allLed(n) })
		}
		for _, id := range led {
			if err := r.peers.Order(ctx, r.w.Seen.Live[n], id, "stepdown"); err != nil {
				return fmt.Errorf("hand over shard %s: %w", id, err)
			}
		}
		soon, cancel := context.WithTimeout(ctx, time.Second)
		err := r.until(soon, func() bool { return len(r.led(n)) == 0 })
		cancel()
		if err != nil && ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// allLed reports whether each shard with a copy on this node has its master elsewhere.
func (r *rolling) allLed(n coord.NodeID) bool {
	for _, s := range r.w.Seen.Shards {
		if (slices.Contains(s.ISR, n) || slices.Contains(s.Replicas, n)) && (!r.w.Seen.Leads(s.State) || s.ISR[0] == n) {
			return false
		}
	}
	return true
}

func (r *rolling) restart(ctx context.Context, n coord.Node) error {
	if r.command == "" {
		return r.peers.Restart(ctx, n)
	}
	c := exec.CommandContext(ctx, "sh", "-c", r.command)
	c.Env = append(os.Environ(), "NODE="+string(n.ID), "ADDRESS="+n.Address, "ZONE="+n.Zone)
	c.Stdout, c.Stderr = r.a.Stderr, r.a.Stderr
	c.WaitDelay = time.Second // a background process started by the command may keep its output open
	if err := c.Run(); err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return fmt.Errorf("%s: %w", r.command, err)
	}
	return nil
}

// giveBackTries is the number of attempts of giveBack, one per second, because a node that has just come back may not have caught up yet.
const giveBackTries = 5

// giveBack makes the first wanted node of each shard its leader again if possible. Otherwise the last node to restart would lead nothing.
func (r *rolling) giveBack(ctx context.Context) error {
	had := len(r.astray())
	for range giveBackTries {
		astray := r.astray()
		if len(astray) == 0 {
			break
		}
		for _, id := range astray {
			// A master hands over to the first wanted node that has caught up.
			if err := r.peers.Order(ctx, r.w.Seen.Live[r.w.Seen.Shards[id].ISR[0]], id, "stepdown"); err != nil {
				return fmt.Errorf("return shard %s: %w", id, err)
			}
		}
		soon, cancel := context.WithTimeout(ctx, time.Second)
		err := r.until(soon, func() bool { return len(r.astray()) == 0 && r.ledAll() })
		cancel()
		if err != nil && ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	if back := had - len(r.astray()); back > 0 {
		r.a.Say("%d shards were returned to their preferred nodes", back)
	}
	late, cancel := context.WithTimeout(ctx, r.wait)
	defer cancel()
	return r.until(late, r.ledAll)
}

// astray returns the shards whose first wanted node could lead them but does not.
func (r *rolling) astray() (out []concordat.ShardID) {
	for _, id := range slices.Sorted(maps.Keys(r.w.Seen.Shards)) {
		s := r.w.Seen.Shards[id]
		first := s.Replicas[0]
		_, live := r.w.Seen.Live[first]
		if live && s.ISR[0] != first && slices.Contains(s.ISR, first) && !slices.Contains(s.Hold, first) && r.w.Seen.Leads(s.State) {
			out = append(out, id)
		}
	}
	return out
}

// ledAll reports whether every shard has a master.
func (r *rolling) ledAll() bool {
	for _, s := range r.w.Seen.Shards {
		if !r.w.Seen.Leads(s.State) {
			return false
		}
	}
	return true
}

func (a *commands) clusterUpgrade() *cobra.Command {
	r := &rolling{a: a}
	c := &cobra.Command{Use: "upgrade [NODE...]",
		Short: "Restart nodes one after the other with a new version",
		Long: `Upgrade restarts nodes after the program has been replaced, or with a --command that replaces it. It skips nodes that
already have the version given with --to and stops if a node comes back with a different version. A version that
cannot work with the running nodes refuses to start and names the versions that can work with both.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if r.to = cmp.Or(r.to, instance.Version()); r.to == "" || r.to == "(devel)" {
				return cli.Usagef("this program was built without a version; give one with --to")
			}
			return r.run(cmd.Context(), args)
		}}
	r.flags(c)
	c.Flags().StringVar(&r.to, "to", "", "version that the nodes must come back with (default: this program's)")
	return c
}
