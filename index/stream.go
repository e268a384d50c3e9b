package index

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"

	segment "github.com/blevesearch/scorch_segment_api/v2"
	zap "github.com/blevesearch/zapx/v17"

	"concordat"
)

// This file merges segments of any size in bounded memory. Zap's own merge would take several times the processor time and would leave
// colliding occurrence numbers from different segments. Output goes to the file as it is produced; fingerprints go to a second file, from
// which each band's terms are read back one range of values at a time. Only 40 bytes per block, a range of terms, and one field's
// dictionary, about four bytes per sentence, stay in memory. The result is identical to a merge in memory (TestStream).

// streamTerms is the number of terms in one range, 16 bytes each.
const streamTerms = 16 << 20

// sink receives a segmentWriter's bytes once there are many.
type sink struct {
	file    *os.File
	written uint64
	sum     uint32
	err     error
	prints  *printFile
}

// drained is the number of bytes that a segmentWriter collects before it writes them.
const drained = 1 << 20

// drain writes the collected bytes if there are many, or if all is set. After an error, it discards them; ended returns the error.
func (w *segmentWriter) drain(all bool) {
	s := w.sink
	if s == nil || len(w.b) < drained && !all {
		return
	}
	if s.err == nil {
		s.sum = crc32.Update(s.sum, crc32.IEEETable, w.b)
		_, s.err = s.file.Write(w.b)
	}
	s.written += uint64(len(w.b))
	w.b = w.b[:0]
}

// mergeToFile writes a merge of any size to path; fill adds the documents.
func (m *merger) mergeToFile(path string, r segment.StatsReporter, terms int, fill func() error) (n uint64, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return 0, err
	}
	prints, err := newPrintFile(path+".prints", terms)
	if err != nil {
		return 0, errors.Join(err, f.Close(), os.Remove(path))
	}
	defer func() {
		m.sink = nil
		err = errors.Join(err, prints.f.Close(), f.Close())
		if err != nil {
			err = errors.Join(err, os.Remove(path))
		}
	}()
	m.sink = &sink{file: f, prints: prints}
	if err := fill(); err != nil {
		return 0, err
	}
	stored, sections, err := m.write()
	if err != nil {
		return 0, err
	}
	m.footer(stored, sections)
	m.drain(true)
	if m.sink.err != nil {
		return 0, m.sink.err
	}
	if err := f.Sync(); err != nil {
		return 0, err
	}
	if r != nil {
		r.ReportBytesWritten(m.pos())
	}
	return m.pos(), nil
}

// footer ends a file as zap's persistFooter does without a callback name.
func (w *segmentWriter) footer(stored, sections uint64) {
	w.b = binary.BigEndian.AppendUint32(w.b, 0) // length of the callback name
	w.b = binary.BigEndian.AppendUint64(w.b, uint64(len(w.ids)))
	w.b = binary.BigEndian.AppendUint64(w.b, stored)
	w.b = binary.BigEndian.AppendUint64(w.b, sections)
	w.b = binary.BigEndian.AppendUint32(w.b, zap.DefaultChunkMode)
	w.b = binary.BigEndian.AppendUint32(w.b, zap.Version)
	w.drain(true)
	w.b = binary.BigEndian.AppendUint32(w.b, w.sink.sum)
}

// printFile stores fingerprints and their documents on disk, in order.
type printFile struct {
	f     *os.File
	w     *bufio.Writer
	n     int
	terms int // approximate number of terms in a range
}

const printRecord = 20 // two words of a fingerprint, and the document

// newPrintFile returns an empty printFile on the disk of path. The file has no name, so it vanishes however the process ends. It may
// contain deleted data, which must not be left behind.
func newPrintFile(path string, terms int) (*printFile, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	if err := os.Remove(path); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &printFile{f: f, w: bufio.NewWriterSize(f, 1<<18), terms: terms}, nil
}

func (p *printFile) add(fps []concordat.Fingerprint, doc uint32) error {
	for _, f := range fps {
		b := binary.LittleEndian.AppendUint64(p.w.AvailableBuffer(), f[0])
		b = binary.LittleEndian.AppendUint64(b, f[1])
		if _, err := p.w.Write(binary.LittleEndian.AppendUint32(b, doc)); err != nil {
			return err
		}
	}
	p.n += len(fps)
	return nil
}

// ranges calls each with a band's terms, one range of values at a time, in ascending order. A range has at most p.terms terms, or all the
// terms of 256 consecutive values if these are more. The slice is valid during the call.
func (p *printFile) ranges(band int, each func([]termDoc) error) error {
	if err := p.w.Flush(); err != nil {
		return err
	}
	if p.n <= p.terms {
		return p.visit(band, 0, math.MaxUint32, make([]termDoc, 0, p.n), each)
	}
	// First count how often values occur, by their upper 12 bits.
	var counts [1 << 12]int
	err := p.read(func(f concordat.Fingerprint, _ uint32) { counts[f.Band(band)>>8]++ })
	if err != nil {
		return err
	}
	var buffer []termDoc
	for from := 0; from < len(counts); {
		to, n := from+1, counts[from]
		for to < len(counts) && n+counts[to] <= p.terms {
			n += counts[to]
			to++
		}
		if cap(buffer) < n {
			buffer = make([]termDoc, 0, n)
		}
		if n > 0 {
			if err := p.visit(band, uint32(from)<<8, uint32(to)<<8, buffer[:0], each); err != nil {
				return err
			}
		}
		from = to
	}
	return nil
}

// visit gathers the terms of the values from low up to but excluding high.
func (p *printFile) visit(band int, low, high uint32, ts []termDoc, each func([]termDoc) error) error {
	err := p.read(func(f concordat.Fingerprint, doc uint32) {
		if v := f.Band(band); v >= low && v < high {
			ts = append(ts, termDoc{v << 4, doc})
		}
	})
	if err != nil {
		return err
	}
	return each(ts)
}

func (p *printFile) read(each func(concordat.Fingerprint, uint32)) error {
	r := bufio.NewReaderSize(io.NewSectionReader(p.f, 0, int64(p.n)*printRecord), 1<<18)
	for range p.n {
		b, err := r.Peek(printRecord)
		if err != nil {
			return fmt.Errorf("read the fingerprints to be merged: %w", err)
		}
		each(concordat.Fingerprint{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])}, binary.LittleEndian.Uint32(b[16:]))
		if _, err := r.Discard(printRecord); err != nil {
			return err
		}
	}
	return nil
}
