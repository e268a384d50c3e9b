package extract

import (
	"errors"
	"fmt"
	"strings"
)

// Options limit the work. A zero field selects its default.
type Options struct {
	// MaxInput is the maximum size of a file, in bytes; default 256 MiB.
	MaxInput int64
	// MaxText is the maximum length of the text, in bytes of UTF-8; default 32 MiB. Any further text is cut off, and the result is
	// partial.
	MaxText int64
	// MaxPages is the maximum number of PDF pages read; default 5000. Further pages make the result partial.
	MaxPages int
	// MaxEntries is the maximum number of entries in a zip or tar archive, including nested archives; default 10000.
	MaxEntries int
	// MaxUnpacked is the maximum total unpacked size of all parts of one file, in bytes; default 512 MiB.
	MaxUnpacked int64
	// MaxRatio is the maximum ratio of unpacked to packed size of an archive; default 200. It does not apply to archives that unpack to
	// less than 4 MiB.
	MaxRatio int
	// MaxDepth is the maximum nesting of XML or HTML elements and RTF groups; default 256.
	MaxDepth int
	// MaxNesting is the maximum nesting of archives; default 3.
	MaxNesting int
	// MaxScans is the maximum number of pages without a text layer that Members keeps as images for character recognition; default 0,
	// none.
	MaxScans int
	// PDF reads PDF files; if nil, they are refused as unsupported.
	PDF *PDF `json:"-"`
}

const minRatioBytes = 4 << 20

// Validate returns an error that names every field out of range, or nil.
func (o Options) Validate() error {
	var errs []error
	for _, f := range []struct {
		name  string
		value int64
	}{
		{"MaxInput", o.MaxInput}, {"MaxText", o.MaxText}, {"MaxPages", int64(o.MaxPages)},
		{"MaxEntries", int64(o.MaxEntries)}, {"MaxUnpacked", o.MaxUnpacked}, {"MaxRatio", int64(o.MaxRatio)},
		{"MaxDepth", int64(o.MaxDepth)}, {"MaxNesting", int64(o.MaxNesting)}, {"MaxScans", int64(o.MaxScans)},
	} {
		if f.value < 0 {
			errs = append(errs, fmt.Errorf("%s is %d, must not be negative", f.name, f.value))
		}
	}
	return errors.Join(errs...)
}

// WithDefaults returns o with zero limits replaced by their defaults.
func (o Options) WithDefaults() Options {
	def64 := func(p *int64, v int64) {
		if *p == 0 {
			*p = v
		}
	}
	def := func(p *int, v int) {
		if *p == 0 {
			*p = v
		}
	}
	def64(&o.MaxInput, 256<<20)
	def64(&o.MaxText, 32<<20)
	def64(&o.MaxUnpacked, 512<<20)
	def(&o.MaxPages, 5000)
	def(&o.MaxEntries, 10000)
	def(&o.MaxRatio, 200)
	def(&o.MaxDepth, 256)
	def(&o.MaxNesting, 3)
	return o
}

// Result is the text of one file.
type Result struct {
	Text     string `json:"text"`
	Format   string `json:"format"`             // for example docx; see Format
	Encoding string `json:"encoding,omitempty"` // for text formats, the IANA name in lower case
	Title    string `json:"title,omitempty"`
	Author   string `json:"author,omitempty"`
	// Date is the document's date according to the metadata of its file, unverified: YYYY, YYYY-MM or
	// YYYY-MM-DD. It is empty if the file does not state one.
	Date string `json:"date,omitempty"`
	// Time is the date with its time of day, if the metadata gives the time with its zone: 2019-03-14T15:09:26+01:00.
	Time    string  `json:"time,omitempty"`
	Places  []Place `json:"places,omitempty"` // in order of Offset
	Flags   []Flag  `json:"flags,omitempty"`
	Partial bool    `json:"partial,omitempty"` // some part is missing, as stated by a flag
}

// Place describes where in the file the text starting at Offset is.
type Place struct {
	Offset int    `json:"offset"` // in bytes of Result.Text
	Label  string `json:"label"`  // for example "page 3" or "slide 2"
}

// PlaceAt returns the label of the last place at or before offset, or "".
func (r *Result) PlaceAt(offset int) string {
	label := ""
	for _, p := range r.Places {
		if p.Offset > offset {
			break
		}
		label = p.Label
	}
	return label
}

