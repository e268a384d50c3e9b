package screening

import (
	"bufio"
	"context"
	"encoding/json"
	"math"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"concordat/cmd/cli"
	"concordat/screen"
)

func (a *commands) screenJoinCommand() *cobra.Command {
	var k, memory, hot int
	var levels []int
	var work, stop string
	c := &cobra.Command{
		Use: "join FILE", Short: "Find pairs of near prints in a file of any size", Args: cobra.ExactArgs(1),
		Long: `Join finds all pairs of 64-bit prints of a file within --distance of each other, and stays within --memory whatever
the file's size: for each part of every table, it streams the file and sorts the prints of that part. The first
of several equal prints represents them all. With --work, an interrupted join can be resumed.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.screenJoin(cmd.Context(), args[0], joinFlags{k, memory, hot, levels, work, stop})
		},
	}
	fl := c.Flags()
	fl.IntVar(&k, "distance", 3, "maximum number of bits in which two prints may differ")
	fl.IntVar(&memory, "memory", 1024, "memory for sorting in MiB, at least 24")
	fl.IntVar(&hot, "hot", 0, "leave out prints that occur more than this many times (0: keep all)")
	fl.IntSliceVar(&levels, "levels", nil, "number of table blocks at each level, such as 5 or 4,4 (default: chosen from the prints)")
	fl.StringVar(&work, "work", "", "folder for unfinished work, to resume an interrupted join")
	fl.StringVar(&stop, "stop", "", "file of prints to leave out: the output of distribution --hot, or a print of 16 hexadecimal digits per line")
	return c
}

type joinFlags struct {
	k, memory, hot int
	levels         []int
	work, stop     string
}

func (a *commands) screenJoin(ctx context.Context, path string, f joinFlags) (err error) {
	began := time.Now()
	file, err := OpenPrintFile(path, 64)
	if err != nil {
		return err
	}
	d, err := DesignOf(ctx, path, f.k, f.levels)
	if err != nil {
		return err
	}
	if f.memory < 24 || f.memory > 1<<20 || int64(file.Prints()) > math.MaxUint32 {
		return cli.Usagef("--memory %d with %d prints: want 24 to %d MiB and at most %d prints", f.memory, file.Prints(), 1<<20,
			uint32(math.MaxUint32))
	}
	stopped, err := readStop(f.stop)
	if err != nil {
		return err
	}
	w, done, end, err := openUnits(f.work, map[string]any{"join": file, "distance": f.k, "memory_mib": f.memory, "levels": d.Levels,
		"hot": f.hot, "stop": len(stopped)})
	if err != nil {
		return err
	}
	defer func() { err = end(err) }()
	j := screen.SelfJoin{Design: d, Stored: file.Narrow, Bytes: int64(f.memory) << 20, Hot: f.hot, Stop: stopped}
	spent, stage, since := map[screen.Stage]time.Duration{}, screen.Stage(""), time.Now()
	j.Watch = func(next screen.Stage) {
		spent[stage] += time.Since(since)
		stage, since = next, time.Now()
	}
	start := 0
	for done[start] {
		start++
	}
	if start > 0 {
		a.Warn("resuming the join: %d parts are already done", start)
	}
	b := a.Progress(-1, "joining")
	defer b.Done()
	r := batchUnitRecord{Unit: start}
	err = j.Run(ctx, int64(file.Prints()), start, func(t screen.Twin) error {
		r.Hits = append(r.Hits, [3]uint64{t.A, t.B, uint64(t.Distance)})
		return nil
	}, func(p screen.Progress) error {
		b.Add(1)
		err := w.keepUnit(r)
		r = batchUnitRecord{Unit: p.Done, Hits: r.Hits[:0]}
		return err
	})
	if err != nil {
		return err
	}
	j.Watch("")
	delete(spent, "")
	name, err := namer(file)
	if err != nil {
		return err
	}
	n := 0
	err = w.hits(func(h [3]uint64) error {
		n++
		return a.Report(map[string]any{"type": "pair", "a": name(h[0]), "b": name(h[1]), "distance": h[2]}, "%s\t%s\t%d", name(h[0]),
			name(h[1]), h[2])
	})
	if err != nil {
		return err
	}
	took := time.Since(began)
	return a.Report(map[string]any{"type": "summary", "prints": file.Prints(), "tables": len(d.Tables), "pairs": n, "took_ns": took,
		"stages_ns": spent},
		"found %d pairs among %d prints with %d tables in %.1f s: %.1f s to read, %.1f s to sort, %.1f s to compare", n, file.Prints(), len(d.Tables),
		took.Seconds(),
		spent[screen.StageRead].Seconds(), spent[screen.StageSort].Seconds(), spent[screen.StageCompare].Seconds())
}

// DesignOf returns the design given by --levels, or the best one for joining the prints of a file, based on their number.
func DesignOf(ctx context.Context, path string, k int, levels []int) (*screen.Design, error) {
	if len(levels) > 0 {
		d, err := screen.NewDesign(64, k, levels...)
		if err != nil {
			return nil, cli.Usagef("--levels: %w", err)
		}
		return d, nil
	}
	if k < 0 || k >= 64 {
		return nil, cli.Usagef("--distance %d: want 0 to 63", k)
	}
	sample, n, err := samplePrints(ctx, path)
	if err != nil {
		return nil, err
	}
	return screen.NewPlan(screen.PlanOptions{K: k, Prints: n, Queries: max(1, n), Bytes: math.MaxInt64, Sample: sample})
}

// readStop reads prints, one per line. It accepts hexadecimal digits, and the output of distribution --hot, either as JSON or as text up
// to the figure.
func readStop(path string) (map[uint64]bool, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, cli.Usage(err)
	}
	defer f.Close()
	out := map[uint64]bool{}
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for n := 1; in.Scan(); n++ {
		line := strings.TrimSpace(in.Text())
		if line == "" {
			continue
		}
		if strings.HasPrefix(line, screen.FigureLine) {
			break
		}
		if strings.HasPrefix(line, "{") {
			var h hotPrint
			if err := json.Unmarshal([]byte(line), &h); err != nil || h.Type == "" {
				return nil, cli.Usagef("%s line %d: not JSON output of concordat screen distribution", path, n)
			}
			if h.Type != "hot" {
				continue
			}
			line = h.Print
		}
		p, err := parsePrint(line)
		if err != nil {
			return nil, cli.Usagef("%s line %d: %w", path, n, err)
		}
		out[p] = true
	}
	return out, in.Err()
}
