package cli

import (
	"bytes"
	"io"
	"testing"
)

// TestControlCharacters: titles and names from outside are printed without characters that control a terminal.
func TestControlCharacters(t *testing.T) {
	var out, failures bytes.Buffer
	term := &Terminal{Stdout: &out, Stderr: &failures}
	title := "Thesis\x1b[2J\u009b2J\rof\tAda\u202e"
	term.Say("%s", title)
	term.Warn("%s", title)
	if err := Show(&out, func(w io.Writer) error { _, err := io.WriteString(w, title+"\n"); return err }); err != nil {
		t.Fatal(err)
	}
	const want = "Thesis\ufffd[2J\ufffd2J\ufffdof\tAda\u202e\n"
	if got := out.String(); got != want+want {
		t.Errorf("stdout has %q, want %q", got, want+want)
	}
	if got := failures.String(); got != "concordat: "+want {
		t.Errorf("stderr has %q", got)
	}
}
