package index

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
	bleve "github.com/blevesearch/bleve_index_api"
	segment "github.com/blevesearch/scorch_segment_api/v2"
	"github.com/blevesearch/vellum"
	zap "github.com/blevesearch/zapx/v17"
	"github.com/golang/snappy"

	"concordat"
)

// plugin is zap v17 with a quicker way to make segments of our own documents. The files are the
// same format: zap opens, searches and merges them. Zap makes a map entry, a bitmap and two
// streams for every term before it writes; nearly all our terms have one document, which the
// format can keep inside the dictionary, so that sorting the terms is all the work there is.
// Zap itself does so only when merging, so segments that are not merged yet are smaller too.
type plugin struct{ zap.ZapPlugin }

// registerPlugin puts the plugin in zap's place, for the whole process.
func registerPlugin() { scorch.RegisterSegmentPlugin(&plugin{}, true) }

func (p *plugin) New(docs []bleve.Document) (segment.Segment, uint64, error) {
	return p.NewUsing(docs, nil)
}

// NewUsing makes a segment in memory. Documents that are not ours are left to zap.
func (p *plugin) NewUsing(docs []bleve.Document, config map[string]any) (segment.Segment, uint64, error) {
	w := segmentWriter{entries: make([]*entry, len(docs))}
	for i, d := range docs {
		e, ok := d.(*entry)
		if !ok {
			return p.ZapPlugin.NewUsing(docs, config)
		}
		w.entries[i] = e
	}
	stats, ok := config[segment.StatsKey].(*segment.Stats)
	if !ok {
		stats = new(segment.Stats)
	}
	stored, sections, err := w.write()
	if err != nil {
		return nil, 0, err
	}
	base, err := zap.InitSegmentBase(w.b, crc32.ChecksumIEEE(w.b), zap.DefaultChunkMode, uint64(len(docs)), stored, sections, config, stats)
	if err != nil {
		return nil, 0, err
	}
	return base, uint64(len(w.b)), nil
}

// segmentFields are the fields of every segment: _id, which zap wants first, and the others in order.
var segmentFields = func() []segmentField {
	fs := []segmentField{{"_id", idOptions, -1}}
	for i, name := range bandFields {
		fs = append(fs, segmentField{name, bandOptions, i})
	}
	for _, name := range []string{fieldDocument, fieldFingerprints, fieldSpans, fieldText} {
		fs = append(fs, segmentField{name, storedOnly, -1})
	}
	slices.SortFunc(fs[1:], func(a, b segmentField) int { return bytes.Compare([]byte(a.name), []byte(b.name)) })
	return fs
}()

type segmentField struct {
	name    string
	options bleve.FieldIndexingOptions
	band    int // -1: not a band
}

// segmentWriter writes one zap v17 segment but for its footer, which zap adds; zap.md of zapx
// v17.2.3 describes the format.
type segmentWriter struct {
	b       []byte
	entries []*entry
}

func (w *segmentWriter) uvarint(v uint64) { w.b = binary.AppendUvarint(w.b, v) }
func (w *segmentWriter) pos() uint64      { return uint64(len(w.b)) }

// write fills b and returns the positions of the stored fields' index and of the fields' index.
func (w *segmentWriter) write() (stored, sections uint64, err error) {
	size := 1024
	for _, e := range w.entries {
		size += 64 + 2*len(e.terms)
		for i := range e.fields {
			size += len(e.fields[i].value)
		}
	}
	w.b = make([]byte, 0, size)
	if stored, err = w.stored(); err != nil {
		return 0, 0, err
	}
	addresses := make([]uint64, len(segmentFields))
	for i, f := range segmentFields {
		if !f.options.IsIndexed() {
			continue
		}
		var ts []termDoc
		if f.band >= 0 {
			ts = w.bandTerms(f.band)
		} else if ts, err = w.idTerms(); err != nil {
			return 0, 0, err
		}
		if addresses[i], err = w.inverted(ts, f.band < 0); err != nil {
			return 0, 0, fmt.Errorf("field %s: %w", f.name, err)
		}
	}
	return stored, w.fields(addresses), nil
}

// stored writes the stored fields of all documents and then where each begins.
func (w *segmentWriter) stored() (uint64, error) {
	offsets := make([]uint64, len(w.entries))
	var meta, data, packed []byte
	for i, e := range w.entries {
		meta = binary.AppendUvarint(meta[:0], uint64(len(e.id)))
		data = data[:0]
		for id, f := range segmentFields {
			for j := range e.fields {
				g := &e.fields[j]
				if g.name != f.name || !g.options.IsStored() {
					continue
				}
				for _, v := range []int{id, 't', len(data), len(g.value), 0} { // 0 array positions
					meta = binary.AppendUvarint(meta, uint64(v))
				}
				data = append(data, g.value...)
			}
		}
		if n := snappy.MaxEncodedLen(len(data)); n < 0 {
			return 0, fmt.Errorf("document of %d bytes: %w", len(data), concordat.ErrInvalid)
		} else if n > cap(packed) {
			packed = make([]byte, n)
		}
		packed = snappy.Encode(packed[:cap(packed)], data)
		offsets[i] = w.pos()
		w.uvarint(uint64(len(meta)))
		w.uvarint(uint64(len(e.id) + len(packed)))
		w.b = append(w.b, meta...)
		w.b = append(w.b, e.id...)
		w.b = append(w.b, packed...)
	}
	start := w.pos()
	for _, o := range offsets {
		w.b = binary.BigEndian.AppendUint64(w.b, o)
	}
	w.uvarint(0) // edges of nested documents
	return start, nil
}

