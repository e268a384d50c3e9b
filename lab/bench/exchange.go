package bench

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"concordat"
)

// maxPrints is the maximum that ReadPrints accepts: 100 million fingerprints or questions.
const maxPrints = 100_000_000

// ReadPrints reads the exchange format, in which all integers are 64-bit and big-endian. First come the numbers of fingerprints and of
// questions, then each fingerprint as hi and lo of the 100-bit number hi·2^64 + lo, then each question as hi, lo, target (-1: not
// planted) and the number of changed bits. A number above 100 million, a target out of range and a truncated file are errors; memory is
// allocated only for bytes that were read.
func ReadPrints(r io.Reader) ([]concordat.Fingerprint, []Question, error) {
	in := bufio.NewReaderSize(r, 1<<20)
	var head [2]uint64
	if err := read(in, head[:]); err != nil {
		return nil, nil, fmt.Errorf("read fingerprints: %w", err)
	}
	if head[0] > maxPrints || head[1] > maxPrints {
		return nil, nil, fmt.Errorf("read fingerprints: %w: got %d fingerprints and %d queries, want at most %d", concordat.ErrInvalid, head[0], head[1],
			maxPrints)
	}
	var prints []concordat.Fingerprint
	for i := range head[0] {
		var v [2]uint64
		if err := read(in, v[:]); err != nil {
			return nil, nil, fmt.Errorf("read fingerprint %d of %d: %w", i, head[0], err)
		}
		prints = append(prints, concordat.FingerprintFromHalves(v[0], v[1]))
	}
	var qs []Question
	for i := range head[1] {
		var v [4]uint64
		if err := read(in, v[:]); err != nil {
			return nil, nil, fmt.Errorf("read query %d of %d: %w", i, head[1], err)
		}
		q := Question{concordat.FingerprintFromHalves(v[0], v[1]), int(int64(v[2])), int(int64(v[3]))}
		if q.Target < -1 || q.Target >= len(prints) || q.Bits < 0 || q.Bits > concordat.Bits {
			return nil, nil, fmt.Errorf("read query %d: %w: target %d or number of bits %d is out of range", i, concordat.ErrInvalid, q.Target, q.Bits)
		}
		qs = append(qs, q)
	}
	return prints, qs, nil
}

func read(r io.Reader, v []uint64) error {
	buf := make([]byte, 8*len(v))
	if _, err := io.ReadFull(r, buf); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	for i := range v {
		v[i] = binary.BigEndian.Uint64(buf[8*i:])
	}
	return nil
}

// WritePrints writes the exchange format.
func WritePrints(w io.Writer, prints []concordat.Fingerprint, qs []Question) error {
	out := bufio.NewWriterSize(w, 1<<20)
	put := func(vs ...uint64) error {
		var b []byte
		for _, v := range vs {
			b = binary.BigEndian.AppendUint64(b, v)
		}
		_, err := out.Write(b)
		return err
	}
	if err := put(uint64(len(prints)), uint64(len(qs))); err != nil {
		return err
	}
	for _, f := range prints {
		hi, lo := f.Halves()
		if err := put(hi, lo); err != nil {
			return err
		}
	}
	for _, q := range qs {
		hi, lo := q.Print.Halves()
		if err := put(hi, lo, uint64(int64(q.Target)), uint64(q.Bits)); err != nil {
			return err
		}
	}
	return out.Flush()
}
