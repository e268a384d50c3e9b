package extract

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"iter"
	"slices"

	"concordat"
)

// Member is one file in an archive, or the file itself if it is not an archive. Exactly one of Result and Err is set.
type Member struct {
	Path   string  `json:"path"` // for example work.zip!/chapter/one.docx
	Result *Result `json:"result,omitempty"`
	Err    *Error  `json:"error,omitempty"`
	Scans  []Scan  `json:"scans,omitempty"` // pages without a text layer; see Options.MaxScans

	// LeftOut lists lock files and system files near this member in its archive. Each such file is named once across all members.
	LeftOut concordat.LeftOut `json:"left_out,omitzero"`

	attached []attachedFile
}

// Members yields every file in an archive or message, in archive order, each with its text or error. Archives inside are opened too, up
// to MaxNesting; deeper ones are reported as one error at the end, under the path of the first. The texts of all members together are
// limited to eight times MaxText; a member that exceeds it becomes an error. A file that contains no others is its own sole member, under
// name. Limits on entries and unpacked bytes apply to all members together. data must not change during the iteration.
func Members(name string, data []byte, o Options) iter.Seq[Member] {
	return func(yield func(Member) bool) {
		if err := o.Validate(); err != nil {
			yield(Member{Path: name, Err: &Error{Code: Invalid, Detail: err.Error()}})
			return
		}
		o = o.WithDefaults()
		w := &walker{o: o, lim: newBudget(o), yield: yield}
		w.walk(name, name, data, 0)
		if w.deep > 0 {
			w.fail(w.deepAt, limitError("archive nesting", "MaxNesting", fmt.Sprintf("%d archives are nested more than %d deep; this is the first", w.deep,
				o.MaxNesting)))
		}
	}
}

// membersText is the limit on the text of all members, as a multiple of MaxText.
const membersText = 8

// walker walks an archive and the archives in it.
type walker struct {
	o     Options
	lim   *budget
	yield func(Member) bool
	done  bool // the caller stopped the iteration

	deep   int    // number of archives nested too deeply to be opened
	deepAt string // path of the first of them

	paths   memberPaths
	leftOut concordat.LeftOut // lock files and system files not yet reported
	holds   bool              // the last member is held back until the files left out after it are known
	held    *Member
}

// give passes on a member under its path.
func (w *walker) give(path string, m Member) {
	w.release()
	if w.done {
		return
	}
	m.Path = path
	if m.Result != nil {
		if w.lim.text -= int64(len(m.Result.Text)); w.lim.text < 0 {
			m = Member{Path: path, Err: limitError("text of all members", "MaxText", fmt.Sprintf("more than %d bytes", membersText*w.o.MaxText))}
		}
	}
	if w.held = &m; !w.holds {
		w.release()
	}
}

// release passes on the member held back, if any.
func (w *walker) release() {
	if w.held == nil {
		return
	}
	m := *w.held
	w.held = nil
	m.LeftOut, w.leftOut = w.leftOut, concordat.LeftOut{}
	w.done = !w.yield(m)
}

// fail reports that there is no text at path.
func (w *walker) fail(path string, err error) { w.give(path, Member{Err: asError(err)}) }

func asError(err error) *Error {
	var e *Error
	if !errors.As(err, &e) {
		e = &Error{Code: Damaged, Detail: err.Error()}
	}
	return e
}

// walk yields the member at path, or the members that it contains.
func (w *walker) walk(path, name string, data []byte, depth int) {
	f, err := checkInput(name, data, w.o)
	if err != nil {
		w.fail(path, err)
		return
	}
	if w.open(f, path, name, data, depth) {
		return
	}
	m := read(f, data, w.o, w.lim)
	attached := m.attached
	m.attached = nil
	w.give(path, m)
	for i, a := range attached {
		if !w.done {
			w.attachment(path, a.name, i, a.data, depth)
		}
	}
	w.attachments(f, path, data, depth)
}

// MayHoldPDF reports whether an archive or message appears to contain a PDF, judging by the names in a zip or by the signature of PDF,
// plain or in base64. A file for which it returns false can still contain a PDF.
func MayHoldPDF(data []byte) bool {
	if !bytes.HasPrefix(data, []byte("PK")) {
		return bytes.Contains(data, []byte("%PDF-")) || bytes.Contains(data, []byte("JVBERi0"))
	}
	if declaredEntries(data) > maxSniffed {
		return false
	}
	zr, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	return err == nil && slices.ContainsFunc(zr.File, func(f *zip.File) bool { return ext(f.Name) == "pdf" })
}
