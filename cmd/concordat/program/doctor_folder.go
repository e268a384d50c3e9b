package program

import (
	"concordat/cmd/concordat/clustering"
	"concordat/index"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"concordat"
	"concordat/cmd/concordat/screening"
	"concordat/instance"
	"concordat/partners"
	"concordat/store"
)

// doctor explains the purpose of each file in a site's folder, or lists it as unexplained.

// The names that a site uses, by folder. Other folders are examined elsewhere.
var explained = map[string][]string{
	".": {instance.ConfigName, instance.ConfigName + ".new", instance.StoreName, instance.StoreName + "-wal", instance.StoreName + "-shm",
		instance.IndexName, instance.NewIndexName, instance.OldIndexName,
		instance.IndexKeyName, instance.IndexKeyName + ".new", "lock", instance.SocketName, instance.OriginalsName, instance.BatchesName,
		screening.FolderName, instance.ClusterName, partners.EpochsName, partners.MirrorsName, instance.KeystoreName,
		instance.KeystoreName + ".lock", instance.KeyFileName, instance.LTIKeyName, instance.AuditHeadName, partners.ReplaysName,
		instance.EncoderName, instance.VectorsName,
		"lost+found"},
	instance.IndexName: {"00", instance.NodeDirName},
	filepath.Join(instance.IndexName, "00"): {"shard.json", "lock", "store", "table", "log", "replica.json", "cluster.json", "identity",
		"suspect"},
	filepath.Join(instance.BatchesName, "any"): {instance.IndexName, instance.BatchOut},
}

// Prefixes of temporary file names.
var momentary = []string{instance.AddingPrefix, ".new-store-", ".concordat-", ".replays-", instance.KeystoreName + ".new-",
	instance.LTIKeyName + ".", instance.BackupStageName}

// momentTime is the age beyond which a temporary file counts as left behind by an interruption.
const momentTime = time.Hour

// screeningTime is the corresponding age for a screening, which can take days between two records.
const screeningTime = 7 * 24 * time.Hour

// maxUnexplained is the maximum number of files to list.
const maxUnexplained = 20

// contents lists unexplained files.
func (d *doctor) contents(ctx context.Context, o *instance.Instance) {
	before := len(d.findings)
	var odd []string
	err := d.oddNames(ctx, o, func(path string) { odd = append(odd, path) })
	switch {
	case err != nil:
		d.fault("contents", "", err)
	case len(odd) > 0:
		d.warning("contents", "identify these files, then delete them or move them elsewhere: deletion and retention do not apply to them",
			"%d unexplained files or folders: %s", len(odd), strings.Join(odd[:min(len(odd), maxUnexplained)], ", "))
	case len(d.findings) == before:
		d.ok("contents", "every file is accounted for")
	}
}

// screenings lists the document data that interrupted screenings keep: hashed wording, names and titles.
func (d *doctor) screenings() error {
	return d.each(screening.FolderName, func(e fs.DirEntry) error {
		info, err := e.Info()
		if err != nil || d.now.Sub(info.ModTime()) < screeningTime {
			return nil // removed or still running
		}
		path := d.path(filepath.Join(screening.FolderName, e.Name()))
		d.add(finding{Check: "contents", State: findingWarning, Detail: path + " was left by an interrupted screening",
			Advice: "run the same concordat screen command again to complete the screening, or remove the folder: deletion does not apply to it",
			Fix:    "remove " + path, fix: func() error { return os.RemoveAll(path) }})
		return nil
	})
}

