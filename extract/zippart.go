package extract

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

// budget tracks what remains of the limits shared by the parts of one file, including nested archives.
type budget struct {
	entries  int
	unpacked int64
	text     int64
}

func newBudget(o Options) *budget {
	return &budget{o.MaxEntries, o.MaxUnpacked, membersText * o.MaxText}
}

// parts is an opened zip whose directory was checked against the limits.
type parts struct {
	b      *builder
	zip    *zip.Reader
	byName map[string]*zip.File  // by lower-case name with forward slashes
	used   map[string]bool       // parts that were read
	rels   map[string][]relation // relations of the parts requested so far
}

// openZip checks the number of entries and the declared sizes in the directory of a zip. Headers may state false sizes, so reading is
// bounded again.
func openZip(b *builder, data []byte) (*parts, error) {
	zr, err := checkedZip(data, b.opt, b.lim)
	if err != nil {
		return nil, err
	}
	for _, f := range zr.File {
		if f.Flags&1 != 0 {
			return nil, &Error{Code: Encrypted, Detail: "the document is password-protected"}
		}
	}
	p := &parts{b, zr, make(map[string]*zip.File, len(zr.File)), map[string]bool{}, map[string][]relation{}}
	for _, f := range zr.File {
		n := partName(f.Name)
		if p.byName[n] != nil && !f.FileInfo().IsDir() {
			b.partial(FlagPart, "two parts are called "+f.Name+"; only the first is read")
			continue
		}
		p.byName[n] = f
	}
	return p, nil
}

func partName(s string) string {
	return strings.ToLower(strings.TrimPrefix(strings.ReplaceAll(s, "\\", "/"), "/"))
}

func checkedZip(data []byte, o Options, lim *budget) (*zip.Reader, error) {
	if n := declaredEntries(data); n > lim.entries {
		return nil, limitError("archive entries", "MaxEntries", fmt.Sprintf("more than %d", lim.entries))
	}
	zr, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, &Error{Code: Damaged, Detail: err.Error()}
	}
	if lim.entries -= len(zr.File); lim.entries < 0 {
		return nil, limitError("archive entries", "MaxEntries", fmt.Sprintf("found %d, limit %d in total", len(zr.File), o.MaxEntries))
	}
	var sum uint64
	for _, f := range zr.File {
		if sum += f.UncompressedSize64; sum > uint64(lim.unpacked) || f.UncompressedSize64 > uint64(lim.unpacked) {
			return nil, limitError("unpacked size", "MaxUnpacked", fmt.Sprintf("declared size exceeds %d bytes", lim.unpacked))
		}
	}
	if sum > minRatioBytes && sum > uint64(o.MaxRatio)*uint64(len(data)) {
		return nil, limitError("compression ratio", "MaxRatio", fmt.Sprintf("%d bytes unpack to %d", len(data), sum))
	}
	return zr, nil
}

// declaredEntries returns the number of entries that the end record declares, or 0 if there is no record.
// This avoids building a directory of millions of entries only to refuse it.
func declaredEntries(data []byte) int {
	tail := data[max(0, len(data)-66000):]
	i := bytes.LastIndex(tail, []byte("PK\x05\x06"))
	if i < 0 || i+12 > len(tail) {
		return 0
	}
	n := int(tail[i+10]) | int(tail[i+11])<<8
	if n == 0xffff { // the number is in the record of the long form (APPNOTE 6.3.10, 4.3.14)
		if k := bytes.LastIndex(tail[:i], []byte("PK\x06\x06")); k >= 0 && k+40 <= i {
			return int(min(binary.LittleEndian.Uint64(tail[k+32:]), 1<<30))
		}
	}
	return n
}

func (p *parts) has(name string) bool { return p.byName[partName(name)] != nil }

var errNoPart = errors.New("no such part")

// read returns one part. On damage it returns what could be read together with the error.
func (p *parts) read(name string) ([]byte, error) {
	f := p.byName[partName(name)]
	if f == nil {
		return nil, fmt.Errorf("%s: %w", name, errNoPart)
	}
	p.used[partName(name)] = true
	return readEntry(f, p.b.opt, p.b.lim)
}

func readEntry(f *zip.File, o Options, lim *budget) ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, &Error{Code: Damaged, Detail: f.Name + ": " + err.Error()}
	}
	defer r.Close()
	return readBounded(r, f.Name, int64(f.CompressedSize64), o, lim)
}

// readBounded reads r to its end, within the budget and the allowed ratio to the packed bytes.
func readBounded(r io.Reader, name string, packed int64, o Options, lim *budget) ([]byte, error) {
	most := lim.unpacked
	limited := limitError("unpacked size of "+name, "MaxUnpacked", fmt.Sprintf("over %d bytes", most))
	if n := max(packed*int64(o.MaxRatio), minRatioBytes); packed >= 0 && n < most {
		most, limited = n, limitError("compression ratio of "+name, "MaxRatio", fmt.Sprintf("%d bytes unpack to over %d", packed, n))
	}
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	lim.unpacked -= int64(len(data))
	if int64(len(data)) > most {
		return nil, limited
	}
	if err != nil {
		return data, &Error{Code: Damaged, Detail: name + ": " + err.Error()}
	}
	return data, nil
}

// part reads one part and calls use with it. A part that cannot be read completely makes the result partial.
// A missing part is not a fault if it is optional.
func (p *parts) part(name string, optional bool, use func([]byte) error) error {
	data, err := p.read(name)
	if errors.Is(err, errNoPart) && optional {
		return nil
	}
	if len(data) > 0 {
		if uerr := use(data); err == nil {
			err = uerr
		}
	}
	if err == nil {
		return nil
	}
	var e *Error
	if !errors.As(err, &e) {
		e = &Error{Code: Damaged, Detail: name + ": " + err.Error()}
	}
	p.b.partial(e.Code, e.Detail)
	return nil
}
