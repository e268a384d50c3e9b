package intake

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"concordat"
	"concordat/site"
	"concordat/site/retain"
	"concordat/store"
	"concordat/web/pages"
	"concordat/web/pages/checks"
	"concordat/web/pages/deletions"
	"concordat/web/pages/libraries"
)

// ExampleOptions configures the example.
type ExampleOptions struct {
	Intake    Intake
	Libraries libraries.Libraries
	Deletions deletions.Deletions
	MayDelete bool // the pages can delete permanently
	// Files contains documents in library/ and a thesis to check against them in submission/; if nil, no example is offered.
	Files fs.FS
	Adder Adder // if nil, no example is offered
}

// Example offers a library and a thesis that copies from it, so that visitors can see a first report without documents of their own.
// The two are added and deleted together. It is safe for concurrent use.
type Example struct {
	frame pages.Frame
	o     ExampleOptions
}

var _ checks.Example = Example{}

// NewExample adds the example to the pages of a site.
func NewExample(frame pages.Frame, o ExampleOptions) Example {
	e := Example{frame, o}
	frame.AddPage("POST /example", pages.Administrators, e.change)
	return e
}

const (
	// exampleLibrary is the ID of the example library.
	exampleLibrary concordat.LibraryID = "example"
	// exampleBatch is the batch name of the example's checks.
	exampleBatch = "example"
	// exampleReason is the reason stated in the receipts when the example is deleted.
	exampleReason = "the example was removed"
)

// State returns the example's state for the list of checks; empty is true if there are no checks.
func (e Example) State(ctx context.Context, v *pages.Visitor, empty bool) (out checks.ExampleState, err error) {
	if v.Role != store.RoleAdministrator || e.o.Files == nil || e.o.Adder == nil || !e.o.MayDelete {
		return out, nil
	}
	_, err = e.o.Intake.o.Store.Catalogue.Library(ctx, exampleLibrary)
	out.There = err == nil
	if errors.Is(err, concordat.ErrNotFound) {
		err = nil
	}
	out.Offered = empty && !out.There
	return out, err
}

// change adds the example and redirects to its check, or removes it.
func (e Example) change(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	err := pages.ParseForm(rw, r)
	to := "/checks"
	ctx := context.WithoutCancel(r.Context()) // finish even if the visitor leaves the page, since half an example is useless
	switch {
	case err != nil:
	case r.PostForm.Get("action") == "remove":
		err = e.remove(ctx, v)
	default:
		var id concordat.TaskID
		id, err = e.add(ctx, v)
		to = "/checks/" + string(id)
	}
	if err != nil {
		e.frame.Fail(rw, r, v, err)
		return
	}
	http.Redirect(rw, r, to, http.StatusSeeOther)
}

// add creates the library with its documents and submits the thesis.
func (e Example) add(ctx context.Context, v *pages.Visitor) (concordat.TaskID, error) {
	now, err := e.State(ctx, v, true)
	if err != nil {
		return "", err
	}
	if !now.Offered {
		return "", fmt.Errorf("example: %w", concordat.ErrExists)
	}
	if _, err := e.o.Libraries.CreateLibrary(ctx, v, string(exampleLibrary), "Example library"); err != nil {
		return "", err
	}
	err = fs.WalkDir(e.o.Files, "library", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := fs.ReadFile(e.o.Files, name)
		if err != nil {
			return err
		}
		return e.addFile(ctx, strings.TrimPrefix(name, "library/"), content)
	})
	if err != nil {
		return "", err
	}
	theses, err := fs.Glob(e.o.Files, "submission/*.docx")
	if err == nil && len(theses) == 0 {
		err = fmt.Errorf("thesis in the example: %w", concordat.ErrNotFound)
	}
	if err != nil {
		return "", err
	}
	thesis, err := e.o.Files.Open(theses[0])
	if err != nil {
		return "", err
	}
	defer func() { _ = thesis.Close() }() // the file was only read
	hash, _, err := e.o.Intake.o.Files.Put(ctx, thesis, e.o.Intake.o.MaxUpload)
	if err != nil {
		return "", err
	}
	ids, err := e.o.Intake.enqueue(ctx, v, exampleBatch, []site.Job{{Name: path.Base(theses[0]), File: hash}},
		site.Job{Libraries: []concordat.LibraryID{exampleLibrary}}, "check_submitted")
	if err != nil {
		return "", err
	}
	return ids[0], nil
}

// addFile adds a file of the example. The first line of a text file is its title; each row of a table is a document with name, title and
// text.
func (e Example) addFile(ctx context.Context, name string, content []byte) error {
	one := func(f AddedFile, text string) error {
		docs, err := e.o.Adder.AddFile(ctx, exampleLibrary, f, strings.NewReader(text))
		for _, d := range docs {
			err = errors.Join(err, d.Err)
		}
		if err != nil {
			return fmt.Errorf("example: %s: %w", f.ID, err)
		}
		return nil
	}
	if path.Ext(name) == ".tsv" {
		for line := range strings.Lines(string(content)) {
			cells := strings.Split(strings.TrimSpace(line), "\t")
			if len(cells) != 3 {
				continue
			}
			id := concordat.DocumentID(name + "#" + cells[0])
			if err := one(AddedFile{Name: cells[0] + ".txt", ID: id, Title: cells[1]}, cells[2]); err != nil {
				return err
			}
		}
		return nil
	}
	f := AddedFile{Name: path.Base(name), ID: concordat.DocumentID(name)}
	if ext := path.Ext(name); ext == ".txt" || ext == ".md" {
		first, _, _ := bytes.Cut(content, []byte("\n"))
		f.Title = strings.TrimSpace(strings.TrimLeft(string(first), "# \ufeff"))
	}
	return one(f, string(content))
}

// remove deletes the library and its checks and issues receipts.
func (e Example) remove(ctx context.Context, v *pages.Visitor) error {
	l, err := e.o.Intake.o.Store.Catalogue.Library(ctx, exampleLibrary)
	if err != nil {
		return err
	}
	tasks, err := e.o.Intake.o.Store.Checks.FilterTasks(ctx, store.TaskFilter{Batch: exampleBatch}, 0, 0)
	if err != nil {
		return err
	}
	var t retain.Target
	for _, one := range tasks {
		t.Tasks = append(t.Tasks, one.ID)
	}
	if len(t.Tasks) > 0 {
		if _, err := e.o.Deletions.Erase(ctx, v, exampleReason, t); err != nil {
			return err
		}
	}
	return e.o.Libraries.DeleteLibrary(ctx, v, l, exampleReason)
}
