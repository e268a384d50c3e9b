//go:build linux

package deploy_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"concordat/internal/ports"
)

// screening is the documents, the program, and the result of a single process.
type screening struct {
	dir, program, documents string
	want                    string // pairs, sorted
}

// held replaces the program: the first map that reads the line "d7..." waits until the file gone exists, and then fails.
const held = `#!/bin/bash
if [ "$3" = prints ]; then
	in=$(mktemp)
	cat >"$in"
	if grep -q '^d7	' "$in" && mkdir "%[1]s/once" 2>/dev/null; then
		while [ ! -e "%[1]s/gone" ]; do sleep 0.2; done
		exit 1
	fi
	exec "%[1]s/concordat" "$@" <"$in"
fi
exec "%[1]s/concordat" "$@"
`

func newScreening(t *testing.T) *screening {
	t.Helper()
	if os.Getenv("CONCORDAT_LONG") == "" {
		t.Skip("an engine of several processes: set CONCORDAT_LONG")
	}
	s := &screening{dir: t.TempDir()}
	s.program, s.documents = filepath.Join(s.dir, "held"), filepath.Join(s.dir, "documents")
	if out, err := exec.Command("go", "build", "-o", filepath.Join(s.dir, "concordat"), "../cmd/concordat").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	write(t, s.program, fmt.Sprintf(held, s.dir))
	rng := rand.New(rand.NewPCG(4, 2))
	var texts []string
	var all strings.Builder
	for i := range 400 {
		var words []string
		for range 80 {
			words = append(words, fmt.Sprintf("word%d", rng.IntN(3000)))
		}
		if i > 0 && rng.IntN(3) == 0 {
			words = strings.Fields(texts[rng.IntN(i)])
			words[rng.IntN(len(words))] = "other"
		}
		texts = append(texts, strings.Join(words, " "))
		fmt.Fprintf(&all, "d%d\t%s\n", i, texts[i])
	}
	write(t, s.documents, all.String())
	c := exec.Command("bash", "-c", `set -o pipefail; c="$0 screen stage"; $c prints <"$1" | $c buckets | $c merge | $c pairs | $c merge`,
		filepath.Join(s.dir, "concordat"), s.documents)
	out, err := c.Output()
	if s.want = string(out); err != nil || strings.Count(s.want, "\n") < 50 {
		t.Fatalf("%v: one process finds %q", err, out)
	}
	return s
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// await waits until done returns true.
func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); !done(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited five minutes: %s", what)
		}
	}
}

func (s *screening) started() bool {
	_, err := os.Stat(filepath.Join(s.dir, "once"))
	return err == nil
}

// needs skips the test if a program is missing.
func needs(t *testing.T, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("no %s: run deploy/setup.sh engines", p)
		}
	}
}

// TestSpark runs a screening on a Spark cluster with two executors and kills one that is working. The result must be the same as with a
// single process.
func TestSpark(t *testing.T) {
	needs(t, "java", "bash")
	python := os.Getenv("PYSPARK_PYTHON")
	if python == "" {
		python = "python3"
	}
	if err := exec.Command(python, "-c", "import pyspark").Run(); err != nil {
		t.Skipf("%s has no pyspark: run deploy/setup.sh engines", python)
	}
	s := newScreening(t)
	out := filepath.Join(s.dir, "out")
	c := exec.Command(python, "screen/spark.py", "prints", "file://"+s.documents, "file://"+out, "4")
	c.Env = append(os.Environ(), "CONCORDAT="+s.program, "PYSPARK_PYTHON="+python,
		`PYSPARK_SUBMIT_ARGS=--master local-cluster[2,1,600] --conf spark.executor.memory=600m --conf spark.ui.enabled=false pyspark-shell`)
	var said bytes.Buffer
	c.Stdout, c.Stderr = &said, &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- c.Wait() }()
	await(t, "a map has begun", func() bool {
		select {
		case err := <-done:
			t.Fatalf("%v: %s", err, said.String())
		default:
		}
		return s.started()
	})
	executor := executorAtWork(t, c.Process.Pid, s.program)
	if err := executor.Kill(); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(s.dir, "gone"), "")
	if err := <-done; err != nil {
		t.Fatalf("%v: %s", err, said.String())
	}
	if !strings.Contains(said.String(), "Lost executor") {
		t.Errorf("Spark tells of no executor that was lost:\n%s", said.String())
	}
	parts, err := filepath.Glob(filepath.Join(out, "part-*"))
	if err != nil || len(parts) == 0 {
		t.Fatal(parts, err)
	}
	var got strings.Builder
	for _, p := range parts {
		got.WriteString(read(t, p))
	}
	if got.String() != s.want {
		t.Errorf("Spark finds\n%.500s\nwant\n%.500s", got.String(), s.want)
	}
}

// executorAtWork returns the executor that has a waiting map below its process.
func executorAtWork(t *testing.T, root int, program string) *os.Process {
	t.Helper()
	parent, command := map[int]int{}, map[int]string{}
	paths, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, p := range paths {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(p)))
		stat, _ := os.ReadFile(p)
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(p), "cmdline"))
		if f := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])); len(f) > 1 {
			parent[pid], _ = strconv.Atoi(f[1])
			command[pid] = strings.ReplaceAll(string(line), "\x00", " ")
		}
	}
	for pid, line := range command {
		if !strings.Contains(line, program+" screen stage prints") {
			continue
		}
		executor := 0
		for at := pid; at > 1; at = parent[at] {
			if executor == 0 && strings.Contains(command[at], "CoarseGrainedExecutorBackend") {
				executor = at
			}
			if at == root && executor > 0 {
				p, err := os.FindProcess(executor)
				if err != nil {
					t.Fatal(err)
				}
				return p
			}
		}
	}
	t.Fatalf("no executor below process %d has a map", root)
	return nil
}

