package screen

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"unicode"

	"concordat"
	"concordat/segment"
)

// Passage is a fingerprinted sentence with its span in its document, in normalised characters.
type Passage struct {
	Fingerprint concordat.Fingerprint
	Start, End  int32
	Gate        uint8 // maximum distance of a match, in bits
}

// Document represents a document by its fingerprints.
type Document struct {
	Indexed    []Passage // disjoint, in order
	Asked      []Passage // in order, possibly overlapping; nil means Indexed
	Characters int       // letters, marks and digits
	Runs       []Run     // runs of its words, by Hash, then Start; nil if the text is unavailable
	Sections   []Section // disjoint, in order; nil if unknown
}

// Section is a named part of a document, in normalised characters.
type Section struct {
	Name       string
	Start, End int32
}

// Run is a run of runWords words.
type Run struct {
	Hash       uint64
	Start, End int32 // in normalised characters
}

const (
	// runWords is the number of consecutive equal words that cannot be coincidence, the usual shingle length for defining
	// near-duplicates.
	runWords = 5
	// edited is the maximum distance in bits between lightly edited copies of a sentence, which share two of three words
	// (minhash.Resemblance 0.74).
	edited = 13
)

// NewDocument returns the document of a profile and its split text, which is nil if unavailable. It retains no part of either.
func NewDocument(p *concordat.Profile, t *segment.Text) Document {
	d := Document{Indexed: make([]Passage, len(p.Indexed)), Characters: characters(p.Document.Text)}
	place(d.Indexed, p.Indexed, p.Document.Text)
	if p.Asked != nil {
		d.Asked = make([]Passage, len(p.Asked))
		place(d.Asked, p.Asked, p.Document.Text)
	}
	if t != nil {
		d.Runs = runs(t)
	}
	at, before := 0, 0
	for _, s := range p.Sections {
		before += characters(p.Document.Text[at:s.Span.Start])
		at = s.Span.Start
		d.Sections = append(d.Sections, Section{s.Name, int32(before), int32(before + characters(s.Span.In(p.Document.Text)))})
	}
	return d
}

func runs(t *segment.Text) []Run {
	n := len(t.Words)
	hashes := Shingling{Width: runWords}.Append(t, make([]uint64, 0, n))
	starts, ends := make([]int32, n), make([]int32, n)
	at, before := 0, 0
	for i, w := range t.Words {
		before += characters(t.Source[at:w.Start])
		starts[i] = int32(before)
		at = int(w.Start)
		ends[i] = int32(before + characters(t.Source[w.Start:w.End]))
	}
	out := make([]Run, len(hashes))
	for i, h := range hashes {
		out[i] = Run{h, starts[i], ends[min(n, i+runWords)-1]}
	}
	slices.SortFunc(out, func(a, b Run) int { return cmp.Or(cmp.Compare(a.Hash, b.Hash), cmp.Compare(a.Start, b.Start)) })
	return out
}

func counts(r rune) bool { return unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsNumber(r) }

func characters(text string) int {
	n := 0
	for _, r := range text {
		if counts(r) {
			n++
		}
	}
	return n
}

// place appends sentences, which must be ordered by start, with their spans converted to characters.
func place(dst []Passage, sentences []concordat.Sentence, text string) {
	at, before := 0, 0
	for i, s := range sentences {
		before += characters(text[at:s.Span.Start])
		at = s.Span.Start
		dst[i] = Passage{s.Fingerprint, int32(before), int32(before + characters(s.Span.In(text))), uint8(s.Gate)}
	}
}

// part returns the part of d that is entirely within a section.
func (d *Document) part(s Section) Document {
	out := Document{Characters: int(s.End - s.Start)}
	within := func(ps []Passage) []Passage {
		kept := []Passage{}
		for _, p := range ps {
			if p.Start >= s.Start && p.End <= s.End {
				kept = append(kept, p)
			}
		}
		return kept
	}
	out.Indexed = within(d.Indexed)
	if d.Asked != nil {
		out.Asked = within(d.Asked)
	}
	if d.Runs != nil {
		out.Runs = []Run{}
		for _, r := range d.Runs {
			if r.Start >= s.Start && r.End <= s.End {
				out.Runs = append(out.Runs, r)
			}
		}
	}
	return out
}

// ErrDocument means that the bytes are not a document.
var ErrDocument = errors.New("not a document")

