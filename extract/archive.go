package extract

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"path"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
)

// open yields the members of an archive or a message, and reports whether f is one of these formats.
func (w *walker) open(f Format, at, name string, data []byte, depth int) bool {
	switch f {
	case ZIP, TAR, GZIP:
		if depth >= w.o.MaxNesting {
			if w.deep++; w.deep == 1 {
				w.deepAt = at
			}
			return true
		}
	}
	switch f {
	case ZIP:
		w.openZip(at, data, depth)
	case TAR:
		w.openTar(at, func() io.Reader { return bytes.NewReader(data) }, int64(len(data)), depth)
	case GZIP:
		w.openGzip(at, name, data, depth)
	default:
		return false
	}
	return true
}

func (w *walker) openZip(at string, data []byte, depth int) {
	zr, err := checkedZip(data, w.o, w.lim)
	if err != nil {
		w.fail(at, err)
		return
	}
	names := zipNames(zr.File)
	for i, f := range zr.File {
		if IsClutter(names[i]) && !f.FileInfo().IsDir() {
			w.leftOut.Add(names[i])
		}
	}
	included := w.latexProject(at, zr, names)
	given := len(included) > 0
	for i, f := range zr.File {
		if w.done {
			return
		}
		if f.FileInfo().IsDir() || IsClutter(names[i]) || included[f] {
			continue
		}
		given = true
		p := w.paths.path(at, names[i])
		switch {
		case f.Flags&1 != 0:
			w.fail(p, &Error{Code: Encrypted, Detail: "the archive is password-protected"})
		case !f.Mode().IsRegular():
			w.fail(p, &Error{Code: Unsupported, Detail: "a link, not a file", Advice: "put the file itself into the archive"})
		default:
			inner, err := readEntry(f, w.o, w.lim)
			w.member(p, names[i], inner, err, depth)
		}
	}
	if !given {
		w.fail(at, w.noFiles())
	}
}

// noFiles is the error for an archive that contains no document.
func (w *walker) noFiles() *Error {
	if w.leftOut.Count > 0 {
		return &Error{Code: Empty, Detail: fmt.Sprintf("the archive contains only %d lock and system files", w.leftOut.Count)}
	}
	return &Error{Code: Empty, Detail: "the archive contains no files"}
}

// member reads a file in an archive; if the file is damaged, the text before the damage is not presented as complete.
func (w *walker) member(p, name string, data []byte, err error, depth int) {
	if err != nil {
		w.fail(p, err)
		return
	}
	w.walk(p, name, data, depth+1)
}

// openTar yields the members of a tar. open returns a new reader of its bytes on each call.
func (w *walker) openTar(at string, open func() io.Reader, packed int64, depth int) {
	tr := tar.NewReader(open())
	var page encoding.Encoding // encoding of names that are not UTF-8
	given := false
	if !w.holds {
		w.holds = true
		defer func() {
			w.release()
			w.holds = false
		}()
	}
	for !w.done {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			w.fail(at, &Error{Code: Damaged, Detail: "tar: " + err.Error()})
			return
		}
		if w.lim.entries--; w.lim.entries < 0 {
			w.fail(at, limitError("archive entries", "MaxEntries", fmt.Sprintf("more than %d", w.o.MaxEntries)))
			return
		}
		if h.Typeflag == tar.TypeDir || h.Typeflag == tar.TypeXGlobalHeader {
			continue
		}
		if page == nil && !utf8.ValidString(h.Name) {
			page = tarPage(open(), w.o.MaxEntries)
		}
		name := tarName(h.Name, page)
		if IsClutter(name) {
			w.leftOut.Add(name)
			continue
		}
		given = true
		if w.release(); w.done {
			return
		}
		p := w.paths.path(at, name)
		if h.Typeflag != tar.TypeReg {
			w.fail(p, &Error{Code: Unsupported, Detail: "a link or device, not a file", Advice: "put the file itself into the archive"})
			continue
		}
		data, err := readBounded(tr, h.Name, packed, w.o, w.lim)
		w.member(p, name, data, err, depth)
		if err != nil {
			return // nothing after a damaged entry can be read
		}
	}
	if !given && !w.done {
		w.fail(at, w.noFiles())
	}
}

// tarName returns a name in a tar as UTF-8; a tar does not state the encoding of names.
func tarName(raw string, page encoding.Encoding) string {
	if utf8.ValidString(raw) {
		return raw
	}
	if s, err := page.NewDecoder().String(raw); err == nil && !strings.ContainsRune(s, utf8.RuneError) {
		return s
	}
	return raw
}

// maxTarNames is the number of bytes of a tar read ahead to determine the encoding of its names.
const maxTarNames = 64 << 20

// tarPage returns the code page that best fits all the non-UTF-8 names in a tar.
func tarPage(r io.Reader, most int) encoding.Encoding {
	if _, seeks := r.(io.Seeker); !seeks {
		r = io.LimitReader(r, maxTarNames)
	}
	var joined []byte
	tr := tar.NewReader(r)
	for range most {
		h, err := tr.Next()
		if err != nil || len(joined) >= detectWindow {
			break
		}
		if !utf8.ValidString(h.Name) {
			joined = append(append(joined, h.Name...), '/')
		}
	}
	return zipPage(joined)
}

