package extract

import (
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf16"
)

// Record types of PowerPoint's binary format ([MS-PPT] section 2.13.24).
const (
	pptDocument     = 1000
	pptSlide        = 1006
	pptNotes        = 1008
	pptSlidePersist = 1011
	pptTextChars    = 4000
	pptTextBytes    = 4008
	pptSlideList    = 4080
	pptUserEdit     = 4085
	pptPersist      = 6002
)

// pptEncrypted is the token for a protected file in the stream "Current User".
const pptEncrypted = 0xf3d1c4df

// readPPT reads PowerPoint's binary format, first the slides in presentation order, then their notes. It finds the newest state of an
// incrementally saved file through the file's directory of parts ([MS-PPT] 2.1.2).
func readPPT(b *builder, data []byte) error {
	streams, err := oleStreams(data, func(path []string, name string) bool {
		return len(path) == 0 && (strings.ToLower(name) == "powerpoint document" || strings.ToLower(name) == "current user" ||
			strings.ToLower(name) == "\x05summaryinformation")
	})
	if err != nil {
		return err
	}
	user := streams["current user"]
	if len(user) < 20 {
		return &Error{Code: Damaged, Detail: "the presentation's first record cannot be located"}
	}
	if binary.LittleEndian.Uint32(user[12:]) == pptEncrypted {
		return &Error{Code: Encrypted, Detail: "the presentation is password-protected"}
	}
	b.summary(streams["\x05summaryinformation"])
	f := &pptFile{b: b, doc: streams["powerpoint document"], at: map[uint32]int{}}
	document, err := f.directory(int(binary.LittleEndian.Uint32(user[16:])))
	if err != nil {
		return err
	}
	return f.show(document)
}

type pptFile struct {
	b   *builder
	doc []byte
	at  map[uint32]int // part -> offset of its record
}

// pptRecord is one record with its type, instance and content.
type pptRecord struct {
	kind, instance int
	container      bool
	body           []byte
}

// record reads the record at the start of s and returns the bytes after it.
func record(s []byte) (pptRecord, []byte, bool) {
	if len(s) < 8 {
		return pptRecord{}, nil, false
	}
	head := binary.LittleEndian.Uint16(s)
	n := binary.LittleEndian.Uint32(s[4:])
	if uint64(n) > uint64(len(s)-8) {
		return pptRecord{}, nil, false
	}
	r := pptRecord{int(binary.LittleEndian.Uint16(s[2:])), int(head >> 4), head&15 == 15, s[8 : 8+n]}
	return r, s[8+n:], true
}

func (f *pptFile) recordAt(offset int) (pptRecord, bool) {
	if offset < 0 || offset >= len(f.doc) {
		return pptRecord{}, false
	}
	r, _, ok := record(f.doc[offset:])
	return r, ok
}

// maxEdits is the maximum number of saves in a chain.
const maxEdits = 10000

// directory follows the saves from last to first, keeping the newest location of each part. It returns the part number of the document.
func (f *pptFile) directory(edit int) (uint32, error) {
	document := uint32(0)
	for n := 0; n < maxEdits; n++ {
		r, ok := f.recordAt(edit)
		if !ok || r.kind != pptUserEdit || len(r.body) < 20 {
			break
		}
		if n == 0 {
			document = binary.LittleEndian.Uint32(r.body[16:])
		}
		if p, ok := f.recordAt(int(binary.LittleEndian.Uint32(r.body[12:]))); ok && p.kind == pptPersist {
			f.parts(p.body)
		}
		last := int(binary.LittleEndian.Uint32(r.body[8:]))
		if last == 0 || last >= edit {
			break
		}
		edit = last
	}
	if _, ok := f.at[document]; !ok {
		return 0, &Error{Code: Damaged, Detail: "the presentation's directory is damaged"}
	}
	return document, nil
}

// parts parses runs of part numbers with their offsets.
func (f *pptFile) parts(s []byte) {
	for len(s) >= 4 {
		head := binary.LittleEndian.Uint32(s)
		id, n := head&0xfffff, int(head>>20)
		s = s[4:]
		for i := 0; i < n && len(s) >= 4; i++ {
			if _, known := f.at[id+uint32(i)]; !known {
				f.at[id+uint32(i)] = int(binary.LittleEndian.Uint32(s))
			}
			s = s[4:]
		}
	}
}

// show writes the slides, then the notes.
func (f *pptFile) show(document uint32) error {
	doc, ok := f.recordAt(f.at[document])
	if !ok || doc.kind != pptDocument {
		return &Error{Code: Damaged, Detail: "the presentation's main part is missing"}
	}
	for rest := doc.body; ; {
		r, next, ok := record(rest)
		if !ok {
			return nil
		}
		if r.kind == pptSlideList && (r.instance == 0 || r.instance == 2) {
			f.list(r.body, r.instance == 2)
		}
		rest = next
	}
}

// list writes the slides, or notes pages, in a list, with the text of the outline and of the boxes.
func (f *pptFile) list(s []byte, notes bool) {
	n := 0
	part := uint32(0)
	end := func() {
		at, known := f.at[part]
		delete(f.at, part) // a part is written once, however often a hostile list names it
		if r, ok := f.recordAt(at); ok && known && n > 0 && (r.kind == pptSlide || r.kind == pptNotes) {
			f.boxes(r.body, 0)
		}
	}
	for {
		r, next, ok := record(s)
		if !ok {
			break
		}
		switch r.kind {
		case pptSlidePersist:
			end()
			n++
			if len(r.body) >= 4 {
				part = binary.LittleEndian.Uint32(r.body)
			}
			if notes {
				f.b.place(fmt.Sprintf("notes %d", n))
			} else {
				f.b.place(fmt.Sprintf("slide %d", n))
			}
		case pptTextChars, pptTextBytes:
			f.text(r)
		}
		s = next
	}
	end()
}

// boxes writes the text of every box in a record.
func (f *pptFile) boxes(s []byte, depth int) {
	if depth > 32 {
		return
	}
	for {
		r, next, ok := record(s)
		if !ok {
			return
		}
		switch {
		case r.kind == pptTextChars || r.kind == pptTextBytes:
			f.text(r)
		case r.container:
			f.boxes(r.body, depth+1)
		}
		s = next
	}
}

func (f *pptFile) text(r pptRecord) {
	var units []uint16
	if r.kind == pptTextBytes {
		for _, c := range r.body {
			units = append(units, uint16(c))
		}
	} else {
		for i := 0; i+1 < len(r.body); i += 2 {
			units = append(units, binary.LittleEndian.Uint16(r.body[i:]))
		}
	}
	f.b.end()
	for _, c := range utf16.Decode(units) {
		switch c {
		case '\r':
			f.b.end()
		case '\v':
			f.b.line()
		default:
			f.b.text(string(c))
		}
	}
	f.b.end()
}
