package extract

import (
	"bytes"
	"image"
	_ "image/gif"  // decoders for pictures submitted as files
	_ "image/jpeg" //
	"image/png"
)

// Scan is a page without a text layer, or an image submitted as a file, as a grey PNG for character recognition. This package encodes the
// image itself, whatever the file contained.
type Scan struct {
	Page int    `json:"page"` // from 1
	PNG  []byte `json:"png"`
}

const (
	scanDPI      = 200
	maxScanSide  = 6000     // pixels
	maxScanBytes = 64 << 20 // total size of all pages of a file, as PNG
)

// keepScan adds an image if there is still space for it.
func (b *builder) keepScan(page int, img image.Image) {
	if len(b.scans) >= b.opt.MaxScans {
		return
	}
	var buf bytes.Buffer
	if err := png.Encode(&buf, img); err != nil {
		return // the image is not recognised, but the page is still named as lacking text
	}
	total := buf.Len()
	for _, s := range b.scans {
		total += len(s.PNG)
	}
	if total <= maxScanBytes {
		b.scans = append(b.scans, Scan{page, buf.Bytes()})
	}
}

// renderScan renders a page of a PDF.
func (d *pdfDoc) renderScan(index int) {
	if d.b.opt.MaxScans <= len(d.b.scans) || d.f.err != nil {
		return
	}
	f, p := d.f, &d.pages[index]
	scale := scanDPI / 72.0
	if side := max(p.width, p.height); side*scale > maxScanSide {
		scale = maxScanSide / side
	}
	w, h := int(p.width*scale), int(p.height*scale)
	if w < 8 || h < 8 {
		return
	}
	page := f.call("FPDF_LoadPage", d.doc, uint64(index))
	if page == 0 {
		return
	}
	defer f.call("FPDF_ClosePage", page)
	const grey, annotations, greyScale = 1, 0x01, 0x08 // fpdfview.h
	bitmap := f.call("FPDFBitmap_CreateEx", uint64(w), uint64(h), grey, 0, 0)
	if bitmap == 0 {
		return
	}
	defer f.call("FPDFBitmap_Destroy", bitmap)
	f.call("FPDFBitmap_FillRect", bitmap, 0, 0, uint64(w), uint64(h), 0xffffffff)
	f.call("FPDF_RenderPageBitmap", bitmap, page, 0, 0, uint64(w), uint64(h), 0, annotations|greyScale)
	at, stride := uint32(f.call("FPDFBitmap_GetBuffer", bitmap)), f.integer("FPDFBitmap_GetStride", bitmap)
	if f.err != nil || stride < w {
		return
	}
	raw := f.read(at, uint32(stride*h))
	if raw == nil {
		return
	}
	d.b.keepScan(p.number, &image.Gray{Pix: raw, Stride: stride, Rect: image.Rect(0, 0, w, h)})
}

// readImage finds no text; it keeps the image for character recognition.
func readImage(b *builder, data []byte) error {
	conf, _, err := image.DecodeConfig(bytes.NewReader(data))
	if err == nil && b.opt.MaxScans > 0 && conf.Width > 8 && conf.Height > 8 && conf.Width <= 2*maxScanSide && conf.Height <= 2*maxScanSide {
		if img, _, err := image.Decode(bytes.NewReader(data)); err == nil {
			grey := image.NewGray(img.Bounds())
			for y := img.Bounds().Min.Y; y < img.Bounds().Max.Y; y++ {
				for x := img.Bounds().Min.X; x < img.Bounds().Max.X; x++ {
					grey.Set(x, y, img.At(x, y))
				}
			}
			b.keepScan(1, grey)
		}
	}
	return &Error{Code: NoTextLayer, Detail: "the file is a picture"}
}
