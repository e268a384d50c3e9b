package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"concordat"
	"concordat/cmd/cli"
	"concordat/cmd/concordat/screening"
	"concordat/instance"
	"concordat/internal/scripttest"
	"concordat/profile"
	"concordat/site"
	"concordat/store"
)

// screenMain is concordat screen without the rest of that program; it makes the prints that experiments read.
func screenMain() {
	s := &cli.Site{Terminal: cli.Terminal{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}}
	os.Exit(cli.Execute(context.Background(), screening.Command(s), os.Args[1:], &s.Terminal))
}

// newLibrary creates a site in a folder, with a library l of the documents given as lines of ID TAB TEXT.
func newLibrary(ctx context.Context, dir string, lines []string) error {
	if _, err := instance.Create(ctx, dir, "test", "", profile.Natural, "", false); err != nil {
		return err
	}
	s := &cli.Site{Data: dir}
	return s.With(ctx, instance.WithIndex, func(o *instance.Instance) error {
		if err := o.Store.Catalogue.CreateLibrary(ctx, store.Library{ID: "l"}); err != nil {
			return err
		}
		return o.Site.Ingest(ctx, "l", func(yield func(site.Incoming, error) bool) {
			for _, line := range lines {
				id, text, _ := strings.Cut(line, "\t")
				if !yield(site.Incoming{ID: concordat.DocumentID(id), Text: text}, nil) {
					return
				}
			}
		}, func(site.Ingested) error { return nil })
	})
}

// TestScreenScripts runs the commands in testdata/screen, on a site with the documents of rows.tsv.
func TestScreenScripts(t *testing.T) {
	t.Parallel()
	scripttest.Run(t, "testdata/screen", func(e *testscript.Env) error {
		rows, err := os.ReadFile(filepath.Join(e.WorkDir, "rows.tsv"))
		if err != nil {
			return err
		}
		dir := filepath.Join(e.WorkDir, "site")
		e.Setenv("CONCORDAT_DATA", dir)
		return newLibrary(t.Context(), dir, strings.Split(strings.TrimSuffix(string(rows), "\n"), "\n"))
	})
}
