package wal

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"concordat/internal/powertest"
	"concordat/internal/suite"
)

// held describes the possible contents of a log after a loss of power.
type held struct {
	first, base uint64   // its Base lies between first and base
	durable     uint64   // its End is at least this
	epochs      []uint64 // epochs of the records that it can contain, from record 1 on
}

// fits returns an error if the log is not in this state, because an acknowledged record is missing or a removed one has come back.
func (h *held) fits(x Extent, rs []Record) error {
	if x.Base < h.first || x.Base > h.base || x.End < h.durable || x.End > uint64(len(h.epochs)) {
		return fmt.Errorf("holds records %d to %d, wants from %d or before (not before %d), to %d at least and %d at most", x.Base+1, x.End,
			h.base+1, h.first+1, h.durable, len(h.epochs))
	}
	if x.Base > 0 && x.BaseEpoch != h.epochs[x.Base-1] {
		return fmt.Errorf("begins after epoch %d, want %d", x.BaseEpoch, h.epochs[x.Base-1])
	}
	if uint64(len(rs)) != x.End-x.Base {
		return fmt.Errorf("gives %d records of %d", len(rs), x.End-x.Base)
	}
	for i, r := range rs {
		seq := x.Base + 1 + uint64(i)
		if want := rec(seq, h.epochs[seq-1]); string(want.append(nil, 0)) != string(r.append(nil, 0)) {
			return fmt.Errorf("record %d of epoch %d: got %v, want %v", seq, want.Epoch, r, want)
		}
	}
	return nil
}

// powered is a log on a recorded disk, changed by random calls.
type powered struct {
	t     *testing.T
	d     *powertest.Recorded
	r     *rand.Rand
	dir   string
	log   *Log
	now   held
	epoch uint64
	may   []moment
}

// moment is a time from which the log can be in any of the given states.
type moment struct {
	at   int
	what string // the change that is complete
	may  []held
}

func (p *powered) expect(what string, may ...held) {
	p.may = append(p.may, moment{p.d.Now(), what, may})
}

var poweredOptions = Options{Shard: "00", SegmentBytes: 4 << 10}

// open opens the log, and retries if the process dies. The state that it finds counts afterwards.
func (p *powered) open(may ...held) {
	p.t.Helper()
	for {
		if p.r.IntN(3) == 0 {
			p.d.Die(p.r.IntN(12))
		}
		l, err := Open(p.dir, poweredOptions)
		if died := p.d.Live(); died && err != nil {
			continue
		} else if died {
			must(p.t, l.Close()) // the process died after the last call
			continue
		}
		must(p.t, err)
		p.log = l
		break
	}
	x := p.log.Extent()
	rs := all(p.t, p.log)
	h, err := which(may, x, rs)
	if err != nil {
		p.t.Fatalf("the process died: %v", err)
	}
	p.now = held{h.first, x.Base, x.End, slices.Clone(h.epochs[:x.End])}
	p.expect("opened", p.now)
}

// which returns the first state that fits.
func which(may []held, x Extent, rs []Record) (held, error) {
	var err error
	for i := range may {
		if err = may[i].fits(x, rs); err == nil {
			return may[i], nil
		}
	}
	return held{}, err
}

// try makes a change of about calls system calls, during which the process can die, and leaves the log in the state before or after the
// change.
func (p *powered) try(what string, calls int, change func() error, after held) {
	p.t.Helper()
	before := p.now
	p.expect(what, before, after)
	if p.r.IntN(3) == 0 {
		p.d.Die(p.r.IntN(calls))
	}
	err := change()
	if p.d.Live() {
		_ = p.log.Close() // some files may already be closed
		p.open(before, after)
		return
	}
	must(p.t, err)
	p.now = after
	p.expect("after "+what, after)
}

