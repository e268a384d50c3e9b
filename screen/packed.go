package screen

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"math/bits"
	"slices"
)

// A packed table (doc/format-report.md, packed prints) stores ascending prints in blocks of 1,024 bytes (Manku, Jain and Das Sarma 2007,
// section 3.4). A block contains the first print in full, then for each print the Huffman-coded position of the highest bit in which it
// differs from the previous one, and the bits below it, unchanged. The last print of each block is its key, by which a look-up finds the
// block. Equality of two prints is a separate symbol.
const (
	packedMagic   = "CCDPRNT1"
	packedHeader  = 128
	packedBlock   = 1024
	packedStart   = 14 // bytes of a block before its bits: checksum, number of prints, first print
	packedTrailer = 32
	keyBytes      = 8
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrPacked means that the bytes are not a packed table.
var ErrPacked = errors.New("not packed fingerprints")

// Pack writes the prints, which must ascend and may repeat, as a packed table and returns its size. For n random prints, it is within a
// few percent of 64 - log2 n + 1.44 bits each, the entropy of such a set.
func Pack(w io.Writer, prints []uint64) (int64, error) {
	var counts [symbols]uint64
	for i := 1; i < len(prints); i++ {
		if prints[i] < prints[i-1] {
			return 0, fmt.Errorf("pack: fingerprint %d is not in ascending order", i)
		}
		counts[symbol(prints[i]^prints[i-1])]++
	}
	p := packer{w: w, code: huffman(counts)}
	var header [packedHeader]byte
	copy(header[:], packedMagic)
	copy(header[8:], p.code.lengths[:])
	binary.BigEndian.PutUint32(header[packedHeader-4:], crc32.Checksum(header[:packedHeader-4], castagnoli))
	p.write(header[:])
	for i, x := range prints {
		if i == 0 || !p.fits(x^prints[i-1]) {
			p.flush()
			p.begin(x)
			continue
		}
		p.add(x, x^prints[i-1])
	}
	p.flush()
	p.trailer(uint64(len(prints)))
	return p.size, p.err
}

func symbol(difference uint64) int {
	if difference == 0 {
		return equalSymbol
	}
	return bits.Len64(difference) - 1
}

// packer writes blocks. After an error, it writes nothing more.
type packer struct {
	w     io.Writer
	code  *code
	size  int64
	err   error
	keys  []uint64
	block [packedBlock]byte
	count int
	bit   int // next bit in block; packedBlock*8 when full
	last  uint64
}

func (p *packer) write(b []byte) {
	if p.err == nil {
		var n int
		n, p.err = p.w.Write(b)
		p.size += int64(n)
	}
}

// fits reports whether the block has room for a print that differs from the previous one by difference.
func (p *packer) fits(difference uint64) bool {
	s := symbol(difference)
	n := int(p.code.lengths[s])
	if s != equalSymbol {
		n += s
	}
	return p.bit+n <= packedBlock*8 && p.count < math.MaxUint16
}

func (p *packer) begin(x uint64) {
	p.block = [packedBlock]byte{}
	binary.BigEndian.PutUint64(p.block[6:], x)
	p.count, p.bit, p.last = 1, packedStart*8, x
}

func (p *packer) add(x, difference uint64) {
	s := symbol(difference)
	p.put(uint64(p.code.words[s]), int(p.code.lengths[s]))
	if s != equalSymbol {
		p.put(difference&ones(s), s)
	}
	p.count++
	p.last = x
}

// put writes the n low bits of v, highest first.
func (p *packer) put(v uint64, n int) {
	for n > 0 {
		room := 8 - p.bit&7
		take := min(room, n)
		p.block[p.bit>>3] |= byte(v>>(n-take)&ones(take)) << (room - take)
		p.bit += take
		n -= take
	}
}

func (p *packer) flush() {
	if p.count == 0 {
		return
	}
	binary.BigEndian.PutUint16(p.block[4:], uint16(p.count))
	binary.BigEndian.PutUint32(p.block[:], crc32.Checksum(p.block[4:], castagnoli))
	p.write(p.block[:])
	p.keys = append(p.keys, p.last)
	p.count = 0
}

func (p *packer) trailer(prints uint64) {
	b := make([]byte, 0, len(p.keys)*keyBytes+packedTrailer)
	for _, k := range p.keys {
		b = binary.BigEndian.AppendUint64(b, k)
	}
	b = append(b, packedMagic...)
	b = binary.BigEndian.AppendUint64(b, prints)
	b = binary.BigEndian.AppendUint64(b, uint64(len(p.keys)))
	b = binary.BigEndian.AppendUint32(b, 0)
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	p.write(b)
}

// Packed provides random access to a packed table. It keeps the keys in memory, 8 bytes per block, and is safe for concurrent use if the
// reader is.
type Packed struct {
	r      io.ReaderAt
	code   *code
	keys   []uint64
	prints uint64
}

// OpenPacked opens the packed table of size bytes in r. It fails with ErrPacked if Pack did not write the bytes; it checks each block
// when it is read.
func OpenPacked(r io.ReaderAt, size int64) (*Packed, error) {
	const blockAndKey = packedBlock + keyBytes
	body := size - packedHeader - packedTrailer
	if body < 0 || body%blockAndKey != 0 {
		return nil, fmt.Errorf("%w: invalid size: %d bytes", ErrPacked, size)
	}
	blocks := body / blockAndKey
	var header [packedHeader]byte
	if _, err := r.ReadAt(header[:], 0); err != nil {
		return nil, fmt.Errorf("packed header: %w", err)
	}
	if string(header[:8]) != packedMagic || crc32.Checksum(header[:packedHeader-4],
		castagnoli) != binary.BigEndian.Uint32(header[packedHeader-4:]) {
		return nil, fmt.Errorf("%w: invalid header", ErrPacked)
	}
	p := &Packed{r: r, keys: make([]uint64, blocks)}
	var err error
	if p.code, err = newCode([symbols]uint8(header[8:])); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPacked, err)
	}
	end := make([]byte, blocks*keyBytes+packedTrailer)
	if n, err := r.ReadAt(end, packedHeader+blocks*packedBlock); n < len(end) {
		return nil, fmt.Errorf("packed keys: %w", err)
	}
	sum := len(end) - 4
	if crc32.Checksum(end[:sum], castagnoli) != binary.BigEndian.Uint32(end[sum:]) {
		return nil, fmt.Errorf("%w: checksum mismatch in the keys", ErrPacked)
	}
	for i := range p.keys {
		p.keys[i] = binary.BigEndian.Uint64(end[keyBytes*i:])
	}
	t := end[blocks*keyBytes:]
	p.prints = binary.BigEndian.Uint64(t[8:])
	if string(t[:8]) != packedMagic || binary.BigEndian.Uint64(t[16:]) != uint64(blocks) || !slices.IsSorted(p.keys) ||
		p.prints > uint64(blocks)*math.MaxUint16 || p.prints < uint64(blocks) {
		return nil, fmt.Errorf("%w: invalid trailer", ErrPacked)
	}
	return p, nil
}

