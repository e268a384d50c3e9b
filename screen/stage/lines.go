package stage

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
)

// LongestLine is the maximum length of a line in bytes.
const LongestLine = 64 << 20

// InputError reports invalid input; the same input always causes it.
type InputError struct {
	Line int // starting at 1
	Err  error
}

// Error returns a message with the line number.
func (e *InputError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns Err.
func (e *InputError) Unwrap() error { return e.Err }

var (
	errLong   = fmt.Errorf("longer than %d bytes", LongestLine)
	errSorted = errors.New("lines are not in byte order; sort them with LC_ALL=C sort or concordat screen stage merge")
)

// reader reads lines.
type reader struct {
	in *bufio.Reader
	n  int // number of lines read
}

func newReader(in io.Reader) *reader { return &reader{in: bufio.NewReaderSize(in, 1<<18)} }

// next returns the next line without its end, valid until the next call, or io.EOF at the end.
func (r *reader) next() ([]byte, error) {
	line, err := r.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		long := bytes.Clone(line)
		for errors.Is(err, bufio.ErrBufferFull) && len(long) <= LongestLine {
			line, err = r.in.ReadSlice('\n')
			long = append(long, line...)
		}
		line = long
	}
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return nil, err
	}
	if len(line) == 0 {
		return nil, io.EOF
	}
	r.n++
	if len(line) > LongestLine {
		return nil, r.fault(errLong)
	}
	return bytes.TrimSuffix(line, []byte("\n")), nil
}

// lines yields every line without its end, valid until the next one; an error comes last.
func (r *reader) lines() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for {
			line, err := r.next()
			if errors.Is(err, io.EOF) || !yield(line, err) || err != nil {
				return
			}
		}
	}
}

func (r *reader) fault(err error) error { return &InputError{r.n, err} }

// each calls do with the fields of every line, which must have the given number of fields. An error from do is attributed to the line
// unless it is a failure to write.
func each(in io.Reader, fields int, do func([]string) error) error {
	r := newReader(in)
	for line, err := range r.lines() {
		if err != nil {
			return err
		}
		f, err := split(line, fields)
		if err == nil {
			err = do(f)
		}
		if err != nil {
			return r.blame(err)
		}
	}
	return nil
}

// blame returns an error caused by a line as an InputError, and a failure to write unchanged.
func (r *reader) blame(err error) error {
	var w *writeError
	if errors.As(err, &w) {
		return w.err
	}
	return r.fault(err)
}

func split(line []byte, fields int) ([]string, error) {
	f := strings.Split(string(line), "\t")
	if len(f) != fields || f[0] == "" {
		return nil, fmt.Errorf("got %d fields, want %d with a non-empty first field", len(f), fields)
	}
	return f, nil
}

// groups calls do with the lines of every key. The lines of a key must be consecutive and sorted; groups passes repeated lines once.
func groups(in io.Reader, fields int, do func(key string, lines [][]string) error) error {
	r := newReader(in)
	var last []byte
	var lines [][]string
	flush := func() error {
		if len(lines) == 0 {
			return nil
		}
		if err := do(lines[0][0], lines); err != nil {
			return r.blame(err)
		}
		return nil
	}
	for line, err := range r.lines() {
		if err != nil {
			return err
		}
		order := bytes.Compare(line, last)
		if order < 0 {
			return r.fault(errSorted)
		}
		if order == 0 && r.n > 1 {
			continue
		}
		last = append(last[:0], line...)
		f, err := split(line, fields)
		if err != nil {
			return r.fault(err)
		}
		if len(lines) > 0 && lines[0][0] != f[0] {
			if err := flush(); err != nil {
				return err
			}
			lines = lines[:0]
		}
		lines = append(lines, f)
	}
	return flush()
}

// writeError is a failure to write, which the input did not cause.
type writeError struct{ err error }

func (e *writeError) Error() string { return e.err.Error() }

// put writes a line with the given fields.
func put(out io.Writer, fields ...string) error {
	if _, err := io.WriteString(out, strings.Join(fields, "\t")+"\n"); err != nil {
		return &writeError{err}
	}
	return nil
}

// document parses a document's line: a JSON object with id and text, or fields that begin with the identifier and end with the text.
func document(line []byte) (id, text string, err error) {
	if bytes.HasPrefix(line, []byte("{")) {
		var d struct{ ID, Text string }
		if err := json.Unmarshal(line, &d); err != nil {
			return "", "", fmt.Errorf("not a document: %w", err)
		}
		id, text = d.ID, d.Text
	} else {
		f := strings.Split(string(line), "\t")
		if len(f) < 2 {
			return "", "", errors.New(`not a document; want an identifier, a tab and the text, or {"id":"...","text":"..."}`)
		}
		id, text = f[0], f[len(f)-1]
	}
	if id == "" || strings.ContainsAny(id, "\t\n\r") {
		return "", "", fmt.Errorf("invalid identifier %q: must not be empty or contain tabs or line breaks", id)
	}
	return id, text, nil
}

// documents calls do with every document.
func documents(in io.Reader, do func(id, text string) error) error {
	r := newReader(in)
	for line, err := range r.lines() {
		if err != nil {
			return err
		}
		id, text, err := document(line)
		if err == nil {
			err = do(id, text)
		}
		if err != nil {
			return r.blame(err)
		}
	}
	return nil
}

// ordered returns two identifiers in ascending order.
func ordered(a, b string) (string, string) {
	if a > b {
		return b, a
	}
	return a, b
}
