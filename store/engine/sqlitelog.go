package engine

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"concordat"
)

// SQLite continues with the intact part of its write-ahead log, up to the first frame with a wrong checksum. If a damaged or truncated
// log contained acknowledged changes after that frame, they would be lost silently. The index of the log, in the file with suffix -shm,
// records how far changes were committed, because it is written after their frames are synced. It also records how far changes have
// reached the database file; without a log, all of them must have. (https://www.sqlite.org/walformat.html)

const (
	walHeader   = 32
	frameHeader = 24
	walMagic    = 0x377f0682 // plus one if its checksums are big-endian
	indexHeader = 48         // size of the header, which the index contains twice
	indexFormat = 3007000
)

// logIndex is the part of a log's index that records how far the log goes.
type logIndex struct {
	frames uint32  // number of committed frames
	stored uint32  // how many of these are in the database file
	salt   [8]byte // salt of the log
}

// readLogIndex reads the index of a database's log; ok is false if there is no intact one.
func readLogIndex(path string) (x logIndex, ok bool, err error) {
	f, err := os.Open(path + "-shm")
	if errors.Is(err, fs.ErrNotExist) {
		return x, false, nil
	}
	if err != nil {
		return x, false, err
	}
	defer func() { _ = f.Close() }() // only read from
	b := make([]byte, 2*indexHeader+4)
	if _, err := io.ReadFull(f, b); err != nil {
		return x, false, nil
	}
	order := binary.NativeEndian
	s1, s2 := logChecksum(order, 0, 0, b[:40])
	if !bytes.Equal(b[:indexHeader], b[indexHeader:2*indexHeader]) || order.Uint32(b) != indexFormat || b[12] != 1 ||
		s1 != order.Uint32(b[40:]) || s2 != order.Uint32(b[44:]) {
		return x, false, nil
	}
	x.frames, x.stored = order.Uint32(b[16:]), order.Uint32(b[2*indexHeader:])
	copy(x.salt[:], b[32:40])
	return x, true, nil
}

// logChecksum continues a checksum with b, whose length must be a multiple of 8.
func logChecksum(order binary.ByteOrder, s1, s2 uint32, b []byte) (uint32, uint32) {
	for ; len(b) >= 8; b = b[8:] {
		s1 += order.Uint32(b) + s2
		s2 += order.Uint32(b[4:]) + s1
	}
	return s1, s2
}

// checkLog fails with concordat.ErrCorrupt if the write-ahead log of a database lacks committed changes. Other processes can be writing
// in the meantime.
func checkLog(path string) error {
	for range 20 {
		x, ok, err := readLogIndex(path)
		if err != nil || !ok || x.frames == 0 {
			return err
		}
		whole, err := wholeFrames(path+"-wal", x)
		if err != nil || whole >= x.frames {
			return err
		}
		if again, ok, err := readLogIndex(path); err != nil || !ok || again != x {
			continue // another process is restarting the log
		}
		name := filepath.Base(path)
		return fmt.Errorf("%w: %s-wal is missing, damaged or truncated: of %d pages of acknowledged changes, only %d can be read; restore a backup, or remove %s-shm to continue without the lost changes",
			concordat.ErrCorrupt, name, x.frames, whole, name)
	}
	return nil // the index keeps changing, so another process can read the log
}

// wholeFrames returns how many frames of a log, up to x.frames, are intact and agree with its index. A log that does not belong to the
// index counts as intact, since a power failure can leave one behind. Without a log, the frames in the database file count.
func wholeFrames(path string, x logIndex) (uint32, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return min(x.stored, x.frames), nil
	}
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }() // only read from
	h := make([]byte, walHeader)
	if _, err := io.ReadFull(f, h); err != nil {
		return 0, atEnd(err)
	}
	var order binary.ByteOrder = binary.LittleEndian
	if binary.BigEndian.Uint32(h) == walMagic+1 {
		order = binary.BigEndian
	}
	s1, s2 := logChecksum(order, 0, 0, h[:24])
	page := binary.BigEndian.Uint32(h[8:])
	if binary.BigEndian.Uint32(h)&^1 != walMagic || s1 != binary.BigEndian.Uint32(h[24:]) || s2 != binary.BigEndian.Uint32(h[28:]) ||
		page < 512 || page > 1<<16 {
		return 0, nil
	}
	if !bytes.Equal(h[16:24], x.salt[:]) {
		return x.frames, nil
	}
	b := make([]byte, frameHeader+int(page))
	for n := range x.frames {
		if _, err := io.ReadFull(f, b); err != nil {
			return n, atEnd(err)
		}
		s1, s2 = logChecksum(order, s1, s2, b[:8])
		s1, s2 = logChecksum(order, s1, s2, b[frameHeader:])
		if !bytes.Equal(b[8:16], x.salt[:]) || s1 != binary.BigEndian.Uint32(b[16:]) || s2 != binary.BigEndian.Uint32(b[20:]) {
			return n, nil
		}
	}
	return x.frames, nil
}

// atEnd returns err, or nil if err is the end of a file.
func atEnd(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}