// Block appends the prints of block i, ascending, to dst.
func (p *Packed) Block(i int, dst []uint64) ([]uint64, error) {
	// A code word with its bits takes at most 75 bits, so reads of 64 bits can extend 16 bytes past the end.
	var b [packedBlock + 16]byte
	if n, err := p.r.ReadAt(b[:packedBlock], packedHeader+int64(i)*packedBlock); n < packedBlock {
		return dst, fmt.Errorf("packed block %d: %w", i, err)
	}
	if crc32.Checksum(b[4:packedBlock], castagnoli) != binary.BigEndian.Uint32(b[:]) {
		return dst, fmt.Errorf("packed block %d: %w: checksum mismatch", i, ErrPacked)
	}
	count := int(binary.BigEndian.Uint16(b[4:]))
	x := binary.BigEndian.Uint64(b[6:])
	dst = append(dst, x)
	at := packedStart * 8
	for range count - 1 {
		e := p.code.decode[peek(&b, at)>>(64-longestCode)]
		at += int(e.length)
		n := int(e.symbol)
		if e.symbol != equalSymbol && at+n <= packedBlock*8 {
			// The n ≤ 63 bits need two reads, because a 64-bit read from any bit position yields at least 57.
			v := peek(&b, at) >> 32 << 32
			v = (v | peek(&b, at+32)>>32) >> (64 - n) // no bits if n is 0
			at += n
			d := uint64(1)<<n | v
			if x&(1<<n) != 0 {
				return dst, fmt.Errorf("packed block %d: %w: fingerprints are not in ascending order", i, ErrPacked)
			}
			x ^= d
		} else if e.symbol != equalSymbol {
			at += n
		}
		if e.length == 0 || at > packedBlock*8 {
			return dst, fmt.Errorf("packed block %d: %w: last fingerprint is truncated", i, ErrPacked)
		}
		dst = append(dst, x)
	}
	if count == 0 || x != p.keys[i] {
		return dst, fmt.Errorf("packed block %d: %w: last fingerprint does not match the key of the block", i, ErrPacked)
	}
	return dst, nil
}

