package pdf

import (
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"unicode"

	"github.com/klauspost/compress/zstd"
)

// The fonts, compressed with zstd; their licences are in the same folder.
var (
	//go:embed font/wqy-microhei.ttf.zst
	microHei []byte
	//go:embed font/dejavu-sans.ttf.zst
	dejaVu []byte
)

// face is a TrueType font with the data needed for layout: its characters and their widths.
type face struct {
	name  string // name in fpdf
	bytes []byte
	// widths holds, for each rune, its width in thousandths of the type size plus one, or 0 if the font lacks the rune.
	widths [1 << 16]uint16
}

// faces returns the fonts in order of preference. They are decompressed when the first report is written.
var faces = sync.OnceValues(func() ([]*face, error) {
	var out []*face
	for _, f := range []struct {
		name string
		zst  []byte
	}{{"hei", microHei}, {"sans", dejaVu}} {
		one, err := newFace(f.name, f.zst)
		if err != nil {
			return nil, fmt.Errorf("font %s: %w", f.name, err)
		}
		out = append(out, one)
	}
	return out, nil
})

// maxFont is the maximum size of a decompressed font.
const maxFont = 32 << 20

func newFace(name string, packed []byte) (*face, error) {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxFont))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	b, err := d.DecodeAll(packed, nil)
	if err != nil {
		return nil, err
	}
	f := &face{name: name, bytes: b}
	return f, f.measure()
}

var errFont = errors.New("the font is damaged")

// measure reads the map from characters to glyphs and the glyph widths (OpenType 1.9: cmap format 4, hmtx, loca). A non-space character
// with an empty glyph counts as missing, since it would leave a gap in a quotation.
func (f *face) measure() error {
	t := tables(f.bytes)
	head, hhea, hmtx, loca, cmap := t["head"], t["hhea"], t["hmtx"], t["loca"], subtable(t["cmap"])
	if len(head) < 54 || len(hhea) < 36 || cmap == nil {
		return errFont
	}
	em := int(u16(head, 18))
	long := u16(head, 50) != 0
	metrics := int(u16(hhea, 34))
	if em == 0 || metrics == 0 || len(hmtx) < 4*metrics {
		return errFont
	}
	outline := func(g int) bool {
		if long {
			return len(loca) >= 4*g+8 && binary.BigEndian.Uint32(loca[4*g:]) != binary.BigEndian.Uint32(loca[4*g+4:])
		}
		return len(loca) >= 2*g+4 && u16(loca, 2*g) != u16(loca, 2*g+2)
	}
	eachGlyph(cmap, func(r rune, g int) {
		if g == 0 || !outline(g) && !unicode.IsSpace(r) {
			return
		}
		advance := int(u16(hmtx, 4*min(g, metrics-1)))
		f.widths[r] = uint16((advance*1000+em/2)/em) + 1
	})
	if f.widths['?'] == 0 {
		return errFont
	}
	return nil
}

// width returns the advance width of r in thousandths of the type size; ok is false if the font lacks r.
func (f *face) width(r rune) (w float64, ok bool) {
	if r < 0 || r >= 1<<16 || f.widths[r] == 0 {
		return 0, false
	}
	return float64(f.widths[r] - 1), true
}

func u16(b []byte, at int) uint16 {
	if at < 0 || at+2 > len(b) {
		return 0
	}
	return binary.BigEndian.Uint16(b[at:])
}

func u32(b []byte, at int) int {
	if at < 0 || at+4 > len(b) {
		return 0
	}
	return int(binary.BigEndian.Uint32(b[at:]))
}

func tables(b []byte) map[string][]byte {
	out := map[string][]byte{}
	for i := range int(u16(b, 4)) {
		at := 12 + 16*i
		if at+16 > len(b) {
			break
		}
		if from, n := u32(b, at+8), u32(b, at+12); from+n <= len(b) {
			out[string(b[at:at+4])] = b[from : from+n]
		}
	}
	return out
}

// subtable returns the format 4 Unicode subtable.
func subtable(cmap []byte) []byte {
	for i := range int(u16(cmap, 2)) {
		platform, at := u16(cmap, 4+8*i), u32(cmap, 8+8*i)
		if at < len(cmap) && u16(cmap, at) == 4 && (platform == 0 || platform == 3 && u16(cmap, 6+8*i) == 1) {
			return cmap[at:]
		}
	}
	return nil
}

func eachGlyph(t []byte, visit func(r rune, glyph int)) {
	n := int(u16(t, 6)) / 2
	for i := range n {
		end, start := int(u16(t, 14+2*i)), int(u16(t, 16+2*n+2*i))
		delta, offset := int(u16(t, 16+4*n+2*i)), int(u16(t, 16+6*n+2*i))
		for c := start; c <= end && c < 0xffff; c++ {
			g := c + delta
			if offset != 0 {
				if g = int(u16(t, 16+6*n+2*i+offset+2*(c-start))); g != 0 {
					g += delta
				}
			}
			visit(rune(c), g&0xffff)
		}
	}
}
