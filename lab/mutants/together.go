package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// together runs the tests of packages that are built once with all their changes, drawn or not. Measurements with that binary are valid
// for every draw and are stored. The environment selects the change, also for processes that a test starts. A process that gets its own
// environment, for example from extract/sandbox, runs without a change, and code that only it reaches counts as reached by no test. Each
// test first runs by itself and records the places that it reaches. With a change, only the tests that reach it run, the quickest first.
type together struct {
	*tester
	changes []Change
	number  map[string]int // by Key, from 1
	apart   map[int]bool   // numbers of changes that cannot be switched
	alone   []oneTest
	cache   string // folder for measurements
}

// oneTest is one test function.
type oneTest struct {
	pkg, binary, name string
	took              time.Duration
	reaches           map[int]bool
	kept              bool // measured by an earlier run: this run has not seen it pass without a change
}

// quickFirst is how many of the quickest tests that reach a place are run before the others.
const quickFirst = 6

func newTogether(t *tester, cs []Change, cache string) *together {
	g := &together{tester: t, changes: cs, cache: cache, number: map[string]int{}, apart: map[int]bool{}}
	for i, c := range cs {
		g.number[c.Key()] = i + 1
		g.apart[i+1] = c.Form == formApart
	}
	return g
}

// prepare builds the tests and runs each one that was not measured before, one at a time. All must pass on the first or second attempt.
// It takes minutes and reports its progress.
func (g *together) prepare(ctx context.Context) error {
	fmt.Fprintf(g.log, "building %s with %d changes\n", strings.Join(g.pkgs, ", "), len(g.changes))
	overlay, err := g.compile(ctx)
	if err != nil {
		return err
	}
	for i, tests := range g.tests {
		pkg, only, named := strings.Cut(tests, "=")
		if !named {
			only = g.only
		}
		if err := g.measureAll(ctx, pkg, only, filepath.Join(g.dir, strconv.Itoa(i)+".test"), overlay); err != nil {
			return err
		}
	}
	slices.SortStableFunc(g.alone, func(a, b oneTest) int { return cmp.Compare(a.took, b.took) })
	return nil
}

// measureAll builds a package's tests and runs each one that matches only and was not measured before, one at a time.
func (g *together) measureAll(ctx context.Context, pkg, only, binary, overlay string) error {
	fmt.Fprintf(g.log, "building the tests of %s\n", pkg)
	out, err := g.command(ctx, 20*time.Minute, g.root, nil, "go", "test", "-c", "-vet=off", "-overlay="+overlay, "-o", binary, "./"+pkg)
	if err != nil {
		return fmt.Errorf("build the tests of %s: %w\n%s", pkg, err, out)
	}
	if _, err := os.Stat(binary); errors.Is(err, fs.ErrNotExist) {
		return nil // the package has no tests
	}
	names, err := g.names(ctx, pkg, only, binary)
	if err != nil {
		return err
	}
	known, err := openMeasured(g.cache, binary, filepath.Join(g.root, pkg))
	if err != nil {
		return err
	}
	unknown := slices.DeleteFunc(slices.Clone(names), func(name string) bool { _, ok := known.tests[name]; return ok })
	fmt.Fprintf(g.log, "running %d tests of %s one by one; %d other tests were measured in earlier runs\n", len(unknown), pkg, len(names)-len(unknown))
	for _, name := range names {
		m, kept := known.tests[name]
		if !kept {
			m, err = g.measure(ctx, pkg, binary, name)
			if err != nil && ctx.Err() == nil { // the machine might have been too busy for it
				m, err = g.measure(ctx, pkg, binary, name)
			}
			if err != nil {
				return err
			}
			if err := known.add(m); err != nil {
				return err
			}
		}
		one := oneTest{pkg: pkg, binary: binary, name: name, took: m.Took, reaches: map[int]bool{}, kept: kept}
		for _, k := range m.Reaches {
			one.reaches[k] = true
		}
		g.alone = append(g.alone, one)
	}
	return nil
}

