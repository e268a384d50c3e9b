package main

import (
	"bytes"
	"encoding/json"
	"go/parser"
	"go/token"
	"io"
	"strings"
	"testing"

	"concordat/internal/suite"
)

// forms contains one change of each form, one within another, and some that do not compile, alone or together.
const forms = `package p

import (
	"errors"
	"os"
	"time"
)

var errOdd = errors.New("odd")

type small int8

const most = small(100)

// Sum adds what is not refused.
func Sum(ns []int, limit time.Duration) (sum int, err error) {
	defer func() { calls++ }()
	for i, n := range ns {
		switch {
		case n == 3, n > 1<<6 && !(i*2 > 5):
			continue
		case n%2 == 1 && limit > 2*time.Second:
			return sum, errOdd
		}
		if v, err := half(n); err != nil || (v+1)*3 < 7 {
			return sum, err
		}
		sum += n&^1 | n>>3 - n/4
		var s small = most - 7
		if s == 93 {
			sum--
		}
	}
	return sum, err
}

var calls int

func half(n int) (int, error) {
	if n < 0 {
		panic("negative" + "!")
	}
	if err := os.ErrExist; n == 40 && err != nil {
		return 0, err
	}
	return n / 2, nil
}

type file struct{ synced bool }

func (f *file) Sync() error { f.synced = true; return nil }

func (f *file) Close() error {
	if err := f.Sync(); err != nil {
		return err
	}
	f.Sync()
	return nil
}

func name(s string) string {
	if s != "" || calls < 0 {
		return s + "."
	}
	return "nobody"
}

const share = 1.5

func part() float64 { return 2 * (share + 1) }

func wait(done chan bool) bool {
	for {
		select {
		case ok := <-done:
			if !ok {
				break
			}
			return true
		}
	}
}
`

const formsTest = `package p

import (
	"testing"
	"time"
)

func TestSum(t *testing.T) {
	if n, err := Sum([]int{3, 4, 8, 100, 9}, time.Second); err != nil || n != 96 {
		t.Error(n, err)
	}
	if n, err := Sum([]int{4, 9, 8}, time.Minute); err != errOdd || n != 2 {
		t.Error(n, err)
	}
	if calls == 0 {
		t.Error("no call")
	}
}

func TestSumFails(t *testing.T) {
	if _, err := Sum([]int{40}, 0); err == nil {
		t.Error("no error")
	}
}

func TestClose(t *testing.T) {
	var f file
	if err := f.Close(); err != nil || !f.synced {
		t.Error(err)
	}
}

func TestWait(t *testing.T) {
	done := make(chan bool, 2)
	done <- false
	done <- true
	if !wait(done) {
		t.Error("waited for nothing")
	}
}

func ExampleSum() {}

func TestPart(t *testing.T) {
	if part() != 5 {
		t.Error(part())
	}
}

func TestName(t *testing.T) {
	if name("a") != "a." {
		t.Error(name("a"))
	}
}
`

// TestTogether: mutants built together have the same outcomes as mutants built one at a time.
func TestTogether(t *testing.T) {
	suite.Rest(t, "builds a package for each mutant")
	module(t, map[string]string{"p/p.go": forms, "p/p_test.go": formsTest})
	fate := func(o options) (map[string]Result, Summary) {
		o.packages, o.json, o.known = []string{"p"}, true, "none"
		var out bytes.Buffer
		if _, err := run(t.Context(), o, &out, io.Discard); err != nil {
			t.Fatal(err)
		}
		results, sum := map[string]Result{}, Summary{}
		for line := range strings.Lines(out.String()) {
			var r Result
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Fatal(err)
			}
			if r.File == "" {
				if err := json.Unmarshal([]byte(line), &sum); err != nil {
					t.Fatal(err)
				}
				continue
			}
			results[Change{File: r.File, Func: r.Func, Nth: r.Nth, From: r.From, To: r.To}.Key()] = r
		}
		return results, sum
	}
	// A mutant that no test reaches survives just like one with which all tests pass.
	verdict := func(s State) State {
		switch s {
		case Uncovered:
			return Survived
		case TimedOut:
			return Killed
		}
		return s
	}
	single, _ := fate(options{limit: 5e9, n: 24, seed: 2})
	all, sum := fate(options{limit: 5e9, together: true})
	if len(single) != 24 || sum.Drawn != len(all) || sum.Killed < 20 || sum.Survived < 3 || sum.Broken < 2 {
		t.Errorf("%d mutants one at a time, %d together: %+v", len(single), len(all), sum)
	}
	for key, r := range single {
		got := all[key].State
		if got == Apart && r.State != Broken {
			continue
		}
		if verdict(got) != verdict(r.State) {
			t.Errorf("%s: %s alone, %s together", strings.ReplaceAll(key, "\t", " | "), r.State, got)
		}
	}
	if sum.Apart > len(all)/10 {
		t.Errorf("too many cannot be switched: %+v", sum)
	}
}

// TestSchemaParses: whichever changes are written, the result is a Go file, and no division begins a comment.
func TestSchemaParses(t *testing.T) {
	cs, err := changesOf("p/p.go", []byte(forms))
	if err != nil {
		t.Fatal(err)
	}
	number := map[string]int{}
	for i, c := range cs {
		number[c.Key()] = i + 1
	}
	for _, c := range cs {
		if c.Form == formApart {
			continue
		}
		text := schema([]byte(forms), []Change{c}, number)
		if _, err := parser.ParseFile(token.NewFileSet(), "p.go", text, 0); err != nil || strings.Contains(text, "//*") {
			t.Errorf("%s: %v\n%s", c.Key(), err, text)
		}
	}
}
