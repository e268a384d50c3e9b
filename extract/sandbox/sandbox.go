// Package sandbox extracts untrusted files in child processes of the same binary.
//
// Start from [New], which creates a [Runner]. Its method File returns the text of one file, or of every member of an archive. Each file
// gets its own child, started and warmed up in advance. The child limits its own processor time, memory and output, and gives up the
// right to open files, sockets and programs if the kernel can enforce that. It then reads the file from its standard input, and ends. If
// a child crashes, hangs or is killed, the result is one typed error for that one file.
//
// The binary must call [Main] before anything else if [IsWorker] returns true.
package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"concordat"
	"concordat/extract"
)

// Options configure a Runner. A zero field selects its default.
type Options struct {
	// Extract contains the limits of extraction. Its PDF field is ignored, because children have their own.
	Extract extract.Options
	// CacheDir is the folder for the compiled PDFium, which lets a child start in about a tenth of a second; without it, every child
	// spends some seconds on compilation. Its content is executed, so no one else must be able to write there.
	CacheDir string
	// Wall is the time limit for one file; default 2 minutes.
	Wall time.Duration
	// CPU is the maximum processor time for one file, rounded up to seconds; default 1 minute.
	CPU time.Duration
	// Memory is the maximum memory of a child in bytes; default 1 GiB, at least 256 MiB.
	Memory int64
	// Warm is the number of children of each kind kept ready; default 1, negative for none.
	Warm int
	// Files is the number of files to be read, if known; no more than that many children are started. The default, 0, means unknown, as
	// in a service: New then also waits for a child with PDFium, and fails if that cannot start.
	Files int
	// Executable is the program to run as child; default the running program.
	Executable string
	// OCR enables character recognition of pages without a text layer; if nil, such pages are only named. Recognition takes additional
	// time, after the child has ended.
	OCR *OCR
	// RequireIsolation makes New fail if the kernel cannot prevent children from opening files and sockets.
	RequireIsolation bool
}

// Validate returns an error that names every field out of range, or nil.
func (o Options) Validate() error {
	errs := []error{o.Extract.Validate()}
	if o.Wall < 0 || o.CPU < 0 {
		errs = append(errs, errors.New("options Wall and CPU must not be negative"))
	}
	if o.Files < 0 {
		errs = append(errs, errors.New("option Files must not be negative"))
	}
	if o.Memory != 0 && o.Memory < 256<<20 {
		errs = append(errs, fmt.Errorf("option Memory is %d bytes, but at least 256 MiB are needed", o.Memory))
	}
	return errors.Join(errs...)
}

func (o Options) withDefaults() (Options, error) {
	o.Extract = o.Extract.WithDefaults()
	o.Extract.PDF, o.Extract.MaxScans = nil, 0
	if o.OCR != nil {
		ocr := o.OCR.withDefaults()
		if err := ocr.check(); err != nil {
			return o, err
		}
		o.OCR, o.Extract.MaxScans = &ocr, ocr.MaxPages
	}
	if o.Wall == 0 {
		o.Wall = 2 * time.Minute
	}
	if o.CPU == 0 {
		o.CPU = time.Minute
	}
	if o.Memory == 0 {
		o.Memory = 1 << 30
	}
	if o.Warm == 0 {
		o.Warm = 1
	}
	if o.Executable == "" {
		exe, err := os.Executable()
		if err != nil {
			return o, fmt.Errorf("find the running program: %w", err)
		}
		o.Executable = exe
	}
	return o, nil
}

// Item is one file, or one member of an archive, with its text or error.
type Item = extract.Member

// Runner extracts files in children. It is safe for concurrent use.
type Runner struct {
	opt        Options
	namespaces bool
	isolation  []string

	mu     sync.Mutex // protects warm, taken, closed
	warm   [2][]*child
	taken  int // number of files begun
	closed bool
}

// kind distinguishes the two kinds of children. Loading PDFium takes ten times as long as the rest of a child's start, so a child loads
// it only for a PDF, or for a file that turned out to contain one.
type kind int

const (
	light kind = iota
	withPDF
)

// New starts the first child, waits until it is ready, and keeps it. It fails if the executable does
// not work as a worker.
func New(o Options) (*Runner, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if o.CacheDir != "" {
		if err := os.MkdirAll(o.CacheDir, 0o700); err != nil {
			return nil, fmt.Errorf("cache of the PDF reader: %w", err)
		}
		if o.CacheDir, err = filepath.Abs(o.CacheDir); err != nil {
			return nil, err
		}
	}
	r := &Runner{opt: o, namespaces: runtime.GOOS == "linux"}
	c, rd, err := r.startReady(light)
	if err != nil && r.namespaces {
		// A kernel or container can forbid new namespaces; the other limits still apply.
		r.namespaces = false
		c, rd, err = r.startReady(light)
	}
	if err != nil {
		return nil, err
	}
	r.isolation = rd.Isolation
	if o.RequireIsolation && !slices.Contains(rd.Isolation, "seccomp") {
		c.kill()
		return nil, fmt.Errorf("this system cannot deny the extraction child access to files and sockets (has %v)", rd.Isolation)
	}
	if err := r.keep(light, c); err != nil || o.Files > 0 {
		return r, err
	}
	if c, _, err = r.startReady(withPDF); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, r.keep(withPDF, c)
}

