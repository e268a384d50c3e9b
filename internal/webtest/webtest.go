// Package webtest starts a site with its pages and API on a loopback server, for tests of web and of the packages below it. [New] makes a
// [Site], whose people ([Site.SignedIn]) and programs ([Person.Program]) read pages and call the API. Records that take several steps to
// make, for example a shared case, are stored by methods of Site. Every answer to a program is compared with doc/openapi.json.
//
// Packages that use it call [Main] in TestMain.
package webtest

import (
	"errors"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"testing"
)

// dir is a folder for files that the tests of a package share. It is set by Main.
var dir string

// Main runs the tests of a package, and then closes the browsers and folders that they share. It does not return.
func Main(m *testing.M) {
	debug.SetGCPercent(400) // test sites are small and numerous, so garbage collection took a sixth of the time
	var err error
	if dir, err = os.MkdirTemp("", "web-"); err != nil {
		panic(err)
	}
	code := m.Run()
	browsers.Close()
	if err := os.RemoveAll(dir); err != nil {
		panic(err)
	}
	os.Exit(code)
}

// root returns the folder of the module, above the folder of the running test.
var root = sync.OnceValues(func() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if filepath.Dir(dir) == dir {
			return "", errors.New("cannot find go.mod in the test's folder or above it")
		}
		dir = filepath.Dir(dir)
	}
	return "", err
})