// compile writes the packages with the changes, dropping changes that do not compile in this form, until the packages
// compile. It returns the path of the overlay.
func (g *together) compile(ctx context.Context) (string, error) {
	list := filepath.Join(g.dir, "together.json")
	for {
		if err := g.write(list); err != nil {
			return "", err
		}
		out, err := g.build(ctx, list, "-gcflags=-e")
		if err == nil {
			return list, nil
		}
		bad := faulty(out, g.changes, g.number)
		maps.DeleteFunc(bad, func(k int, _ bool) bool { return g.apart[k] })
		if len(bad) == 0 || ctx.Err() != nil {
			return "", fmt.Errorf("build with all changes: %w\n%s", err, out)
		}
		maps.Copy(g.apart, bad)
	}
}

// build compiles the packages with an overlay and discards the result.
func (g *together) build(ctx context.Context, list string, flags ...string) (string, error) {
	args := append([]string{"build", "-overlay=" + list}, flags...)
	if len(g.pkgs) == 1 {
		args = append(args, "-o", os.DevNull) // it might be a program
	}
	for _, pkg := range g.pkgs {
		args = append(args, "./"+pkg)
	}
	return g.command(ctx, 20*time.Minute, g.root, nil, "go", args...)
}

// write creates the overlay with the changes that can currently be switched.
func (g *together) write(list string) error {
	replace := map[string]string{}
	for i, pkg := range g.pkgs {
		in := filepath.Join(g.dir, "package"+strconv.Itoa(i))
		if err := os.MkdirAll(in, 0o700); err != nil {
			return err
		}
		if err := g.writePackage(pkg, in, replace); err != nil {
			return err
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	return os.WriteFile(list, overlay, 0o600)
}

// writePackage writes a package's files with changes, and the file that switches them.
func (g *together) writePackage(pkg, in string, replace map[string]string) error {
	paths, err := filepath.Glob(filepath.Join(g.root, pkg, "*.go"))
	if err != nil {
		return err
	}
	for _, path := range paths {
		var own []Change
		for _, c := range g.changes {
			if c.File == filepath.ToSlash(filepath.Join(pkg, filepath.Base(path))) && !g.apart[g.number[c.Key()]] {
				own = append(own, c)
			}
		}
		if len(own) == 0 {
			continue
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, c := range own {
			if _, err := c.apply(src); err != nil {
				return err
			}
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, src, parser.PackageClauseOnly)
		if err != nil {
			return err
		}
		with, switching := filepath.Join(in, filepath.Base(path)), filepath.Join(in, "mutants_switches.go")
		if err := errors.Join(os.WriteFile(with, []byte(schema(src, own, g.number)), 0o600),
			os.WriteFile(switching, fmt.Appendf(nil, switches, f.Name.Name, len(g.changes)+1), 0o600)); err != nil {
			return err
		}
		replace[path], replace[filepath.Join(g.root, pkg, "mutants_switches.go")] = with, switching
	}
	return nil
}

// names returns the tests of a binary that match only.
func (g *together) names(ctx context.Context, pkg, only, binary string) ([]string, error) {
	only, _, _ = strings.Cut(only, "/")
	out, err := g.command(ctx, time.Minute, filepath.Join(g.root, pkg), nil, binary, "-test.list="+cmp.Or(only, "."))
	if err != nil {
		return nil, fmt.Errorf("list the tests of %s: %w\n%s", pkg, err, out)
	}
	var names []string
	for name := range strings.FieldsSeq(out) {
		if strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "Example") || strings.HasPrefix(name, "Fuzz") {
			names = append(names, name)
		}
	}
	return names, nil
}

// measure runs one test without a change, and records which places it reaches and how long it takes.
func (g *together) measure(ctx context.Context, pkg, binary, name string) (measurement, error) {
	m := measurement{Test: name, Reaches: []int{}}
	reached := filepath.Join(g.dir, "reached")
	if err := os.Remove(reached); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return m, err
	}
	began := time.Now()
	out, err := g.run(ctx, 10*time.Minute, pkg, binary, []string{name}, "MUTANTS_REACHED="+reached)
	if err != nil {
		return m, fmt.Errorf("%s: test %s fails even without a change: %w\n%s", pkg, name, err, out)
	}
	m.Took = time.Since(began)
	b, err := os.ReadFile(reached)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return m, err
	}
	for line := range strings.FieldsSeq(string(b)) {
		k, err := strconv.Atoi(line)
		if err != nil {
			return m, fmt.Errorf("read the changes that %s reaches: %w", name, err)
		}
		m.Reaches = append(m.Reaches, k)
	}
	slices.Sort(m.Reaches)
	m.Reaches = slices.Compact(m.Reaches) // processes started by a test record the same places
	return m, nil
}

