// Package internal contains code shared by tests, and tests of the project as a whole: fakes and real servers to test against, the import
// rules (internal/layers) and broken networks (internal/faults). Package internal/suite determines which tests "make test" and "make
// rest" run. No part of the product imports these packages. Open internal/layers first.
package internal
