// Mutants changes the code of packages one place at a time and runs their quick tests with each change. A change that no test notices (a
// survivor) either breaks a promise that no test covers, or makes no difference. The second kind is listed with its reason in
// equivalent.tsv and skipped, so that a run shows only new survivors.
//
//	bin/mutants -n 40 -seed 1 federation crypto
//	bin/mutants -n 40 -seed 1 -tests site,site/answer site/answer
//	bin/mutants -n 40 -seed 1 -together -tests site site site/ask site/batch
//	bin/mutants -n 40 -seed 1 -together -tests 'site=Ask|Partner,site/ask' site/ask
//
// The selection of changes depends only on the seed and the sources. The tree is not modified, because go test gets each mutant as an
// overlay. Exit status 1 means that something survived.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

type options struct {
	packages []string
	n        int
	seed     uint64
	limit    time.Duration
	within   time.Duration
	known    string
	files    string
	funcs    string
	only     string
	tests    string
	measured string
	blind    bool
	together bool
	usual    bool
	json     bool
	list     bool
}

// Result is a change and its outcome.
type Result struct {
	Package string        `json:"package"`
	File    string        `json:"file"`
	Line    int           `json:"line"`
	Func    string        `json:"func"`
	Nth     int           `json:"nth"`
	Kind    string        `json:"kind"`
	From    string        `json:"from"`
	To      string        `json:"to"`
	State   State         `json:"state"`
	Took    time.Duration `json:"took_ns"`
}

func main() {
	var o options
	flag.IntVar(&o.n, "n", 40, "number of mutants to run for each package, or 0 for all")
	flag.Uint64Var(&o.seed, "seed", 1, "seed for the random selection of mutants")
	flag.DurationVar(&o.limit, "limit", 0, "time limit for the tests of one mutant; 0: three times their normal duration plus 20 s")
	flag.DurationVar(&o.within, "within", 0, "stop starting mutants after this time; 0: no limit")
	flag.StringVar(&o.known, "known", "lab/mutants/equivalent.tsv", "list of changes to skip, with reasons")
	flag.StringVar(&o.files, "files", "", "change only files whose path matches this regular expression")
	flag.StringVar(&o.funcs, "funcs", "", "change only functions whose name (Type.method) matches this regular expression")
	flag.StringVar(&o.only, "run", "", "run only matching tests, as with go test -run")
	flag.StringVar(&o.tests, "tests", "", "comma-separated list of packages whose tests to run (default: the package itself). With -together, each "+
		"package can have a regular expression that replaces -run: site=Ask|Partner,site/ask")
	flag.BoolVar(&o.blind, "blind", false, "do not measure test coverage, which requires a rebuild of a large package; also runs changes that no test covers")
	flag.BoolVar(&o.together, "together", false, "build all mutants of all packages into one binary per test package, and for each mutant run only the "+
		"tests that reach it; this is much cheaper, but mutants that cannot be switched on in a running program are reported and not run")
	flag.StringVar(&o.measured, "measured", measuredFolder(), "with -together, folder for the measured duration and coverage of tests, which are measured only once "+
		"for each binary (default: measure each time)")
	flag.BoolVar(&o.usual, "usual", false, "run the tests as make test does, without -short, or as make rest does if CONCORDAT_TESTS is rest or all")
	flag.BoolVar(&o.json, "json", false, "print one JSON object per mutant, then one per package")
	flag.BoolVar(&o.list, "list", false, "list the mutants without running them")
	flag.Parse()
	o.packages = flag.Args()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	survived, err := run(ctx, o, os.Stdout, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		stop()
		os.Exit(2)
	}
	if survived > 0 {
		stop()
		os.Exit(1)
	}
}

// measuredFolder returns the usual folder for measurements, or "" on a system without one.
func measuredFolder() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(cache, "concordat", "mutants")
}

// run returns how many mutants survived. Progress goes to log.
func run(ctx context.Context, o options, out, log io.Writer) (int, error) {
	if len(o.packages) == 0 {
		return 0, errors.New("no packages given; for example: mutants federation crypto")
	}
	root, err := os.Getwd()
	if err != nil {
		return 0, err
	}
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		return 0, fmt.Errorf("run this program in the root folder of the module: %w", err)
	}
	known, err := readKnown(o.known)
	if err != nil {
		return 0, err
	}
	if o.within > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.within)
		defer cancel()
	}
	groups := [][]string{}
	for _, pkg := range o.packages {
		groups = append(groups, []string{filepath.Clean(pkg)})
	}
	if o.together {
		groups = [][]string{slices.Concat(groups...)}
	}
	survived := 0
	for _, pkgs := range groups {
		n, err := mutate(ctx, o, root, pkgs, known, out, log)
		survived += n
		if err != nil {
			return survived, err
		}
	}
	return survived, nil
}

// Summary holds the figures of a package.
type Summary struct {
	Package   string `json:"summary_of"`
	Changes   int    `json:"changes"` // number of possible changes
	Known     int    `json:"known"`   // number of these changes skipped because of the list
	Drawn     int    `json:"drawn"`
	Killed    int    `json:"killed"`
	TimedOut  int    `json:"timed_out"`
	Survived  int    `json:"survived"`
	Uncovered int    `json:"uncovered"`
	Broken    int    `json:"broken"`
	Apart     int    `json:"apart"`
	NotRun    int    `json:"not_run"` // not run for lack of time
}

// runner runs the tests with one change at a time; call prepare first.
type runner interface {
	prepare(ctx context.Context) error
	try(ctx context.Context, c Change) (State, error)
}

