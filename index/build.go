package index

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"github.com/blevesearch/bleve/v2/index/scorch"

	"concordat"
)

// These constants bound the number of Bleve documents that form one segment before the final merge. A single segment is fastest, but
// two-byte document numbers suffice only for 65,536 documents, and texts wait in memory until their segment is written.
const (
	leastBatch = 1 << 10
	maxBatch   = 1 << 16
	batchBytes = 96 << 20 // approximate size of waiting documents
)

// Build creates a shard from the profiles in dir, which must be absent or empty; each profile must be of a different document. Build is
// the fastest way to fill a shard and leaves a single merged segment. It uses one processor. On return, the shard is durable and closed.
// Build writes to the folder dir.building and renames it at the end, so dir contains either the whole shard or nothing. If profiles
// yields an error, Build stops and returns it.
func Build(dir string, o Options, profiles iter.Seq2[*concordat.Profile, error]) (err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return err
	}
	if fresh, err := isNew(dir); err != nil {
		return err
	} else if !fresh {
		return fmt.Errorf("build %s: %w", dir, concordat.ErrExists)
	}
	if o.Scheme == "" {
		return fmt.Errorf("build %s: the scheme is missing: %w", dir, concordat.ErrInvalid)
	}
	if o.StockSegments {
		return fmt.Errorf("build %s: a build always writes its own kind of segments; for stock segments, open the shard and add the documents one by one: %w", dir, concordat.ErrInvalid)
	}
	temp := dir + ".building"
	if err := os.MkdirAll(temp, 0o700); err != nil {
		return err
	}
	lock, err := lockDir(temp, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := build(temp, &o, profiles); err != nil {
		return errors.Join(diskError("build", temp, err), os.RemoveAll(temp))
	}
	return moveIn(temp, dir)
}

// moveIn renames the complete folder temp to dir, which is absent or contains no shard.
func moveIn(temp, dir string) error {
	for _, name := range []string{lockName, headerName + ".tmp", storeName} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	// os.Remove deletes only an empty folder. It fails if another process has begun to fill the folder.
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(temp, dir); err != nil {
		return err
	}
	return syncDir(filepath.Dir(dir))
}

// build writes a shard's folder.
func build(dir string, o *Options, profiles iter.Seq2[*concordat.Profile, error]) error {
	store, parts := filepath.Join(dir, storeName), filepath.Join(dir, "parts")
	// A killed Build leaves these behind.
	if err := errors.Join(os.RemoveAll(store), os.RemoveAll(parts), os.Mkdir(parts, 0o700)); err != nil {
		return err
	}
	register()
	next, stop := iter.Pull2(profiles)
	defer stop()
	first, batch, err := sample(next)
	if err != nil {
		return err
	}
	b, err := scorch.NewBuilder(map[string]any{
		"path": store, "buildPathPrefix": parts, "batchSize": batch, "mergeMax": 1000,
		"internal": map[string][]byte{string(internalFormat): {formatVersion}},
	})
	if err != nil {
		return err
	}
	f := feeder{scheme: o.Scheme, builder: b, batch: batch, seen: make(map[key]struct{}), counters: new(sharedCounters)}
	for _, p := range first {
		if err := f.feed(p); err != nil {
			return err
		}
	}
	for p, err, ok := next(); ok; p, err, ok = next() {
		if err == nil {
			err = f.feed(p)
		}
		if err != nil {
			return err
		}
	}
	if len(f.seen) > 0 {
		err = guard(b.Close)
	} else { // the builder cannot create an empty index
		err = makeEmpty(store)
	}
	if err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(parts), syncTree(store)); err != nil {
		return err
	}
	return writeHeader(dir, o.header())
}

// makeEmpty creates a Bleve index without documents.
func makeEmpty(store string) error {
	e, err := openEngine(store, true, engineOptions{log: func(string, ...any) {}})
	if err != nil {
		return err
	}
	return e.close()
}

// sample takes the first profiles and chooses the batch size accordingly.
func sample(next func() (*concordat.Profile, error, bool)) (first []*concordat.Profile, batch int, err error) {
	entries, size := 0, 0
	for len(first) < 256 {
		p, err, ok := next()
		if err != nil {
			return nil, 0, err
		}
		if !ok {
			break
		}
		first = append(first, p)
		entries += blockCount(len(p.Indexed)) + 1
		size += 60*len(p.Indexed) + 40*len(p.Terms) + len(p.Document.Text)/2
	}
	each := max(1, size/max(1, entries))
	return first, min(max(batchBytes/each, leastBatch), maxBatch), nil
}

// feeder passes profiles to the builder.
type feeder struct {
	scheme       concordat.Scheme
	builder      *scorch.Builder
	batch        int
	seen         map[key]struct{}
	numbers      numbers
	counters     *sharedCounters
	arena        arena
	given, calls int // number of entries passed from the arena, and number of all calls
}

func (f *feeder) feed(p *concordat.Profile) error {
	if err := checkProfile(p, f.scheme); err != nil {
		return err
	}
	k := key{p.Document.Library, p.Document.ID}
	if _, again := f.seen[k]; again {
		return fmt.Errorf("document %s/%s appears twice: %w", k.library, k.id, concordat.ErrInvalid)
	}
	f.seen[k] = struct{}{}
	number, err := f.numbers.take()
	if err != nil {
		return err
	}
	f.arena.add(number, p, f.counters)
	for ; f.given < f.arena.used; f.given++ {
		if err := f.builder.Index(f.arena.entries[f.given]); err != nil {
			return err
		}
		f.calls++
	}
	// The builder has read every entry up to the end of its last full batch.
	if waiting := f.calls % f.batch; waiting+f.batch <= f.arena.used {
		f.arena.keepLast(waiting)
		f.given = waiting
	}
	return nil
}

// keepLast frees all entries but the last n in use and moves these to the front.
func (a *arena) keepLast(n int) {
	free := a.used - n
	rotated := make([]*entry, 0, len(a.entries))
	rotated = append(rotated, a.entries[free:a.used]...)
	rotated = append(rotated, a.entries[:free]...)
	a.entries = append(rotated, a.entries[a.used:]...)
	a.used = n
}
