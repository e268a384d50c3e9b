package rechecking_test

import (
	"testing"

	"concordat/cmd/concordat/program"
	"concordat/internal/scripttest"
)

func TestMain(m *testing.M) { scripttest.Main(m, program.Run, program.Main, nil) }

// TestScripts runs the scripts in testdata/script.
func TestScripts(t *testing.T) {
	t.Parallel()
	scripttest.Run(t, "testdata/script", nil)
}