// Flag is something that a reader of the report should know about the file.
type Flag struct {
	Code   string `json:"code"`             // stable; one of the Flag constants
	Detail string `json:"detail,omitempty"` // a plain sentence
	Count  int    `json:"count,omitempty"`
	// Missing means that something visible to a reader is not in the text because it could not be read. Otherwise, a rule left out the
	// characters counted by Letters.
	Missing bool `json:"missing,omitempty"`
	// Letters counts the letters, marks and digits of the file that are not in the text for this reason. Bytes is the size of missing
	// content whose letters cannot be counted. Both are 0 if nothing is missing or the number is unknown.
	Letters int   `json:"letters,omitempty"`
	Bytes   int64 `json:"bytes,omitempty"`
	// Start and End are a half-open range of bytes in Result.Text; both are 0 if the flag has no place.
	Start int `json:"start,omitempty"`
	End   int `json:"end,omitempty"`
}

// Bytes returns the text of one file. name helps to determine the format if the content is ambiguous, and can be empty. For an archive of
// several files, it fails with code [Archive]; use Members instead. Every error is an *Error. data is neither retained nor modified.
func Bytes(name string, data []byte, o Options) (*Result, error) {
	if err := o.Validate(); err != nil {
		return nil, &Error{Code: Invalid, Detail: err.Error()}
	}
	o = o.WithDefaults()
	format, err := checkInput(name, data, o)
	if err != nil {
		return nil, err
	}
	o.MaxScans = 0
	m := read(format, data, o, newBudget(o))
	if m.Err != nil {
		return nil, m.Err
	}
	return m.Result, nil
}

func checkInput(name string, data []byte, o Options) (Format, error) {
	if len(data) == 0 {
		return "", &Error{Code: Empty, Detail: "the file is empty"}
	}
	if int64(len(data)) > o.MaxInput {
		return "", limitError("input size", "MaxInput", fmt.Sprintf("%d bytes, limit %d", len(data), o.MaxInput))
	}
	return Sniff(name, data)
}

// read runs the reader for a format and returns the complete result as a member without a path.
func read(f Format, data []byte, o Options, lim *budget) Member {
	return readWith(f, readers(f), data, o, lim)
}

func readWith(f Format, reader func(*builder, []byte) error, data []byte, o Options, lim *budget) (m Member) {
	b := newBuilder(f, o, lim)
	// Third-party parsers run on hostile bytes; if one panics, only this file counts as damaged. Our own parsers are fuzzed and do not
	// rely on it.
	defer func() {
		if p := recover(); p != nil {
			m = Member{Err: &Error{Code: Damaged, Detail: fmt.Sprintf("%s: the reader stopped: %v", f, p)}}
		}
	}()
	if err := reader(b, data); err != nil {
		e := asError(err)
		// The text before the damage is worth presenting, but the damage must not be hidden.
		if !b.any() || e.Code == Encrypted || e.Code == Binary || e.Code == Unsupported {
			return Member{Err: e, Scans: b.scans, attached: b.attached}
		}
		b.partial(e.Code, e.Detail)
	}
	r, err := b.result()
	if err != nil {
		return Member{Err: asError(err), Scans: b.scans, attached: b.attached}
	}
	return Member{Result: r, Scans: b.scans, attached: b.attached}
}

func readers(f Format) func(*builder, []byte) error {
	switch f {
	case Text:
		return readText
	case Markdown:
		return readMarkdown
	case HTML:
		return readHTML
	case DOCX:
		return readDOCX
	case ODT, ODP, ODS:
		return readODF
	case PDFFormat:
		return readPDF
	case XML:
		return readXML
	case XLSX:
		return readXLSX
	case JSON:
		return readJSON
	case Notebook:
		return readNotebook
	case Subtitles:
		return readSubtitles
	case PPTX:
		return readPPTX
	case EPUB:
		return readEPUB
	case FB2:
		return readFB2
	case RTF:
		return readRTF
	case DOC:
		return readDOC
	case PPT:
		return readPPT
	case EML:
		return readMail
	case MHTML:
		return readMHTML
	case MSG:
		return readMSG
	case LaTeX:
		return readLaTeX
	case Image:
		return readImage
	}
	return func(*builder, []byte) error {
		switch f {
		case ZIP, TAR, GZIP:
			return &Error{Code: Archive, Detail: "an archive of files"}
		case Other:
			return &Error{Code: Binary, Detail: "a program, a sound file or a compressed file, not text"}
		}
		return &Error{Code: Unsupported, Detail: "no reader for " + string(f)}
	}
}

// cleanTitle converts a title or author to a single line.
func cleanTitle(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "")), " ")
	s = strings.ReplaceAll(s, "\x00", "")
	const most = 500
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "")
	}
	return s
}
