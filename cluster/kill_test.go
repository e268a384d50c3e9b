package cluster_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"concordat/cluster"
)

const killEnv = "CONCORDAT_TEST_KILL" // the folder, set in the child process

// TestMain lets the test binary run as the process to be killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv(killEnv); dir != "" {
		writeUntilKilled(dir)
	}
	if args := os.Getenv(nodeEnv); args != "" {
		runNode(strings.Split(args, "|"))
	}
	os.Exit(m.Run())
}

// writeUntilKilled writes documents from several goroutines, deletes every fifth, and prints what was acknowledged.
func writeUntilKilled(dir string) {
	ctx := context.Background()
	a, err := cluster.OpenAlone(ctx, dir, aloneOptions)
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	start := a.Index().Stats().Documents
	lines := make(chan string)
	for w := range 3 {
		go func() {
			for i := 0; ; i++ {
				id := fmt.Sprintf("%d-%d-%d", start, w, i)
				if err := a.Put(ctx, profileOf(id, "text of "+id)); err != nil {
					lines <- "error " + err.Error()
				}
				if i%5 == 0 {
					lines <- "deleting " + id
					if err := a.Delete(ctx, refOf(id)); err != nil {
						lines <- "error " + err.Error()
					}
					lines <- "deleted " + id
				} else {
					lines <- "put " + id
				}
			}
		}()
	}
	for l := range lines {
		fmt.Println(l)
	}
}

// TestKill kills a writing process repeatedly. Each time, everything that it acknowledged is there, and everything that it deleted is
// gone.
func TestKill(t *testing.T) {
	rounds := 6
	if testing.Short() {
		rounds = 2
	}
	dir := filepath.Join(t.TempDir(), "shard")
	want := map[string]bool{}
	for round := range rounds {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), killEnv+"="+dir)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); n++ {
			what, id, _ := strings.Cut(lines.Text(), " ")
			switch what {
			case "put":
				want[id] = true
			case "deleted":
				want[id] = false
			case "deleting":
				delete(want, id) // either state is allowed
			default:
				t.Errorf("child: %s", lines.Text())
			}
			if n == 150+37*round {
				must(t, cmd.Process.Kill())
			}
		}
		_ = cmd.Wait() // it was killed
		a := openAlone(t, dir)
		for id, there := range want {
			if got := textOf(t, a, id); there != (got == "text of "+id) {
				t.Fatalf("round %d: document %s says %q, acknowledged as there: %v", round, id, got, there)
			}
		}
		must(t, a.Close())
	}
	t.Logf("%d acknowledged operations checked after %d deaths", len(want), rounds)
}
