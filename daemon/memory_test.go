package daemon

import (
	"strings"
	"testing"
	"testing/fstest"
)

// TestGrantedMemory: the smallest limit of the group and its ancestors applies, in both versions of control groups.
func TestGrantedMemory(t *testing.T) {
	for name, c := range map[string]struct {
		files string // path=content, one per line
		want  int64  // 0 for none
	}{
		"version 2":                 {"proc/self/cgroup=0::/system.slice/concordat.service\nsys/fs/cgroup/system.slice/concordat.service/memory.max=2000000", 2000000},
		"the group above":           {"proc/self/cgroup=0::/a/b\nsys/fs/cgroup/a/b/memory.max=max\nsys/fs/cgroup/a/memory.max=1000", 1000},
		"the smaller one":           {"proc/self/cgroup=0::/a/b\nsys/fs/cgroup/a/b/memory.max=500\nsys/fs/cgroup/a/memory.max=1000", 500},
		"a container":               {"proc/self/cgroup=0::/\nsys/fs/cgroup/memory.max=4096", 4096},
		"a container, host's path":  {"proc/self/cgroup=0::/kubepods/pod1/abc\nsys/fs/cgroup/memory.max=4096", 4096},
		"a path that leaves":        {"proc/self/cgroup=0::/../../a\nsys/fs/cgroup/a/memory.max=7", 7},
		"version 1":                 {"proc/self/cgroup=5:memory:/x\n4:cpu,cpuacct:/y\nsys/fs/cgroup/memory/x/memory.limit_in_bytes=77", 77},
		"version 1 without a limit": {"proc/self/cgroup=5:memory:/\nsys/fs/cgroup/memory/memory.limit_in_bytes=9223372036854771712", 0},
		"no limit":                  {"proc/self/cgroup=0::/a\nsys/fs/cgroup/a/memory.max=max", 0},
		"nonsense":                  {"proc/self/cgroup=x\nsys/fs/cgroup/memory.max=5", 0},
		"another system":            {"etc/hostname=here", 0},
	} {
		root := fstest.MapFS{}
		var path string
		for line := range strings.Lines(c.files) {
			if p, content, ok := strings.Cut(line, "="); ok {
				path = p
				root[path] = &fstest.MapFile{Data: []byte(content)}
			} else { // another line of the same file
				root[path].Data = append(root[path].Data, line...)
			}
		}
		got, ok := grantedMemory(root)
		if !ok {
			got = 0
		}
		if got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
}
