package stage

import (
	"bufio"
	"bytes"
	"container/heap"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/cespare/xxhash/v2"

	"concordat/screen"
)

// Split writes every line to the output chosen by the hash of its key.
func Split(in io.Reader, out []io.Writer) error {
	r := newReader(in)
	for line, err := range r.lines() {
		if err != nil {
			return err
		}
		key, _, _ := bytes.Cut(line, []byte("\t"))
		to := out[xxhash.Sum64(key)%uint64(len(out))]
		if _, err := to.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return nil
}

// Merge sorts lines by their bytes and removes repeats. It uses about Bytes of memory and stores the rest in Space. It runs between a map
// and a reduce, and as the last step of every stage.
type Merge struct {
	Space screen.Space
	Bytes int64
	// Sum adds up the last fields of lines that agree in all others, instead of removing repeats.
	Sum bool
}

const (
	leastMerge = 1 << 20
	lineBytes  = 40 // overhead of a line in memory, including spare room in the list of lines
	// maxRuns is the maximum number of runs merged at once, each with a buffer of mergeBuffer bytes.
	maxRuns     = 128
	mergeBuffer = 1 << 16
)

// Run sorts the lines of all inputs.
func (m *Merge) Run(in []io.Reader, out io.Writer) (err error) {
	var runs []*run
	defer func() {
		for _, r := range runs {
			err = errors.Join(err, r.spill.Close())
		}
	}()
	var held heldLines
	spill := func() error {
		r, err := m.create(held.write)
		if err != nil {
			return err
		}
		held.reset()
		if runs = append(runs, r); len(runs) < maxRuns {
			return nil
		}
		all, err := m.create(func(w *combiner) error { return merge(runs, w) })
		if err != nil {
			return err
		}
		for _, r := range runs {
			err = errors.Join(err, r.spill.Close())
		}
		runs = []*run{all}
		return err
	}
	for _, from := range in {
		r := newReader(from)
		for line, err := range r.lines() {
			if err == nil && m.Sum {
				if _, _, err = lastNumber(line); err != nil {
					err = r.fault(err)
				}
			}
			if err != nil {
				return err
			}
			if held.add(line); held.size >= max(leastMerge, m.Bytes) {
				if err := spill(); err != nil {
					return err
				}
			}
		}
	}
	w := newCombiner(m.Sum, out)
	if len(runs) == 0 {
		return errors.Join(held.write(w), w.end())
	}
	if err := spill(); err != nil {
		return err
	}
	return errors.Join(merge(runs, w), w.end())
}

// heldLines are lines in memory. It reuses the blocks with their bytes, so memory use does not grow.
type heldLines struct {
	lines  [][]byte
	blocks [][]byte
	block  int // block being filled
	size   int64
}

const blockBytes = 1 << 19

func (h *heldLines) add(line []byte) {
	h.size += int64(len(line)) + lineBytes
	if len(line) > blockBytes {
		h.lines = append(h.lines, bytes.Clone(line))
		return
	}
	if h.block < len(h.blocks) && len(h.blocks[h.block])+len(line) > blockBytes {
		h.block++
	}
	if h.block == len(h.blocks) {
		h.blocks = append(h.blocks, make([]byte, 0, blockBytes))
	}
	b := append(h.blocks[h.block], line...)
	h.lines = append(h.lines, b[len(b)-len(line):])
	h.blocks[h.block] = b
}

func (h *heldLines) reset() {
	clear(h.lines)
	h.lines, h.block, h.size = h.lines[:0], 0, 0
	for i := range h.blocks {
		h.blocks[i] = h.blocks[i][:0]
	}
}

// write sorts and writes the lines.
func (h *heldLines) write(w *combiner) error {
	slices.SortFunc(h.lines, bytes.Compare)
	for _, line := range h.lines {
		if err := w.add(line); err != nil {
			return err
		}
	}
	return nil
}

// run is a sequence of sorted lines in a spill.
type run struct {
	spill screen.Spill
	size  int64
	lines *reader
	line  []byte // next line
}

func (m *Merge) create(fill func(*combiner) error) (*run, error) {
	s, err := m.Space.Create()
	if err != nil {
		return nil, err
	}
	n := &counter{to: s}
	w := newCombiner(m.Sum, n)
	if err = fill(w); err == nil {
		err = w.end()
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return &run{spill: s, size: n.n}, nil
}

// runHeap is a heap with the run of the smallest line first.
type runHeap []*run

func (h runHeap) Len() int           { return len(h) }
func (h runHeap) Less(i, j int) bool { return bytes.Compare(h[i].line, h[j].line) < 0 }
func (h runHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *runHeap) Push(x any)        { *h = append(*h, x.(*run)) }
func (h *runHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

func merge(runs []*run, w *combiner) error {
	var h runHeap
	for _, r := range runs {
		r.lines = &reader{in: bufio.NewReaderSize(io.NewSectionReader(r.spill, 0, r.size), mergeBuffer)}
		line, err := r.lines.next()
		if errors.Is(err, io.EOF) {
			continue
		}
		if err != nil {
			return err
		}
		r.line = line
		h = append(h, r)
	}
	heap.Init(&h)
	for len(h) > 0 {
		if err := w.add(h[0].line); err != nil {
			return err
		}
		line, err := h[0].lines.next()
		if errors.Is(err, io.EOF) {
			heap.Pop(&h)
			continue
		}
		if err != nil {
			return err
		}
		h[0].line = line
		heap.Fix(&h, 0)
	}
	return nil
}

// combiner writes sorted lines, and either writes repeated lines once or adds them up.
type combiner struct {
	sum  bool
	out  *bufio.Writer
	any  bool
	last []byte // the line not yet written, or all but its last field
	n    uint64
}

func newCombiner(sum bool, out io.Writer) *combiner {
	return &combiner{sum: sum, out: bufio.NewWriterSize(out, mergeBuffer)}
}

func (c *combiner) add(line []byte) error {
	head, n := line, uint64(0)
	if c.sum {
		var err error
		if head, n, err = lastNumber(line); err != nil {
			return err
		}
	}
	if c.any && bytes.Equal(head, c.last) {
		c.n += n
		return nil
	}
	if err := c.flush(); err != nil {
		return err
	}
	c.any, c.last, c.n = true, append(c.last[:0], head...), n
	return nil
}

func (c *combiner) flush() error {
	if !c.any {
		return nil
	}
	if c.sum {
		c.last = strconv.AppendUint(c.last, c.n, 10)
	}
	_, err := c.out.Write(append(c.last, '\n'))
	return err
}

func (c *combiner) end() error { return errors.Join(c.flush(), c.out.Flush()) }

// lastNumber splits a line before its last field, which is a number.
func lastNumber(line []byte) (head []byte, n uint64, err error) {
	at := bytes.LastIndexByte(line, '\t') + 1
	if n, err = strconv.ParseUint(string(line[at:]), 10, 64); err != nil || at == 0 {
		return nil, 0, fmt.Errorf("cannot add up the last field: %q is not a number", line[at:])
	}
	return line[:at], n, nil
}

// counter counts the bytes written.
type counter struct {
	to io.Writer
	n  int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.to.Write(b)
	c.n += int64(n)
	return n, err
}
