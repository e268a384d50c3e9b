package powertest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// alone is the environment variable that names the test that a process was started for.
const alone = "POWERTEST_ALONE"

// Alone reruns a top-level test in a separate process, and reports whether this is that process; in the original process, the test adopts
// the outcome. Watch works only in such a process.
func Alone(t *testing.T) bool {
	t.Helper()
	if os.Getenv(alone) == t.Name() {
		return true
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=5m")
	cmd.Env = append(os.Environ(), alone+"="+t.Name())
	out, err := cmd.CombinedOutput()
	switch {
	case err != nil:
		t.Fatalf("the test failed in a separate process: %v\n%s", err, out)
	case strings.Contains(string(out), "--- SKIP: "+t.Name()+" "):
		t.Skipf("%s", out)
	case !strings.Contains(string(out), "--- PASS: "+t.Name()+" "):
		t.Fatalf("the test did not run in a separate process:\n%s", out)
	}
	return false
}

// Watched is the disk under a folder and its subfolders; it records each fsync and fdatasync of this process, in any package, before it
// is performed. Files opened with O_SYNC or O_DSYNC, and changes through memory maps, are not recorded. It is safe for concurrent use.
type Watched struct {
	t    testing.TB
	root string
	// FileNames makes the sync of a new file also put its name, and the names of the folders above it, on disk, as ext4 and xfs do.
	FileNames bool

	mu    sync.Mutex // guards the fields below
	files map[inode][]byte
	names map[inode]map[string]entry // names on disk in each folder
	held  map[inode]*os.File         // so that no other file gets the same number
	calls int
	err   error
}

type entry struct {
	inode inode
	dir   bool
}

// Watch returns the disk under a folder. It assumes that the folder's content is on disk. It skips the test on systems without
// notification of system calls.
func Watch(t *testing.T, root string) *Watched {
	t.Helper()
	if os.Getenv(alone) != t.Name() {
		t.Fatal("Watch was called outside a separate process")
	}
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		t.Fatal(err)
	}
	d := &Watched{t: t, root: root, files: map[inode][]byte{}, names: map[inode]map[string]entry{}, held: map[inode]*os.File{}}
	err = filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, d.synced(path))
	})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := notice(ofAll, unix.SYS_FSYNC, unix.SYS_FDATASYNC)
	if err != nil {
		t.Skipf("the system does not report system calls: %v", err)
	}
	go func() { // ends with the process
		d.fail(watch(listener, func(q *asked, a *answer) {
			d.note(int(q.args[0]))
			a.flags = unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE
		}))
	}()
	return d
}

// These select the threads whose calls are reported: all threads, or only the current one.
const (
	ofAll  = unix.SECCOMP_FILTER_FLAG_TSYNC | unix.SECCOMP_FILTER_FLAG_TSYNC_ESRCH
	ofThis = 0
)

// notice makes the kernel report each of these calls through the returned file and wait for an answer. It reports openat only if the call
// can create or truncate a file.
func notice(whose int, calls ...uint32) (int, error) {
	load := func(offset uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
	}
	give := func(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }
	is := func(call uint32, otherwise uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: call, Jf: otherwise}
	}
	prog := []unix.SockFilter{load(0)} // number of the call
	for _, call := range calls {
		if call == unix.SYS_OPENAT {
			makes := unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: unix.O_CREAT | unix.O_TRUNC, Jf: 1}
			prog = append(prog, is(call, 4), load(16+2*8), makes, give(unix.SECCOMP_RET_USER_NOTIF), give(unix.SECCOMP_RET_ALLOW))
			continue
		}
		prog = append(prog, is(call, 1), give(unix.SECCOMP_RET_USER_NOTIF))
	}
	prog = append(prog, give(unix.SECCOMP_RET_ALLOW))
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	runtime.LockOSThread() // a thread without new privileges passes this state on with the filter
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return 0, err
	}
	flags := uintptr(unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | whose)
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&fprog)))
	runtime.KeepAlive(prog)
	if errno != 0 {
		return 0, errno
	}
	return int(fd), nil
}

// asked and answer are seccomp_notif and seccomp_notif_resp of linux/seccomp.h.
type asked struct {
	id         uint64
	pid, flags uint32
	number     int32
	arch       uint32
	ip         uint64
	args       [6]uint64
}

