//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// becomeOffice reads a job, gives up every right the job does not need, and turns this process into LibreOffice. It returns only if it
// fails.
func becomeOffice(in io.Reader) error {
	var j officeJob
	if err := readFrame(in, &j, maxFrame); err != nil {
		return err
	}
	for _, l := range []struct {
		which int
		most  uint64
	}{{unix.RLIMIT_CPU, uint64(j.CPU)}, {unix.RLIMIT_FSIZE, uint64(j.Output)}, {unix.RLIMIT_CORE, 0}, {unix.RLIMIT_NOFILE, 256},
		{unix.RLIMIT_DATA, uint64(j.Memory)}} {
		if err := unix.Setrlimit(l.which, &unix.Rlimit{Cur: l.most, Max: l.most}); err != nil {
			return fmt.Errorf("set limit %d: %w", l.which, err)
		}
	}
	if err := unix.Chdir(j.Dir); err != nil {
		return err
	}
	// The rules apply to the thread that sets them, and to the program that it becomes.
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if err := restrictFiles(j); err != nil {
		return fmt.Errorf("restrict files: %w", err)
	}
	if err := forbidToOffice(); err != nil {
		return fmt.Errorf("restrict system calls: %w", err)
	}
	env := []string{"HOME=" + j.Dir + "/home", "TMPDIR=" + j.Dir + "/tmp", "LANG=C.UTF-8", "PATH=/nowhere", "SAL_USE_VCLPLUGIN=svp",
		"SAL_DISABLE_OPENCL=1"}
	return unix.Exec(j.Program, append([]string{j.Program}, j.Args...), env)
}

// landlockVersion returns the kernel's version of Landlock, or 0 if there is none.
func landlockVersion() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

// runWithUs runs a command that the kernel ends if this process dies first.
func runWithUs(cmd *exec.Cmd) error {
	// The kernel watches the thread that starts the command.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd.Run()
}

func officeConfined() bool { return landlockVersion() > 0 }

// Rights that Landlock leaves to LibreOffice (landlock(7)).
const (
	mayRead = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	mayRun  = mayRead | unix.LANDLOCK_ACCESS_FS_EXECUTE
	// inVersion1 contains all rights of the first version.
	inVersion1 = unix.LANDLOCK_ACCESS_FS_MAKE_SYM<<1 - 1
	ofAFile    = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE
)

