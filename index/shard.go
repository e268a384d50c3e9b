package index

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"sync"

	"concordat"
)

// Options describe a shard and how to open it.
type Options struct {
	// Site and Shard name the shard. If empty on opening, the values stored in the folder apply.
	Site  concordat.SiteID
	Shard concordat.ShardID
	// Scheme is the scheme of all fingerprints; it is required to create a shard. If empty on opening, the stored one applies.
	Scheme concordat.Scheme
	// BandCap is the maximum number of distinct fingerprints that one look-up of a band value reads; Answer.Capped counts truncated
	// look-ups. Default 4096.
	BandCap int
	// ReadOnly opens an existing shard without changing a byte; Put, Delete and Merge are refused. Several readers can share a folder,
	// but not with a writer.
	ReadOnly bool
	// Logged opens the shard as a mirror of a write-ahead log, which only Apply changes; Put and Delete are refused.
	Logged bool
	// Warm stores the data derived on opening in a file, so that the next opening takes a tenth of the time. The file takes about 80
	// bytes per sentence. Close writes it for 100,000 sentences or more; the first change removes it.
	Warm bool
	// StockSegments leaves writing and merging of segments to Bleve, which takes about eight times as long and more space. Answers are
	// the same. The option can differ from one opening to the next, because existing segments work either way, and Purge rewrites them.
	// It is for operators who do not trust our writer; Build has no other writer and refuses the option.
	StockSegments bool
	// tableLeast replaces these 100,000 sentences in tests.
	tableLeast int
	// Logger receives background errors and recoveries. Default: none.
	Logger *slog.Logger
}

const defaultBandCap = 4096

// Shard is an index on one disk. It is safe for concurrent use.
type Shard struct {
	dir    string
	opt    Options
	log    *slog.Logger
	lock   *os.File
	engine *engine

	// reserve is the number of bytes to keep free on disk; with less, Put is refused, since Bleve's root file is memory-mapped and a full
	// disk can crash the process there. Tests lower it.
	reserve uint64

	using sync.RWMutex // held for reading by every call and for writing by Close
	shut  bool         // guarded by using

	merging sync.Mutex // held by Merge and Purge

	state  state
	logged logged
}

var _ concordat.Index = (*Shard)(nil)

// errLogged refuses a change that would bypass the log.
var errLogged = fmt.Errorf("the shard can be changed only through its log: %w", concordat.ErrRefused)

// writable returns the error for refusing Put and Delete, or nil.
func (o *Options) writable() error {
	switch {
	case o.ReadOnly:
		return errReadOnly
	case o.Logged:
		return errLogged
	}
	return nil
}

// errReadOnly refuses to change a shard opened with ReadOnly.
var errReadOnly = fmt.Errorf("the shard is open in read-only mode: %w", concordat.ErrRefused)