// pick draws from a package's changes.
func pick(o options, pkg string, all []Change, known map[string]string) ([]Change, Summary, error) {
	s := Summary{Package: pkg}
	files, err := regexp.Compile(o.files)
	if err != nil {
		return nil, s, err
	}
	funcs, err := regexp.Compile(o.funcs)
	if err != nil {
		return nil, s, err
	}
	all = slices.DeleteFunc(slices.Clone(all), func(c Change) bool { return !files.MatchString(c.File) || !funcs.MatchString(c.Func) })
	s.Changes = len(all)
	all, s.Known = without(all, known)
	picked := draw(all, o.n, o.seed)
	s.Drawn = len(picked)
	return picked, s, nil
}

// mutate runs the packages' mutants with the named tests, or with all of them if none are named, and returns how many survived.
func mutate(ctx context.Context, o options, root string, pkgs []string, known map[string]string, out, log io.Writer) (
	survived int, err error) {
	var all []Change
	picked := make([][]Change, len(pkgs))
	sums := make([]Summary, len(pkgs))
	for i, pkg := range pkgs {
		cs, err := changes(root, pkg)
		if err != nil {
			return 0, err
		}
		all = append(all, cs...)
		if picked[i], sums[i], err = pick(o, pkg, cs, known); err != nil {
			return 0, err
		}
		if o.list {
			for _, c := range picked[i] {
				fmt.Fprintf(out, "%s:%d\t%s\n", c.File, c.Line, c.Key())
			}
		}
	}
	if o.list {
		return 0, nil
	}
	dir, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	// Tests start a database server there as another user, who must be able to enter the folder.
	if err := os.Chmod(dir, 0o711); err != nil {
		return 0, err
	}
	t := &tester{root: root, pkgs: pkgs, tests: pkgs, only: o.only, dir: dir, limit: o.limit, blind: o.blind, short: !o.usual, log: log}
	if o.tests != "" {
		t.tests = strings.Split(o.tests, ",")
	}
	var r runner = t
	if o.together {
		cache := o.measured
		if o.usual && cache != "" {
			cache = filepath.Join(cache, "usual")
		}
		r = newTogether(t, all, cache)
	} else if strings.Contains(o.tests, "=") {
		return 0, errors.New("a regular expression for a package in -tests requires -together")
	}
	if err := r.prepare(ctx); err != nil {
		return 0, err
	}
	for i := range pkgs {
		if err := sums[i].run(ctx, o, r, picked[i], out); err != nil {
			return survived, err
		}
		survived += sums[i].Survived + sums[i].Uncovered
		if err := sums[i].show(out, o.json); err != nil {
			return survived, err
		}
	}
	return survived, nil
}

// run runs and counts a package's mutants.
func (s *Summary) run(ctx context.Context, o options, r runner, picked []Change, out io.Writer) error {
	for i, c := range picked {
		if ctx.Err() != nil {
			s.NotRun = len(picked) - i
			break
		}
		began := time.Now()
		state, err := r.try(ctx, c)
		if errors.Is(err, context.DeadlineExceeded) {
			s.NotRun = len(picked) - i
			break
		}
		if err != nil {
			return err
		}
		s.count(state)
		if err := show(out, o.json, Result{Package: s.Package, File: c.File, Line: c.Line, Func: c.Func, Nth: c.Nth, Kind: c.Kind,
			From: oneLine(c.From), To: oneLine(c.To), State: state, Took: time.Since(began)}); err != nil {
			return err
		}
	}
	return nil
}

func (s *Summary) count(state State) {
	switch state {
	case Killed:
		s.Killed++
	case TimedOut:
		s.TimedOut++
	case Survived:
		s.Survived++
	case Uncovered:
		s.Uncovered++
	case Broken:
		s.Broken++
	case Apart:
		s.Apart++
	}
}

func (s *Summary) show(out io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(out).Encode(s)
	}
	_, err := fmt.Fprintf(out,
		"%s: %d changes, %d listed as equivalent; %d drawn: %d killed, %d by time, %d survived, %d in no test, %d do not compile, "+
			"%d only apart from others, %d not run\n",
		s.Package, s.Changes, s.Known, s.Drawn, s.Killed, s.TimedOut, s.Survived, s.Uncovered, s.Broken, s.Apart, s.NotRun)
	return err
}

func show(out io.Writer, asJSON bool, r Result) error {
	if asJSON {
		return json.NewEncoder(out).Encode(r)
	}
	_, err := fmt.Fprintf(out, "%-9s %s:%d %s (%d): %s -> %s\n", r.State, r.File, r.Line, r.Func, r.Nth, r.From, r.To)
	return err
}

// draw picks the n changes whose keys have the lowest hashes with the seed, so that editing one function does not affect the selection
// elsewhere. It returns them in the order of the sources.
func draw(cs []Change, n int, seed uint64) []Change {
	if n <= 0 || n >= len(cs) {
		return cs
	}
	type place struct {
		hash uint64
		at   int
	}
	places := make([]place, len(cs))
	for i, c := range cs {
		h := fnv.New64a()
		_, _ = fmt.Fprintf(h, "%d\x00%s", seed, c.Key())
		places[i] = place{scramble(h.Sum64()), i}
	}
	slices.SortFunc(places, func(a, b place) int { return cmp.Or(cmp.Compare(a.hash, b.hash), a.at-b.at) })
	places = places[:n]
	slices.SortFunc(places, func(a, b place) int { return a.at - b.at })
	out := make([]Change, n)
	for i, p := range places {
		out[i] = cs[p.at]
	}
	return out
}

// scramble spreads the last bytes of a key over all bits (the finalizer of MurmurHash3, Appleby 2011).
func scramble(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
