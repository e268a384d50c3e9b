package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// Terminal contains the streams that a command reads and writes. Its methods are safe for concurrent use.
type Terminal struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	JSON           bool // print results as JSON lines
	Quiet          bool // show no progress

	mu sync.Mutex // protects stdout
}

// Line prints v to stdout as one line of JSON.
func (t *Terminal) Line(v any) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := json.NewEncoder(t.Stdout)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// Say prints a line of text to stdout unless --json is set. External titles and names cannot control the terminal.
func (t *Terminal) Say(format string, args ...any) {
	if !t.JSON {
		fmt.Fprintln(t.Stdout, Printable(fmt.Sprintf(format, args...)))
	}
}

// Show prints the output of write to w as text, with the same protection as Say.
func Show(w io.Writer, write func(io.Writer) error) error {
	var b strings.Builder
	err := write(&b)
	_, failed := io.WriteString(w, Printable(b.String()))
	return errors.Join(err, failed)
}

// Warn prints a line to stderr.
func (t *Terminal) Warn(format string, args ...any) {
	fmt.Fprintln(t.Stderr, Printable(fmt.Sprintf("concordat: "+format, args...)))
}

// Printable replaces characters that could control a terminal with U+FFFD, except for tabs and line ends.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// Bar is a progress bar on a terminal; elsewhere it does nothing.
type Bar struct{ p *progressbar.ProgressBar }

// Shown reports whether the bar is visible.
func (b Bar) Shown() bool { return b.p != nil }

// Progress starts a progress bar with the given number of steps, or -1 if unknown.
func (t *Terminal) Progress(total int64, title string) Bar {
	f, ok := t.Stderr.(*os.File)
	if t.Quiet || !ok || !term.IsTerminal(int(f.Fd())) {
		return Bar{}
	}
	return Bar{progressbar.NewOptions64(total, progressbar.OptionSetWriter(f), progressbar.OptionSetDescription(title),
		progressbar.OptionShowCount(), progressbar.OptionSetPredictTime(total > 0), progressbar.OptionClearOnFinish(),
		progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionFullWidth())}
}

// A bar fails only if its terminal is gone, so ignore the error.

// Add advances the bar by n steps.
func (b Bar) Add(n int) {
	if b.p != nil {
		_ = b.p.Add(n)
	}
}

// Set moves the bar to step n.
func (b Bar) Set(n int) {
	if b.p != nil {
		_ = b.p.Set(n)
	}
}

// Max changes the total number of steps.
func (b Bar) Max(n int) {
	if b.p != nil {
		b.p.ChangeMax(n)
	}
}

// Done removes the bar from the terminal.
func (b Bar) Done() {
	if b.p != nil {
		_ = b.p.Finish()
	}
}

// Report prints one result, as JSON or as text.
func (t *Terminal) Report(v any, format string, args ...any) error {
	if t.JSON {
		return t.Line(v)
	}
	t.Say(format, args...)
	return nil
}

// Percent formats a share, or returns a dash if it was not measured.
func Percent(v *float64) string {
	if v == nil {
		return "   -"
	}
	return fmt.Sprintf("%3.0f%%", 100**v)
}
