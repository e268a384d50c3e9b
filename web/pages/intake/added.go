package intake

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"path"
	"strings"

	"concordat"
	"concordat/site"
	"concordat/web/message"
	"concordat/web/pages"
)

// AddedFile is a file to be added to a library.
type AddedFile struct {
	Name   string               // name of the file
	ID     concordat.DocumentID // document ID or, for an archive, prefix of its members' names; if empty, Name is used
	Title  string               // if empty, the file's own title or one derived from its name
	Author string               // if empty, the file's own
	Date   concordat.Date       // if empty, the file's own
}

// AddedDocument is the outcome of adding one document of a file.
type AddedDocument struct {
	site.Ingested
	Err error // why it was not added; nil if it was added
	// LeftOut lists the files of the archive that were skipped. It is set only with the archive's first document.
	LeftOut concordat.LeftOut
}

// Adder adds documents to libraries. It is safe for concurrent use.
type Adder interface {
	// AddFile adds the documents of one file to a library and returns the result for each. An error concerns the whole file and may be
	// caused by its content.
	AddFile(ctx context.Context, lib concordat.LibraryID, f AddedFile, content io.Reader) ([]AddedDocument, error)
}

// ReadAdded reads the add-documents form and passes each file to take, which reads as much of the content as it needs.
func ReadAdded(parts *multipart.Reader, take func(f AddedFile, content io.Reader) error) error {
	room, files := pages.MaxForm, 0
	var f AddedFile
	for {
		p, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			if files == 0 {
				return errNothing
			}
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w %w", message.Invalid("wrong.form"), err)
		}
		if p.FormName() != "file" {
			if err := f.field(p, &room); err != nil {
				return err
			}
			continue
		}
		if files++; files > pages.MaxFiles {
			return message.Invalid("wrong.many", pages.MaxFiles)
		}
		f.Name = cmp.Or(pages.CleanName(p.FileName()), namelessFile)
		f.ID = cmp.Or(f.ID, documentOf(p.FileName()), namelessFile)
		if err := take(f, p); err != nil {
			return err
		}
		f = AddedFile{}
	}
}

// documentOf derives a document ID from a file name. Unlike CleanName, it gives different names different IDs.
func documentOf(name string) concordat.DocumentID {
	if name = path.Base("/" + strings.ReplaceAll(name, `\`, "/")); name == "/" {
		return ""
	}
	return concordat.DocumentID(concordat.ShortName(concordat.EscapeName(name)))
}

// field reads a field of the add-documents form; room is the number of bytes left for all fields.
func (f *AddedFile) field(p *multipart.Part, room *int) error {
	b, err := io.ReadAll(io.LimitReader(p, int64(*room)+1))
	if err != nil {
		return fmt.Errorf("%w %w", message.Invalid("wrong.form"), err)
	}
	if *room -= len(b) + 64; *room < 0 {
		return fmt.Errorf("form: %w: fields other than files exceed %d MiB", concordat.ErrInvalid, pages.MaxForm>>20)
	}
	switch s := string(b); p.FormName() {
	case "id":
		f.ID = concordat.DocumentID(s)
		if s != "" {
			return site.CheckName(s)
		}
	case "title":
		f.Title = s
	case "author":
		f.Author = s
	case "date":
		if f.Date, err = concordat.ParseDate(s); err != nil {
			return fmt.Errorf("date %q: %w: want YYYY, YYYY-MM or YYYY-MM-DD", s, concordat.ErrInvalid)
		}
	default:
		return fmt.Errorf("field %q: %w", p.FormName(), concordat.ErrInvalid)
	}
	return nil
}