// keep holds a ready child for the next file, or discards it if no child is to be kept ready.
func (r *Runner) keep(k kind, c *child) error {
	if r.opt.Warm <= 0 {
		c.discard()
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.warm[k] = append(r.warm[k], c)
	return nil
}

// maxStart is the time limit for starting a child. It takes seconds if PDFium must be compiled, once per cache folder, and minutes on a
// busy machine.
const maxStart = 10 * time.Minute

func (r *Runner) startReady(k kind) (*child, ready, error) {
	c, err := start(r.opt, k, r.namespaces)
	if err != nil {
		return nil, ready{}, err
	}
	timer := time.AfterFunc(maxStart, c.kill)
	defer timer.Stop()
	rd, err := c.ready()
	if err != nil {
		c.kill()
		return nil, rd, fmt.Errorf("the extraction child did not start: %w%s", err, c.wait().note())
	}
	return c, rd, nil
}

// Isolation returns what the kernel enforces on children: "rlimit", "seccomp", "namespaces", "chroot".
func (r *Runner) Isolation() []string { return r.isolation }

// Close ends the waiting children.
func (r *Runner) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for k := range r.warm {
		for _, c := range r.warm[k] {
			c.discard()
		}
		r.warm[k] = nil
	}
	return nil
}

// take returns a waiting child of kind k, or a new one, and ensures that another is waiting if more files could follow. again reports
// that the file was begun with another child.
func (r *Runner) take(k kind, again bool) (*child, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, errors.New("the extraction runner is closed")
	}
	if !again {
		r.taken++
	}
	var c *child
	if n := len(r.warm[k]); n > 0 {
		c, r.warm[k] = r.warm[k][0], r.warm[k][1:]
	} else {
		var err error
		if c, err = start(r.opt, k, r.namespaces); err != nil {
			return nil, err
		}
	}
	for len(r.warm[k]) < r.opt.Warm && (r.opt.Files == 0 || len(r.warm[k]) < r.opt.Files-r.taken) {
		next, err := start(r.opt, k, r.namespaces)
		if err != nil {
			break // the next call tries again and reports
		}
		r.warm[k] = append(r.warm[k], next)
	}
	return c, nil
}

// File extracts the file at path; items name the file as concordat.EscapeName does. The items report faults of the file; the error
// reports a fault of the machine, or comes from ctx.
func (r *Runner) File(ctx context.Context, path string) ([]Item, error) {
	name := concordat.EscapeName(path)
	fail := func(e *extract.Error) ([]Item, error) { return []Item{{Path: name, Err: e.WithAdvice()}}, nil }
	info, err := os.Stat(path)
	if err != nil {
		return fail(&extract.Error{Code: extract.Unreadable, Detail: plainCause(err)})
	}
	if !info.Mode().IsRegular() {
		return fail(&extract.Error{Code: extract.Unreadable, Detail: "not a regular file"})
	}
	f, err := os.Open(path)
	if err != nil {
		return fail(&extract.Error{Code: extract.Unreadable, Detail: plainCause(err)})
	}
	defer f.Close()
	return r.Stream(ctx, name, f, info.Size())
}

// plainCause removes the path from an error of package os; the item names it.
func plainCause(err error) string {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

// headSize is the number of bytes of a file searched for the PDF signature, as in extract.Sniff.
const headSize = 1024

// Head returns the first bytes of a file, which reveal its format, or nil if it cannot be read.
func Head(path string) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }() // only read
	head, err := io.ReadAll(io.LimitReader(f, headSize))
	if err != nil {
		return nil
	}
	return head
}

// IsPDF reports whether a file with this head is a PDF.
func IsPDF(head []byte) bool { return bytes.Contains(head, []byte("%PDF-")) }

// Stream extracts size bytes read from src under the given name. It reads no more than size, or twice that if src is an io.Seeker. If the
// file turns out to contain a PDF, a child with PDFium rereads it. If src is not an io.Seeker, such a child reads the file from the
// start.
func (r *Runner) Stream(ctx context.Context, name string, src io.Reader, size int64) ([]Item, error) {
	fail := func(e *extract.Error) ([]Item, error) { return []Item{{Path: name, Err: e.WithAdvice()}}, nil }
	switch {
	case size == 0:
		return fail(&extract.Error{Code: extract.Empty, Detail: "the file is empty"})
	case size > r.opt.Extract.MaxInput:
		return fail(extract.LimitError("input size", "MaxInput", fmt.Sprintf("%d bytes, limit %d", size, r.opt.Extract.MaxInput)))
	}
	items, err := r.extract(ctx, name, src, size)
	for i := range items {
		if r.opt.OCR != nil && len(items[i].Scans) > 0 {
			items[i] = r.opt.OCR.recognise(ctx, items[i])
		}
	}
	return items, err
}

