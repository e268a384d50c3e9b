package powertest

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// Recorded is the disk under a folder and its subfolders. It records everything that one goroutine's system calls do there, in any
// package: writes, truncations, changes of names and syncs. [Recorded.Cut] creates a folder as a machine could find it after a power
// failure at any recorded moment, with everything that was synced and a random part of the rest. It guarantees no more than POSIX.
// Changes without a sync between them may reach the disk in any order, and the content of files sector by sector; a file's name is on
// disk once its folder has been synced. A write(2) becomes visible at the next other call. Changes through memory maps do not count.
type Recorded struct {
	t testing.TB

	mu      sync.Mutex // guards the fields below
	root    string     // empty while not recording
	top     inode      // inode of the root
	at      int
	files   map[inode][]version
	folders map[inode][]rename
	names   map[inode]map[string]entry // as processes see them
	syncs   map[inode][]int            // times of syncs of files and folders
	held    map[inode]*os.File         // kept open, so that no other file gets the same number
	dies    int                        // number of calls after which all calls fail; never if negative
	err     error
}

// version is the content of a file from a given moment on.
type version struct {
	at      int
	content []byte
}

// rename is a change of a name in a folder. An inode of 0 means no entry.
type rename struct {
	at       int
	from, to map[string]entry
}

// Record returns a disk that does not record yet but will record the actions of the calling goroutine, which runs the test. It skips the
// test on systems without notification of system calls.
func Record(t *testing.T) *Recorded {
	t.Helper()
	runtime.LockOSThread() // never unlocked: the thread cannot remove the filter, and ends with the test
	listener, err := notice(ofThis, unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_PWRITE64, unix.SYS_FTRUNCATE, unix.SYS_TRUNCATE,
		unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2, unix.SYS_UNLINKAT, unix.SYS_MKDIRAT, unix.SYS_OPENAT)
	if err != nil {
		t.Skipf("the system does not report system calls: %v", err)
	}
	d := &Recorded{t: t, dies: -1}
	go func() { d.fail(watch(listener, d.reply)) }() // watch can wait forever
	return d
}

func (d *Recorded) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.err = errors.Join(d.err, err)
}

// Start records the folder from now on. It assumes that the folder's content is on disk, and sets the time to 0.
func (d *Recorded) Start(root string) {
	d.t.Helper()
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		d.t.Fatal(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, f := range d.held {
		_ = f.Close()
	}
	d.root, d.at, d.dies = root, 0, -1
	d.files, d.folders, d.names = map[inode][]version{}, map[inode][]rename{}, map[inode]map[string]entry{}
	d.syncs, d.held = map[inode][]int{}, map[inode]*os.File{}
	info, err := os.Stat(root)
	if err == nil {
		d.top, err = inodeOf(info), d.scan(root)
	}
	if err != nil {
		d.t.Fatal(err)
	}
	for n := range d.held {
		d.syncs[n] = []int{0}
	}
}

// Stop stops recording; Cut can still use the recording.
func (d *Recorded) Stop() {
	d.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.root = ""
}

// Now returns the current moment. All later actions have later moments.
func (d *Recorded) Now() int {
	d.t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at++
	if err := errors.Join(d.err, d.scan(d.root)); err != nil {
		d.t.Fatalf("cannot record the disk: %v", err)
	}
	return d.at
}

// Die makes all calls do nothing and fail after the given number of further calls, as if the process had died. Live ends that.
func (d *Recorded) Die(calls int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dies = calls
}

// Live ends the effect of Die, and reports whether any call failed.
func (d *Recorded) Live() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	dead := d.dies == 0
	d.dies = -1
	return dead
}

// reply records what was done before a call. It only simulates syncs, so they take no time.
func (d *Recorded) reply(q *asked, a *answer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	a.flags = unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE
	if d.root == "" {
		return
	}
	if d.dies == 0 {
		a.flags, a.errno = 0, -int32(unix.EIO)
		return
	}
	if d.dies > 0 {
		d.dies--
	}
	d.at++
	d.err = errors.Join(d.err, d.scan(d.root))
	if q.number != unix.SYS_FSYNC && q.number != unix.SYS_FDATASYNC {
		return
	}
	path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", q.args[0]))
	if err != nil {
		d.err = errors.Join(d.err, err)
		return
	}
	if path != d.root && !strings.HasPrefix(path, d.root+"/") || strings.HasSuffix(path, " (deleted)") {
		return
	}
	info, err := os.Stat(path)
	if err != nil {
		d.err = errors.Join(d.err, err)
		return
	}
	d.at++
	d.syncs[inodeOf(info)] = append(d.syncs[inodeOf(info)], d.at)
	a.flags = 0
}