// peek returns the bits starting at at, the first bit highest; at least 57 of them are from b.
func peek(b *[packedBlock + 16]byte, at int) uint64 {
	return binary.BigEndian.Uint64(b[at>>3:]) << (at & 7)
}

// Range appends to dst the prints x with low ≤ x ≤ high, ascending.
func (p *Packed) Range(low, high uint64, dst []uint64) ([]uint64, error) {
	for i := lowerBound(p.keys, low); i < len(p.keys); i++ {
		start := len(dst)
		var err error
		if dst, err = p.Block(i, dst); err != nil {
			return dst, err
		}
		from := start + lowerBound(dst[start:], low)
		to := from
		for to < len(dst) && dst[to] <= high {
			to++
		}
		done := to < len(dst)
		dst = append(dst[:start], dst[from:to]...)
		if done {
			break
		}
	}
	return dst, nil
}

// PackedTables are the packed tables of a design. They take about half to three quarters of the memory or disk of plain tables, and
// several microseconds more per look-up. They are safe for concurrent use if the readers are.
type PackedTables struct {
	design *Design
	tables []*Packed
}

// Pack writes the distinct prints, of at most 64 bits, as the layout's packed table and returns its size. It needs memory for two copies
// of the prints.
func (l *Layout) Pack(w io.Writer, prints []uint64) (int64, error) {
	table := make([]uint64, len(prints))
	for i, p := range prints {
		table[i] = l.Permute(p)
	}
	radix(table, make([]uint64, len(table)), nil, nil)
	return Pack(w, slices.Compact(table))
}

// PackedBound returns the entropy of a set of n random 64-bit prints as a fraction of 8 bytes per print, (64 - log2 n + log2 e) / 64. No
// packing of random prints can be smaller.
func PackedBound(n int) float64 {
	return (64 - math.Log2(float64(max(n, 1))) + math.Log2E) / 64
}

// NewPackedTables combines the packed tables of all layouts of the design, in their order.
func NewPackedTables(d *Design, tables []*Packed) (*PackedTables, error) {
	if len(tables) != len(d.Tables) {
		return nil, fmt.Errorf("got %d packed tables, but the design has %d tables", len(tables), len(d.Tables))
	}
	return &PackedTables{d, tables}, nil
}

// Near appends to dst the distinct stored prints within distance K of q, ascending.
func (t *PackedTables) Near(q uint64, dst []uint64) ([]uint64, error) {
	start := len(dst)
	q &= ones(t.design.F)
	var candidates []uint64
	for i, table := range t.tables {
		l := &t.design.Tables[i]
		y := l.Permute(q)
		low := y >> (64 - l.Lead) << (64 - l.Lead)
		var err error
		if candidates, err = table.Range(low, low|ones(64-l.Lead), candidates[:0]); err != nil {
			return dst, fmt.Errorf("table %d: %w", i, err)
		}
		for _, c := range candidates {
			if distance(c, y) <= t.design.K {
				dst = append(dst, l.Restore(c))
			}
		}
	}
	slices.Sort(dst[start:])
	return append(dst[:start], slices.Compact(dst[start:])...), nil
}
