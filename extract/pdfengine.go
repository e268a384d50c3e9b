package extract

import (
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// packedWasm is PDFium compiled to WebAssembly, as distributed with go-pdfium, compressed: 2 MB instead of 5 (data/README.md).
// go-pdfium's own wrapper looks up every function by name and allocates four times for one character's box, which is too slow for
// geometry by character. This package therefore takes only the bytes from go-pdfium and calls the module directly.
//
//go:embed data/pdfium.wasm.zst
var packedWasm []byte

// maxWasm is the maximum decompressed size of packedWasm.
const maxWasm = 64 << 20

// pdfiumWasm decompresses PDFium, which takes a few hundredths of a second.
func pdfiumWasm() ([]byte, error) {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxWasm))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.DecodeAll(packedWasm, nil)
}

// PDFOptions configure NewPDF. A zero field selects its default.
type PDFOptions struct {
	// Cache stores the compiled PDFium; without it, every NewPDF spends about two seconds on compilation. Create it with
	// wazero.NewCompilationCacheWithDir; the caller must close it, after the PDF.
	Cache wazero.CompilationCache
	// MemoryPages is the maximum memory for one document, in pages of 64 KiB; default 8192 (512 MiB).
	MemoryPages uint32
}

// PDF is a PDFium ready to read documents. Each document gets its own instance, without files, network or clock. It is safe for
// concurrent use.
type PDF struct {
	runtime wazero.Runtime
	module  wazero.CompiledModule
	spare   atomic.Pointer[pdfium] // an instance prepared by Warm
}

// NewPDF prepares PDFium.
func NewPDF(o PDFOptions) (*PDF, error) {
	if o.MemoryPages == 0 {
		o.MemoryPages = 8192
	}
	conf := wazero.NewRuntimeConfig().WithMemoryLimitPages(o.MemoryPages).WithDebugInfoEnabled(false)
	if o.Cache != nil {
		conf = conf.WithCompilationCache(o.Cache)
	}
	ctx := context.Background()
	rt := wazero.NewRuntimeWithConfig(ctx, conf)
	p := &PDF{runtime: rt}
	err := p.load(ctx)
	if err != nil {
		_ = rt.Close(ctx)
		return nil, fmt.Errorf("prepare PDFium: %w", err)
	}
	return p, nil
}

func (p *PDF) load(ctx context.Context) error {
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, p.runtime); err != nil {
		return err
	}
	wasm, err := pdfiumWasm()
	if err != nil {
		return err
	}
	m, err := p.runtime.CompileModule(ctx, wasm)
	if err != nil {
		return err
	}
	p.module = m
	return importHost(ctx, p.runtime, m)
}

// Close frees the engine. No documents can be read afterwards.
func (p *PDF) Close() error { return p.runtime.Close(context.Background()) }

// pdfium is an instance of the module for one document and one goroutine.
type pdfium struct {
	ctx     context.Context
	mod     api.Module
	fn      map[string]api.Function
	stack   [8]uint64
	scratch uint32 // 64 bytes for results returned by pointer
	err     error  // error of the first failed call; later calls do nothing
}

// Warm creates the instance for the next document in advance.
func (p *PDF) Warm() error {
	f, err := p.start()
	if err != nil {
		return err
	}
	if old := p.spare.Swap(f); old != nil {
		old.close()
	}
	return nil
}

// open returns a fresh instance.
func (p *PDF) open() (*pdfium, error) {
	if f := p.spare.Swap(nil); f != nil {
		return f, nil
	}
	return p.start()
}

func (p *PDF) start() (*pdfium, error) {
	ctx := context.Background()
	conf := wazero.NewModuleConfig().WithStartFunctions("_initialize").WithName("").
		WithStdout(io.Discard).WithStderr(io.Discard).WithRandSource(rand.Reader).WithFSConfig(wazero.NewFSConfig())
	mod, err := p.runtime.InstantiateModule(ctx, p.module, conf)
	if err != nil {
		return nil, fmt.Errorf("start PDFium: %w", err)
	}
	f := &pdfium{ctx: ctx, mod: mod, fn: map[string]api.Function{}}
	f.call("FPDF_InitLibrary")
	f.scratch = f.malloc(64)
	return f, f.err
}

func (f *pdfium) close() { _ = f.mod.Close(f.ctx) }

// call calls an exported function. After a trap, for example because memory is exhausted or an assertion of PDFium failed, it returns 0
// and does nothing more, because the instance's memory cannot be trusted.
func (f *pdfium) call(name string, args ...uint64) uint64 {
	if f.err != nil {
		return 0
	}
	fn := f.fn[name]
	if fn == nil {
		if fn = f.mod.ExportedFunction(name); fn == nil {
			f.err = fmt.Errorf("PDFium has no function %s", name)
			return 0
		}
		f.fn[name] = fn
	}
	f.stack[0] = 0
	copy(f.stack[:], args)
	if err := fn.CallWithStack(f.ctx, f.stack[:max(len(args), 1)]); err != nil {
		f.err = fmt.Errorf("PDFium stopped in %s: %w", name, firstLine(err))
		return 0
	}
	return f.stack[0]
}

// firstLine removes the stack trace that wazero includes in its errors.
func firstLine(err error) error {
	s := err.Error()
	for i := range len(s) {
		if s[i] == '\n' {
			return fmt.Errorf("%s", s[:i])
		}
	}
	return err
}

func (f *pdfium) integer(name string, args ...uint64) int { return int(int32(f.call(name, args...))) }

func (f *pdfium) float(name string, args ...uint64) float64 {
	return float64(math.Float32frombits(uint32(f.call(name, args...))))
}

// malloc allocates memory inside the instance, or returns 0 and sets the error.
func (f *pdfium) malloc(n int) uint32 {
	p := uint32(f.call("malloc", uint64(n)))
	if p == 0 && f.err == nil {
		f.err = fmt.Errorf("PDFium could not allocate %d bytes", n)
	}
	return p
}

func (f *pdfium) write(at uint32, data []byte) {
	if f.err == nil && !f.mod.Memory().Write(at, data) {
		f.err = fmt.Errorf("PDFium: address out of range")
	}
}

func (f *pdfium) read(at, n uint32) []byte {
	if f.err != nil {
		return nil
	}
	b, ok := f.mod.Memory().Read(at, n)
	if !ok {
		f.err = fmt.Errorf("PDFium: address out of range")
	}
	return b
}

func f32(b []byte) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(b))) }