func (p *powered) step() {
	base, end := p.now.base, uint64(len(p.now.epochs))
	after := p.now
	after.epochs = slices.Clone(after.epochs)
	switch p.r.IntN(12) {
	default:
		for range 1 + p.r.IntN(40) {
			seq := uint64(len(after.epochs)) + 1
			must(p.t, p.log.Append(rec(seq, p.epoch)))
			after.epochs = append(after.epochs, p.epoch)
		}
		p.now.epochs = after.epochs // records may be there before they are acknowledged
		after.durable = uint64(len(after.epochs))
		p.try(fmt.Sprintf("sync %d to %d", end+1, after.durable), 6, func() error { _, err := p.log.Sync(); return err }, after)
	case 0:
		p.try("rotate", 4, p.log.Rotate, after)
	case 1, 2:
		to := base + p.r.Uint64N(end-base+1)
		if p.r.IntN(3) > 0 {
			to = max(base, end-min(end, p.r.Uint64N(20)))
		}
		p.now.durable = to // the truncated log still has at least these records
		after.durable, after.epochs = to, after.epochs[:to]
		p.try(fmt.Sprintf("truncate %d to %d", end, to), 6, func() error { return p.log.Truncate(to) }, after)
		p.epoch++
	case 3, 4:
		to := base + p.r.Uint64N(end-base+1)
		after.base = to // this is a maximum, because only whole files are removed
		p.try(fmt.Sprintf("trim to %d", to), 4, func() error { return p.log.Trim(to, int64(p.r.IntN(2)*p.r.IntN(8<<10))) }, after)
		p.now.base = p.log.Extent().Base
		p.expect("trimmed", p.now)
	case 5:
		to := p.r.Uint64N(end + 50) // a replacing copy may end earlier
		after = held{to, to, to, after.epochs[:min(to, end)]}
		for uint64(len(after.epochs)) < to {
			after.epochs = append(after.epochs, p.epoch)
		}
		epoch := uint64(0)
		if to > 0 {
			epoch = after.epochs[to-1]
		}
		p.try(fmt.Sprintf("reset to %d", to), 16, func() error { return p.log.Reset(to, epoch) }, after)
		p.epoch++
	}
}

// TestPowerLoss cuts the power at every moment of random calls, and sometimes kills the process. The log opens and contains everything
// acknowledged and nothing removed, even after repeated losses of power.
func TestPowerLoss(t *testing.T) {
	d := powertest.Record(t)
	dir, cuts := inMemory(t), 0
	for seed := range uint64(suite.Rounds(10, 30)) {
		p := &powered{t: t, d: d, r: rand.New(rand.NewPCG(seed, 1)), epoch: 1}
		root := filepath.Join(dir, fmt.Sprint(seed, "-0"))
		must(t, os.Mkdir(root, 0o700))
		may := []held{{}}
		for lost := range 3 {
			d.Start(root)
			p.dir, p.may = filepath.Join(root, "log"), []moment{{0, "open", may}}
			p.open(may...)
			for range 25 {
				p.step()
			}
			must(t, p.log.Close())
			d.Stop()
			n, err := p.cutEverywhere(filepath.Join(dir, "cut"), seed)
			cuts += n
			if err != nil {
				t.Fatalf("seed %d, after %d other losses of power: %v", seed, lost, err)
			}
			// The machine restarts in one of these states.
			m := p.may[p.r.IntN(len(p.may))]
			root, may = filepath.Join(dir, fmt.Sprint(seed, "-", lost+1)), m.may
			must(t, apart(func() error { return d.Cut(m.at, p.r, root) }))
		}
	}
	t.Logf("%d losses of power", cuts)
}

// inMemory returns a new folder, in memory if possible, which takes a tenth of the time.
func inMemory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "wal-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	return dir
}

// apart calls f in a goroutine whose calls are not recorded, because recording takes time.
func apart(f func() error) error {
	done := make(chan error)
	go func() { done <- f() }()
	return <-done
}

// cutEverywhere cuts the power at every moment, in three ways, and opens the log after each cut. It returns the number of cuts.
func (p *powered) cutEverywhere(dir string, seed uint64) (int, error) {
	type loss struct {
		moment
		way int
	}
	var losses []loss
	for i, m := range p.may {
		end := m.at + 1
		if i+1 < len(p.may) {
			end = p.may[i+1].at
		}
		for at := m.at; at < end; at++ {
			for way := range 3 {
				losses = append(losses, loss{moment{at, m.what, m.may}, way})
			}
		}
	}
	const workers = 4
	done := make(chan error, workers)
	for w := range workers {
		go func() {
			cut := fmt.Sprint(dir, w)
			for i := w; i < len(losses); i += workers {
				var r *rand.Rand
				if losses[i].way > 0 {
					r = rand.New(rand.NewPCG(seed, uint64(i)))
				}
				err := p.d.Cut(losses[i].at, r, cut)
				if err == nil {
					err = reopenCut(filepath.Join(cut, "log"), losses[i].may)
				}
				if err != nil {
					done <- fmt.Errorf("%s, %d of %d, way %d: %w", losses[i].what, losses[i].at, losses[len(losses)-1].at, losses[i].way, err)
					return
				}
				if err := os.RemoveAll(cut); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	var err error
	for range workers {
		err = errors.Join(err, <-done)
	}
	return len(losses), err
}

// reopenCut opens a log after a loss of power.
func reopenCut(dir string, may []held) error {
	o := poweredOptions
	o.sync = func(*os.File) error { return nil } // there are thousands of logs, and the power stays on
	l, err := Open(dir, o)
	if err != nil {
		return err
	}
	x := l.Extent()
	rs, err := l.Read(x.Base+1, math.MaxInt)
	if err == nil {
		_, err = which(may, x, rs)
	}
	return errors.Join(err, l.Close())
}