// try runs the tests that reach a change with the change active.
func (g *together) try(ctx context.Context, c Change) (State, error) {
	k := g.number[c.Key()]
	if g.apart[k] {
		return g.compiles(ctx, c)
	}
	var reaching []oneTest
	for _, one := range g.alone {
		if one.reaches[k] {
			reaching = append(reaching, one)
		}
	}
	if len(reaching) == 0 {
		return Uncovered, nil
	}
	n := min(quickFirst, len(reaching))
	state, err := g.with(ctx, k, reaching[:n])
	if err == nil && state == Survived && n < len(reaching) {
		state, err = g.with(ctx, k, reaching[n:])
	}
	return state, err
}

// with runs some tests with a change, each package's tests in one process.
func (g *together) with(ctx context.Context, k int, tests []oneTest) (State, error) {
	for len(tests) > 0 {
		first := tests[0]
		var names []string
		var rest []oneTest
		limit := 20 * time.Second
		for _, one := range tests {
			if one.binary != first.binary {
				rest = append(rest, one)
				continue
			}
			names = append(names, one.name)
			limit += 3 * one.took
		}
		if g.limit > 0 {
			limit = g.limit
		}
		var out string
		state, err := stateBy(ctx, limit, func(limit time.Duration) (_ string, err error) {
			out, err = g.run(ctx, limit, first.pkg, first.binary, names, "MUTANT="+strconv.Itoa(k))
			return out, err
		})
		if err == nil && state == Killed {
			err = g.confirm(ctx, first.binary, names, out)
		}
		if err != nil || state != Survived {
			return state, err
		}
		tests = rest
	}
	return Survived, nil
}

// confirm reruns the tests that failed with a change without that change, if only an earlier run measured them, since the files that they
// read might have changed. The output shows which tests failed; if it names none, confirm runs all.
func (g *together) confirm(ctx context.Context, binary string, names []string, out string) error {
	failed := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !strings.Contains(out, "--- FAIL: "+name+" ") })
	if len(failed) == 0 {
		failed = names
	}
	for i := range g.alone {
		one := &g.alone[i]
		if !one.kept || one.binary != binary || !slices.Contains(failed, one.name) {
			continue
		}
		if _, err := g.measure(ctx, one.pkg, one.binary, one.name); err != nil {
			return err
		}
		one.kept = false
	}
	return nil
}

// compiles distinguishes a change that cannot be switched from one that does not compile at all.
func (g *together) compiles(ctx context.Context, c Change) (State, error) {
	list, err := g.overlay(c)
	if err != nil {
		return "", err
	}
	if _, err := g.build(ctx, list); err != nil {
		return Broken, ctx.Err()
	}
	return Apart, nil
}

// run runs tests of a binary in one process.
func (g *together) run(ctx context.Context, limit time.Duration, pkg, binary string, names []string, env string) (string, error) {
	return g.command(ctx, limit+10*time.Second, filepath.Join(g.root, pkg), []string{env}, binary,
		"-test.short="+strconv.FormatBool(g.short), "-test.failfast", "-test.timeout="+limit.String(),
		"-test.run=^("+strings.Join(names, "|")+")$")
}
