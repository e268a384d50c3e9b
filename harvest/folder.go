package harvest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"strings"
	"time"

	"concordat"
	"concordat/harvest/oai"
	"concordat/store"
)

// listFolder lists the files of a folder and its subfolders. It skips and counts hidden files and folders, links and devices.
func (x *run) listFolder(ctx context.Context) error {
	u, err := url.Parse(x.source.URL)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(u.Path)
	if err != nil {
		return fmt.Errorf("folder: %w", err)
	}
	defer func() { _ = root.Close() }() // the folder was only read
	var page []seenRecord
	flush := func() error {
		ids := make([]string, len(page))
		for i := range page {
			ids[i] = page[i].ID
		}
		known, err := x.o.Store.Harvest.HarvestRecords(ctx, x.source.ID, ids)
		if err != nil {
			return err
		}
		records := make([]store.HarvestRecord, len(page))
		for i, seen := range page {
			old, ok := known[seen.ID]
			records[i] = x.mergeOne(old, ok, seen)
		}
		x.state.Listed += len(page)
		page = page[:0]
		return x.keep(ctx, records...)
	}
	x.state.Listed, x.state.Skipped = 0, 0
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err // an unreadable folder is not an empty one
		case name != "." && strings.HasPrefix(d.Name(), "."):
			x.state.Skipped++
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir():
			return nil
		case !d.Type().IsRegular():
			x.state.Skipped++
			return nil
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it has just been removed
		}
		if err != nil {
			return err
		}
		at := &url.URL{Scheme: "file", Path: path.Join(u.Path, name)}
		page = append(page, seenRecord{ID: concordat.ShortName(concordat.EscapeName(name)),
			Stamp:  info.ModTime().UTC().Format(time.RFC3339Nano),
			Digest: fmt.Sprint(info.Size()), Description: func() oai.Description {
				return oai.Description{Files: []store.HarvestFile{{URL: at.String(), Name: name}}}
			}})
		if len(page) < 500 {
			return ctx.Err()
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	if err == nil {
		x.state.Until = x.state.Started.UTC().Format(time.RFC3339)
	}
	return err
}

// local reads a file of a folder.
func (g *gathering) local(ctx context.Context, at string) error {
	u, err := url.Parse(at)
	if err != nil {
		return err
	}
	top, err := url.Parse(g.source.URL)
	if err != nil {
		return err
	}
	name := strings.TrimPrefix(strings.TrimPrefix(u.Path, path.Clean(top.Path)), "/")
	root, err := os.OpenRoot(top.Path)
	if err != nil {
		return fmt.Errorf("folder: %w", err)
	}
	defer func() { _ = root.Close() }() // the folder was only read
	f, err := root.Open(name)
	if err != nil {
		g.fault(name, errors.Unwrap(err))
		g.passing = true
		return nil
	}
	defer func() { _ = f.Close() }() // the file was only read
	info, err := f.Stat()
	switch {
	case err != nil:
		g.fault(name, err)
		g.passing = true
		return nil
	case info.Size() > g.o.MaxFile:
		g.fault(name, fmt.Errorf("file of %d bytes exceeds the maximum of %d", info.Size(), g.o.MaxFile))
		g.broken = true
		return nil
	}
	return g.read(ctx, name, "", f)
}
