package federation

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"time"

	"concordat"
	"concordat/crypto"
)

// disk is the file system.
type disk struct {
	sync    func(f *os.File) error
	syncDir func(dir string) error
	rename  func(from, to string) error
}

func realDisk() disk { return disk{sync: (*os.File).Sync, syncDir: syncDir, rename: os.Rename} }

// load reads the file and reports whether it is intact. A record cut off while being written does not count as damage, because its
// request did not run.
func (r *Replays) load() (bool, error) {
	f, err := os.Open(r.path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("replay file: %w", err)
	}
	r.file = f
	in := bufio.NewReaderSize(f, 1<<20)
	magic := make([]byte, len(replayMagic))
	if _, err := io.ReadFull(in, magic); err != nil || string(magic) != replayMagic {
		return false, nil
	}
	at := int64(len(replayMagic))
	for {
		n, err := r.loadRecord(in, at)
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return true, nil
		case err != nil:
			return false, nil
		}
		at += n
	}
}

// loadRecord reads the record at an offset and returns its length.
func (r *Replays) loadRecord(in *bufio.Reader, at int64) (int64, error) {
	head := make([]byte, replayHead)
	if _, err := io.ReadFull(in, head); err != nil {
		return 0, err
	}
	n := binary.BigEndian.Uint32(head[replayHead-4:])
	if n > crypto.MaxEnvelope {
		return 0, concordat.ErrCorrupt
	}
	body := make([]byte, n+4)
	if _, err := io.ReadFull(in, body); err != nil {
		return 0, io.ErrUnexpectedEOF
	}
	sum := crc32.Update(crc32.Checksum(head, crcTable), crcTable, body[:n])
	if sum != binary.BigEndian.Uint32(body[n:]) {
		return 0, concordat.ErrCorrupt
	}
	if head[0] == recordTrust {
		r.trust = time.UnixMilli(int64(binary.BigEndian.Uint64(head[81:])))
		return int64(replayHead + n + 4), nil
	}
	e := &replay{done: make(chan struct{}), state: replayLost}
	close(e.done)
	copy(e.key.from[:], head[1:])
	copy(e.key.id[:], head[33:])
	copy(e.digest[:], head[49:])
	e.until = time.UnixMilli(int64(binary.BigEndian.Uint64(head[81:])))
	e.cost = int64(replayHead + n + 4)
	if head[0] == recordAnswered {
		e.state, e.offset, e.length = replayAnswered, at+replayHead, int(n)
		r.replies[e.key.from] = append(r.replies[e.key.from], e)
	}
	if old := r.entries[e.key]; old != nil {
		r.drop(old)
	}
	r.keep(e)
	return e.cost, nil
}

// append writes one record. r.mu must be held.
func (r *Replays) append(kind byte, e *replay, reply []byte) error {
	b := encodeReplay(kind, e, reply)
	if _, err := r.file.WriteAt(b, r.size); err != nil {
		return fmt.Errorf("replay file: %w", err)
	}
	r.size += int64(len(b))
	return nil
}

func encodeReplay(kind byte, e *replay, reply []byte) []byte {
	b := append(make([]byte, 0, replayHead+len(reply)+4), kind)
	b = append(append(append(b, e.key.from[:]...), e.key.id[:]...), e.digest[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(e.until.UnixMilli()))
	b = binary.BigEndian.AppendUint32(b, uint32(len(reply)))
	b = append(b, reply...)
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, crcTable))
}

// rewrite replaces the file with one that contains only the remembered requests. r.mu must be held.
func (r *Replays) rewrite() error {
	next, err := os.CreateTemp(filepath.Dir(r.path), ".replays-*")
	if err != nil {
		return fmt.Errorf("replay file: %w", err)
	}
	moved, size, err := r.copyTo(next)
	if err == nil {
		err = r.disk.sync(next)
	}
	if err == nil {
		err = r.disk.rename(next.Name(), r.path)
	}
	if err == nil {
		err = r.disk.syncDir(filepath.Dir(r.path))
	}
	if err != nil {
		_ = next.Close()
		_ = os.Remove(next.Name())
		return fmt.Errorf("replay file: %w", err)
	}
	if r.file != nil {
		_ = r.file.Close()
	}
	r.file, r.size = next, size
	for e, offset := range moved {
		e.offset = offset
	}
	r.written++
	return nil
}

// copyTo writes the entries and returns the positions of their replies.
func (r *Replays) copyTo(next *os.File) (map[*replay]int64, int64, error) {
	w := bufio.NewWriterSize(next, 1<<20)
	size := int64(len(replayMagic))
	moved := map[*replay]int64{}
	if _, err := w.WriteString(replayMagic); err != nil {
		return nil, 0, err
	}
	if !r.trust.IsZero() {
		b := encodeReplay(recordTrust, &replay{until: r.trust}, nil)
		if _, err := w.Write(b); err != nil {
			return nil, 0, err
		}
		size += int64(len(b))
	}
	for _, e := range r.entries {
		kind, reply := byte(recordBegun), []byte(nil)
		if e.state == replayAnswered {
			kind, reply = recordAnswered, make([]byte, e.length)
			if _, err := r.file.ReadAt(reply, e.offset); err != nil {
				return nil, 0, err
			}
		}
		b := encodeReplay(kind, e, reply)
		if _, err := w.Write(b); err != nil {
			return nil, 0, err
		}
		moved[e] = size + replayHead
		size += int64(len(b))
	}
	return moved, size, w.Flush()
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