func (d *doctor) oddNames(ctx context.Context, o *instance.Instance, odd func(path string)) error {
	named := namedInFolder(o)
	for dir, names := range explained {
		if strings.HasSuffix(dir, "any") {
			continue
		}
		err := d.each(dir, func(e fs.DirEntry) error {
			path := filepath.Join(dir, e.Name())
			switch {
			case slices.Contains(names, e.Name()), dir == "." && named[e.Name()]:
			case dir == "." && slices.ContainsFunc(momentary, func(p string) bool { return strings.HasPrefix(e.Name(), p) }):
				d.momentary(e)
			default:
				odd(path)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return errors.Join(d.screenings(), d.oddBatches(ctx, o, odd), d.oddEpochs(ctx, o, odd), d.oddOriginals(ctx, o, odd))
}

// each calls f for the entries of a folder in the site, if the folder exists.
func (d *doctor) each(dir string, f func(fs.DirEntry) error) error {
	entries, err := os.ReadDir(d.path(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if err == nil {
			err = f(e)
		}
	}
	return err
}

// momentary offers to remove what an interruption has left behind.
func (d *doctor) momentary(e fs.DirEntry) {
	info, err := e.Info()
	if err != nil || d.now.Sub(info.ModTime()) < momentTime {
		return // removed or in use
	}
	path := d.path(e.Name())
	d.add(finding{Check: "contents", State: findingWarning, Detail: path + " was left by interrupted work", Advice: "remove it",
		Fix: "remove " + path, fix: func() error { return os.RemoveAll(path) }})
}

// namedInFolder returns the files in the folder that the configuration names, and the copies of such files on a node or in a restored
// site.
func namedInFolder(o *instance.Instance) map[string]bool {
	out := map[string]bool{}
	for _, name := range clustering.NamedFiles {
		out[name] = true
	}
	for _, f := range o.Config.Files() {
		out[f.Name] = true
		path := f.Path
		if !filepath.IsAbs(path) {
			path = filepath.Join(o.Dir, path)
		}
		if rel, err := filepath.Rel(o.Dir, path); err == nil && filepath.IsLocal(rel) {
			first, _, _ := strings.Cut(rel, string(filepath.Separator))
			out[first] = true
		}
	}
	for _, k := range instance.CoordinatorFiles {
		out[instance.CoordinatorFile+k] = true
	}
	return out
}

func (d *doctor) oddBatches(ctx context.Context, o *instance.Instance, odd func(string)) error {
	return d.each(instance.BatchesName, func(e fs.DirEntry) error {
		dir := filepath.Join(instance.BatchesName, e.Name())
		_, err := o.Store.Batches.Batch(ctx, e.Name())
		if errors.Is(err, concordat.ErrNotFound) {
			odd(dir)
			return nil
		}
		if err != nil {
			return err
		}
		return d.each(dir, func(e fs.DirEntry) error {
			if !slices.Contains(explained[filepath.Join(instance.BatchesName, "any")], e.Name()) {
				odd(filepath.Join(dir, e.Name()))
			}
			return nil
		})
	})
}

// oddEpochs looks for fingerprints from epochs that the store does not know.
func (d *doctor) oddEpochs(ctx context.Context, o *instance.Instance, odd func(string)) error {
	sets, err := o.Store.Answers.Epochs(ctx)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, s := range sets {
		dir := partners.EpochFolder(".", s.Epoch)
		known[dir], known[dir+partners.FollowedEnd] = true, true
	}
	err = d.each(partners.EpochsName, func(e fs.DirEntry) error {
		if path := filepath.Join(partners.EpochsName, e.Name()); !known[path] {
			odd(path)
		}
		return nil
	})
	return errors.Join(err, d.oddMirrors(ctx, o, odd))
}

// oddMirrors looks for mirror indexes that the store does not know. The serving process creates a mirror's index before its row, so an
// index that it currently holds is not odd.
func (d *doctor) oddMirrors(ctx context.Context, o *instance.Instance, odd func(string)) error {
	return d.each(partners.MirrorsName, func(e fs.DirEntry) error {
		path := filepath.Join(partners.MirrorsName, e.Name())
		if held(d.path(path)) {
			return nil
		}
		mirrors, err := o.Store.Asks.Mirrors(ctx) // read only now, because the process that held the index may have ended
		known := func(m store.Mirror) bool { return partners.MirrorFolder(".", m.Epoch) == path }
		if _, gone := os.Stat(d.path(path)); err == nil && gone == nil && !slices.ContainsFunc(mirrors, known) {
			odd(path)
		}
		return err
	})
}

// held reports whether another process has an index open for writing or is creating it.
func held(dir string) bool {
	scheme, err := index.SchemeOf(dir)
	if errors.Is(err, fs.ErrNotExist) {
		entries, err := os.ReadDir(dir)
		return err == nil && len(entries) == 0
	}
	if err != nil {
		return false
	}
	s, err := index.Open(dir, index.Options{Scheme: scheme, ReadOnly: true})
	if err != nil {
		return errors.Is(err, concordat.ErrLocked)
	}
	_ = s.Close() // nothing was written
	return false
}

// oddOriginals looks for files that no check refers to and that the hourly sweep should have removed.
func (d *doctor) oddOriginals(ctx context.Context, o *instance.Instance, odd func(string)) error {
	root := d.path(instance.OriginalsName)
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || err == nil && e.IsDir() {
			return ctx.Err() // removed in the meantime
		}
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil || d.now.Sub(info.ModTime()) < instance.RecentUploads {
			return nil // possibly just arriving, or about to be swept
		}
		rel, _ := filepath.Rel(d.dir, path) // the path is always below d.dir
		of, ok := store.FileOf(e.Name())
		if !ok {
			odd(rel)
			return nil
		}
		if d.o.quick || o.Config.Store.URL != "" {
			return nil
		}
		needed, err := o.Store.Retention.OriginalNeeded(ctx, of)
		if err == nil && !needed {
			odd(rel)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("originals: %w", err)
	}
	return nil
}
