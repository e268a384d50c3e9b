package index

import (
	"container/heap"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	bleve "github.com/blevesearch/bleve_index_api"
	segment "github.com/blevesearch/scorch_segment_api/v2"
	zap "github.com/blevesearch/zapx/v17"

	"concordat"
	"concordat/index/internal/fst"
)

// This file writes the terms field of texts. A term takes four bytes, big-endian; its postings store the frequency and, in place of the
// norm, the text length as one byte.

const (
	wordBytes = fst.Longest
	// maxWords bounds a document's term occurrences; a text of maxText has fewer.
	maxWords = 1 << 30
	// A lengthCode below mantissas is the length itself; above that, three bits follow the leading one.
	mantissas     = 16
	maxLengthCode = 127 // one byte as a uvarint
)

// lengthCode returns the code for a length of n words: the four highest binary digits, at most 127. Robertson and Zaragoza 2009 need only
// a rough length; an error of an eighth matters less than different ways of counting words.
func lengthCode(n int) int {
	e := max(0, bits.Len(uint(n))-4)
	return min(8*e+n>>e, maxLengthCode)
}

// codedLength returns the smallest length with the code.
func codedLength(code int) int {
	if code < mantissas {
		return code
	}
	return (code&7 + 8) << (code>>3 - 1)
}

// checkTerms returns an error for terms that cannot be stored.
func checkTerms(ts []concordat.TermCount) error {
	words := 0
	for i, t := range ts {
		if i > 0 && t.Term <= ts[i-1].Term {
			return fmt.Errorf("term %08x is out of order after term %08x", t.Term, ts[i-1].Term)
		}
		if t.Count < 1 || t.Count > maxWords-words {
			return fmt.Errorf("term %08x has an invalid count, %d", t.Term, t.Count)
		}
		words += t.Count
	}
	return nil
}

// wordTokens returns the terms of a text for readers other than our segment writer.
func wordTokens(ts []concordat.TermCount) bleve.TokenFrequencies {
	out := make(bleve.TokenFrequencies, len(ts))
	for _, t := range ts {
		f := new(bleve.TokenFreq)
		f.SetFrequency(t.Count)
		out[string(binary.BigEndian.AppendUint32(nil, uint32(t.Term)))] = f
	}
	return out
}

// wordLists returns a segment's terms in ascending order, each with its postings in order of document, which are valid until the next
// call; at the end, ok is false.
type wordLists interface {
	next() (term uint32, ps []posting, ok bool, err error)
}

// wordIndex writes the terms field and returns the position of its description.
func (w *segmentWriter) wordIndex() (uint64, error) {
	var lists wordLists = &w.fresh
	if w.words != nil {
		lists = w.words()
	}
	w.dict.Reset(false)
	last := int64(-1)
	for n := 0; ; n++ {
		if n%4096 == 0 {
			if err := w.ended(); err != nil {
				return 0, err
			}
		}
		term, ps, ok, err := lists.next()
		if err != nil {
			return 0, err
		}
		if !ok {
			break
		}
		if int64(term) <= last { // a damaged segment causes this; the dictionary would be damaged too
			return 0, fmt.Errorf("term %08x after %08x: %w", term, last, errStored)
		}
		last = int64(term)
		value := zap.FSTValEncode1Hit(uint64(ps[0].doc), uint64(ps[0].norm))
		if len(ps) > 1 || ps[0].frequency > 1 {
			if value, err = w.postings(ps); err != nil {
				return 0, err
			}
		}
		key := [wordBytes]byte{byte(term >> 24), byte(term >> 16), byte(term >> 8), byte(term)}
		w.dict.Add(key[:], value)
	}
	return w.dictionary(w.dict.Bytes(wordBytes)), nil
}

// freshWords collects the terms of new texts and serves as their wordLists.
type freshWords struct {
	all  []freshWord
	done int // number of sorted terms already returned
	list []posting
}

type freshWord struct {
	term uint32
	posting
}

// add collects the terms of e, document number doc of the segment.
func (f *freshWords) add(e *entry, doc uint32) {
	for _, t := range e.words {
		f.all = append(f.all, freshWord{uint32(t.Term), posting{doc, uint32(t.Count), uint32(e.length)}})
	}
}

func (f *freshWords) next() (uint32, []posting, bool, error) {
	if f.done == 0 {
		f.all = sortWords(f.all)
	}
	if f.done == len(f.all) {
		return 0, nil, false, nil
	}
	term := f.all[f.done].term
	f.list = f.list[:0]
	for ; f.done < len(f.all) && f.all[f.done].term == term; f.done++ {
		f.list = append(f.list, f.all[f.done].posting)
	}
	return term, f.list, true, nil
}

