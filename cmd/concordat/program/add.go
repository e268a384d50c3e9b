package program

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/cmd/parallel"
	"concordat/cmd/tables"
	"concordat/extract"
	"concordat/extract/sandbox"
	"concordat/instance"
	"concordat/site"
	"concordat/store"
)

func (a *app) addCommand() *cobra.Command {
	var library, date string
	var dryRun bool
	c := &cobra.Command{
		Use:   "add --library L PATH...",
		Short: "Add files, folders and tables to a library",
		Long: `Add reads documents into a library: files, folders (a document's id is its path below the folder, or the file's
name) and tables. A .tsv table has the columns id, title, text or id, text, or a header that names its columns in
any order and may add author and date; a .jsonl table has the keys id, title, author, text, date. The names of
tables may also end in .gz or .zst.

A document's date comes from --date or the table, otherwise from its file's metadata; otherwise it is unknown.
Reports show the oldest known source of a passage.

Unreadable files are reported with a reason, and all others are added (exit code 3). Adding the same files again
changes nothing; a changed file replaces its document. After an interruption, repeat the command to continue.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if library == "" {
				return cli.Usagef("--library is missing: name a library")
			}
			w := instance.WithIndex
			if dryRun {
				w = instance.StoreOnly
			}
			return a.With(cmd.Context(), w, func(o *instance.Instance) error {
				l, err := instance.Library(cmd.Context(), o.Store, library)
				if err != nil {
					return err
				}
				files, leftOut, err := walk(args, false)
				if err != nil {
					return err
				}
				given, err := concordat.ParseDate(date)
				if err != nil {
					return cli.Usagef("--date %s: must be in the form YYYY, YYYY-MM or YYYY-MM-DD", date)
				}
				ad := &adder{a: a, o: o, date: given, library: l.ID, failures: failures{a: a, leftOut: leftOut}}
				if dryRun {
					return ad.dryRun(cmd.Context(), files)
				}
				return ad.run(cmd.Context(), files)
			})
		},
	}
	c.Flags().StringVarP(&library, "library", "l", "", "library to add to")
	c.Flags().StringVar(&date, "date", "", "date of the documents: YYYY, YYYY-MM or YYYY-MM-DD")
	c.Flags().BoolVar(&dryRun, "dry-run", false, "list the files to read, without adding them")
	return c
}

// adder is a single run of add.
type adder struct {
	a        *app
	o        *instance.Instance
	library  concordat.LibraryID
	date     concordat.Date // applies to all documents; if empty, each document has its own date
	failures failures
	bar      cli.Bar

	added, replaced, unchanged, skipped, sentences int
	owner                                          map[concordat.DocumentID]string // the file of this run that defines the ID

	mu sync.Mutex // protects pending, because files are read while batches are written
	// pending maps each document that is not yet durable to the record of the file that ends with it.
	pending map[concordat.DocumentID]store.SourceState
}

func (ad *adder) dryRun(ctx context.Context, files []input) error {
	n := 0
	for _, f := range files {
		if ad.unchangedFile(ctx, f) {
			continue
		}
		n++
		if ad.a.JSON {
			if err := ad.a.Line(map[string]any{"type": "file", "path": f.path, "bytes": f.size}); err != nil {
				return err
			}
		} else {
			ad.a.Say("would read %s", f.path)
		}
	}
	if ad.a.JSON {
		return ad.a.Line(map[string]any{"type": "summary", "files": n, "unchanged": len(files) - n, "dry_run": true})
	}
	ad.a.Say("%d files to read, %d unchanged", n, len(files)-n)
	return nil
}

// unchangedFile reports whether an earlier run has processed the file in its current state.
func (ad *adder) unchangedFile(ctx context.Context, f input) bool {
	if ad.date != "" {
		return false // even if the text is unchanged, the date is not
	}
	s, err := ad.o.Store.Catalogue.SourceState(ctx, ad.library, f.place())
	return err == nil && s.Unchanged(f.size, f.modified)
}

// extracted is a file and the text extracted from it.
type extracted struct {
	input
	items []sandbox.Item
	err   error
}

func (ad *adder) run(ctx context.Context, files []input) error {
	began := time.Now()
	ad.pending = map[concordat.DocumentID]store.SourceState{}
	ad.owner = map[concordat.DocumentID]string{}
	ad.bar = ad.a.Progress(int64(len(files)), "adding")
	r := instance.NewReader(instance.Extraction(ad.o.Config), len(files))
	r.Own = true
	err := ad.o.Site.Ingest(ctx, ad.library, ad.documents(ctx, r, files), ad.ingested)
	ad.bar.Done()
	if err = errors.Join(err, r.Close()); err != nil {
		return err
	}
	took := time.Since(began)
	if err := ad.failures.tellLeftOut(); err != nil {
		return err
	}
	if ad.a.JSON {
		err = ad.a.Line(map[string]any{"type": "summary", "library": ad.library, "added": ad.added, "replaced": ad.replaced,
			"unchanged":       ad.unchanged,
			"files_unchanged": ad.skipped, "failed": ad.failures.n, "sentences": ad.sentences, "seconds": took.Seconds()})
	} else {
		ad.a.Say("%s: %d added, %d replaced, %d unchanged, %d unreadable; %d sentences in %.1f s",
			ad.library, ad.added, ad.replaced, ad.unchanged+ad.skipped, ad.failures.n, ad.sentences, took.Seconds())
	}
	return cmp.Or(err, ad.failures.err())
}

// documents yields the documents of all files in order. Files other than tables and unchanged files are read ahead on all cores.
func (ad *adder) documents(ctx context.Context, r *instance.Reader, files []input) func(yield func(site.Incoming, error) bool) {
	return func(yield func(site.Incoming, error) bool) {
		read := func(ctx context.Context, f input) extracted {
			if tables.Kind(f.name) != "" || ad.unchangedFile(ctx, f) {
				return extracted{input: f}
			}
			items, err := readInput(ctx, r, f)
			return extracted{f, items, err}
		}
		for e := range parallel.Ahead(ctx, slices.Values(files), read) {
			if !ad.give(ctx, e, yield) {
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(site.Incoming{}, err)
		}
	}
}

// give passes the documents of one file to yield and reports whether to continue.
func (ad *adder) give(ctx context.Context, e extracted, yield func(site.Incoming, error) bool) bool {
	defer ad.bar.Add(1)
	state := store.SourceState{Library: ad.library, Path: e.place(), Size: e.size, Modified: e.modified}
	switch {
	case tables.Kind(e.name) != "":
		return ad.giveTable(ctx, e.input, state, yield)
	case ctx.Err() != nil:
		yield(site.Incoming{}, ctx.Err())
		return false
	case e.err != nil:
		yield(site.Incoming{}, e.err)
		return false
	case e.items == nil:
		ad.skipped++
		return true
	}
	for i, item := range e.items {
		ad.failures.leftOut += item.LeftOut.Count
		if item.Err != nil {
			if !ad.refuse(ctx, e.input, item.Path, item.Err, yield) {
				return false
			}
			continue
		}
		id := instance.NameOf(e.name, item.Path)
		d := site.Incoming{ID: concordat.DocumentID(id), Title: cmp.Or(item.Result.Title, instance.TitleOf(id)), Author: item.Result.Author,
			Text: item.Result.Text, Source: e.place()}
		d.Dated, d.DatedBy = instance.DateOf(string(ad.date), item.Result)
		if err := cmp.Or(ad.own(d, e.path), site.CheckText(d.Text)); err != nil {
			if !ad.refuse(ctx, e.input, item.Path, err, yield) {
				return false
			}
			continue
		}
		if i == len(e.items)-1 {
			ad.note(d.ID, state)
		}
		if !yield(d, nil) {
			return false
		}
	}
	return true
}

// refuse records why a document of a file was not added, and reports whether to continue.
func (ad *adder) refuse(ctx context.Context, f input, path string, why error, yield func(site.Incoming, error) bool) bool {
	if err := ad.fail(ctx, f, path, why); err != nil {
		yield(site.Incoming{}, err)
		return false
	}
	return true
}

// giveTable yields the documents of a table. A table is recorded as processed together with its last document.
func (ad *adder) giveTable(ctx context.Context, f input, state store.SourceState, yield func(site.Incoming, error) bool) bool {
	if ad.unchangedFile(ctx, f) {
		ad.skipped++
		return true
	}
	stopped := errors.New("stopped")
	var held *site.Incoming
	pass := func(d site.Incoming) error {
		if ad.date != "" {
			d.Dated, d.DatedBy = ad.date, concordat.DateGiven
		}
		if err := ad.own(d, f.path); err != nil {
			return ad.fail(ctx, f, concordat.EscapeName(f.path), err)
		}
		if !yield(d, nil) {
			return stopped
		}
		return nil
	}
	err := tables.Read(f.path, func(d site.Incoming) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		state.Documents++
		previous := held
		held = &d
		if previous == nil {
			return nil
		}
		return pass(*previous)
	})
	if err == nil && held != nil {
		ad.note(held.ID, state)
	}
	if held != nil && !errors.Is(err, stopped) {
		err = errors.Join(err, pass(*held))
	}
	switch {
	case errors.Is(err, stopped):
		return false
	case errors.Is(err, concordat.ErrInvalid), errors.As(err, new(*extract.Error)):
		err = ad.fail(ctx, f, concordat.EscapeName(f.path), err)
	}
	if err != nil {
		yield(site.Incoming{}, err)
		return false
	}
	return true
}

// own rejects an ID that occurs in two files of this run; otherwise the second document would silently replace the first.
func (ad *adder) own(d site.Incoming, path string) error {
	if other, ok := ad.owner[d.ID]; ok && other != path {
		return fmt.Errorf("document id %q: %w: %s uses the same id in this run; add the two files to different libraries, or add a folder that contains both", d.ID,
			concordat.ErrInvalid, concordat.EscapeName(other))
	}
	ad.owner[d.ID] = path
	return nil
}

// note records that the document with this ID is the last one of a file.
func (ad *adder) note(id concordat.DocumentID, s store.SourceState) {
	ad.mu.Lock()
	defer ad.mu.Unlock()
	ad.pending[id] = s
}

func (ad *adder) fail(ctx context.Context, f input, path string, err error) error {
	e := failed(path, err)
	member := strings.TrimPrefix(path, concordat.EscapeName(f.path))
	state := store.SourceState{Library: ad.library, Path: f.place() + member, Size: f.size, Modified: f.modified, Code: e.Code,
		Detail: e.Detail, Handled: time.Now()}
	return errors.Join(ad.failures.add(e), ad.o.Store.Catalogue.PutSourceState(ctx, state))
}

// ingested records a document that has reached the library.
func (ad *adder) ingested(d site.Ingested) error {
	switch d.Outcome {
	case site.Added:
		ad.added++
	case site.Replaced:
		ad.replaced++
	case site.Unchanged:
		ad.unchanged++
	}
	ad.sentences += d.Sentences
	ad.mu.Lock()
	state, last := ad.pending[d.ID]
	delete(ad.pending, d.ID)
	ad.mu.Unlock()
	if last {
		state.Documents, state.Handled = max(state.Documents, 1), time.Now()
		if err := ad.o.Store.Catalogue.PutSourceState(context.Background(), state); err != nil {
			return err
		}
	}
	if ad.a.JSON {
		return ad.a.Line(struct {
			Type string `json:"type"`
			site.Ingested
		}{"document", d})
	}
	return nil
}