// TestSlurm runs a screening as array jobs of a Slurm cluster with two nodes, and requeues a running task. The result must be the same as
// with a single process.
func TestSlurm(t *testing.T) {
	needs(t, "slurmctld", "slurmd", "sbatch", "munged", "bash", "split")
	s := newScreening(t)
	conf := startSlurm(t, filepath.Join(s.dir, "slurm"))
	in := filepath.Join(s.dir, "in")
	if err := os.Mkdir(in, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("split", "-n", "l/3", "-d", "-a", "1", s.documents, in+"/").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	work := filepath.Join(s.dir, "work")
	env := append(os.Environ(), "SLURM_CONF="+conf, "CONCORDAT="+s.program, "JOB=prints", "IN="+in, "WORK="+work, "PARTS=2", "MEMORY=8")
	c := exec.Command("screen/slurm.sh", "3")
	c.Env = env
	var said bytes.Buffer
	c.Stdout, c.Stderr = &said, &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, "a map has begun", s.started)
	requeued := ""
	for _, line := range strings.Split(mustSlurm(t, conf, "squeue", "--noheader", "--array", "--states=RUNNING", "--format=%i"), "\n") {
		if line == "" { // the running maps: one of them waits, and the other may end in the meantime
			continue
		}
		if _, err := slurm(conf, "scontrol", "requeue", line); err == nil {
			requeued += line + " "
		}
	}
	write(t, filepath.Join(s.dir, "gone"), "")
	if err := c.Wait(); err != nil {
		t.Fatalf("%v: %s", err, said.String())
	}
	if requeued == "" {
		t.Error("no task was put into the queue again")
	}
	t.Logf("put into the queue again: %s", requeued)
	if got := read(t, filepath.Join(work, "pairs")); got != s.want {
		t.Errorf("Slurm finds\n%.500s\nwant\n%.500s", got, s.want)
	}
}

// startSlurm starts a controller and two nodes on loopback and returns their configuration.
func startSlurm(t *testing.T, dir string) string {
	t.Helper()
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	host, _, _ = strings.Cut(host, ".")
	for _, d := range []string{dir, dir + "/state", dir + "/spool.n0", dir + "/spool.n1"} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	port := ports.Free(t, 3)
	conf := dir + "/slurm.conf"
	text := fmt.Sprintf(`ClusterName=try
SlurmctldHost=%[1]s(127.0.0.1)
SlurmUser=%[2]s
SlurmdUser=%[2]s
AuthType=auth/munge
AuthInfo=socket=%[3]s/munge.sock
SlurmctldPort=%[4]d
SlurmctldPidFile=%[3]s/ctld.pid
SlurmdPidFile=%[3]s/slurmd.%%n.pid
SlurmdSpoolDir=%[3]s/spool.%%n
StateSaveLocation=%[3]s/state
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SchedulerParameters=requeue_delay=1
`, host, me.Username, dir, port[0])
	for i := range 2 {
		text += fmt.Sprintf("NodeName=n%d NodeHostname=%s NodeAddr=127.0.0.1 Port=%d CPUs=1\n", i, host, port[1+i])
	}
	write(t, conf, text+"PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n")
	if err := os.WriteFile(dir+"/munge.key", bytes.Repeat([]byte("concordat"), 20), 0o400); err != nil {
		t.Fatal(err)
	}
	daemon(t, dir, "munged", "--foreground", "--force", "--socket="+dir+"/munge.sock", "--key-file="+dir+"/munge.key",
		"--log-file="+dir+"/munge.log", "--pid-file="+dir+"/munge.pid", "--seed-file="+dir+"/munge.seed", "--num-threads=2")
	await(t, "munged listens", func() bool { _, err := os.Stat(dir + "/munge.sock"); return err == nil })
	daemon(t, dir, "slurmctld", "-D", "-c", "-f", conf)
	for i := range 2 {
		daemon(t, dir, "slurmd", "-D", "-N", fmt.Sprintf("n%d", i), "-f", conf)
	}
	await(t, "two nodes are idle", func() bool {
		out, _ := slurm(conf, "sinfo", "--noheader", "--format=%D %T")
		return out == "2 idle"
	})
	return conf
}

func mustSlurm(t *testing.T, conf string, command ...string) string {
	t.Helper()
	out, err := slurm(conf, command...)
	if err != nil {
		t.Fatalf("%v: %v: %s", command, err, out)
	}
	return out
}

func slurm(conf string, command ...string) (string, error) {
	c := exec.Command(command[0], command[1:]...)
	c.Env = append(os.Environ(), "SLURM_CONF="+conf)
	out, err := c.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// daemon runs a program until the test ends.
func daemon(t *testing.T, dir, program string, args ...string) {
	t.Helper()
	log, err := os.Create(filepath.Join(dir, program+strings.Join(slices.DeleteFunc(slices.Clone(args), func(a string) bool {
		return strings.ContainsAny(a, "/=-")
	}), "")+".out"))
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(program, args...)
	c.Stdout, c.Stderr = log, log
	c.Env = append(os.Environ(), "SLURM_CONF="+filepath.Join(dir, "slurm.conf"))
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Signal(os.Interrupt)
		_ = c.Wait()
		_ = log.Close()
		if t.Failed() {
			b, _ := os.ReadFile(log.Name())
			t.Logf("%s: %s", program, b)
		}
	})
}
