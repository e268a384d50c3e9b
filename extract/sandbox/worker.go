package sandbox

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"

	"concordat/extract"

	"github.com/tetratelabs/wazero"
)

// workerArg is the hidden command that makes the binary a worker.
const workerArg = "extract-worker"

// IsWorker reports whether this process was started as a worker and must call Main.
func IsWorker() bool {
	return len(os.Args) == 2 && (os.Args[1] == workerArg || os.Args[1] == officeArg)
}

// Main runs the child, which serves one file or becomes LibreOffice, and then ends the process. The child's standard input closes when
// the parent dies, which also ends a child that is serving a file; LibreOffice is ended by the kernel.
func Main() {
	if os.Args[1] == officeArg {
		fmt.Fprintln(os.Stderr, officeArg+":", becomeOffice(os.Stdin))
		os.Exit(1)
	}
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "extract-worker:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serve(in io.Reader, out io.Writer) error {
	runtime.GOMAXPROCS(2) // one for the reader, one for the collector and the watch on the parent
	var s setup
	if err := readFrame(in, &s, maxFrame); err != nil {
		return err
	}
	if err := s.Extract.Validate(); err != nil {
		return err
	}
	s.Extract = s.Extract.WithDefaults()
	o, rd := prepare(s)
	if err := writeFrame(out, rd); err != nil || rd.Error != "" {
		return err
	}
	var rq request
	if err := readFrame(in, &rq, maxFrame); err != nil {
		if err == io.EOF {
			return nil // not needed
		}
		return err
	}
	if rq.Size < 0 || rq.Size > o.MaxInput {
		return fmt.Errorf("input has %d bytes; the limit is %d", rq.Size, o.MaxInput)
	}
	data := make([]byte, rq.Size)
	if _, err := io.ReadFull(in, data); err != nil {
		return err
	}
	go endWithParent(in)
	if rq.Pages != nil {
		return writeFrame(out, answerPages(rq.Pages, data, o))
	}
	if !s.PDF && extract.MayHoldPDF(data) {
		return writeFrame(out, answer{NeedsPDF: true})
	}
	w := bufio.NewWriterSize(out, 1<<16)
	for m := range extract.Members(rq.Name, data, o) {
		if m.Err != nil {
			if m.Err.NoEngine {
				return writeFrame(out, answer{NeedsPDF: true})
			}
			m.Err = m.Err.WithAdvice()
		}
		if err := writeFrame(w, answer{Item: &m}); err != nil {
			return err
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	if err := writeFrame(w, answer{Done: true}); err != nil {
		return err
	}
	return w.Flush()
}

// endWithParent ends the process when the parent closes its side of standard input. It runs as long as the process does.
func endWithParent(in io.Reader) {
	var b [1]byte
	_, _ = in.Read(b[:])
	os.Exit(1)
}

// prepare gives up every right that the child does not need. Before that, while files can still be opened, it loads PDFium if needed.
func prepare(s setup) (extract.Options, ready) {
	o := s.Extract
	if s.PDF {
		pdf, err := preparePDF(s)
		if err != nil {
			return o, ready{Error: err.Error()}
		}
		o.PDF = pdf
	}
	debug.SetMemoryLimit(s.Memory / 4 * 3)
	done, err := lockDown(s.CPU, s.Memory)
	if err != nil {
		return o, ready{Error: err.Error()}
	}
	return o, ready{Isolation: done}
}

func preparePDF(s setup) (*extract.PDF, error) {
	var cache wazero.CompilationCache
	if s.CacheDir != "" {
		var err error
		if cache, err = wazero.NewCompilationCacheWithDir(s.CacheDir); err != nil {
			return nil, err
		}
	}
	pdf, err := extract.NewPDF(extract.PDFOptions{Cache: cache, MemoryPages: uint32(s.Memory / 2 >> 16)})
	if err == nil {
		err = pdf.Warm()
	}
	return pdf, err // the cache remains open, since closing it would remove the compiled module that later documents need
}