// scan records a folder's changes since the last scan. d.mu is held.
func (d *Recorded) scan(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	n := inodeOf(info)
	if err := d.hold(n, path); err != nil {
		return err
	}
	es, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	names := map[string]entry{}
	for _, e := range es {
		below := filepath.Join(path, e.Name())
		info, err := e.Info()
		if err != nil {
			return err
		}
		names[e.Name()] = entry{inodeOf(info), e.IsDir()}
		if e.IsDir() {
			err = d.scan(below)
		} else {
			err = errors.Join(d.hold(inodeOf(info), below), d.scanFile(inodeOf(info), below))
		}
		if err != nil {
			return err
		}
	}
	before := d.names[n]
	if maps.Equal(before, names) {
		return nil
	}
	d.names[n] = names
	c := rename{d.at, map[string]entry{}, map[string]entry{}}
	for _, all := range []map[string]entry{before, names} {
		for name := range all {
			if before[name] != names[name] {
				c.from[name], c.to[name] = before[name], names[name]
			}
		}
	}
	d.folders[n] = append(d.folders[n], c)
	return nil
}

func (d *Recorded) scanFile(n inode, path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if v := d.files[n]; len(v) == 0 || string(v[len(v)-1].content) != string(b) {
		d.files[n] = append(v, version{d.at, b})
	}
	return nil
}

func (d *Recorded) hold(n inode, path string) error {
	if d.held[n] != nil {
		return nil
	}
	f, err := hold(path)
	if err != nil {
		return err
	}
	d.held[n] = f
	return nil
}

// Cut creates a new folder as a power failure at a recorded moment could leave it, with only the synced data if r is nil, and otherwise
// also with a random part of the rest. Call it from a goroutine other than the recorded one.
func (d *Recorded) Cut(at int, r *rand.Rand, to string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err != nil {
		return fmt.Errorf("cannot record the disk: %w", d.err)
	}
	return d.restore(d.top, at, r, to)
}

// These define how much unsynced data of a file or folder survives.
const (
	nothing    = iota
	everything // everything up to the moment
	beginning  // the state at some moment since the sync
	anything   // sectors of any age, but a truncation takes effect together with the length; names in any order
	ways
)

func way(r *rand.Rand) int {
	if r == nil {
		return nothing
	}
	return r.IntN(ways)
}

func (d *Recorded) restore(folder inode, at int, r *rand.Rand, to string) error {
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	names := d.namesAt(folder, at, r)
	for _, name := range slices.Sorted(maps.Keys(names)) { // sorted, so that r is used in a fixed order
		path, e := filepath.Join(to, name), names[name]
		var err error
		if e.dir {
			err = d.restore(e.inode, at, r, path)
		} else {
			err = os.WriteFile(path, d.contentAt(e.inode, at, r), 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// syncedAt returns the time of the last sync of a file or folder, or -1 if there was none.
func (d *Recorded) syncedAt(n inode, at int) int {
	last := -1
	for _, s := range d.syncs[n] {
		if s <= at {
			last = s
		}
	}
	return last
}

func (d *Recorded) namesAt(folder inode, at int, r *rand.Rand) map[string]entry {
	names, synced, how := map[string]entry{}, d.syncedAt(folder, at), way(r)
	if how == beginning {
		synced = max(synced, r.IntN(at+1))
	}
	for _, c := range d.folders[folder] {
		if c.at > at || c.at > synced && (how == nothing || how == beginning || how == anything && r.IntN(2) == 0) {
			continue
		}
		if slices.ContainsFunc(slices.Collect(maps.Keys(c.from)), func(name string) bool { return names[name] != c.from[name] }) {
			continue // this change depends on one that is lost
		}
		for name, e := range c.to {
			names[name] = e
			if e.inode == 0 {
				delete(names, name)
			}
		}
	}
	return names
}

// sector is the number of bytes that a disk writes atomically.
const sector = 512

func (d *Recorded) contentAt(n inode, at int, r *rand.Rand) []byte {
	synced, how := d.syncedAt(n, at), way(r)
	of := [][]byte{nil} // possible versions
	for _, v := range d.files[n] {
		switch {
		case v.at > at:
		case v.at <= synced:
			of[0] = v.content
		default:
			of = append(of, v.content)
		}
	}
	switch how {
	case nothing:
		return of[0]
	case everything:
		return of[len(of)-1]
	case beginning:
		return of[r.IntN(len(of))]
	}
	b := make([]byte, len(of[r.IntN(len(of))]))
	for i := 0; i < len(b); i += sector {
		end := min(i+sector, len(b))
		n := r.IntN(len(of))
		for emptied(of[:n+1], end) {
			n--
		}
		if i < len(of[n]) {
			copy(b[i:end], of[n][i:])
		}
	}
	return b
}

// emptied reports whether the newest of the versions lacks bytes before end because it was truncated.
func emptied(of [][]byte, end int) bool {
	n := len(of[len(of)-1])
	return n < end && slices.ContainsFunc(of, func(v []byte) bool { return len(v) > n })
}
