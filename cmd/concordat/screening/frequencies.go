package screening

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/instance"
	"concordat/simhash"
)

// A file of frequencies consists of a line of JSON, frequencyHeader, followed by an entry for each feature, in ascending order, with 8
// bytes for the feature and 4 for its number of documents, both big-endian (doc/format.md).
type frequencyHeader struct {
	Type      string `json:"type"` // frequencies
	Features  string `json:"features"`
	StopWords string `json:"stop_words"`
	Stem      bool   `json:"stem"`
	Documents uint32 `json:"documents"`
	Counts    int    `json:"counts"`
}

const (
	frequencyBytes = 12
	maxFrequency   = 1 << 30 // maximum number of features in a file
)

func (a *commands) screenFrequenciesCommand() *cobra.Command {
	f := defaultPrint()
	f.IDF = IDFCollection
	var libraries []string
	var out string
	var memory int
	c := &cobra.Command{
		Use: "frequencies --library L --out FILE", Short: "Count how many documents contain each feature, for use with --idf", Args: cobra.NoArgs,
		Long: `Frequencies counts how many documents of one or more libraries contain each feature. Prints weighted by the same
file can be compared across libraries, sites and years: pass the file to screen prints --idf. The file contains hashes
of words and of runs of words, with their counts, but no text.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if out == "" || len(libraries) == 0 || memory < 1 {
				return cli.Usagef("--library and --out are required, and --memory must be at least 1")
			}
			m, err := NewPrintMaker(f)
			if err != nil {
				return err
			}
			return a.With(cmd.Context(), instance.WithIndex, func(o *instance.Instance) error {
				for _, l := range libraries {
					if _, err := o.Store.Catalogue.Library(cmd.Context(), concordat.LibraryID(l)); err != nil {
						return cli.Usagef("library %q: %w; to list the libraries, run concordat library list", l, err)
					}
				}
				return a.writeFrequencies(cmd.Context(), o, m, libraries, out, int64(memory)<<20)
			})
		},
	}
	f.DefineFeatures(c)
	c.Flags().StringArrayVar(&libraries, "library", nil, "library whose documents are counted; repeatable")
	c.Flags().StringVar(&out, "out", "", "file to write")
	c.Flags().IntVar(&memory, "memory", 1024, "memory for counting in MiB")
	return c
}

func (a *commands) writeFrequencies(ctx context.Context, o *instance.Instance, m *PrintMaker, libraries []string, out string,
	memory int64) error {
	counted, err := m.countFeatures(ctx, &a.Terminal, o, memory, libraries...)
	if err != nil {
		return err
	}
	h := frequencyHeader{"frequencies", m.Flags.Features, m.Flags.StopWords, m.Flags.Stem, uint32(counted.Documents()), counted.Features()}
	err = cli.WriteFiles(func(w []*bufio.Writer) error {
		line, err := json.Marshal(h)
		if err != nil {
			return err
		}
		if _, err := w[0].Write(append(line, '\n')); err != nil {
			return err
		}
		var b [frequencyBytes]byte
		for f, n := range counted.All() {
			binary.BigEndian.PutUint64(b[:], f)
			binary.BigEndian.PutUint32(b[8:], n)
			if _, err := w[0].Write(b[:]); err != nil {
				return err
			}
		}
		return nil
	}, out)
	if err != nil {
		return err
	}
	return a.Report(h, "wrote the counts of %d features in %d documents to %s", h.Counts, h.Documents, out)
}

// readFrequencies reads a file for --idf, which must describe the same features.
func readFrequencies(path string, f PrintOptions) (*simhash.Frequencies, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, cli.Usagef("--idf: want auto, collection, none or a file: %w", err)
	}
	defer file.Close()
	h, counted, err := parseFrequencies(file)
	if err != nil {
		return nil, cli.Usagef("--idf %s: %w", path, err)
	}
	if h.Features != f.Features || h.StopWords != f.StopWords || h.Stem != f.Stem {
		return nil, cli.Usagef("--idf %s: the file was made with --features %s --stop-words %s --stem=%t, not with %s, %s and %t", path, h.Features, h.StopWords,
			h.Stem, f.Features, f.StopWords, f.Stem)
	}
	return counted, nil
}

func parseFrequencies(r io.Reader) (h frequencyHeader, counted *simhash.Frequencies, err error) {
	const longestHeader = 4096
	in := bufio.NewReaderSize(r, 1<<20)
	var line []byte
	for len(line) < longestHeader {
		c, err := in.ReadByte()
		if err != nil || c == '\n' {
			break
		}
		line = append(line, c)
	}
	if err := json.Unmarshal(line, &h); err != nil || h.Type != "frequencies" || h.Counts < 0 || h.Counts > maxFrequency ||
		h.Documents > math.MaxUint32-1 {
		return h, nil, fmt.Errorf("the file was not made by concordat screen frequencies")
	}
	var b [frequencyBytes]byte
	fault, last := error(nil), uint64(0)
	counted, err = simhash.NewFrequencies(h.Documents, func(yield func(uint64, uint32) bool) {
		for i := range h.Counts {
			if _, fault = io.ReadFull(in, b[:]); fault != nil {
				fault = fmt.Errorf("the file ends after %d of %d features", i, h.Counts)
				return
			}
			f := binary.BigEndian.Uint64(b[:])
			if i > 0 && f <= last {
				fault = fmt.Errorf("feature %d is out of order", i)
				return
			}
			last = f
			if !yield(f, binary.BigEndian.Uint32(b[8:])) {
				return
			}
		}
	})
	if fault != nil {
		return h, nil, fault
	}
	return h, counted, err
}
