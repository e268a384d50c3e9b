package main

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"concordat/cmd/cli"
	"concordat/lab/bench"
)

func (l *lab) benchIngest() *cobra.Command {
	var times int
	c := &cobra.Command{Use: "ingest FILE...", Short: "Benchmark each stage of adding files", Args: cobra.MinimumNArgs(1),
		Long: `Ingest measures how the time to add documents is divided among extraction, fingerprinting, the indexes of
fingerprints, texts and words, and the catalogue. Each stage runs over all files. In a .tsv file, the last column of
each line is a document.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if times < 1 {
				return cli.Usagef("--rounds is %d, but must be at least 1", times)
			}
			var files []bench.File
			for _, path := range args {
				more, err := benchFiles(path)
				if err != nil {
					return cli.Usage(err)
				}
				files = append(files, more...)
			}
			return scratch(func(dir string) error {
				r, err := bench.Ingest(cmd.Context(), dir, files, times)
				if err != nil {
					return err
				}
				total := float64(r.Sentences) / r.Rate
				share := func(s float64) float64 { return 100 * s / total }
				return l.figure("Ingest", r, "%d documents, %d bytes, %d sentences, %d files failed: %.2f CPU s, %.0f sentences per CPU second: extraction %.0f %%, fingerprints %.0f %%, band index %.0f %%, text index %.0f %%, word index %.0f %%, catalogue %.0f %%",
					r.Documents, r.Bytes, r.Sentences, r.Failed, total, r.Rate, share(r.Extract), share(r.Prints), share(r.Bands), share(r.Text),
					share(r.Words), share(r.Store))
			})
		}}
	c.Flags().IntVar(&times, "rounds", 3, "number of times to build each index; prints the median")
	return c
}

// benchFiles reads a file, or the documents of a table.
func benchFiles(path string) ([]bench.File, error) {
	if filepath.Ext(path) != ".tsv" {
		b, err := os.ReadFile(path)
		return []bench.File{{Name: filepath.Base(path), Data: b}}, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []bench.File
	in := bufio.NewScanner(f)
	in.Buffer(nil, maxBenchText)
	for in.Scan() {
		line := in.Text()
		out = append(out, bench.File{Name: "row", Text: strings.ToValidUTF8(line[strings.LastIndexByte(line, '\t')+1:], "?")})
	}
	return out, in.Err()
}
