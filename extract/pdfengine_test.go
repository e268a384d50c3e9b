package extract

import (
	"bytes"
	"testing"
	_ "unsafe" // needed for go:linkname

	_ "github.com/klippa-app/go-pdfium/webassembly" // contains PDFium compiled to WebAssembly
)

//go:linkname moduleWasm github.com/klippa-app/go-pdfium/webassembly.pdfiumWasm
var moduleWasm []byte

// TestPackedWasm: the program contains the PDFium of the module named in go.mod (data/README.md).
func TestPackedWasm(t *testing.T) {
	got, err := pdfiumWasm()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, moduleWasm) {
		t.Errorf("%d bytes are not the %d of the module", len(got), len(moduleWasm))
	}
}

func BenchmarkUnpackWasm(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := pdfiumWasm(); err != nil {
			b.Fatal(err)
		}
	}
}