// Open opens the shard in dir, or creates one if dir is absent or empty. It fails immediately with ErrLocked if another process has the
// shard open. It fails with ErrScheme if the shard's fingerprints have a different scheme, and with ErrCorrupt, which names the file, if
// a file is missing or damaged. Opening reads all fingerprints, in about 0.3 s per million.
func Open(dir string, o Options) (*Shard, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if o.BandCap < 0 || int64(o.BandCap) > math.MaxUint32 {
		return nil, fmt.Errorf("band cap %d: %w", o.BandCap, concordat.ErrInvalid)
	}
	if o.BandCap == 0 {
		o.BandCap = defaultBandCap
	}
	s := &Shard{dir: dir, opt: o, log: o.Logger, reserve: 8 << 20}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	create, err := isNew(dir)
	if err != nil {
		return nil, err
	}
	if create && o.ReadOnly {
		return nil, fmt.Errorf("%s: the folder does not contain a shard: %w", dir, concordat.ErrNotFound)
	}
	if create {
		if o.Scheme == "" {
			return nil, fmt.Errorf("create %s: the scheme is missing: %w", dir, concordat.ErrInvalid)
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	if s.lock, err = lockDir(dir, o.ReadOnly); err != nil {
		return nil, err
	}
	if err := s.open(); err != nil {
		return nil, errors.Join(err, s.lock.Close())
	}
	return s, nil
}

// open is the part of Open that requires the lock.
func (s *Shard) open() error {
	create, err := isNew(s.dir) // checked again, since another process may have been faster
	if err != nil {
		return err
	}
	if !create {
		read := openHeader
		if s.opt.ReadOnly {
			read = readHeader
		}
		h, err := read(s.dir)
		if errors.Is(err, fs.ErrNotExist) {
			return corrupt(filepath.Join(s.dir, headerName), "missing")
		} else if err != nil {
			return err
		}
		if err := h.check(&s.opt); err != nil {
			return fmt.Errorf("%s: %w", s.dir, err)
		}
		s.opt.Site, s.opt.Shard, s.opt.Scheme = h.Site, h.Shard, h.Scheme
	}
	if create {
		// On a full disk, creating a shard would block forever.
		if err := s.room(0); err != nil {
			return fmt.Errorf("create %s: %w", s.dir, err)
		}
	}
	s.engine, err = openEngine(filepath.Join(s.dir, storeName), create, engineOptions{readOnly: s.opt.ReadOnly, early: s.opt.Logged,
		stock: s.opt.StockSegments, log: s.log.Warn})
	if err != nil {
		return err
	}
	if create {
		err = writeHeader(s.dir, s.opt.header())
	}
	if err == nil {
		err = s.logged.open(s.engine)
	}
	if err == nil {
		err = s.load()
	}
	if err != nil {
		return errors.Join(err, s.engine.close())
	}
	return nil
}

// header returns the header of a shard with these options.
func (o *Options) header() header {
	return header{Format: formatVersion, Site: o.Site, Shard: o.Shard, Scheme: o.Scheme}
}

// Scheme returns the scheme of the shard's fingerprints.
func (s *Shard) Scheme() concordat.Scheme { return s.opt.Scheme }

// use keeps the shard open until the returned function is called. It fails with ErrUnavailable after Close, or after a background
// goroutine of Bleve has died.
func (s *Shard) use() (done func(), err error) {
	s.using.RLock()
	if s.shut {
		s.using.RUnlock()
		return nil, fmt.Errorf("%s is closed: %w", s.dir, concordat.ErrUnavailable)
	}
	if err := s.engine.err(); err != nil {
		s.using.RUnlock()
		return nil, err
	}
	return s.using.RUnlock, nil
}

// Merge reduces Bleve to one segment and the derived table to one level, the smallest and fastest form. It rewrites the whole shard,
// which needs additional free disk space of the same size; queries and writers continue.
func (s *Shard) Merge(ctx context.Context) error {
	done, err := s.use()
	if err != nil {
		return err
	}
	defer done()
	if s.opt.ReadOnly {
		return errReadOnly
	}
	s.merging.Lock()
	defer s.merging.Unlock()
	if err := s.engine.merge(ctx); err != nil {
		return fmt.Errorf("merge %s: %w", s.dir, err)
	}
	s.state.consolidate()
	return nil
}

// CopyTo writes a copy of the shard, as of some moment during the call, to dir, which must be absent or empty. Writers continue. After an
// error, dir contains no valid shard.
func (s *Shard) CopyTo(ctx context.Context, dir string) error {
	f, err := s.Freeze()
	if err != nil {
		return err
	}
	return errors.Join(f.CopyTo(ctx, dir), f.Close())
}

// syncTree makes the files directly in dir and their names durable.
func syncTree(dir string) error {
	es, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range es {
		if err := syncDir(filepath.Join(dir, e.Name())); err != nil { // syncDir syncs files, too
			return err
		}
	}
	return syncDir(dir)
}

// diskError adds to err what was done to the shard in dir, and marks err as ErrDiskFull if the disk is full. It returns nil for nil.
func diskError(what, dir string, err error) error {
	if err == nil {
		return nil
	}
	if isDiskFull(err) && !errors.Is(err, concordat.ErrDiskFull) {
		err = fmt.Errorf("%w: %w", err, concordat.ErrDiskFull)
	}
	return fmt.Errorf("%s %s: %w", what, dir, err)
}

// Close waits for calls in progress and releases the folder. Later calls fail with ErrUnavailable, except Close, which does nothing.
func (s *Shard) Close() error {
	s.using.Lock()
	defer s.using.Unlock()
	if s.shut {
		return nil
	}
	s.shut = true
	keep := s.keepsTable()
	err := s.engine.close()
	if keep && err == nil {
		if err := s.saveTable(); err != nil {
			s.log.Warn("cannot save the table for the next start", "shard", s.opt.Shard, "error", err)
		}
	}
	return errors.Join(err, s.lock.Close())
}
