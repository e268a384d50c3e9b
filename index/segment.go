package index

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
	bleve "github.com/blevesearch/bleve_index_api"
	segment "github.com/blevesearch/scorch_segment_api/v2"
	"github.com/blevesearch/vellum"
	zap "github.com/blevesearch/zapx/v17"
	"github.com/golang/snappy"

	"concordat"
	"concordat/index/internal/fst"
)

// segmentFields lists the fields of every segment: first _id, as zap requires, then the others in order.
var segmentFields = func() []segmentField {
	fs := []segmentField{{"_id", idOptions, -1}}
	for i, name := range bandFields {
		fs = append(fs, segmentField{name, bandOptions, i})
	}
	for _, name := range []string{fieldDocument, fieldFingerprints, fieldSpans, fieldText} {
		fs = append(fs, segmentField{name, storedOnly, -1})
	}
	fs = append(fs, segmentField{fieldTerms, bandOptions, -1})
	slices.SortFunc(fs[1:], func(a, b segmentField) int { return cmp.Compare(a.name, b.name) })
	return fs
}()

type segmentField struct {
	name    string
	options bleve.FieldIndexingOptions
	band    int // -1 if not a band
}

// segmentWriter writes one zap v17 segment without its footer, which zap adds; zap.md of zapx v17.2.3 describes the format.
type segmentWriter struct {
	b       []byte
	sink    *sink    // receives b when it becomes long; if nil, everything stays in b
	offsets []uint64 // positions of each document's stored fields
	ids     []string
	terms   [concordat.Bands][]termDoc
	fresh   freshWords // terms field
	// words returns the postings of the terms field; if it is nil, fresh provides them.
	words func() wordLists

	renumber           bool          // whether terms come from addFingerprints
	closed             chan struct{} // closed when the segment is no longer wanted; nil if it is always wanted
	scratch            []termDoc
	dict               fst.Writer
	meta, data, packed []byte    // reused
	docs               []uint32  // reused
	ends               []uint64  // reused
	list               []posting // reused
}

// reset empties w but keeps its buffers.
func (w *segmentWriter) reset() {
	clear(w.ids)
	w.b, w.offsets, w.ids = w.b[:0], w.offsets[:0], w.ids[:0]
	for i := range w.terms {
		w.terms[i] = w.terms[i][:0]
	}
	w.fresh, w.words, w.renumber, w.closed = freshWords{}, nil, false, nil
}

func (w *segmentWriter) uvarint(v uint64) { w.b = binary.AppendUvarint(w.b, v) }
func (w *segmentWriter) pos() uint64 {
	if w.sink != nil {
		return w.sink.written + uint64(len(w.b))
	}
	return uint64(len(w.b))
}

// ended returns nil, or the error that makes continuing pointless: ErrClosed or the sink's error. Long loops call it.
func (w *segmentWriter) ended() error {
	select {
	case <-w.closed:
		return segment.ErrClosed
	default:
	}
	if w.sink != nil {
		return w.sink.err
	}
	return nil
}

// add writes the next document's stored fields and records its terms; e may be reused afterwards.
func (w *segmentWriter) add(e *entry) error {
	doc := uint32(len(w.ids))
	w.meta = binary.AppendUvarint(w.meta[:0], uint64(len(e.id)))
	w.data = w.data[:0]
	for id, f := range segmentFields {
		for i := range e.fields {
			g := &e.fields[i]
			if g.name != f.name {
				continue
			}
			for _, v := range [...]int{id, 't', len(w.data), len(g.value), 0} { // no array positions
				w.meta = binary.AppendUvarint(w.meta, uint64(v))
			}
			w.data = append(w.data, g.value...)
		}
	}
	if n := snappy.MaxEncodedLen(len(w.data)); n < 0 {
		return fmt.Errorf("the stored fields are too long (%d bytes): %w", len(w.data), concordat.ErrInvalid)
	} else if n > cap(w.packed) {
		w.packed = make([]byte, n)
	}
	w.packed = snappy.Encode(w.packed[:cap(w.packed)], w.data)
	w.offsets = append(w.offsets, w.pos())
	w.uvarint(uint64(len(w.meta)))
	w.uvarint(uint64(len(e.id) + len(w.packed)))
	w.b = append(w.b, w.meta...)
	w.b = append(w.b, e.id...)
	w.b = append(w.b, w.packed...)
	w.ids = append(w.ids, e.id)
	for band := range concordat.Bands {
		for b := e.bandTerms(band); len(b) > 0; b = b[termBytes:] {
			w.terms[band] = append(w.terms[band], termDoc{uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2]), doc})
		}
	}
	w.fresh.add(e, doc)
	w.drain(false)
	return nil
}

