package daemon

import (
	"errors"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
)

// heapShare is the share of the process's memory limit that Go's heap may use. The rest is for the child processes that read files, for
// SQLite, and for growth between two collections.
const heapShare = 0.75

// boundMemory sets Go's soft memory limit (GOMEMLIMIT) to a share of the memory that the system grants the process, for example systemd's
// MemoryMax or a container's memory limit, so that the collector works harder before the system kills the process. It keeps a limit set
// in the environment.
func boundMemory(log *slog.Logger) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	granted, ok := grantedMemory(os.DirFS("/"))
	if !ok {
		return
	}
	limit := int64(float64(granted) * heapShare)
	debug.SetMemoryLimit(limit)
	log.Info("memory", "granted", granted, "limit", limit)
}

// The files in which Linux describes control groups.
const (
	ownGroups  = "proc/self/cgroup"
	groupsRoot = "sys/fs/cgroup"
)

// grantedMemory returns the number of bytes that the process's control groups (version 2 or 1) allow. ok is false if there is no limit or
// it is unknown. root is the root of the file system.
func grantedMemory(root fs.FS) (bytes int64, ok bool) {
	b, err := fs.ReadFile(root, ownGroups)
	if err != nil {
		return 0, false
	}
	least := int64(math.MaxInt64)
	for line := range strings.Lines(string(b)) {
		// hierarchy:controllers:path (cgroups(7)); version 2 is hierarchy 0 without controllers.
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 {
			continue
		}
		switch {
		case f[0] == "0" && f[1] == "":
			least = min(least, leastLimit(root, groupsRoot, f[2], "memory.max"))
		case f[1] == "memory":
			least = min(least, leastLimit(root, groupsRoot+"/memory", f[2], "memory.limit_in_bytes"))
		}
	}
	// Version 1 states about 1<<63 if there is no limit.
	return least, least < 1<<60
}

// leastLimit returns the smallest limit of a group and its ancestors up to the root. In a container, the path can be the host's, which
// does not exist there; then the root applies, which is the container's own group.
func leastLimit(root fs.FS, at, group, file string) int64 {
	least := int64(math.MaxInt64)
	for group = path.Clean("/" + group); ; group = path.Dir(group) {
		b, err := fs.ReadFile(root, path.Join(at, group, file))
		if err == nil {
			if n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil && n > 0 { // "max" is not a number
				least = min(least, n)
			}
		} else if !errors.Is(err, fs.ErrNotExist) {
			return least
		}
		if group == "/" {
			return least
		}
	}
}
