//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// lockDown limits this process, gives up its rights, and returns the names of the restrictions that the kernel enforces. Limits are
// mandatory; the rest depends on the kernel.
func lockDown(cpuSeconds, memory int64) ([]string, error) {
	if err := setLimits(cpuSeconds, memory); err != nil {
		return nil, err
	}
	done := []string{"rlimit"}
	if inNamespaces() {
		done = append(done, "namespaces")
		// The process gets an empty root, since this directory contains only its file descriptors.
		if unix.Chroot("/proc/self/fdinfo") == nil && unix.Chdir("/") == nil {
			done = append(done, "chroot")
		}
		if err := dropRoot(); err != nil {
			return nil, err
		}
	}
	if inProcesses() {
		done = append(done, "processes")
	}
	if bounded, err := boundThreads(); err != nil {
		return nil, fmt.Errorf("limit threads: %w", err)
	} else if bounded {
		done = append(done, "threads")
	}
	if err := forbid(); err == nil {
		done = append(done, "seccomp")
	}
	return done, nil
}

// setLimits sets the resource limits. It adds the processor time already used during the start to the limit.
func setLimits(cpuSeconds, memory int64) error {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return err
	}
	cpu := uint64(cpuSeconds + u.Utime.Sec + u.Stime.Sec + 1)
	data := uint64(memory) * detectorShare
	for _, l := range []struct {
		which     int
		soft, max uint64
	}{
		{unix.RLIMIT_CPU, cpu, cpu + 2},
		{unix.RLIMIT_FSIZE, 0, 0},
		{unix.RLIMIT_CORE, 0, 0},
		{unix.RLIMIT_NOFILE, 32, 32},
		// This limits private writable memory, that is, the Go heap and PDFium's memory. RLIMIT_AS would also count memory that the
		// runtime reserves but never uses.
		{unix.RLIMIT_DATA, data, data},
	} {
		if err := unix.Setrlimit(l.which, &unix.Rlimit{Cur: l.soft, Max: l.max}); err != nil {
			return fmt.Errorf("set limit %d: %w", l.which, err)
		}
	}
	return nil
}

// forbid installs a filter for all threads that allows the system calls needed by the running program; every other call fails with EPERM.
// No call in the list opens a file, a socket or a program.
func forbid() error {
	prog := filterProgram()
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	// The thread that denies itself new privileges passes this on to the others together with the filter (TSYNC).
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	r, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&fprog)))
	runtime.KeepAlive(prog)
	if errno != 0 {
		return errno
	}
	if r != 0 {
		return fmt.Errorf("thread %d did not accept the filter", r)
	}
	return nil
}

// Offsets in struct seccomp_data (linux/seccomp.h) on a little-endian machine. Only the low 32 bits of each argument are examined,
// because the arguments compared here are ints or 32-bit flags for the kernel too.
const (
	dataNumber = 0
	dataArch   = 4
	dataArg0   = 16
	dataArg1   = 24
	dataArg2   = 32
)

const (
	bpfLoad  = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	bpfEqual = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	bpfBits  = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
	bpfGive  = unix.BPF_RET | unix.BPF_K
)

// newNamespace is the set of clone flags that no thread needs.
const newNamespace = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER |
	unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_PTRACE

// filterProgram returns the filter in classic BPF. A wrong architecture and unknown calls fail, and clone can only create threads. The
// call clone3, whose flags a filter cannot see, is reported as missing, so that the C library falls back to clone. tgkill, with which the
// Go runtime interrupts its own threads, reaches only this process; fcntl allows only the commands needed for reading and writing, and
// none that make the kernel signal another process.
func filterProgram() []unix.SockFilter {
	refuse := func(e unix.Errno) unix.SockFilter {
		return unix.SockFilter{Code: bpfGive, K: unix.SECCOMP_RET_ERRNO | uint32(e)}
	}
	load := func(at uint32) unix.SockFilter { return unix.SockFilter{Code: bpfLoad, K: at} }
	allow := unix.SockFilter{Code: bpfGive, K: unix.SECCOMP_RET_ALLOW}
	deny := refuse(unix.EPERM)
	p := []unix.SockFilter{load(dataArch), {Code: bpfEqual, K: auditArch, Jt: 1}, deny, load(dataNumber)}
	call := func(number int, body ...unix.SockFilter) {
		p = append(p, unix.SockFilter{Code: bpfEqual, K: uint32(number), Jf: uint8(len(body))})
		p = append(p, body...)
	}
	call(unix.SYS_CLONE,
		load(dataArg0),
		unix.SockFilter{Code: bpfBits, K: newNamespace, Jt: 2},
		unix.SockFilter{Code: bpfBits, K: unix.CLONE_THREAD, Jf: 1},
		allow, deny)
	call(unix.SYS_CLONE3, refuse(unix.ENOSYS))
	call(unix.SYS_TGKILL, load(dataArg0), unix.SockFilter{Code: bpfEqual, K: uint32(unix.Getpid()), Jf: 1}, allow, deny)
	call(unix.SYS_FCNTL,
		load(dataArg1),
		unix.SockFilter{Code: bpfEqual, K: unix.F_SETFL, Jf: 3},
		load(dataArg2),
		unix.SockFilter{Code: bpfBits, K: unix.O_ASYNC, Jt: 5},
		allow,
		unix.SockFilter{Code: bpfEqual, K: unix.F_GETFL, Jt: 4},
		unix.SockFilter{Code: bpfEqual, K: unix.F_GETFD, Jt: 3},
		unix.SockFilter{Code: bpfEqual, K: unix.F_SETFD, Jt: 2},
		unix.SockFilter{Code: bpfEqual, K: unix.F_DUPFD_CLOEXEC, Jt: 1},
		deny, allow)
	for _, n := range append(allowedCalls, allowedHere...) {
		call(n, allow)
	}
	return append(p, deny)
}

// allowedCalls are the system calls needed by the Go runtime, the C library's threads, and reading and writing open files.
var allowedCalls = []int{
	unix.SYS_READ, unix.SYS_WRITE, unix.SYS_READV, unix.SYS_WRITEV, unix.SYS_CLOSE, unix.SYS_FSTAT, unix.SYS_LSEEK,
	unix.SYS_MMAP, unix.SYS_MUNMAP, unix.SYS_MPROTECT, unix.SYS_MADVISE, unix.SYS_MREMAP, unix.SYS_BRK, unix.SYS_MINCORE,
	unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK,
	unix.SYS_FUTEX, unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_CLOCK_GETTIME, unix.SYS_GETTIMEOFDAY,
	unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY, unix.SYS_GETPID, unix.SYS_GETTID,
	unix.SYS_EXIT, unix.SYS_EXIT_GROUP, unix.SYS_RESTART_SYSCALL, unix.SYS_GETRANDOM, unix.SYS_SET_ROBUST_LIST,
	unix.SYS_RSEQ, unix.SYS_MEMBARRIER, unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT, unix.SYS_EVENTFD2,
	unix.SYS_PIPE2, unix.SYS_PPOLL, unix.SYS_PSELECT6, unix.SYS_GETRUSAGE, unix.SYS_TIMER_CREATE,
	unix.SYS_TIMER_SETTIME, unix.SYS_TIMER_DELETE, unix.SYS_SETITIMER,
}
