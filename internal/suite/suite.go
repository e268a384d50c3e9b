// Package suite determines which part of the tests runs. There are three:
//
//   - make test: what go test runs without further settings. It tests every package.
//   - make rest: the tests that call [Rest], the longer form of tests that call [Rounds], and many packages under the race detector. It
//     runs before a change lands. From make test, it repeats only the first round of tests that call Rounds.
//   - make long: both, and everything that takes hours.
//
// go test -short runs less than make test: only the tests needed for work on a package.
//
// Call Rest and Rounds directly in a function Test..., where deploy/test.sh finds the names of the tests for make rest.
package suite

import (
	"os"
	"testing"
)

// Variable is the environment variable that selects the part: empty for make test, "rest" for make rest, "all" for make long.
const Variable = "CONCORDAT_TESTS"

// Part is a part of the tests.
type Part int

// These are the parts.
const (
	Usual    Part = iota // make test
	RestOnly             // make rest
	All                  // make long
)

// Running returns the part that is running.
func Running() Part {
	switch os.Getenv(Variable) {
	case "rest":
		return RestOnly
	case "all":
		return All
	}
	return Usual
}

// Rest skips the test unless make rest or make long runs it; why explains why it is too slow for make test. go test -short never runs it.
func Rest(t testing.TB, why string) {
	t.Helper()
	if Running() == Usual || testing.Short() {
		t.Skipf("this test runs only in make rest or with %s=all: %s", Variable, why)
	}
}

// Done skips, in make rest, the quick cases of a test whose slow cases call Rest, because make test has run them.
func Done(t testing.TB) {
	t.Helper()
	if Running() == RestOnly {
		t.Skip("this test already runs in make test, and make rest does not repeat those tests")
	}
}

// Rounds returns how often to test a property: usual times in make test, full times in make rest and make long.
func Rounds(usual, full int) int {
	if Running() == Usual {
		return usual
	}
	return full
}
