package program

import (
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"concordat/demo/repository"
	"concordat/internal/scripttest"
	"concordat/internal/storetest"
	"concordat/internal/suite"
)

func TestMain(m *testing.M) {
	scripttest.Main(stopping{m}, Run, Main, map[string]func(){"demo-repository": repository.Main})
}

// stopping runs the tests, then stops the database server that they started.
type stopping struct{ *testing.M }

func (s stopping) Run() int {
	defer storetest.StopPostgres()
	return s.M.Run()
}

// TestScripts runs the scripts in testdata/script.
func TestScripts(t *testing.T) {
	t.Parallel()
	scripttest.Run(t, "testdata/script", demoFolder)
}

// demoFolder gives a script the demonstration's documents.
func demoFolder(e *testscript.Env) error {
	demo, err := filepath.Abs("../../../demo")
	e.Setenv("DEMO", demo)
	return err
}

// TestDatabaseScripts runs the scripts in testdata/database, with the addresses of empty databases in DATABASE and OTHER.
func TestDatabaseScripts(t *testing.T) {
	t.Parallel()
	suite.Rest(t, "a database server")
	s := storetest.Postgres(t)
	scripttest.Run(t, "testdata/database", func(e *testscript.Env) error {
		e.Setenv("DATABASE", s.Schema(t))
		e.Setenv("OTHER", s.Schema(t))
		return demoFolder(e)
	})
}
