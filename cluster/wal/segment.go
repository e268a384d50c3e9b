package wal

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"concordat"
)

// segment is one file of a log.
type segment struct {
	path            string
	file            *os.File
	base, baseEpoch uint64 // number and epoch of the record before its first
	salt            uint32
	offsets         []int64 // epochs of its records
	size            int64   // position of the next group
}

// Version is the version of the log format.
const Version = 1

var magic = []byte("concwal\x01") // the last byte of magic is Version

const (
	extension = ".wal"
	// header: magic, checksum, salt, base, base's epoch, length of the shard's name
	headerFixed = 8 + 4 + 4 + 8 + 8 + 2
)

func segmentName(base uint64) string { return fmt.Sprintf("%020d%s", base+1, extension) }

// baseOf is the inverse of segmentName.
func baseOf(name string) (uint64, bool) {
	digits, ok := strings.CutSuffix(name, extension)
	if !ok || len(digits) != 20 {
		return 0, false
	}
	first, err := strconv.ParseUint(digits, 10, 64)
	return first - 1, err == nil && first > 0
}

func appendHeader(b []byte, shard concordat.ShardID, salt uint32, base, epoch uint64) []byte {
	start := len(b)
	b = append(b, magic...)
	b = append(b, 0, 0, 0, 0)
	b = binary.LittleEndian.AppendUint32(b, salt)
	b = binary.LittleEndian.AppendUint64(b, base)
	b = binary.LittleEndian.AppendUint64(b, epoch)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(shard)))
	b = append(b, shard...)
	binary.LittleEndian.PutUint32(b[start+8:], crc32.Checksum(b[start+12:], castagnoli))
	return b
}

// createSegment creates an empty segment durably, including its name.
func createSegment(dir string, o Options, base, epoch uint64) (*segment, error) {
	var salt [4]byte
	if _, err := rand.Read(salt[:]); err != nil {
		return nil, err
	}
	s := &segment{path: filepath.Join(dir, segmentName(base)), base: base, baseEpoch: epoch, salt: binary.LittleEndian.Uint32(salt[:])}
	f, err := os.OpenFile(s.path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	s.file = f
	h := appendHeader(nil, o.Shard, s.salt, base, epoch)
	s.size = int64(len(h))
	if _, err = f.Write(h); err == nil {
		err = o.sync(f)
	}
	if err == nil {
		err = syncDir(dir, o.sync)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return s, nil
}

// openSegment opens the file of the segment that starts after base.
func openSegment(dir string, base uint64) (*segment, error) {
	s := &segment{path: filepath.Join(dir, segmentName(base)), base: base}
	var err error
	s.file, err = os.OpenFile(s.path, os.O_RDWR, 0)
	return s, err
}

// readHeader reads the fields stored in the header. It returns the shard's name, or false if the header is damaged or its base differs
// from the one in the file name. It sets size to the length of the header.
func (s *segment) readHeader(want concordat.ShardID) (shard concordat.ShardID, version byte, ok bool) {
	var b [headerFixed]byte
	if n, _ := s.file.ReadAt(b[:], 0); n < len(b) || string(b[:7]) != string(magic[:7]) {
		return "", 0, false
	}
	name := make([]byte, binary.LittleEndian.Uint16(b[headerFixed-2:]))
	if n, _ := s.file.ReadAt(name, headerFixed); n < len(name) {
		return "", 0, false
	}
	sum := crc32.Update(crc32.Checksum(b[12:], castagnoli), castagnoli, name)
	if sum != binary.LittleEndian.Uint32(b[8:]) || binary.LittleEndian.Uint64(b[16:]) != s.base {
		return "", 0, false
	}
	s.salt, s.baseEpoch = binary.LittleEndian.Uint32(b[12:]), binary.LittleEndian.Uint64(b[24:])
	s.size = headerFixed + int64(len(name))
	return concordat.ShardID(name), b[7], true
}

// read returns records starting with seq, which must be in the segment, up to last or the segment's end, as many as fit in about maxBytes
// but at least one. It reads them from disk in a single operation.
func (s *segment) read(seq, last uint64, maxBytes int) ([]Record, error) {
	i := seq - s.base - 1
	n := min(last-seq+1, uint64(len(s.offsets))-i)
	for n > 1 && s.end(i+n-1)-s.offsets[i] > int64(maxBytes) {
		n = (n + 1) / 2
	}
	b := make([]byte, s.end(i+n-1)-s.offsets[i])
	if _, err := s.file.ReadAt(b, s.offsets[i]); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	rs := make([]Record, n)
	for j := range rs {
		at := s.offsets[i+uint64(j)]
		r, _, ok := parse(b[at-s.offsets[i]:s.end(i+uint64(j))-s.offsets[i]], s.salt)
		if !ok || r.Seq != seq+uint64(j) {
			return nil, &CorruptError{s.path, at, seq + uint64(j), "the record was damaged after it was written"}
		}
		rs[j] = r
	}
	return rs, nil
}

// end returns where record i of the segment ends, including any mark that follows it, because parsing a record stops at the end given by
// its length.
func (s *segment) end(i uint64) int64 {
	if i+1 < uint64(len(s.offsets)) {
		return s.offsets[i+1]
	}
	return s.size
}

// cut durably removes the records after seq, which must be base or a record in the segment.
func (s *segment) cut(seq uint64, sync func(*os.File) error) error {
	n := seq - s.base
	if n < uint64(len(s.offsets)) {
		s.size = s.offsets[n]
		s.offsets = s.offsets[:n]
	}
	if err := s.file.Truncate(s.size); err != nil {
		return err
	}
	return sync(s.file)
}

func (s *segment) remove() error { return errors.Join(s.file.Close(), os.Remove(s.path)) }

// syncDir makes the file names in dir durable.
func syncDir(dir string, sync func(*os.File) error) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(sync(d), d.Close())
}