type answer struct {
	id           uint64
	value        int64
	errno, flags int32
}

// watch answers each call until an error, or until the last thread whose calls are reported has ended. It closes the listener.
func watch(listener int, reply func(*asked, *answer)) error {
	defer unix.Close(listener)
	for {
		fds := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}}
		if _, err := unix.Poll(fds, -1); err == unix.EINTR {
			continue
		} else if err != nil {
			return err
		}
		if fds[0].Revents&unix.POLLIN == 0 { // no thread is left; asking for a call would fail immediately, forever
			return nil
		}
		var q asked
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&q)))
		if errno == unix.EINTR || errno == unix.ENOENT { // a signal interrupted the call
			continue
		}
		if errno != 0 {
			return errno
		}
		a := answer{id: q.id}
		reply(&q, &a)
		_, _, errno = unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&a)))
		if errno != 0 && errno != unix.ENOENT { // ENOENT: a signal interrupted the wait, and the call will be reported again
			return errno
		}
	}
}

func (d *Watched) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.err = errors.Join(d.err, err)
}

// note records the current content of the file or folder: the sync that follows puts at least this content on disk.
func (d *Watched) note(fd int) {
	path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
	if err != nil {
		d.fail(err)
		return
	}
	if path != d.root && !strings.HasPrefix(path, d.root+"/") {
		return
	}
	if strings.HasSuffix(path, " (deleted)") {
		return // a file without a name cannot be found after a power failure
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls++
	d.err = errors.Join(d.err, d.synced(path))
}

// synced records a sync of a file or folder. d.mu is held.
func (d *Watched) synced(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	n := inodeOf(info)
	if err := d.hold(n, path); err != nil {
		return err
	}
	if info.IsDir() {
		return d.syncedNames(n, path)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	_, before := d.files[n]
	d.files[n] = b
	if d.FileNames && !before {
		return d.syncedName(path)
	}
	return nil
}

func (d *Watched) hold(n inode, path string) error {
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

// hold keeps a file or folder open, so that no other one gets its number.
func hold(path string) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

func (d *Watched) syncedNames(n inode, path string) error {
	es, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	names := map[string]entry{}
	for _, e := range es {
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		err = d.hold(inodeOf(info), filepath.Join(path, e.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		names[e.Name()] = entry{inodeOf(info), e.IsDir()}
	}
	d.names[n] = names
	return nil
}

// syncedName records the name of a file or folder, and the names of the folders above it.
func (d *Watched) syncedName(path string) error {
	for ; path != d.root; path = filepath.Dir(path) {
		in, err := os.Stat(filepath.Dir(path))
		if err != nil {
			return err
		}
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		folder := inodeOf(in)
		if err := errors.Join(d.hold(folder, filepath.Dir(path)), d.hold(inodeOf(info), path)); err != nil {
			return err
		}
		if d.names[folder] == nil {
			d.names[folder] = map[string]entry{}
		}
		d.names[folder][filepath.Base(path)] = entry{inodeOf(info), info.IsDir()}
	}
	return nil
}

// Calls returns the number of syncs under the folder.
func (d *Watched) Calls() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.calls
}

// Lost returns a new folder with the content that would survive a power failure at this moment.
func (d *Watched) Lost() string {
	d.t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err != nil {
		d.t.Fatalf("cannot watch the disk: %v", d.err)
	}
	info, err := os.Stat(d.root)
	if err != nil {
		d.t.Fatal(err)
	}
	// This is not under the root, where syncs are recorded.
	to, err := os.MkdirTemp(filepath.Dir(d.root), "lost-")
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { _ = os.RemoveAll(to) })
	if err := d.restore(inodeOf(info), to); err != nil {
		d.t.Fatal(err)
	}
	return to
}

func (d *Watched) restore(folder inode, to string) error {
	for name, e := range d.names[folder] {
		path := filepath.Join(to, name)
		var err error
		if e.dir {
			if err = os.Mkdir(path, 0o700); err == nil {
				err = d.restore(e.inode, path)
			}
		} else {
			err = os.WriteFile(path, d.files[e.inode], 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
