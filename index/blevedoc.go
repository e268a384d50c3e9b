package index

import (
	"slices"

	bleve "github.com/blevesearch/bleve_index_api"

	"concordat"
)

// This file passes Bleve documents with prepared terms: Analyze does nothing, no mapping is consulted, and buffers are reused across
// documents.

const (
	// storedOnly holds the options of fields that are read by document and never searched.
	storedOnly = bleve.StoreField
	// bandOptions keeps frequencies, because Bleve stores a term's only block inside the dictionary only if its frequency is exactly 1;
	// without frequencies, it would be 0.
	bandOptions = bleve.IndexField
	idOptions   = bleve.IndexField | bleve.StoreField
)

// once is the frequency of every term. Bleve only reads it, since no field of ours occurs twice in a document.
var once = func() *bleve.TokenFreq {
	t := new(bleve.TokenFreq)
	t.SetFrequency(1)
	return t
}()

// field is a bleve.Field.
type field struct {
	name    string
	value   []byte
	options bleve.FieldIndexingOptions
	tokens  func() bleve.TokenFrequencies // called on demand, since Bleve visits all fields of every batch
	length  int                           // lengthCode of the terms field
}

func (f *field) Name() string                        { return f.name }
func (f *field) Value() []byte                       { return f.value }
func (f *field) ArrayPositions() []uint64            { return nil }
func (f *field) EncodedFieldType() byte              { return 't' } // a text, whose bytes are stored unchanged
func (f *field) Analyze()                            {}
func (f *field) Options() bleve.FieldIndexingOptions { return f.options }
func (f *field) NumPlainTextBytes() uint64           { return uint64(len(f.value)) }

// AnalyzedTokenFrequencies returns the terms of an indexed field.
func (f *field) AnalyzedTokenFrequencies() bleve.TokenFrequencies {
	if f.tokens == nil {
		return nil
	}
	return f.tokens()
}

// AnalyzedLength becomes the norm of the field's terms; for bands it is 1, so that the dictionary can share the bytes of their values.
func (f *field) AnalyzedLength() int { return max(1, f.length) }

// entry is a bleve.Document: a block of sentences or a text.
type entry struct {
	id     string
	fields []field // stored fields
	// terms holds the terms of the five bands, band after band, and counts holds their number per band; both are empty for a text.
	terms  []byte
	counts [concordat.Bands]int
	// words holds the terms of a text, and length its lengthCode; words is empty for a block.
	words  []concordat.TermCount
	length int
}

func (e *entry) ID() string                                 { return e.id }
func (e *entry) Size() int                                  { return 256 + 13*len(e.terms)/3 } // estimate for Bleve's statistics
func (e *entry) VisitComposite(bleve.CompositeFieldVisitor) {}
func (e *entry) HasComposite() bool                         { return false }
func (e *entry) NumPlainTextBytes() uint64                  { return 0 }
func (e *entry) StoredFieldsBytes() uint64                  { return 0 }
func (e *entry) Indexed() bool                              { return true }

// VisitFields passes all fields to readers other than our segment writer, which accesses the entry directly.
func (e *entry) VisitFields(visit bleve.FieldVisitor) {
	visit(&field{name: "_id", value: []byte(e.id), options: idOptions, tokens: func() bleve.TokenFrequencies {
		return bleve.TokenFrequencies{e.id: once}
	}})
	for i := range e.fields {
		visit(&e.fields[i])
	}
	for band, n := range e.counts {
		if n == 0 {
			continue
		}
		visit(&field{name: bandFields[band], options: bandOptions, tokens: func() bleve.TokenFrequencies {
			return bandTokens(e.bandTerms(band))
		}})
	}
	if len(e.words) > 0 {
		visit(&field{name: fieldTerms, options: bandOptions, length: e.length, tokens: func() bleve.TokenFrequencies {
			return wordTokens(e.words)
		}})
	}
}

// bandTokens returns band terms for readers other than our segment writer.
func bandTokens(b []byte) bleve.TokenFrequencies {
	tokens := make(bleve.TokenFrequencies, len(b)/termBytes)
	for ; len(b) > 0; b = b[termBytes:] {
		tokens[string(b[:termBytes])] = once
	}
	return tokens
}

// bandTerms returns the terms of one band, of termBytes each, in no particular order.
func (e *entry) bandTerms(band int) []byte {
	start := 0
	for _, n := range e.counts[:band] {
		start += n
	}
	return e.terms[termBytes*start : termBytes*(start+e.counts[band])]
}

// AddIDField does nothing, because VisitFields passes the identity.
func (e *entry) AddIDField() {}

// reset empties e and assigns it the Bleve identity id.
func (e *entry) reset(id string) {
	e.id = id
	e.fields = e.fields[:0]
	e.terms = e.terms[:0]
	e.counts = [concordat.Bands]int{}
	e.words, e.length = nil, 0
}

// store adds a stored field with the given value, which e retains.
func (e *entry) store(name string, value []byte) {
	e.fields = append(e.fields, field{name: name, value: value, options: storedOnly})
}

// addBands adds the five band fields of a block of at most longBlockSentences sentences. A value that occurs in two sentences of the
// block becomes one term.
func (e *entry) addBands(ss []concordat.Sentence, c *counters) {
	var seen [longBlockSentences]uint32
	for band := range concordat.Bands {
		n := 0
		for i := range ss {
			v := ss[i].Fingerprint.Band(band)
			if !slices.Contains(seen[:n], v) {
				seen[n] = v
				n++
				e.terms = appendTerm(e.terms, v, c.next(band, v))
			}
		}
		e.counts[band] = n
	}
}
