package program

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/golang/snappy"
	"github.com/klauspost/compress/zstd"

	"concordat/instance"
)

// markers matches words that tests put into text to be deleted.
var markers = regexp.MustCompile(`mk[a-z]{22}`)

const (
	markerBytes  = 24
	longestPiece = 8 << 20 // in unpacked bytes
)

// foundIn lists the places of each marker, with the file and how the marker was packed.
type foundIn map[string][]string

func (f foundIn) look(b []byte, place string) {
	for _, m := range markers.FindAll(b, -1) {
		if s := string(m); !slices.Contains(f[s], place) {
			f[s] = append(f[s], place)
		}
	}
}

// searchBytes searches every byte of every file below dir for markers: as plain bytes; in everything that can be read as a zstd frame or
// a snappy block, from every possible start and as far as it can be read; and in values that SQLite spreads over pages.
func searchBytes(t *testing.T, dir string) foundIn {
	t.Helper()
	found := foundIn{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the file was deleted in the meantime
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		rel, _ := filepath.Rel(dir, path) // the path is below dir
		found.look([]byte(rel), rel+" (name)")
		found.search(b, rel)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{instance.StoreName} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
			wal, _ := os.ReadFile(filepath.Join(dir, name+"-wal")) // it need not exist
			found.sqlite(b, wal, name)
		}
	}
	return found
}

func (f foundIn) search(b []byte, place string) {
	f.look(b, place)
	f.zstd(b, place)
	for i := range b {
		f.look(unsnap(b[i:]), place+" (snappy)")
	}
}

var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}

func (f foundIn) zstd(b []byte, place string) {
	for at := bytes.Index(b, zstdMagic); at >= 0; {
		f.look(unzstd(b[at:]), place+" (zstd)")
		next := bytes.Index(b[at+1:], zstdMagic)
		if next < 0 {
			return
		}
		at += 1 + next
	}
}

// unzstd returns as much of a frame as can be decoded.
func unzstd(b []byte) []byte {
	r, err := zstd.NewReader(bytes.NewReader(b), zstd.WithDecoderConcurrency(1), zstd.IgnoreChecksum(true),
		zstd.WithDecoderMaxMemory(longestPiece))
	if err != nil {
		return nil
	}
	defer r.Close()
	out, _ := io.ReadAll(io.LimitReader(r, longestPiece)) // as much as can be decoded
	return out
}

// unsnap returns as much of a snappy block as can be decoded.
func unsnap(b []byte) []byte {
	size, k := binary.Uvarint(b[:min(len(b), 4)])
	if k <= 0 || size < markerBytes || size > longestPiece {
		return nil
	}
	var out []byte
	for b = b[k:]; len(b) > 0 && uint64(len(out)) < size; {
		length, offset, head := snapElement(b)
		if head == 0 || head > len(b) {
			break
		}
		b = b[head:]
		if offset == 0 {
			part := b[:min(length, len(b))]
			out, b = append(out, part...), b[len(part):]
			continue
		}
		if offset < 0 || offset > len(out) {
			break
		}
		for range length {
			out = append(out, out[len(out)-offset])
		}
	}
	return out
}

// snapElement returns the length and offset of the element at the start of b. Offset 0 means a literal, and -1 means no element. head is
// the number of bytes before the literal's own bytes.
func snapElement(b []byte) (length, offset, head int) {
	tag := b[0]
	long := func(n int) int {
		if len(b) < 1+n {
			return -1
		}
		v := 0
		for i := n; i > 0; i-- {
			v = v<<8 | int(b[i])
		}
		return v
	}
	none := func(n int) int {
		if n == 0 {
			return -1
		}
		return n
	}
	switch tag & 3 {
	case 0:
		if n := int(tag >> 2); n < 60 {
			return n + 1, 0, 1
		} else if v := long(n - 59); v >= 0 {
			return v + 1, 0, n - 58
		}
		return 0, 0, 0
	case 1:
		return int(tag>>2&7) + 4, none(int(tag>>5)<<8 | max(0, long(1))), 2
	case 2:
		return int(tag>>2) + 1, none(max(0, long(2))), 3
	default:
		return int(tag>>2) + 1, none(max(0, long(4))), 5
	}
}

// sqlite joins values that continue in overflow pages, starting at every place in every page that could refer to one. Pages in the log
// count as pages of the file.
func (f foundIn) sqlite(file, wal []byte, place string) {
	if len(file) < 100 {
		return
	}
	size := int(binary.BigEndian.Uint16(file[16:]))
	if size == 1 {
		size = 1 << 16
	}
	pages := map[uint32][][]byte{}
	for i := 0; (i+1)*size <= len(file); i++ {
		pages[uint32(i+1)] = append(pages[uint32(i+1)], file[i*size:(i+1)*size])
	}
	for at := 32; at+24+size <= len(wal); at += 24 + size {
		n := binary.BigEndian.Uint32(wal[at:])
		pages[n] = append(pages[n], wal[at+24:at+24+size])
	}
	// chain returns the contents of an overflow page and its successors.
	var chain func(n uint32, left int) [][]byte
	chain = func(n uint32, left int) (out [][]byte) {
		for _, p := range pages[n] {
			rest := chain(binary.BigEndian.Uint32(p), left-1)
			if left == 0 || len(rest) == 0 {
				rest = [][]byte{nil}
			}
			for _, r := range rest[:min(len(rest), 4)] {
				out = append(out, append(slices.Clone(p[4:]), r...))
			}
		}
		return out
	}
	for _, versions := range pages {
		for _, p := range versions {
			for at := 8; at+4 <= len(p); at++ {
				n := binary.BigEndian.Uint32(p[at:])
				if n < 2 || pages[n] == nil {
					continue
				}
				for _, next := range pages[n] { // the start of a value and its continuation
					f.look(append(slices.Clone(p[max(0, at-markerBytes):at]), next[4:4+2*markerBytes]...), place+" (pages)")
				}
				if !bytes.Contains(p[:at], zstdMagic) {
					continue
				}
				for _, rest := range chain(n, 64) {
					f.zstd(append(slices.Clone(p[:at]), rest...), place+" (pages)")
				}
			}
			if n := binary.BigEndian.Uint32(p); n > 1 { // the end of one overflow page and the start of the next
				for _, rest := range chain(n, 1) {
					f.look(append(slices.Clone(p[4:]), rest...), place+" (pages)")
				}
			}
		}
	}
}

// TestUnpack: searchBytes finds a marker in everything that it can read, wherever the marker is and however it is packed.
func TestUnpack(t *testing.T) {
	const marker = "mkabcdefghijklmnopqrstuv"
	text := strings.Repeat("mkabcdefgh ijklmnopqrstuv ", 3) + marker[:10] + marker[10:] + strings.Repeat(" rest", 300)
	snapped := snappy.Encode(nil, []byte(text))
	if bytes.Contains(snapped, []byte(marker)) {
		t.Fatal("the marker stands there as it is: it shows nothing")
	}
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	zipped := w.EncodeAll([]byte(text), nil)
	for name, b := range map[string][]byte{"raw": []byte(text), "snappy": snapped, "snappy, cut": snapped[:len(snapped)-8], "zstd": zipped} {
		f := foundIn{}
		f.search(append(append([]byte("head 1234"), b...), "tail"...), "x")
		if got := slices.Collect(maps.Keys(f)); !slices.Equal(got, []string{marker}) {
			t.Errorf("%s: found %v", name, got)
		}
	}
}
