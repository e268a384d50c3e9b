package intake

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"

	"concordat"
	"concordat/site"
	"concordat/store"
	"concordat/web/limit"
	"concordat/web/message"
	"concordat/web/pages"
)

// Upload is the content of a submitted form.
type Upload struct {
	Jobs   []site.Job // one per file; Fault is set if the file was not accepted
	Fields map[string][]string
	bytes  int64 // bytes of the files
}

func (u *Upload) Field(name string) string {
	if f := u.Fields[name]; len(f) > 0 {
		return f[0]
	}
	return ""
}

// Read reads the form while it arrives, writing files to disk so that they are never completely in memory. After an error it continues
// reading, up to the size of one file, since a browser reads the answer only after it has sent everything.
func (w Intake) Read(rw http.ResponseWriter, r *http.Request) (*Upload, error) {
	limit.Unhurried(rw, r)
	u, err := w.readForm(rw, r)
	if err != nil {
		_, _ = io.CopyN(io.Discard, r.Body, w.o.MaxUpload) // an error here has no further effect
	}
	return u, err
}

func (w Intake) readForm(rw http.ResponseWriter, r *http.Request) (*Upload, error) {
	if err := w.CheckDisk(); err != nil {
		return nil, err
	}
	r.Body = http.MaxBytesReader(rw, r.Body, pages.MaxFiles*w.o.MaxUpload)
	parts, err := r.MultipartReader()
	if err != nil {
		return nil, fmt.Errorf("%w %w", message.Invalid("wrong.form"), err)
	}
	u := &Upload{Fields: map[string][]string{}}
	room := int64(pages.MaxForm)
	for {
		p, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return u, nil
		}
		if err != nil {
			return u, fmt.Errorf("%w %w", message.Invalid("wrong.form"), err)
		}
		if p.FormName() == "file" {
			err = w.readFile(r, p, u)
		} else {
			var b []byte
			if b, err = io.ReadAll(io.LimitReader(p, room+1)); err == nil {
				if room -= int64(len(b)) + 64; room < 0 {
					return u, message.Invalid("wrong.beside", pages.MaxForm>>20)
				}
				u.Fields[p.FormName()] = append(u.Fields[p.FormName()], string(b))
			}
		}
		if errors.Is(err, io.ErrUnexpectedEOF) { // the request ends within the part
			err = fmt.Errorf("%w %w", message.Invalid("wrong.form"), err)
		}
		if err != nil {
			return u, err
		}
	}
}

// CheckDisk returns an error if the disk accepts no more files.
func (w Intake) CheckDisk() error {
	if w.o.Disk == nil {
		return nil
	}
	return w.o.Disk.CheckDisk()
}

// roomStep is the number of bytes after which the free disk space is checked again.
const roomStep = 1 << 20

// WhileRoom returns a reader of r that fails once the disk accepts no more data.
func (w Intake) WhileRoom(r io.Reader) io.Reader { return &roomReader{r: r, disk: w} }

type roomReader struct {
	r    io.Reader
	disk Disk
	left int // bytes until the next check of the disk
}

// Read implements io.Reader.
func (r *roomReader) Read(p []byte) (int, error) {
	if r.left <= 0 {
		if err := r.disk.CheckDisk(); err != nil {
			return 0, err
		}
		r.left = roomStep
	}
	n, err := r.r.Read(p[:min(len(p), r.left)])
	r.left -= n
	return n, err
}

// namelessFile is the name given to a file without a name.
const namelessFile = "document"

// readFile stores one file. A rejected file does not prevent others from being accepted.
func (w Intake) readFile(r *http.Request, p *multipart.Part, u *Upload) error {
	name, content := pages.CleanName(p.FileName()), bufio.NewReader(p)
	if name == "" {
		if _, err := content.Peek(1); err != nil {
			return nil // a browser sends an empty part for a field without files
		}
		name = namelessFile
	}
	if len(u.Jobs) == pages.MaxFiles {
		return message.Invalid("wrong.many", pages.MaxFiles)
	}
	hash, size, err := w.o.Files.Put(r.Context(), w.WhileRoom(content), w.o.MaxUpload)
	job := site.Job{Name: name, File: hash}
	var cut *http.MaxBytesError
	switch {
	case errors.Is(err, concordat.ErrInvalid) && !errors.As(err, &cut):
		job.Fault = store.Cause{Code: store.CauseLimit, Detail: fmt.Sprintf("larger than %d MiB", w.o.MaxUpload>>20),
			Advice: "raise extract.max_input to allow it"}
	case err != nil:
		return fmt.Errorf("%s: %w", name, err)
	case size == 0:
		job.File, job.Fault = "", store.Cause{Code: store.CauseEmpty}
	}
	if job.Fault.IsZero() {
		u.bytes += size
	}
	u.Jobs = append(u.Jobs, job)
	return nil
}