// finish writes the rest and returns the segment.
func (w *segmentWriter) finish(config map[string]any) (*zap.SegmentBase, error) {
	stored, sections, err := w.write()
	if err != nil {
		return nil, err
	}
	stats, ok := config[segment.StatsKey].(*segment.Stats)
	if !ok {
		stats = new(segment.Stats)
	}
	return zap.InitSegmentBase(w.b, crc32.ChecksumIEEE(w.b), zap.DefaultChunkMode, uint64(len(w.ids)), stored, sections, config, stats)
}

// write writes everything after the documents, and returns the positions of the document offsets and of the list of fields.
func (w *segmentWriter) write() (stored, sections uint64, err error) {
	stored = w.pos()
	for _, o := range w.offsets {
		w.b = binary.BigEndian.AppendUint64(w.b, o)
		w.drain(false)
	}
	w.uvarint(0) // no edges of nested documents
	addresses := make([]uint64, len(segmentFields))
	for i, f := range segmentFields {
		switch {
		case f.band >= 0:
			addresses[i], err = w.bandIndex(f.band)
		case f.name == fieldTerms:
			addresses[i], err = w.wordIndex()
		case f.options.IsIndexed():
			addresses[i], err = w.idIndex()
		}
		if err != nil {
			return 0, 0, fmt.Errorf("field %s: %w", f.name, err)
		}
	}
	return stored, w.fields(addresses), nil
}

// termDoc pairs a document with one of its terms: the three bytes of a band term as a number, or 0 for its identity.
type termDoc struct{ term, doc uint32 }

// sortTerms sorts pairs by a term of the given number of bits, which must be even and at most 24, and keeps the order of equal terms, in
// two passes of a radix sort. The result is in one of the two slices, which must have equal length.
func sortTerms(pairs, scratch []termDoc, bits int) []termDoc {
	var counts [1<<12 + 1]uint32
	half := bits / 2
	mask := uint32(1)<<half - 1
	for shift := 0; shift < bits; shift += half {
		count := counts[:mask+2]
		clear(count)
		for _, p := range pairs {
			count[p.term>>shift&mask+1]++
		}
		for i := 1; i < len(count); i++ {
			count[i] += count[i-1]
		}
		for _, p := range pairs {
			at := &count[p.term>>shift&mask]
			scratch[*at] = p
			*at++
		}
		pairs, scratch = scratch, pairs
	}
	return pairs
}

// idTerms returns the documents in order of identity. It fails if two documents have the same identity.
func (w *segmentWriter) idTerms() ([]termDoc, error) {
	ts := make([]termDoc, len(w.ids))
	for i := range ts {
		ts[i].doc = uint32(i)
	}
	slices.SortFunc(ts, func(a, b termDoc) int {
		return cmp.Compare(w.ids[a.doc], w.ids[b.doc])
	})
	for i := 1; i < len(ts); i++ {
		if id := w.ids[ts[i].doc]; id == w.ids[ts[i-1].doc] {
			return nil, fmt.Errorf("document ID %x appears twice in a segment", id)
		}
	}
	return ts, nil
}

// idIndex writes the documents' identities and returns the position of the field's description.
func (w *segmentWriter) idIndex() (uint64, error) {
	ts, err := w.idTerms()
	if err != nil {
		return 0, err
	}
	var dict bytes.Buffer
	builder, err := vellum.New(&dict, dictOptions)
	if err != nil {
		return 0, err
	}
	for _, t := range ts {
		if err := builder.Insert([]byte(w.ids[t.doc]), zap.FSTValEncode1Hit(uint64(t.doc), normBits)); err != nil {
			return 0, err
		}
	}
	if err := builder.Close(); err != nil {
		return 0, err
	}
	return w.dictionary(dict.Bytes()), nil
}

// bandIndex writes a band's postings and dictionary and returns the position of the field's description.
func (w *segmentWriter) bandIndex(band int) (uint64, error) {
	// A narrow dictionary saves 5 bytes per sentence, one in seven. If a later vellum refuses it, TestSegment fails; only MatchStored
	// reads bands, and merges recompute them from the fingerprints.
	w.dict.Reset(true)
	var err error
	if w.sink != nil {
		err = w.sink.prints.ranges(band, w.bandTerms)
	} else {
		err = w.bandTerms(w.terms[band])
	}
	if err != nil {
		return 0, err
	}
	return w.dictionary(w.dict.Bytes(termBytes)), nil
}

