package extract

import (
	"bytes"
	"context"
	"errors"

	"github.com/klippa-app/go-pdfium/webassembly/imports"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/emscripten"
)

// Many PDFs are encrypted only to prevent printing or changes, and can be read without a password. PDFium reads them directly; font
// tables and metadata, which this package finds itself, are read from a decrypted copy.

// pdfCopy receives the bytes of a document written by PDFium.
type pdfCopy struct {
	out  bytes.Buffer
	room int
}

type pdfCopyKey struct{} // context key for the pdfCopy of a call

// importHost provides the module with the functions that it needs from its host.
func importHost(ctx context.Context, rt wazero.Runtime, m wazero.CompiledModule) error {
	host := rt.NewHostModuleBuilder("env")
	exporter, err := emscripten.NewFunctionExporterForModule(m)
	if err != nil {
		return err
	}
	exporter.ExportFunctions(host)
	imports.NewFunctionExporter().ExportFunctions(host)
	const i32 = api.ValueTypeI32
	host.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(writeCopy), []api.ValueType{i32, i32, i32}, []api.ValueType{i32}).
		Export("FPDF_FILEWRITE_CB")
	_, err = host.Instantiate(ctx)
	return err
}

// writeCopy implements FPDF_FILEWRITE.WriteBlock of fpdf_save.h: this, data, size. It returns 0 to stop.
func writeCopy(ctx context.Context, m api.Module, stack []uint64) {
	at, size := api.DecodeU32(stack[1]), api.DecodeU32(stack[2])
	stack[0] = 0
	c, ok := ctx.Value(pdfCopyKey{}).(*pdfCopy)
	if !ok {
		return
	}
	if data, ok := m.Memory().Read(at, size); ok && len(data) <= c.room {
		c.room -= len(data)
		c.out.Write(data)
		stack[0] = 1
	}
}

// decrypted returns an unencrypted copy of the document, or the document itself if it is not encrypted or requires a password.
func (p *pdfObjects) decrypted() (*pdfObjects, error) {
	if !bytes.Contains(p.data, []byte("/Encrypt")) {
		return p, nil
	}
	f, err := p.opt.PDF.open()
	if err != nil {
		return p, err
	}
	defer f.close()
	doc, err := f.load(p.data)
	if err != nil || f.integer("FPDF_GetSecurityHandlerRevision", doc) < 0 {
		return p, nil // the document reader reports why
	}
	c := &pdfCopy{room: len(p.data) + maxPDFPacked}
	c.out.Grow(len(p.data))
	f.ctx = context.WithValue(f.ctx, pdfCopyKey{}, c)
	const withoutSecurity = 3 // FPDF_REMOVE_SECURITY
	ok := f.call("FPDF_SaveAsCopy", doc, f.call("FPDF_FILEWRITE_Create"), withoutSecurity)
	if f.err != nil {
		return p, f.err
	}
	if ok == 0 {
		return p, errors.New("cannot remove the encryption of the document")
	}
	return newPDFObjects(c.out.Bytes(), p.opt), nil
}
