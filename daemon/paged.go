package daemon

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"concordat"
	"concordat/extract/sandbox"
	"concordat/site"
	"concordat/web/pages/reports"
)

const (
	// longestMaking bounds how long LibreOffice works on one file, since someone is waiting for the page.
	longestMaking = 45 * time.Second
	// deletedPoll is the interval for checking whether a file whose pages are being rendered still exists; deleting it ends the work.
	deletedPoll = 200 * time.Millisecond
)

// keyOf returns a cache key for the pages of a file. It includes the format, which determines LibreOffice's output.
func keyOf(p site.Part) string { return p.File + strings.ToLower(filepath.Ext(p.Name)) }

// Paged implements reports.Originals.
func (o *originals) Paged(ctx context.Context, p site.Part) reports.Pages {
	path, err := o.files.Fetch(ctx, p.File)
	if err != nil {
		return reports.PagesNone
	}
	switch head := sandbox.Head(path); {
	case sandbox.IsPDF(head):
		return reports.PagesShown
	case !sandbox.Converts(p.Name) || !bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return reports.PagesNone
	}
	if _, err := o.files.Made(p.File); err == nil {
		return reports.PagesShown
	}
	switch _, err := sandbox.FindOffice(o.office); {
	case err == nil:
		return reports.PagesShown
	case errors.Is(err, sandbox.ErrNoOffice):
		return reports.PagesNoOffice
	}
	return reports.PagesUnconfined
}

// pdf returns the location of a file's pages, which is the file itself, or a PDF created from it on the first call.
func (o *originals) pdf(ctx context.Context, p site.Part) (string, error) {
	path, err := o.files.Fetch(ctx, p.File)
	if err != nil {
		return "", err
	}
	if sandbox.IsPDF(sandbox.Head(path)) {
		return path, nil
	}
	if made, err := o.files.Made(p.File); err == nil {
		return made, nil
	}
	office, err := sandbox.FindOffice(o.office)
	if err != nil {
		return "", errors.Join(concordat.ErrNotFound, err) // the file existed a moment ago
	}
	key := keyOf(p) + " " + office.Version()
	if err := o.unmade.get(key, time.Now()); err != nil {
		return "", err
	}
	select {
	case o.making <- struct{}{}:
		defer func() { <-o.making }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if made, err := o.files.Made(p.File); err == nil { // another call created it while this one waited
		return made, nil
	}
	if err := o.unmade.get(key, time.Now()); err != nil { // another call failed to create it
		return "", err
	}
	made, err := o.makePDF(ctx, office, p, path)
	if err != nil {
		err = ofFile(err)
		o.unmade.put(key, err, time.Now())
	}
	return made, err
}

// makePDF creates a PDF from the file at path with LibreOffice, and stores it next to that file.
func (o *originals) makePDF(ctx context.Context, office *sandbox.Office, p site.Part, path string) (made string, err error) {
	dir, remove, err := o.files.Workplace()
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, remove()) }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watched := make(chan struct{})
	defer func() { cancel(); <-watched }()
	go func() {
		defer close(watched)
		for tick := time.Tick(deletedPoll); ; {
			select {
			case <-ctx.Done():
				return
			case <-tick:
				if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
					cancel()
					return
				}
			}
		}
	}()
	out, err := office.PDF(ctx, path, p.Name, dir)
	if err != nil {
		return "", err
	}
	return o.files.PutMade(p.File, out)
}
