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

// Bounds on the number of Bleve documents that become one segment before all are merged. A single segment is
// quickest; on the other hand, a document number of two bytes suffices only for 65,536 documents, and texts
// wait in memory until their segment is written.
const (
	leastBatch = 1 << 10
	maxBatch   = 1 << 16
	batchBytes = 96 << 20 // of waiting documents, about
)

// Build makes a new shard of the profiles in dir, which must be absent or empty; no two profiles may be of the same
// document. It is the quickest way to fill a shard, with a single merged segment. It uses only one processor. The
// shard is durable on return and not open. It grows in the folder dir.building and is renamed when it is complete,
// so that dir holds all of it or nothing. An error among the profiles ends the call and is returned.
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
		return fmt.Errorf("build %s: no scheme: %w", dir, concordat.ErrInvalid)
	}
	if o.StockSegments {
		return fmt.Errorf("build %s: Build writes its own segments; open the shard and put the documents: %w", dir, concordat.ErrInvalid)
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
	s := &Shard{dir: temp, opt: o}
	s.init()
	if err := s.build(profiles); err != nil {
		return errors.Join(s.diskError("build", err), os.RemoveAll(temp))
	}
	return moveIn(temp, dir)
}

// moveIn renames the complete folder temp to dir, which is absent or holds no shard.
func moveIn(temp, dir string) error {
	for _, name := range []string{lockName, headerName + ".tmp", storeName} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	// An empty folder is removed. If another process has begun to fill it, it stays, which is an error.
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(temp, dir); err != nil {
		return err
	}
	return syncDir(filepath.Dir(dir))
}

// build writes the folder of a shard.
func (s *Shard) build(profiles iter.Seq2[*concordat.Profile, error]) error {
	store, parts := filepath.Join(s.dir, storeName), filepath.Join(s.dir, "parts")
	// These are the remains of an earlier Build that was killed.
	if err := errors.Join(os.RemoveAll(store), os.RemoveAll(parts), os.Mkdir(parts, 0o700)); err != nil {
		return err
	}
	register()
	next, stop := iter.Pull2(profiles)
	defer stop()
	first, batch, err := s.sample(next)
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
	f := feeder{shard: s, builder: b, batch: batch, seen: make(map[key]struct{})}
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
	if s.nextNumber > 0 {
		err = guard(b.Close)
	} else { // the builder cannot make an empty index
		err = makeEmpty(store)
	}
	if err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(parts), syncTree(store)); err != nil {
		return err
	}
	return writeHeader(s.dir, s.header())
}

// makeEmpty makes a Bleve index without documents.
func makeEmpty(store string) error {
	e, err := openEngine(store, true, engineOptions{log: func(string, ...any) {}})
	if err != nil {
		return err
	}
	return e.close()
}

// sample takes the first profiles and chooses the batch by their size.
func (s *Shard) sample(next func() (*concordat.Profile, error, bool)) (first []*concordat.Profile, batch int, err error) {
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
	shard        *Shard
	builder      *scorch.Builder
	batch        int
	seen         map[key]struct{}
	arena        arena
	given, calls int // entries of the arena passed on, and calls in all
}

func (f *feeder) feed(p *concordat.Profile) error {
	if err := f.shard.checkProfile(p); err != nil {
		return err
	}
	k := key{p.Document.Library, p.Document.ID}
	if _, again := f.seen[k]; again {
		return fmt.Errorf("document %s/%s appears twice: %w", k.library, k.id, concordat.ErrInvalid)
	}
	f.seen[k] = struct{}{}
	number, err := f.shard.number()
	if err != nil {
		return err
	}
	f.shard.addProfile(&f.arena, number, p)
	for ; f.given < f.arena.used; f.given++ {
		if err := f.builder.Index(f.arena.entries[f.given]); err != nil {
			return err
		}
		f.calls++
	}
	// The builder has read all entries except those passed since its last full batch.
	if waiting := f.calls % f.batch; waiting+f.batch <= f.arena.used {
		f.arena.keepLast(waiting)
		f.given = waiting
	}
	return nil
}

// keepLast frees all entries except the last n in use, which become the first.
func (a *arena) keepLast(n int) {
	free := a.used - n
	rotated := make([]*entry, 0, len(a.entries))
	rotated = append(rotated, a.entries[free:a.used]...)
	rotated = append(rotated, a.entries[:free]...)
	a.entries = append(rotated, a.entries[a.used:]...)
	a.used = n
}