// termDoc is a term and a document that has it; the term's bytes are the upper 32 bits for a band,
// or those of the identity of document doc.
type termDoc struct {
	term uint32
	doc  uint32
}

// bandTerms returns the terms of a band, in order.
func (w *segmentWriter) bandTerms(band int) []termDoc {
	n := 0
	for _, e := range w.entries {
		n += e.counts[band]
	}
	ts := make([]termDoc, 0, n)
	for i, e := range w.entries {
		for b := e.bandTerms(band); len(b) > 0; b = b[termBytes:] {
			ts = append(ts, termDoc{uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2]), uint32(i)})
		}
	}
	return sortTerms(ts)
}

// sortTerms sorts by term, keeping the order of documents: two passes of a radix sort over 24 bits.
func sortTerms(ts []termDoc) []termDoc {
	out := make([]termDoc, len(ts))
	for shift := 0; shift < 24; shift += 12 {
		var count [1<<12 + 1]uint32
		for _, t := range ts {
			count[t.term>>shift&0xfff+1]++
		}
		for i := 1; i < len(count); i++ {
			count[i] += count[i-1]
		}
		for _, t := range ts {
			p := &count[t.term>>shift&0xfff]
			out[*p] = t
			*p++
		}
		ts, out = out, ts
	}
	return ts
}

// idTerms returns the documents in order of identity; two of one identity are an error.
func (w *segmentWriter) idTerms() ([]termDoc, error) {
	ts := make([]termDoc, len(w.entries))
	for i := range ts {
		ts[i].doc = uint32(i)
	}
	slices.SortFunc(ts, func(a, b termDoc) int {
		x, y := w.entries[a.doc].id, w.entries[b.doc].id
		if x < y {
			return -1
		} else if x > y {
			return 1
		}
		return 0
	})
	for i := 1; i < len(ts); i++ {
		if w.entries[ts[i].doc].id == w.entries[ts[i-1].doc].id {
			return nil, fmt.Errorf("identity %x twice in a segment", w.entries[ts[i].doc].id)
		}
	}
	return ts, nil
}

// inverted writes the postings, the dictionary and the description of an indexed field, and
// returns the position of the last. ids says that each term is its document's identity.
func (w *segmentWriter) inverted(ts []termDoc, ids bool) (uint64, error) {
	var dict bytes.Buffer
	builder, err := vellum.New(&dict, dictOptions)
	if err != nil {
		return 0, err
	}
	var key [termBytes]byte
	for len(ts) > 0 {
		n := 1
		for !ids && n < len(ts) && ts[n].term == ts[0].term {
			n++
		}
		value := zap.FSTValEncode1Hit(uint64(ts[0].doc), normBits)
		if n > 1 {
			if value, err = w.postings(ts[:n]); err != nil {
				return 0, err
			}
		}
		if ids {
			err = builder.Insert([]byte(w.entries[ts[0].doc].id), value)
		} else {
			key = [termBytes]byte{byte(ts[0].term >> 16), byte(ts[0].term >> 8), byte(ts[0].term)}
			err = builder.Insert(key[:], value)
		}
		if err != nil {
			return 0, err
		}
		ts = ts[n:]
	}
	if err := builder.Close(); err != nil {
		return 0, err
	}
	at := w.pos()
	w.uvarint(uint64(dict.Len()))
	w.b = append(w.b, dict.Bytes()...)
	address := w.pos()
	w.uvarint(math.MaxUint64) // no doc values: their start
	w.uvarint(math.MaxUint64) // and end
	w.uvarint(at)
	return address, nil
}

// dictOptions gives the dictionary builder a small memory of nodes to share: band nodes hardly
// ever repeat, and a big one costs more to search than it saves. Zero would crash vellum v1.2.0.
var dictOptions = &vellum.BuilderOpts{Encoder: 1, RegistryTableSize: 64, RegistryMRUSize: 2}

// normBits is the norm of a field of length 1, as zap writes it.
const normBits = 1

// postings writes the list of documents of one term, each with frequency 1, and returns its
// position. The frequency stream is cut into chunks of documents as chunk mode 1026 wants.
func (w *segmentWriter) postings(ts []termDoc) (uint64, error) {
	docs := roaring.New()
	for _, t := range ts {
		docs.Add(t.doc)
	}
	total := uint64(len(w.entries))
	size := total / (uint64(len(ts))/1024 + 1)
	if size == 0 {
		return 0, fmt.Errorf("%d postings in %d documents", len(ts), total)
	}
	ends := make([]uint64, (total-1)/size+1)
	for _, t := range ts {
		ends[uint64(t.doc)/size] += 2 // bytes of a document: its frequency and norm
	}
	frequencies := w.pos()
	w.uvarint(uint64(len(ends)))
	end := uint64(0)
	for _, n := range ends {
		end += n
		w.uvarint(end)
	}
	for range ts {
		w.b = append(w.b, 1<<1, normBits) // frequency 1, shifted past the flag for locations
	}
	b, err := docs.ToBytes()
	if err != nil {
		return 0, err
	}
	at := w.pos()
	w.uvarint(frequencies)
	w.uvarint(0) // no locations
	w.uvarint(uint64(len(b)))
	w.b = append(w.b, b...)
	return at, nil
}

// fields writes the names and options of the fields and where their inverted indexes are, and
// returns the position of the list that zap starts from.
func (w *segmentWriter) fields(addresses []uint64) uint64 {
	offsets := make([]uint64, len(segmentFields))
	for i, f := range segmentFields {
		offsets[i] = w.pos()
		w.uvarint(uint64(len(f.name)))
		w.b = append(w.b, f.name...)
		w.uvarint(uint64(f.options))
		w.uvarint(1) // one kind of index: the inverted one
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