// sortWords sorts by term and keeps the order of equal terms, in three passes of a radix sort.
func sortWords(ws []freshWord) []freshWord {
	const digit = 11
	scratch := make([]freshWord, len(ws))
	for shift := 0; shift < 8*wordBytes; shift += digit {
		var count [1<<digit + 1]uint32
		for i := range ws {
			count[ws[i].term>>shift&(1<<digit-1)+1]++
		}
		for i := 1; i < len(count); i++ {
			count[i] += count[i-1]
		}
		for i := range ws {
			at := &count[ws[i].term>>shift&(1<<digit-1)]
			scratch[*at] = ws[i]
			*at++
		}
		ws, scratch = scratch, ws
	}
	return ws
}

// wordMerge merges the terms of several segments.
type wordMerge struct {
	sources []*wordSource // heap ordered by term, then segment
	list    []posting
	begun   error // error that prevented a source from beginning
}

// newWordMerge returns the terms of the segments' live documents under their new numbers, which increase from segment to segment and
// within each.
func newWordMerge(segs []segment.Segment, numbers [][]uint64) *wordMerge {
	m := new(wordMerge)
	for i, seg := range segs {
		dict, err := seg.Dictionary(fieldTerms)
		if err != nil {
			m.begun = err
			return m
		}
		s := &wordSource{order: i, dict: dict, terms: dict.AutomatonIterator(nil, nil, nil), numbers: numbers[i]}
		if ok, err := s.advance(); err != nil {
			m.begun = err
			return m
		} else if ok {
			m.sources = append(m.sources, s)
		}
	}
	heap.Init(m)
	return m
}

func (m *wordMerge) next() (uint32, []posting, bool, error) {
	if m.begun != nil {
		return 0, nil, false, m.begun
	}
	for len(m.sources) > 0 {
		term := m.sources[0].term
		m.list = m.list[:0]
		for len(m.sources) > 0 && m.sources[0].term == term {
			s := m.sources[0]
			var err error
			if m.list, err = s.append(m.list); err != nil {
				return 0, nil, false, err
			}
			ok, err := s.advance()
			if err != nil {
				return 0, nil, false, err
			}
			if ok {
				heap.Fix(m, 0)
			} else {
				heap.Pop(m)
			}
		}
		if len(m.list) > 0 {
			return term, m.list, true, nil
		}
	}
	return 0, nil, false, nil
}

func (m *wordMerge) Len() int { return len(m.sources) }
func (m *wordMerge) Less(i, j int) bool {
	a, b := m.sources[i], m.sources[j]
	return a.term < b.term || a.term == b.term && a.order < b.order
}
func (m *wordMerge) Swap(i, j int) { m.sources[i], m.sources[j] = m.sources[j], m.sources[i] }
func (m *wordMerge) Push(x any)    { m.sources = append(m.sources, x.(*wordSource)) }
func (m *wordMerge) Pop() any {
	last := m.sources[len(m.sources)-1]
	m.sources = m.sources[:len(m.sources)-1]
	return last
}

// wordSource iterates over the terms of one segment.
type wordSource struct {
	order    int
	dict     segment.TermDictionary
	terms    segment.DictionaryIterator
	numbers  []uint64 // numbers of the documents in the merged segment
	term     uint32
	postings segment.PostingsList
	iterator segment.PostingsIterator
}

// advance moves to the next term.
func (s *wordSource) advance() (bool, error) {
	e, err := s.terms.Next()
	if err != nil || e == nil {
		return false, err
	}
	if len(e.Term) != wordBytes {
		return false, fmt.Errorf("term %x: %w", e.Term, errStored)
	}
	s.term = binary.BigEndian.Uint32([]byte(e.Term))
	return true, nil
}

// append appends the live postings of the current term.
func (s *wordSource) append(dst []posting) ([]posting, error) {
	var key [wordBytes]byte
	binary.BigEndian.PutUint32(key[:], s.term)
	var err error
	if s.postings, err = s.dict.PostingsList(key[:], nil, s.postings); err != nil {
		return nil, err
	}
	dst = slices.Grow(dst, int(s.postings.Count()))
	s.iterator = s.postings.Iterator(true, true, false, s.iterator)
	for {
		p, err := s.iterator.Next()
		if err != nil || p == nil {
			return dst, err
		}
		if n := p.Number(); n >= uint64(len(s.numbers)) {
			return nil, fmt.Errorf("a posting refers to document %d, but there are only %d documents: %w", n, len(s.numbers), errStored)
		} else if s.numbers[n] != dropped {
			dst = append(dst, posting{uint32(s.numbers[n]), uint32(p.Frequency()), normOf(p)})
		}
	}
}

// normOf returns the length code of a posting; zap returns 1/sqrt of the code.
func normOf(p segment.Posting) uint32 {
	n := p.Norm()
	return uint32(1/(n*n) + 0.5)
}
