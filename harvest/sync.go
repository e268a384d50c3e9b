package harvest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"concordat"
	"concordat/harvest/fetch"
	"concordat/harvest/oai"
	"concordat/harvest/sitemap"
	"concordat/harvest/xmltree"
	"concordat/store"
)

const (
	// maxLists is the maximum number of lists of a ResourceSync source. More lists are an error because the resources in an unread list
	// would count as removed.
	maxLists = 2000
	// maxChanges is the maximum number of changes kept in memory; if there are more, all resources are listed.
	maxChanges = 500_000
)

var (
	errLists   = fmt.Errorf("the source has more than %d lists; harvest parts of it as separate sources", maxLists)
	errChanges = fmt.Errorf("the source lists more than %d changes", maxChanges)
)

// syncLists are the lists of a source, by capability.
type syncLists struct {
	resources, changes []string // addresses of lists
}

// listSync reads a source by ResourceSync, using its change lists if they reach back to the last run, and otherwise all resources.
func (x *run) listSync(ctx context.Context) error {
	x.state.Listed = 0
	var lists syncLists
	if err := x.discoverSync(ctx, x.source.URL, &lists, map[string]bool{}); err != nil {
		return err
	}
	now := x.state.Started.UTC().Format("2006-01-02T15:04:05Z")
	if !x.state.Whole && len(lists.changes) > 0 {
		reached, err := x.readChanges(ctx, lists.changes)
		if err != nil {
			return err
		}
		if reached {
			x.state.Until = now
			return nil
		}
	}
	if len(lists.resources) == 0 {
		return errors.New("the source has no resource list")
	}
	x.state.Whole = true // so that resources that are no longer listed are removed
	for _, at := range lists.resources {
		if err := x.eachList(ctx, at, func(l *sitemap.List) error { return x.keepEntries(ctx, l.Entries) }); err != nil {
			return err
		}
	}
	x.state.Until = now
	return nil
}

// discoverSync finds the lists for the address of a site (with its well-known address), a description, a capability list, or a list.
func (x *run) discoverSync(ctx context.Context, at string, lists *syncLists, seen map[string]bool) error {
	if seen[at] {
		return nil
	}
	if len(seen) >= maxLists {
		return errLists
	}
	seen[at] = true
	l, err := x.sitemap(ctx, at)
	if err != nil {
		u, failed := url.Parse(at)
		if failed != nil || len(seen) > 1 || strings.Trim(u.Path, "/") != "" {
			return err
		}
		u.Path = "/.well-known/resourcesync"
		if l, failed = x.sitemap(ctx, u.String()); failed != nil {
			return err
		}
	}
	switch l.Capability {
	case "description", "capabilitylist":
		for _, e := range l.Entries {
			switch e.Capability {
			case "resourcelist":
				lists.resources = append(lists.resources, e.URL)
			case "changelist":
				lists.changes = append(lists.changes, e.URL)
			case "capabilitylist":
				if err := x.discoverSync(ctx, e.URL, lists, seen); err != nil {
					return err
				}
			}
		}
	case "changelist":
		lists.changes = append(lists.changes, at)
	default:
		lists.resources = append(lists.resources, at)
	}
	return nil
}

func (x *run) sitemap(ctx context.Context, at string) (l *sitemap.List, err error) {
	err = x.persist(ctx, func() error {
		r, err := x.o.Fetch.Open(ctx, at, fetch.Want{Accept: "application/xml, text/xml", Protocol: true, Most: 64 << 20})
		if err != nil {
			return err
		}
		b, err := readAll(r)
		if err != nil {
			return err
		}
		if l, err = sitemap.Read(r.URL, xmltree.Clean(b, "")); err != nil {
			err = fmt.Errorf("%w: %w", concordat.ErrInvalid, err)
		}
		return err
	})
	return l, err
}

// eachList calls f for the list at an address or, if it is an index, for each list in it.
func (x *run) eachList(ctx context.Context, at string, f func(*sitemap.List) error) error {
	l, err := x.sitemap(ctx, at)
	if err != nil {
		return err
	}
	if !l.Index {
		return f(l)
	}
	if len(l.Entries) > maxLists {
		return errLists
	}
	for _, e := range l.Entries {
		part, err := x.sitemap(ctx, e.URL)
		if err != nil {
			return err
		}
		if part.Index {
			return fmt.Errorf("%s: an index must not list other indexes", e.URL)
		}
		if err := f(part); err != nil {
			return err
		}
	}
	return nil
}

// readChanges applies the changes since the last run, and reports whether the lists reach back to that run.
func (x *run) readChanges(ctx context.Context, at []string) (reached bool, err error) {
	var all []sitemap.Entry
	for _, one := range at {
		err := x.eachList(ctx, one, func(l *sitemap.List) error {
			reached = reached || l.From != "" && !(sitemap.Entry{Modified: l.From}).After(x.state.From)
			for _, e := range l.Entries {
				if e.After(x.state.From) {
					all = append(all, e)
				}
			}
			if len(all) > maxChanges {
				return errChanges
			}
			return nil
		})
		if errors.Is(err, errChanges) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	if !reached {
		return false, nil
	}
	// If a resource has several changes, the last one applies.
	slices.SortStableFunc(all, func(a, b sitemap.Entry) int { return strings.Compare(a.Modified, b.Modified) })
	return true, x.keepEntries(ctx, all)
}

func (x *run) keepEntries(ctx context.Context, entries []sitemap.Entry) error {
	for part := range slices.Chunk(entries, 500) {
		var ids []string
		for _, e := range part {
			ids = append(ids, idOfEntry(e))
		}
		known, err := x.o.Store.Harvest.HarvestRecords(ctx, x.source.ID, ids)
		if err != nil {
			return err
		}
		out := make([]store.HarvestRecord, 0, len(part))
		for _, e := range part {
			if e.Describes != "" {
				continue // metadata of another resource
			}
			id := idOfEntry(e)
			old, ok := known[id]
			n := x.mergeOne(old, ok, seenRecord{ID: id, Stamp: e.Modified, Digest: e.Hash, Deleted: e.Change == "deleted",
				Description: func() oai.Description { return describeEntry(e) }})
			known[id] = n
			out = append(out, n)
		}
		x.state.Listed += len(out)
		if err := x.keep(ctx, out...); err != nil {
			return err
		}
	}
	return nil
}

func idOfEntry(e sitemap.Entry) string {
	if e.Canonical != "" {
		return cleanID(e.Canonical)
	}
	return cleanID(e.URL)
}

// describeEntry returns a description of a resource, which is a text or a page that may lead to one.
func describeEntry(e sitemap.Entry) oai.Description {
	d := oai.Description{Work: concordat.Work{Page: e.URL}}
	u, err := url.Parse(e.URL)
	if err != nil {
		return d
	}
	for _, l := range e.Meta {
		d.Files = append(d.Files, store.HarvestFile{URL: l.URL, Type: l.Type, Meta: true})
	}
	switch {
	case oai.IsText(e.Type, u.Path):
		d.Files = append(d.Files, store.HarvestFile{URL: e.URL, Type: e.Type})
	case e.Type == "" || e.Type == "text/html" || e.Type == "application/xhtml+xml":
		d.Files = append(d.Files, store.HarvestFile{URL: e.URL, Type: e.Type, Page: true})
	default:
		d.Files = nil
	}
	return d
}