// restrictFiles restricts this thread to opening the program, the system files that the program needs, and the job's folder.
func restrictFiles(j officeJob) error {
	version := landlockVersion()
	if version == 0 {
		return ErrUnconfined
	}
	rules := struct{ files, net, scoped uint64 }{files: inVersion1}
	size := unsafe.Sizeof(rules.files)
	if version >= 2 {
		rules.files |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if version >= 3 {
		rules.files |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if version >= 4 {
		rules.net, size = unix.LANDLOCK_ACCESS_NET_BIND_TCP|unix.LANDLOCK_ACCESS_NET_CONNECT_TCP, 2*size
	}
	if version >= 5 {
		rules.files |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if version >= 6 {
		rules.scoped, size = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET|unix.LANDLOCK_SCOPE_SIGNAL, unsafe.Sizeof(rules)
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&rules)), size, 0)
	if errno != 0 {
		return errno
	}
	// The program's files are below the parent of its folder, where a link leads to the paths listed here.
	program := filepath.Dir(filepath.Dir(j.Program))
	for _, r := range []struct {
		path   string
		rights uint64
	}{
		{j.Dir, rules.files &^ (unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK)},
		{program, mayRun}, {"/usr/lib", mayRun}, {"/usr/lib64", mayRun}, {"/lib", mayRun}, {"/lib64", mayRun},
		{"/usr/share", mayRead}, {"/usr/local/share/fonts", mayRead}, {"/etc/fonts", mayRead}, {"/etc/libreoffice", mayRead},
		{"/var/lib/libreoffice", mayRead}, {"/var/spool/libreoffice", mayRead}, // location of extensions for all users
		{"/var/cache/fontconfig", mayRead}, {"/etc/ld.so.cache", mayRead}, {"/etc/localtime", mayRead},
		{"/dev/null", mayRead | unix.LANDLOCK_ACCESS_FS_WRITE_FILE}, {"/dev/urandom", mayRead}, {"/dev/random", mayRead},
	} {
		if err := allowPath(int(fd), r.path, r.rights); err != nil {
			return fmt.Errorf("%s: %w", r.path, err)
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return errno
	}
	return unix.Close(int(fd))
}

// allowPath adds a rule for a path. A path that does not exist needs none.
func allowPath(rules int, path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, syscall.ENOENT) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }() // nothing was written
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= ofAFile
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(rules), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// deniedToOffice lists calls that Landlock allows but the conversion of a file does not need: calls that reach other processes, the
// kernel's settings and namespaces, ways around a filter, and changes to the rights, owners, attributes and times of files.
var deniedToOffice = []int{
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_KCMP, unix.SYS_PIDFD_OPEN, unix.SYS_PIDFD_GETFD,
	unix.SYS_PIDFD_SEND_SIGNAL, unix.SYS_TKILL, unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_TGSIGQUEUEINFO, unix.SYS_IO_URING_SETUP,
	unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_KEYCTL,
	unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_UNSHARE,
	unix.SYS_SETNS, unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK,
	unix.SYS_MOUNT_SETATTR, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE,
	unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_ADJTIMEX, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_SYSLOG,
	unix.SYS_SENDTO, unix.SYS_SENDMSG, unix.SYS_SENDMMSG, unix.SYS_EXECVEAT,
	unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT, unix.SYS_SETXATTR, unix.SYS_LSETXATTR,
	unix.SYS_FSETXATTR, unix.SYS_SETXATTRAT, unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR, unix.SYS_REMOVEXATTRAT,
	unix.SYS_UTIMENSAT, unix.SYS_FILE_SETATTR,
}

// forbidToOffice installs a filter for this thread that allows no sockets except local streams, which it cannot connect, no signals to
// other processes or changes to their limits, no new process or namespace, and none of deniedToOffice.
func forbidToOffice() error {
	const bpfAbove = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
	const otherCalls = 0x40000000 // x32, a second set of numbers for the same calls
	const bpfAnd = unix.BPF_ALU | unix.BPF_AND | unix.BPF_K
	refuse := func(e unix.Errno) unix.SockFilter {
		return unix.SockFilter{Code: bpfGive, K: unix.SECCOMP_RET_ERRNO | uint32(e)}
	}
	load := func(at uint32) unix.SockFilter { return unix.SockFilter{Code: bpfLoad, K: at} }
	allow, deny := unix.SockFilter{Code: bpfGive, K: unix.SECCOMP_RET_ALLOW}, refuse(unix.EPERM)
	p := []unix.SockFilter{load(dataArch), {Code: bpfEqual, K: auditArch, Jt: 1}, deny, load(dataNumber),
		{Code: bpfAbove, K: otherCalls, Jf: 1}, deny}
	call := func(number int, body ...unix.SockFilter) {
		p = append(p, unix.SockFilter{Code: bpfEqual, K: uint32(number), Jf: uint8(len(body))})
		p = append(p, body...)
	}
	for _, n := range slices.Concat(deniedToOffice, deniedHere) {
		call(n, deny)
	}
	call(unix.SYS_CONNECT, refuse(unix.ECONNREFUSED))
	// LibreOffice requests a socket in /tmp, through which another instance could ask it to open a file. It gets no socket, but the call
	// reports success.
	call(unix.SYS_BIND, refuse(0))
	call(unix.SYS_LISTEN, refuse(0))
	call(unix.SYS_SOCKET,
		load(dataArg0), unix.SockFilter{Code: bpfEqual, K: unix.AF_UNIX, Jf: 3},
		load(dataArg1), unix.SockFilter{Code: bpfAnd, K: 0xf}, unix.SockFilter{Code: bpfEqual, K: unix.SOCK_STREAM, Jt: 1},
		refuse(unix.EACCES), allow)
	call(unix.SYS_CLONE, load(dataArg0), unix.SockFilter{Code: bpfBits, K: newNamespace, Jt: 2},
		unix.SockFilter{Code: bpfBits, K: unix.CLONE_THREAD, Jf: 1}, allow, deny)
	call(unix.SYS_CLONE3, refuse(unix.ENOSYS))
	for _, n := range []int{unix.SYS_KILL, unix.SYS_TGKILL} {
		call(n, load(dataArg0), unix.SockFilter{Code: bpfEqual, K: uint32(unix.Getpid()), Jt: 1}, deny, allow)
	}
	call(unix.SYS_PRLIMIT64, load(dataArg0), unix.SockFilter{Code: bpfEqual, K: 0, Jf: 1}, allow, deny) // 0 means itself
	p = append(p, allow)
	program := unix.SockFprog{Len: uint16(len(p)), Filter: &p[0]}
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program)))
	runtime.KeepAlive(p)
	if errno != 0 {
		return errno
	}
	return nil
}
