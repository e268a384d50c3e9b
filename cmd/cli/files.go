package cli

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"slices"
)

// WriteFiles writes either all files under their final names or none.
func WriteFiles(write func([]*bufio.Writer) error, paths ...string) (err error) {
	var files []*os.File
	var writers []*bufio.Writer
	defer func() {
		for _, f := range files {
			err = errors.Join(err, f.Close())
		}
		for i, f := range files {
			if err == nil {
				err = os.Rename(f.Name(), paths[i])
			} else {
				_ = os.Remove(f.Name())
			}
		}
	}()
	for _, path := range paths {
		f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".part-*")
		if err != nil {
			return err
		}
		files, writers = append(files, f), append(writers, bufio.NewWriterSize(f, 1<<20))
	}
	if err := write(slices.Clone(writers)); err != nil {
		return err
	}
	for _, w := range writers {
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return nil
}
