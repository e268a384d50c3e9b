package screening

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"concordat/cmd/cli"
)

// Packed tables include the documents of the prints if FILE.ids lists them. For each print, packedNames contains eight bytes with the
// print and eight with the offset of its name in packedIDs, both big-endian. A name ends with a line feed.
const (
	packedNames = "documents"
	packedIDs   = "documents.ids"
	nameBytes   = 16
	longestName = 4096
)

// writeNames writes the documents of packed prints.
func writeNames(dir string, prints []uint64, ids []string) error {
	type place struct{ print, at uint64 }
	places := make([]place, len(prints))
	at := uint64(0)
	for i, p := range prints {
		places[i] = place{p, at}
		at += uint64(len(ids[i])) + 1
	}
	slices.SortStableFunc(places, func(a, b place) int {
		switch {
		case a.print < b.print:
			return -1
		case a.print > b.print:
			return 1
		}
		return 0
	})
	return cli.WriteFiles(func(w []*bufio.Writer) error {
		for _, id := range ids {
			if _, err := w[0].WriteString(id + "\n"); err != nil {
				return err
			}
		}
		for _, p := range places {
			b := binary.BigEndian.AppendUint64(nil, p.print)
			if _, err := w[1].Write(binary.BigEndian.AppendUint64(b, p.at)); err != nil {
				return err
			}
		}
		return nil
	}, filepath.Join(dir, packedIDs), filepath.Join(dir, packedNames))
}

// nameFiles looks up documents on disk.
type nameFiles struct {
	places, ids *os.File
	n           int // number of prints
}

// openNames opens the documents of packed tables, or returns nil if there are none.
func openNames(dir string) (*nameFiles, error) {
	places, err := os.Open(filepath.Join(dir, packedNames))
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	ids, err := os.Open(filepath.Join(dir, packedIDs))
	if err != nil {
		return nil, fmt.Errorf("%w; run concordat screen pack again", err)
	}
	info, err := places.Stat()
	if err == nil && info.Size()%nameBytes != 0 {
		err = fmt.Errorf("%s: file size of %d bytes is invalid; run concordat screen pack again", places.Name(), info.Size())
	}
	if err != nil {
		return nil, err
	}
	return &nameFiles{places, ids, int(info.Size() / nameBytes)}, nil
}

func (f *nameFiles) close() {
	if f != nil {
		_, _ = f.places.Close(), f.ids.Close() // only read
	}
}

// of returns the documents of a print, in the order of the packed file.
func (f *nameFiles) of(print uint64) (names []string, err error) {
	var b [nameBytes]byte
	read := func(i int) bool {
		if err == nil {
			_, err = f.places.ReadAt(b[:], int64(i)*nameBytes)
		}
		return err == nil
	}
	first := sort.Search(f.n, func(i int) bool { return !read(i) || binary.BigEndian.Uint64(b[:]) >= print })
	for i := first; i < f.n && read(i) && binary.BigEndian.Uint64(b[:]) == print; i++ {
		r := bufio.NewReaderSize(io.NewSectionReader(f.ids, int64(binary.BigEndian.Uint64(b[8:])), longestName), longestName)
		name, err := r.ReadString('\n')
		if err != nil {
			return nil, fmt.Errorf("%s: cannot read a document name at offset %d; run concordat screen pack again", f.ids.Name(), binary.BigEndian.Uint64(b[8:]))
		}
		names = append(names, strings.TrimSuffix(name, "\n"))
	}
	return names, err
}
