package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"concordat"
	"concordat/instance"
	"concordat/site"
	"concordat/web/pages/intake"
	"concordat/webhook"
)

// hooks returns the sender that notifies other programs of events.
func (s *Daemon) hooks() *webhook.Sender {
	return webhook.New(webhook.Options{Store: s.o.Store.Webhooks, Allow: s.o.Config.Webhooks.Allow, Logger: s.log,
		Panicked: s.meters.panic})
}

// adder adds files from programs to libraries, just as the command add does for files in a folder.
type adder struct {
	d *WebApp
	o *instance.Instance
}

// AddFile implements intake.Adder.
func (a adder) AddFile(ctx context.Context, lib concordat.LibraryID, f intake.AddedFile, content io.Reader) ([]intake.AddedDocument,
	error) {
	file, err := nameless(a.o.Dir)
	if err != nil {
		return nil, fmt.Errorf("add: %w", err)
	}
	defer func() { _ = file.Close() }() // the file is removed
	size, err := io.Copy(file, content)
	if err != nil {
		return nil, fmt.Errorf("add: %w", err)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("add: %w", err)
	}
	return a.d.ingest(ctx, a.o, lib, f, file, size)
}

// nameless returns an unnamed file on the disk of dir. The file disappears however the process ends.
func nameless(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, instance.AddingPrefix+"*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) { // a deletion may have removed it
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (d *WebApp) ingest(ctx context.Context, o *instance.Instance, lib concordat.LibraryID, f intake.AddedFile, file *os.File,
	size int64) ([]intake.AddedDocument, error) {
	items, err := d.reader.Open(ctx, f.Name, file, size)
	if err != nil {
		return nil, err
	}
	var out []intake.AddedDocument
	var docs []site.Incoming
	var leftOut concordat.LeftOut
	for _, item := range items {
		leftOut.Join(item.LeftOut)
		id := concordat.DocumentID(instance.NameOf(string(f.ID), item.Path))
		if item.Err != nil {
			out = append(out, intake.AddedDocument{Ingested: site.Ingested{ID: id}, Err: item.Err.WithAdvice()})
			continue
		}
		one := site.Incoming{ID: id, Title: cmp.Or(f.Title, item.Result.Title, instance.TitleOf(string(id))),
			Author: cmp.Or(f.Author, item.Result.Author), Text: item.Result.Text}
		one.Dated, one.DatedBy = instance.DateOf(string(f.Date), item.Result)
		if err := errors.Join(site.CheckName(string(id)), site.CheckText(one.Text)); err != nil {
			out = append(out, intake.AddedDocument{Ingested: site.Ingested{ID: id}, Err: err})
			continue
		}
		docs = append(docs, one)
	}
	err = o.Site.Ingest(ctx, lib, func(yield func(site.Incoming, error) bool) {
		for _, one := range docs {
			if !yield(one, nil) {
				return
			}
		}
	}, func(one site.Ingested) error {
		out = append(out, intake.AddedDocument{Ingested: one})
		return nil
	})
	if len(out) > 0 {
		out[0].LeftOut = leftOut
	}
	return out, err
}
