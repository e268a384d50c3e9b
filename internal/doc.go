// Package internal has code that tests share, and tests of the project as a whole: fakes and real servers to test against,
// the import rules (internal/layers) and broken networks (internal/faults). Package internal/suite determines which tests
// "make test" runs, and which "make rest" runs. No part of the product imports any of it. Open internal/layers first.
package internal