// extract chooses a kind of child, and switches to the other kind if the choice was wrong.
func (r *Runner) extract(ctx context.Context, name string, src io.Reader, size int64) ([]Item, error) {
	seeker, ok := src.(io.Seeker)
	if !ok {
		return r.run(ctx, withPDF, false, name, src, size)
	}
	begin, err := seeker.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil, err
	}
	head := make([]byte, min(headSize, size))
	n, err := io.ReadFull(src, head)
	if err != nil && err != io.ErrUnexpectedEOF && err != io.EOF {
		return []Item{{Path: name, Err: (&extract.Error{Code: extract.Unreadable, Detail: plainCause(err)}).WithAdvice()}}, nil
	}
	k := light
	if IsPDF(head[:n]) {
		k = withPDF
	}
	for again := false; ; again = true {
		if _, err := seeker.Seek(begin, io.SeekStart); err != nil {
			return nil, err
		}
		items, err := r.run(ctx, k, again, name, src, size)
		if !errors.Is(err, errNeedsPDF) {
			return items, err
		}
		k = withPDF
	}
}

// errNeedsPDF means that a child without PDFium encountered a PDF.
var errNeedsPDF = errors.New("the file contains a PDF")

// run sends one file to a child of kind k and collects its answers.
func (r *Runner) run(ctx context.Context, k kind, again bool, name string, src io.Reader, size int64) ([]Item, error) {
	c, err := r.take(k, again)
	if err != nil {
		return nil, err
	}
	timed, cancel := context.WithTimeout(ctx, r.opt.Wall)
	defer cancel()
	stop := context.AfterFunc(timed, c.kill)
	defer stop()
	_, err = c.ready()
	var srcErr error
	if err == nil {
		srcErr = c.send(request{Name: name, Size: size}, src)
	}
	var items []Item
	done, wrong := false, false
	for err == nil && !done {
		var a answer
		if a, err = c.answer(r.opt.Extract); err == nil {
			if a.pages() {
				err = errors.New("received the answer to a different request")
				break
			}
			wrong = a.NeedsPDF && k == light
			if done = a.Done || a.NeedsPDF; !done {
				items = append(items, *a.Item)
			}
		}
	}
	c.kill()
	end := c.wait()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case srcErr != nil:
		return []Item{{Path: name, Err: &extract.Error{Code: extract.Unreadable, Detail: plainCause(srcErr)}}}, nil
	case wrong:
		return nil, errNeedsPDF
	case done:
		return items, nil
	}
	// Members that arrived before the child ended are kept; a single error represents the rest.
	return append(items, Item{Path: name, Err: end.cause(timed.Err() != nil, r.opt, err).WithAdvice()}), nil
}

// answer is one message from a child: a member, the end of the members, or a request to have a child with PDFium read the file from the
// beginning.
type answer struct {
	Item     *Item `json:"item,omitempty"`
	Done     bool  `json:"done,omitempty"`
	NeedsPDF bool  `json:"needs_pdf,omitempty"`

	// Answers to a request for pages.

	Letters []string        `json:"letters,omitempty"`
	Page    *extract.Page   `json:"page,omitempty"`
	Pages   []*extract.Page `json:"placed,omitempty"`
	Err     *extract.Error  `json:"error,omitempty"`
}

// ready is the first message from a child.
type ready struct {
	Isolation []string `json:"isolation"`
	Error     string   `json:"error,omitempty"`
}

// setup is the first message sent to a child.
type setup struct {
	Extract  extract.Options `json:"extract"`
	CacheDir string          `json:"cache_dir"`
	CPU      int64           `json:"cpu_seconds"`
	Memory   int64           `json:"memory"`
	PDF      bool            `json:"pdf"` // load PDFium
}

// request precedes the bytes of a file.
type request struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
	// Pages asks for pages of a PDF instead of its text.
	Pages *pageRequest `json:"pages,omitempty"`
}

// maxFrame is the maximum size of a message not covered by the text limit.
const maxFrame = 1 << 20

// writeFrame writes the length as 8 bytes, big-endian, followed by v as JSON.
func writeFrame(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	var head [8]byte
	for i := range head {
		head[i] = byte(uint64(len(b)) >> (56 - 8*i))
	}
	if _, err := w.Write(head[:]); err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

// readFrame reads a message written by writeFrame, refusing any over most bytes.
func readFrame(r io.Reader, v any, most int64) error {
	var head [8]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	var n uint64
	for _, c := range head {
		n = n<<8 | uint64(c)
	}
	if n > uint64(most) {
		return fmt.Errorf("message of %d bytes, but at most %d were expected", n, most)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		return err
	}
	return json.Unmarshal(b, v)
}
