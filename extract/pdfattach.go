package extract

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
)

// attachedFile is a file inside another, which Members reads after it.
type attachedFile struct {
	name string
	data []byte
}

// attachFileAnnotation is the subtype of annotations that contain a file, fpdf_annot.h.
const attachFileAnnotation = 17

// attachments takes the files contained in the document, both in its list and in annotations.
func (d *pdfDoc) attachments(data []byte) {
	f := d.f
	n := max(f.integer("FPDFDoc_GetAttachmentCount", d.doc), 0)
	for i := range n {
		if !d.attach(f.call("FPDFDoc_GetAttachment", d.doc, uint64(i))) {
			break
		}
	}
	for _, page := range d.fileNotes {
		if !d.pageAttachments(page) {
			break
		}
	}
	switch k := len(d.b.attached); {
	case k > 0:
		d.b.flag(Flag{Code: FlagAttachment, Detail: "attached files are read as members", Count: k})
	case n == 0 && len(d.fileNotes) == 0 && bytes.Contains(data, []byte("/EmbeddedFile")):
		d.b.flag(Flag{Code: FlagAttachment, Detail: "embedded files that the document does not list are not read", Missing: true})
	}
}

// scripts flags programs in the document, because they can change what a reader sees.
func (d *pdfDoc) scripts() {
	if n := d.f.integer("FPDFDoc_GetJavaScriptActionCount", d.doc); n > 0 {
		d.b.flag(Flag{Code: FlagMacro, Detail: "the document contains scripts, which can change what is shown", Count: n})
	}
}

// pageAttachments takes the files from one page's annotations, and reports whether to continue.
func (d *pdfDoc) pageAttachments(index int) bool {
	f := d.f
	page := f.call("FPDF_LoadPage", d.doc, uint64(index))
	if page == 0 {
		return f.err == nil
	}
	defer f.call("FPDF_ClosePage", page)
	n := min(f.integer("FPDFPage_GetAnnotCount", page), maxAnnotations)
	for i := range max(n, 0) {
		a := f.call("FPDFPage_GetAnnot", page, uint64(i))
		if a == 0 {
			continue
		}
		more := true
		if f.integer("FPDFAnnot_GetSubtype", a) == attachFileAnnotation {
			more = d.attach(f.call("FPDFAnnot_GetFileAttachment", a))
		}
		f.call("FPDFPage_CloseAnnot", a)
		if !more {
			return false
		}
	}
	return true
}

// attach takes one file if the limits allow, and reports whether to continue. It flags files that it cannot take.
func (d *pdfDoc) attach(file uint64) bool {
	f, b := d.f, d.b
	if f.err != nil {
		return false
	}
	name := strings.TrimSpace(f.wideResult(func(at, n uint64) int { return f.integer("FPDFAttachment_GetName", file, at, n) }))
	if name == "" {
		name = fmt.Sprintf("attachment %d", len(b.attached)+1)
	}
	missing := func(code, detail string) bool {
		b.partial(code, fmt.Sprintf("attached file %q: %s", cleanTitle(name), detail))
		return code != Limit
	}
	if file == 0 {
		return missing(FlagPart, "not found in the document")
	}
	if b.lim.entries--; b.lim.entries < 0 {
		return missing(Limit, fmt.Sprintf("more than %d entries; raise %s", b.opt.MaxEntries, SettingOf("MaxEntries")))
	}
	size, ok := f.fileSize(file)
	switch {
	case !ok:
		return missing(FlagPart, "cannot be unpacked")
	case size == 0:
		b.attached = append(b.attached, attachedFile{name: name})
		return true
	}
	if b.lim.unpacked -= int64(size); b.lim.unpacked < 0 {
		return missing(Limit, fmt.Sprintf("more than %d bytes unpacked; raise %s", b.opt.MaxUnpacked, SettingOf("MaxUnpacked")))
	}
	at := f.malloc(int(size))
	defer f.call("free", uint64(at))
	s := uint64(f.scratch)
	if f.integer("FPDFAttachment_GetFile", file, uint64(at), uint64(size), s) == 0 || f.err != nil {
		return missing(FlagPart, "cannot be unpacked")
	}
	if raw := f.read(at, size); raw != nil {
		b.attached = append(b.attached, attachedFile{name, append([]byte(nil), raw...)})
	}
	return true
}

// fileSize returns the length of an attached file in bytes.
func (f *pdfium) fileSize(file uint64) (uint32, bool) {
	s := uint64(f.scratch)
	if f.integer("FPDFAttachment_GetFile", file, 0, 0, s) == 0 {
		return 0, false
	}
	m := f.read(f.scratch, 4)
	if m == nil {
		return 0, false
	}
	return binary.LittleEndian.Uint32(m), true
}
