//go:build cgo && (amd64 || arm64)

package sandbox

/*
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534

static int done, may_drop, by_root;
static volatile pid_t reader;

static int put(const char *path, const char *text) {
	int f = open(path, O_WRONLY | O_CLOEXEC), ok;
	if (f < 0) return 0;
	ok = write(f, text, strlen(text)) == (ssize_t)strlen(text);
	close(f);
	return ok;
}

static void must_put(const char *path, const char *text) {
	if (!put(path, text)) {
		perror(path);
		_exit(1);
	}
}

// Unshares, and makes a process that stays outside map two users, 0 and nobody, which only root outside may do. The
// reader then changes from root to nobody. Returns 0 if the kernel refuses namespaces, 1 without the maps, 2 with them.
static int unshare_as_root(int flags) {
	char path[64], byte = 0;
	int go[2], status = 1, unshared;
	pid_t self = getpid(), helper;
	if (pipe2(go, O_CLOEXEC) != 0 || (helper = fork()) < 0) return unshare(flags) == 0;
	if (helper == 0) {
		const char *map = "0 0 1\n65534 65534 1";
		close(go[1]);
		if (read(go[0], &byte, 1) != 1) _exit(1);
		snprintf(path, sizeof path, "/proc/%d/gid_map", self);
		if (!put(path, map)) _exit(1);
		snprintf(path, sizeof path, "/proc/%d/uid_map", self);
		_exit(put(path, map) ? 0 : 1);
	}
	close(go[0]);
	unshared = unshare(flags) == 0;
	if (unshared && write(go[1], &byte, 1) != 1) unshared = 0;
	close(go[1]);
	while (waitpid(helper, &status, 0) < 0 && errno == EINTR) {}
	return !unshared ? 0 : status == 0 ? 2 : 1;
}

static int own_users(int flags) {
	char map[64];
	unsigned user = geteuid(), group = getegid();
	int got = user == 0 && group == 0 ? unshare_as_root(flags) : unshare(flags) == 0;
	may_drop = got == 2;
	if (got != 1) return got;
	must_put("/proc/self/setgroups", "deny");
	snprintf(map, sizeof map, "0 %u 1", group);
	must_put("/proc/self/gid_map", map);
	snprintf(map, sizeof map, "0 %u 1", user);
	must_put("/proc/self/uid_map", map);
	return 1;
}

static void end_reader(int sig) {
	(void)sig;
	if (reader > 0) kill(reader, SIGKILL);
}

// The reader continues in its own process, the first of the new PID namespace; this one waits for it and ends with the
// same status. A reader whose waiting process is gone is killed.
static void own_processes(void) {
	int status, alive[2];
	sigset_t term, before;
	struct sigaction end = {.sa_handler = end_reader};
	struct pollfd gone;
	struct rlimit none = {0, 0};
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	if (pipe2(alive, O_CLOEXEC) != 0) _exit(1);
	sigprocmask(SIG_BLOCK, &term, &before);
	reader = fork();
	if (reader < 0) {
		perror("fork");
		_exit(1);
	}
	if (reader == 0) {
		close(alive[1]);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		gone.fd = alive[0];
		gone.events = POLLIN;
		if (poll(&gone, 1, 0) != 0) _exit(1);
		close(alive[0]);
		sigprocmask(SIG_SETMASK, &before, NULL);
		return;
	}
	sigaction(SIGTERM, &end, NULL);
	sigprocmask(SIG_SETMASK, &before, NULL);
	for (int f = 0; f <= 2; f++) close(f);
	while (waitpid(reader, &status, 0) < 0) {
		if (errno != EINTR) _exit(1);
	}
	if (WIFSIGNALED(status)) {
		setrlimit(RLIMIT_CORE, &none);
		signal(WTERMSIG(status), SIG_DFL);
		kill(getpid(), WTERMSIG(status));
	}
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

// Takes the network, others' processes and semaphores, and the parent's privileges from the child. User and group are 0
// inside and unchanged outside. If the kernel refuses, everything stays as it was, and the child says so when it is ready.
__attribute__((constructor)) static void own_namespaces(void) {
	const int most = CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;
	by_root = getuid() == 0;
	if (getenv("CONCORDAT_OWN_NAMESPACES") == NULL) return;
	if (own_users(most | CLONE_NEWPID)) {
		own_processes();
		done = 2;
	} else if (own_users(most)) {
		done = 1;
	}
}

static int own_namespaces_done(void) { return done; }
static int may_be_nobody(void) { return may_drop; }
static int is_root(void) { return by_root && !may_drop; }
static void end_with_parent(void) { prctl(PR_SET_PDEATHSIG, SIGKILL); }

static void *nothing(void *p) { return p; }

static int thread_starts(void) {
	pthread_t t;
	return pthread_create(&t, NULL, nothing, NULL) == 0 && pthread_join(t, NULL) == 0;
}
*/
import "C"

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// inNamespaces reports whether this process is in its own namespaces.
func inNamespaces() bool { return C.own_namespaces_done() > 0 }

// inProcesses reports whether this process sees no processes but its own.
func inProcesses() bool { return C.own_namespaces_done() == 2 }

// dropRoot makes a process that root started run as the user nobody, in namespaces that have only that user and root. The
// kernel bounds the threads of every user except root.
func dropRoot() error {
	if C.may_be_nobody() == 0 {
		return nil
	}
	if err := syscall.Setgroups(nil); err != nil {
		return fmt.Errorf("drop root privileges: %w", err)
	}
	if err := syscall.Setresgid(C.NOBODY, C.NOBODY, C.NOBODY); err != nil {
		return fmt.Errorf("drop root privileges: %w", err)
	}
	if err := syscall.Setresuid(C.NOBODY, C.NOBODY, C.NOBODY); err != nil {
		return fmt.Errorf("drop root privileges: %w", err)
	}
	if inProcesses() {
		C.end_with_parent() // the kernel clears it when the user changes
	}
	return nil
}

// moreThreads is the number of threads that a child may start in addition to the present ones. A child needs
// about ten.
const moreThreads = 256

// boundThreads limits how many threads there can be and reports whether it did. The kernel counts only the threads of the child if it has
// its own user namespace (since Linux 5.14), and otherwise all of the user's. The limit is therefore set above the present number, which
// is found by trying. Root has no such limit.
func boundThreads() (bool, error) {
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NPROC, &was); err != nil {
		return false, err
	}
	for n := uint64(16); n+moreThreads < was.Max && n < 1<<20; n *= 2 {
		if err := unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: n, Max: was.Max}); err != nil {
			return false, err
		}
		if C.thread_starts() != 0 {
			n += moreThreads
			return C.is_root() == 0, unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: n, Max: n})
		}
	}
	return false, unix.Setrlimit(unix.RLIMIT_NPROC, &was)
}