// bandTerms sorts terms, writes their postings and adds them to the dictionary. The terms must be above all earlier ones.
func (w *segmentWriter) bandTerms(ts []termDoc) error {
	if err := w.ended(); err != nil {
		return err
	}
	w.scratch = slices.Grow(w.scratch[:0], len(ts))[:len(ts)]
	ts = sortTerms(ts, w.scratch, 8*termBytes)
	if w.renumber {
		ts = number(ts)
	}
	for len(ts) > 0 {
		n := 1
		for n < len(ts) && ts[n].term == ts[0].term {
			n++
		}
		value := zap.FSTValEncode1Hit(uint64(ts[0].doc), normBits)
		if n > 1 {
			w.list = w.list[:0]
			for _, t := range ts[:n] {
				w.list = append(w.list, posting{t.doc, 1, normBits})
			}
			var err error
			if value, err = w.postings(w.list); err != nil {
				return err
			}
		}
		key := [termBytes]byte{byte(ts[0].term >> 16), byte(ts[0].term >> 8), byte(ts[0].term)}
		w.dict.Add(key[:], value)
		ts = ts[n:]
	}
	return nil
}

// dictionary writes a field's finished dictionary and its description, and returns the position of the description.
func (w *segmentWriter) dictionary(dict []byte) uint64 {
	at := w.pos()
	w.uvarint(uint64(len(dict)))
	w.b = append(w.b, dict...)
	address := w.pos()
	w.uvarint(math.MaxUint64) // no start of doc values
	w.uvarint(math.MaxUint64) // no end of doc values
	w.uvarint(at)
	w.drain(false)
	return address
}

// dictOptions gives the dictionary builder a small cache of shared nodes, because band nodes rarely repeat, and searching a large cache
// costs more than it saves. Zero would crash vellum v1.2.0.
var dictOptions = &vellum.BuilderOpts{Encoder: 1, RegistryTableSize: 64, RegistryMRUSize: 2}

// normBits is zap's norm for a field of length 1.
const normBits = 1

// posting is a document that contains a term, with the term's frequency and the field's norm.
type posting struct{ doc, frequency, norm uint32 }

// postings writes the list of a term's documents, in order, and returns its position. The frequency stream is divided into chunks of
// documents, as chunk mode 1026 requires.
func (w *segmentWriter) postings(ps []posting) (uint64, error) {
	total := uint64(len(w.ids))
	size := total / (uint64(len(ps))/1024 + 1)
	if size == 0 {
		return 0, fmt.Errorf("too many postings (%d) for %d documents", len(ps), total)
	}
	w.ends = append(w.ends[:0], make([]uint64, (total-1)/size+1)...)
	w.docs = w.docs[:0]
	w.data = w.data[:0]
	for _, p := range ps {
		w.docs = append(w.docs, p.doc)
		before := len(w.data)
		w.data = binary.AppendUvarint(w.data, uint64(p.frequency)<<1) // the lowest bit is the flag for locations
		w.data = binary.AppendUvarint(w.data, uint64(p.norm))
		w.ends[uint64(p.doc)/size] += uint64(len(w.data) - before)
	}
	frequencies := w.pos()
	w.uvarint(uint64(len(w.ends)))
	end := uint64(0)
	for _, n := range w.ends {
		end += n
		w.uvarint(end)
	}
	w.b = append(w.b, w.data...)
	b, err := roaring.BitmapOf(w.docs...).ToBytes()
	if err != nil {
		return 0, err
	}
	at := w.pos()
	w.uvarint(frequencies)
	w.uvarint(0) // no locations
	w.uvarint(uint64(len(b)))
	w.b = append(w.b, b...)
	w.drain(false)
	return at, nil
}

// fields writes each field's name, options and inverted index position. It returns the position of the list that zap reads first.
func (w *segmentWriter) fields(addresses []uint64) uint64 {
	offsets := make([]uint64, len(segmentFields))
	for i, f := range segmentFields {
		offsets[i] = w.pos()
		w.uvarint(uint64(len(f.name)))
		w.b = append(w.b, f.name...)
		w.uvarint(uint64(f.options))
		w.uvarint(1) // one kind of index: inverted
		w.b = binary.BigEndian.AppendUint16(w.b, zap.SectionInvertedTextIndex)
		w.b = binary.BigEndian.AppendUint64(w.b, addresses[i])
	}
	start := w.pos()
	w.uvarint(uint64(len(offsets)))
	for _, o := range offsets {
		w.b = binary.BigEndian.AppendUint64(w.b, o)
	}
	return start
}
