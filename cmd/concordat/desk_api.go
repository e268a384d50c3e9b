package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"concordat"
	"concordat/site"
	"concordat/web"
	"concordat/webhook"
)

// hooks tells other programs what happened.
func (s *server) hooks() *webhook.Sender {
	return webhook.New(webhook.Options{Store: s.o.store, Allow: s.o.config.Webhooks.Allow, Logger: s.log})
}

// adder takes a file that a program hands in into a library, as add does with one of a folder.
func (d *desk) adder(o *opened) func(context.Context, concordat.LibraryID, web.AddedFile, io.Reader) ([]web.AddedDocument, error) {
	return func(ctx context.Context, lib concordat.LibraryID, f web.AddedFile, content io.Reader) ([]web.AddedDocument, error) {
		// A folder of its own keeps the file's ending, by which some formats are told.
		dir, err := os.MkdirTemp(o.dir, ".adding-*")
		if err != nil {
			return nil, fmt.Errorf("add: %w", err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		at := filepath.Join(dir, "document"+path.Ext(f.Name))
		file, err := os.OpenFile(at, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
		if err != nil {
			return nil, fmt.Errorf("add: %w", err)
		}
		defer func() { _ = file.Close() }() // it is read from then on
		size, err := io.Copy(file, content)
		if err != nil {
			return nil, fmt.Errorf("add: %w", err)
		}
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return nil, fmt.Errorf("add: %w", err)
		}
		return d.ingest(ctx, o, lib, f, file, size)
	}
}

func (d *desk) ingest(ctx context.Context, o *opened, lib concordat.LibraryID, f web.AddedFile, file *os.File, size int64) ([]web.AddedDocument, error) {
	items, err := d.reader.open(ctx, f.Name, file, size)
	if err != nil {
		return nil, err
	}
	var out []web.AddedDocument
	var docs []site.Incoming
	for _, item := range items {
		id := f.ID
		if _, member, ok := strings.Cut(item.Path, "!/"); ok {
			id += concordat.DocumentID("!/" + member)
		}
		if item.Err != nil {
			out = append(out, web.AddedDocument{Ingested: site.Ingested{ID: id}, Err: item.Err.WithAdvice()})
			continue
		}
		one := site.Incoming{ID: id, Title: cmp.Or(f.Title, item.Result.Title, titleOf(string(id))), Author: cmp.Or(f.Author, item.Result.Author), Text: item.Result.Text}
		one.Dated, one.DatedBy = dateOf(string(f.Date), item.Result)
		docs = append(docs, one)
	}
	err = o.Ingest(ctx, lib, func(yield func(site.Incoming, error) bool) {
		for _, one := range docs {
			if !yield(one, nil) {
				return
			}
		}
	}, func(one site.Ingested) error {
		out = append(out, web.AddedDocument{Ingested: one})
		return nil
	})
	return out, err
}
