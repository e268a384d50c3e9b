package screening

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"

	"concordat"
	"concordat/screen"
)

// work is the folder of a screening. It contains the preparations and findings so far, with which the same command resumes after an
// interruption. It is removed after the results are output.
//
//	question.json  what is asked, for people; its digest names the folder
//	texts          a record for each document, in the order of the libraries
//	found          a record for each unit of comparing that is done
//	spill-N        sorted numbers that memory had no room for
//
// A record consists of its length and its CRC-32C, 4 bytes each, followed by its contents. A damaged or partial record, and everything
// after it, is ignored.
type work struct {
	dir    string
	texts  *recordLog
	found  *recordLog
	spills int
}

// openWork opens or creates the folder of a screening under parent.
func openWork(parent string, question any) (*work, error) {
	q, err := json.MarshalIndent(question, "", "  ")
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(q)
	w := &work{dir: filepath.Join(parent, hex.EncodeToString(sum[:8]))}
	if err := os.MkdirAll(w.dir, 0o700); err != nil {
		return nil, w.explain(err)
	}
	if err := os.WriteFile(filepath.Join(w.dir, "question.json"), q, 0o600); err != nil {
		return nil, w.explain(err)
	}
	if old, err := filepath.Glob(filepath.Join(w.dir, "spill-*")); err == nil {
		for _, path := range old { // left by a run that was killed
			_ = os.Remove(path)
		}
	}
	if w.texts, err = openRecords(filepath.Join(w.dir, "texts")); err == nil {
		w.found, err = openRecords(filepath.Join(w.dir, "found"))
	}
	if err != nil {
		return nil, w.explain(errors.Join(err, w.close()))
	}
	return w, nil
}

// explain recognizes a full disk, and adds the location of the work.
func (w *work) explain(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w: finished work is kept in %s; give a folder on another disk with --work: %w", concordat.ErrDiskFull, w.dir, err)
	}
	return err
}

func (w *work) close() error {
	return errors.Join(w.texts.close(), w.found.close())
}

// remove closes and removes the folder, and its parent if that is empty.
func (w *work) remove() error {
	err := errors.Join(w.close(), os.RemoveAll(w.dir))
	_ = os.Remove(filepath.Dir(w.dir)) // it may contain other work
	return err
}

// Create creates a file for sorting.
func (w *work) Create() (screen.Spill, error) {
	w.spills++
	f, err := os.OpenFile(filepath.Join(w.dir, "spill-"+strconv.Itoa(w.spills)), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	return spillFile{f}, nil
}

// spillFile is a file that is removed when closed.
type spillFile struct{ *os.File }

func (f spillFile) Close() error { return errors.Join(f.File.Close(), os.Remove(f.Name())) }

// recordLog is a file of records. It is safe for concurrent reads at an offset.
type recordLog struct {
	f    *os.File
	w    *bufio.Writer
	mu   sync.Mutex // protects w and size
	size int64      // including bytes still buffered in w
}

const (
	recordHead    = 8
	longestRecord = 1 << 30
)

var recordTable = crc32.MakeTable(crc32.Castagnoli)

func openRecords(path string) (*recordLog, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return &recordLog{f: f, w: bufio.NewWriterSize(f, 1<<18)}, nil
}

// replay calls each with every record and its offset, from the beginning, until each returns false. It truncates the file after the last
// record that is complete and wanted. New records are appended there.
func (l *recordLog) replay(each func(record []byte, at int64) bool) error {
	info, err := l.f.Stat()
	if err != nil {
		return err
	}
	if _, err := l.f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	r := bufio.NewReaderSize(l.f, 1<<18)
	at := int64(0)
	for {
		var head [recordHead]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			break // the end, or an incomplete record
		}
		n := int64(binary.LittleEndian.Uint32(head[:]))
		if n > longestRecord || n > info.Size()-at-recordHead {
			break
		}
		b := make([]byte, n)
		if _, err := io.ReadFull(r, b); err != nil || crc32.Checksum(b, recordTable) != binary.LittleEndian.Uint32(head[4:]) || !each(b, at) {
			break
		}
		at += recordHead + n
	}
	return l.cut(at)
}

// cut removes everything at or after offset at.
func (l *recordLog) cut(at int64) error {
	l.w.Reset(l.f)
	l.size = at
	_, err := l.f.Seek(at, io.SeekStart)
	return errors.Join(err, l.f.Truncate(at))
}

// append writes a record and returns its offset. The record is not passed to the operating system before flush.
func (l *recordLog) append(b []byte) (int64, error) {
	if len(b) > longestRecord {
		return 0, fmt.Errorf("record of %d bytes exceeds the maximum of %d", len(b), longestRecord)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.size
	var head [recordHead]byte
	binary.LittleEndian.PutUint32(head[:], uint32(len(b)))
	binary.LittleEndian.PutUint32(head[4:], crc32.Checksum(b, recordTable))
	if _, err := l.w.Write(head[:]); err != nil {
		return 0, err
	}
	if _, err := l.w.Write(b); err != nil {
		return 0, err
	}
	l.size += int64(recordHead + len(b))
	return at, nil
}

func (l *recordLog) flush() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Flush()
}

// read returns the record at an offset. It uses buf if that is large enough.
func (l *recordLog) read(at int64, buf []byte) ([]byte, error) {
	var head [recordHead]byte
	if _, err := l.f.ReadAt(head[:], at); err != nil {
		return nil, fmt.Errorf("work file: %w", err)
	}
	n := int(binary.LittleEndian.Uint32(head[:]))
	if n > longestRecord {
		return nil, fmt.Errorf("work file: invalid record length of %d bytes", n)
	}
	if cap(buf) < n {
		buf = make([]byte, n)
	}
	buf = buf[:n]
	if _, err := l.f.ReadAt(buf, at+recordHead); err != nil {
		return nil, fmt.Errorf("work file: %w", err)
	}
	if crc32.Checksum(buf, recordTable) != binary.LittleEndian.Uint32(head[4:]) {
		return nil, errors.New("work file: a record does not match its checksum")
	}
	return buf, nil
}

func (l *recordLog) close() error {
	if l == nil {
		return nil
	}
	return errors.Join(l.w.Flush(), l.f.Close())
}
