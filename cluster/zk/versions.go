package zk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	zkclient "github.com/go-zookeeper/zk"

	"concordat"
	"concordat/cluster/coord"
)

// Two documents of a site are versioned: coord.Config, which the nodes agree on among themselves, and the settings made by an operator
// for all of them.

// Document identifies one of the two.
type Document string

// The documents, named by their znodes.
const (
	Config   Document = "config"   // coord.Config
	Settings Document = "settings" // Session.Settings
)

// kept is the number of versions kept of each document.
const kept = 100

// Configure implements coord.Session. It adds the version to the history in the same step.
func (s *Session) Configure(ctx context.Context, version int64, data []byte) (int64, error) {
	return s.edit(ctx, Config, version, data)
}

// SetSettings replaces the settings if their version is the given one, and returns the new version, version+1. It returns the same errors
// as Configure.
func (s *Session) SetSettings(ctx context.Context, version int64, data []byte) (int64, error) {
	return s.edit(ctx, Settings, version, data)
}

// Settings returns the channel of the settings made by an operator for all nodes, which is always the same. It buffers one version, the
// newest not yet received. The first version arrives with the first view, and is 0 if nothing was ever set. Close closes the channel.
func (s *Session) Settings() <-chan coord.Config { return s.settings }

// edit replaces the given version of a document with the next one.
func (s *Session) edit(ctx context.Context, d Document, version int64, data []byte) (int64, error) {
	if len(data) > coord.MaxConfig {
		return 0, fmt.Errorf("cannot store %d bytes in %s: at most %d are allowed: %w", len(data), d, coord.MaxConfig, concordat.ErrInvalid)
	}
	if version < 0 || version >= 1<<31-1 {
		return 0, fmt.Errorf("%s has no version %d: %w", d, version, coord.ErrStale)
	}
	l, err := s.use()
	if err != nil {
		return 0, err
	}
	p := s.t.document(d)
	answers, err := s.multi(ctx, l,
		&zkclient.SetDataRequest{Path: p, Data: data, Version: int32(version)},
		&zkclient.CreateRequest{Path: past(p, version+1), Data: data, Acl: s.t.acl})
	if err != nil {
		if i, why := refusedAt(answers); i >= 0 && (errors.Is(why, zkclient.ErrBadVersion) || errors.Is(why, zkclient.ErrNodeExists)) {
			return 0, fmt.Errorf("%s is no longer at version %d: %w", d, version, coord.ErrStale)
		}
		return 0, changeError(string(d), err)
	}
	if old := version + 1 - kept; old > 0 {
		// Old versions that remain are harmless, because History returns no more than the number kept.
		_ = run1(ctx, l, func(c *zkclient.Conn) error { return c.Delete(past(p, old), -1) })
	}
	return version + 1, nil
}

// Past is one version of a document.
type Past struct {
	coord.Config
	Set time.Time // by the clock of ZooKeeper's leader
}

// History returns the kept versions of a document, at most 100 and at most limit, newest first. Errors: concordat.ErrUnavailable, and the
// errors of ctx.
func (s *Session) History(ctx context.Context, d Document, limit int) ([]Past, error) {
	l, err := s.use()
	if err != nil {
		return nil, err
	}
	p := s.t.document(d)
	names, err := call(ctx, l, func(c *zkclient.Conn) ([]string, error) { names, _, err := c.Children(p); return names, err })
	if err != nil {
		return nil, readError(string(d), err)
	}
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(b, a) })
	var all []Past
	for _, name := range names {
		v, ok := parsePast(name)
		if !ok || len(all) >= min(limit, kept) {
			continue
		}
		z, err := l.get(ctx, p+"/"+name)
		if errors.Is(err, zkclient.ErrNoNode) {
			continue // the version was removed
		}
		if err != nil {
			return nil, readError(string(d), err)
		}
		all = append(all, Past{coord.Config{Version: v, Data: z.data}, time.UnixMilli(z.stat.Ctime)})
	}
	return all, nil
}