const (
	passageBytes = 25
	runBytes     = 16
	longestName  = 1 << 12 // bytes of a section's name
)

// AppendBinary appends an encoding of the document for ParseDocument, for temporary files. The encoding is specific to this version of
// the program and must not be stored permanently. It never fails.
func (d *Document) AppendBinary(b []byte) ([]byte, error) {
	b = binary.LittleEndian.AppendUint64(b, uint64(d.Characters))
	for _, ps := range [2][]Passage{d.Indexed, d.Asked} {
		b = appendCount(b, len(ps), ps == nil)
		for _, p := range ps {
			b = binary.LittleEndian.AppendUint64(b, p.Fingerprint[0])
			b = binary.LittleEndian.AppendUint64(b, p.Fingerprint[1])
			b = append(binary.LittleEndian.AppendUint64(b, uint64(uint32(p.Start))<<32|uint64(uint32(p.End))), p.Gate)
		}
	}
	b = appendCount(b, len(d.Runs), d.Runs == nil)
	for _, r := range d.Runs {
		b = binary.LittleEndian.AppendUint64(b, r.Hash)
		b = binary.LittleEndian.AppendUint64(b, uint64(uint32(r.Start))<<32|uint64(uint32(r.End)))
	}
	b = appendCount(b, len(d.Sections), d.Sections == nil)
	for _, s := range d.Sections {
		name := s.Name[:min(len(s.Name), longestName)]
		b = binary.LittleEndian.AppendUint32(b, uint32(len(name)))
		b = append(b, name...)
		b = binary.LittleEndian.AppendUint64(b, uint64(uint32(s.Start))<<32|uint64(uint32(s.End)))
	}
	return b, nil
}

// appendCount appends the length of a slice, or all ones for nil.
func appendCount(b []byte, n int, isNil bool) []byte {
	if isNil {
		return binary.LittleEndian.AppendUint32(b, 1<<32-1)
	}
	return binary.LittleEndian.AppendUint32(b, uint32(n))
}

// ParseDocument decodes the output of AppendBinary, or fails with ErrDocument. It retains no part of b and allocates at most a few times
// the length of b.
func ParseDocument(b []byte) (*Document, error) {
	r := documentReader{b: b}
	d := &Document{Characters: int(r.number())}
	d.Indexed, d.Asked = r.passages(), r.passages()
	if n, ok := r.count(runBytes); ok {
		d.Runs = make([]Run, n)
		for i := range d.Runs {
			d.Runs[i].Hash = r.number()
			d.Runs[i].Start, d.Runs[i].End = r.span()
		}
	}
	if n, ok := r.count(12); ok {
		d.Sections = make([]Section, n)
		for i := range d.Sections {
			name := r.take(int(binary.LittleEndian.Uint32(r.take(4))))
			d.Sections[i].Name = string(name)
			d.Sections[i].Start, d.Sections[i].End = r.span()
		}
	}
	if r.bad || len(r.b) > 0 || d.Characters < 0 {
		return nil, fmt.Errorf("%w: malformed data of %d bytes", ErrDocument, len(b))
	}
	return d, nil
}

// documentReader reads until bytes are missing, and then returns zeros.
type documentReader struct {
	b   []byte
	bad bool
}

var zeros [8]byte

// take returns the next n bytes, or at most 8 zeros if they are missing.
func (r *documentReader) take(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.bad, r.b = true, nil
		return zeros[:max(0, min(n, 8))]
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func (r *documentReader) number() uint64 { return binary.LittleEndian.Uint64(r.take(8)) }

func (r *documentReader) span() (start, end int32) {
	v := r.number()
	return int32(v >> 32), int32(v)
}

// count reads the number of elements of at least each bytes; for nil, ok is false.
func (r *documentReader) count(each int) (n int, ok bool) {
	v := binary.LittleEndian.Uint32(r.take(4))
	if r.bad || v == 1<<32-1 {
		return 0, false
	}
	if int64(v)*int64(each) > int64(len(r.b)) {
		r.bad = true
		return 0, false
	}
	return int(v), true
}

func (r *documentReader) passages() []Passage {
	n, ok := r.count(passageBytes)
	if !ok {
		return nil
	}
	out := make([]Passage, n)
	for i := range out {
		p := &out[i]
		p.Fingerprint[0], p.Fingerprint[1] = r.number(), r.number()
		p.Start, p.End = r.span()
		p.Gate = r.take(1)[0]
	}
	return out
}