// openGzip unpacks one file; it reads a tar inside entry by entry, so that the whole tar is never in memory.
func (w *walker) openGzip(at, name string, data []byte, depth int) {
	zr, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		w.fail(at, &Error{Code: Damaged, Detail: err.Error()})
		return
	}
	inner := zr.Name
	if inner == "" {
		inner = strings.TrimSuffix(strings.TrimSuffix(path.Base(name), ".gz"), ".tgz")
	}
	head := make([]byte, 512)
	n, _ := io.ReadFull(zr, head) // the error will recur below
	if n > 262 && string(head[257:262]) == "ustar" {
		w.openTar(at, func() io.Reader {
			again, err := gzip.NewReader(bytes.NewReader(data))
			if err != nil {
				return bytes.NewReader(nil) // it was readable before
			}
			return again
		}, int64(len(data)), depth)
		return
	}
	rest := io.MultiReader(bytes.NewReader(head[:n]), zr)
	all, err := readBounded(rest, inner, int64(len(data)), w.o, w.lim)
	w.member(w.paths.path(at, inner), inner, all, err, depth)
}

// attachments yields the files attached to a message.
func (w *walker) attachments(f Format, at string, data []byte, depth int) {
	switch f {
	case EML:
		if bytes.HasPrefix(data, []byte("From ")) {
			if rest := nextMessage(data); rest != nil && !w.done {
				w.mailbox(at, rest, depth)
			}
		}
		msg, err := readMessage(data)
		if err != nil {
			return // already reported for the message itself
		}
		parts, _ := mailParts(textproto.MIMEHeader(msg.Header), msg.Body, w.o, w.lim, 0)
		for i, p := range parts {
			if p.attached && !w.done {
				w.attachment(at, p.name, i, p.data, depth)
			}
		}
	case MSG:
		streams, err := msgStreams(data)
		if err != nil {
			return
		}
		for i := range 1000 {
			dir := fmt.Sprintf("__attach_version1.0_#%08X/", i)
			p := msgProperties(streams, dir)
			if len(p) == 0 {
				break
			}
			name := msgText(p, msgFileLong)
			if name == "" {
				name = msgText(p, msgFile)
			}
			if body := p[msgData+"0102"]; len(body) > 0 && !w.done {
				w.attachment(at, name, i, body, depth)
			}
		}
	}
}

// nextMessage returns the rest of a mailbox after its first message, starting with the line "From ", or nil.
func nextMessage(data []byte) []byte {
	if i := bytes.Index(data, []byte("\n\nFrom ")); i >= 0 {
		return data[i+2:]
	}
	if i := bytes.Index(data, []byte("\r\n\r\nFrom ")); i >= 0 {
		return data[i+4:]
	}
	return nil
}

// mailbox yields the remaining messages of a mailbox as members.
func (w *walker) mailbox(at string, data []byte, depth int) {
	for n := 2; data != nil && !w.done; n++ {
		if w.lim.entries--; w.lim.entries < 0 {
			w.fail(at, limitError("messages", "MaxEntries", fmt.Sprintf("more than %d", w.o.MaxEntries)))
			return
		}
		one, rest := data, nextMessage(data)
		if rest != nil {
			one = data[:len(data)-len(rest)]
		}
		name := fmt.Sprintf("message %d", n)
		// Without its "From " line, each is an ordinary message, including attachments.
		if i := bytes.IndexByte(one, '\n'); i >= 0 {
			w.inner(w.paths.path(at, name), name+".eml", one[i+1:], depth)
		}
		data = rest
	}
}

func (w *walker) attachment(at, name string, i int, data []byte, depth int) {
	if name == "" {
		name = fmt.Sprintf("attachment %d", i+1)
	}
	w.inner(w.paths.path(at, name), name, data, depth)
}

// inner reads a file inside another one, unless it is nested too deeply.
func (w *walker) inner(at, name string, data []byte, depth int) {
	if depth >= w.o.MaxNesting {
		w.fail(at, limitError("nesting of files in files", "MaxNesting", fmt.Sprintf("deeper than %d", w.o.MaxNesting)))
		return
	}
	w.walk(at, name, data, depth+1)
}

// latexProject yields every LaTeX main file of an archive together with the files it includes, and returns the files used.
func (w *walker) latexProject(at string, zr *zip.Reader, names []string) map[*zip.File]bool {
	used := map[*zip.File]bool{}
	tex := map[string]*zip.File{}
	for _, f := range zr.File {
		if e := ext(f.Name); (e == "tex" || e == "ltx" || e == "bbl") && f.Mode().IsRegular() && f.Flags&1 == 0 && !IsClutter(f.Name) {
			tex[partName(f.Name)] = f
		}
	}
	for i, f := range zr.File {
		if tex[partName(f.Name)] != f || w.done || ext(f.Name) == "bbl" {
			continue
		}
		data, err := readEntry(f, w.o, w.lim)
		if err != nil || !bytes.Contains(data, []byte(`\documentclass`)) && !bytes.Contains(data, []byte(`\documentstyle`)) {
			continue
		}
		used[f] = true
		dir := path.Dir(partName(f.Name))
		stem := strings.TrimSuffix(partName(f.Name), "."+ext(f.Name))
		include := func(name string) ([]byte, bool) {
			if name == `\jobname.bbl` {
				name = path.Base(stem) + ".bbl"
			}
			for _, n := range []string{name, name + ".tex"} {
				if g := tex[partName(path.Join(dir, n))]; g != nil {
					used[g] = true
					d, err := readEntry(g, w.o, w.lim)
					return d, err == nil
				}
			}
			return nil, false
		}
		w.giveLatex(w.paths.path(at, names[i]), data, include)
	}
	return used
}

func (w *walker) giveLatex(at string, data []byte, include func(string) ([]byte, bool)) {
	w.give(at, readWith(LaTeX, func(b *builder, d []byte) error {
		b.include = include
		return readLaTeX(b, d)
	}, data, w.o, w.lim))
}
