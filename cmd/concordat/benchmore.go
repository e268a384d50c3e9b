package main

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/bench"
	"concordat/profile"
	"concordat/screen"
)

func (a *app) benchMemory() *cobra.Command {
	return &cobra.Command{Use: "memory", Short: "Measure the memory of this machine, which limits look-ups", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			r := bench.Memory()
			return a.figure("Memory", r, "memory: %.1f GB/s in order, %.1f ns a line at random, %.0f ns where each names the next", r.Stream, r.Lines, r.Latency)
		}}
}

func (a *app) benchGrowth() *cobra.Command {
	var sizes []int
	var questions, times int
	var seed uint64
	var text string
	c := &cobra.Command{Use: "growth", Short: "Build, open and ask indexes of growing size", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, n := range sizes {
				if n < 1 || questions < 1 || times < 1 {
					return usagef("--sizes, --queries and --rounds must be at least 1")
				}
				prints, qs, err := growthPrints(text, n, questions, seed)
				if err != nil {
					return err
				}
				err = scratch(func(dir string) error {
					r, err := bench.Growth(cmd.Context(), dir, prints, qs, times)
					if err != nil {
						return err
					}
					return a.figure("Growth"+ofText(text), r, "%d sentences, %d distinct: %.0f built per CPU second, %.1f bytes on disk and %.1f in memory a sentence, opened in %.2f CPU s with at most %.0f MB, closed in %.2f s keeping %.1f bytes a sentence, with these opened in %.2f s; exact %.2f us, one hash %.2f us (as %.0f lines of memory at random) with %.1f matches, %d missed, peak %.0f MB",
						r.Sentences, r.Distinct, r.Build, r.Bytes, r.Memory, r.Open, r.OpenPeak, r.Close, r.Kept, r.Warm, r.Exact, r.One, r.Lines, r.Found, r.Missed, r.Peak)
				})
				if err != nil {
					return err
				}
			}
			return nil
		}}
	c.Flags().IntSliceVar(&sizes, "sizes", []int{100_000, 1_000_000, 5_000_000}, "numbers of sentences")
	c.Flags().IntVar(&questions, "queries", 20_000, "number of queries, half of them planted")
	c.Flags().IntVar(&times, "rounds", 5, "times that every question is asked; the median is taken")
	c.Flags().Uint64Var(&seed, "seed", 1, "seed")
	c.Flags().StringVar(&text, "text", "", "text file to make fingerprints from, edited over and over, in place of random ones")
	return c
}

// ofText tells figures of real text from those of random fingerprints.
func ofText(text string) string {
	if text == "" {
		return ""
	}
	return "Text"
}

func growthPrints(text string, n, questions int, seed uint64) ([]concordat.Fingerprint, []bench.Question, error) {
	if text == "" {
		prints, qs := bench.Prints(n, questions, seed)
		return prints, qs, nil
	}
	p, err := profile.New(profile.Options{})
	if err != nil {
		return nil, nil, err
	}
	t, err := readText(text)
	if err != nil {
		return nil, nil, usage(err)
	}
	return bench.TextPrints(p, t, n, questions, seed)
}

func (a *app) benchIngest() *cobra.Command {
	var times int
	c := &cobra.Command{Use: "ingest FILE...", Short: "Take files in stage by stage: processor time of each", Args: cobra.MinimumNArgs(1),
		Long: `Ingest measures where the time of taking documents in goes: extraction, fingerprints, the index of
fingerprints, texts and words, and the catalogue, each stage over all files. Of a .tsv file the last column of each
line is a document.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if times < 1 {
				return usagef("--rounds %d: must be at least 1", times)
			}
			var files []bench.File
			for _, path := range args {
				more, err := benchFiles(path)
				if err != nil {
					return usage(err)
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
				return a.figure("Ingest", r, "%d documents, %d bytes, %d sentences, %d files failed: %.2f CPU s, %.0f sentences per CPU second: extraction %.0f %%, fingerprints %.0f %%, index of bands %.0f %%, of texts %.0f %%, of words %.0f %%, catalogue %.0f %%",
					r.Documents, r.Bytes, r.Sentences, r.Failed, total, r.Rate, share(r.Extract), share(r.Prints), share(r.Bands), share(r.Text), share(r.Words), share(r.Store))
			})
		}}
	c.Flags().IntVar(&times, "rounds", 3, "times that each index is made; the median is taken")
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
	in.Buffer(nil, mostBenchText)
	for in.Scan() {
		line := in.Text()
		out = append(out, bench.File{Name: "row", Text: strings.ToValidUTF8(line[strings.LastIndexByte(line, '\t')+1:], "?")})
	}
	return out, in.Err()
}

func (a *app) benchJoin() *cobra.Command {
	var n int
	var seed uint64
	var one bool
	c := &cobra.Command{Use: "join", Short: "Join two libraries of fingerprints with each other", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if n < 1 {
				return usagef("--n %d: must be at least 1", n)
			}
			probes := []concordat.Probe{concordat.ProbeExact}
			if one {
				probes = append(probes, concordat.ProbeOne)
			}
			for _, p := range probes {
				r, err := bench.Join(n, seed, p, func(docs []screen.Document, o screen.JoinOptions) (screen.Joined, error) {
					return joinOnAllCores(cmd.Context(), docs, o)
				})
				if err != nil {
					return err
				}
				if err := a.figure("Join", r, "join %-5s %d x %d sentences: %.2f CPU seconds (plain table %.2f, ratio %.2f), %.2f s on %d cores, %d pairs of documents, %d missed, peak %.0f MB",
					r.Probe, r.Sentences, r.Sentences, r.CPU, r.TableCPU, r.Ratio, r.Clock, r.Cores, r.Pairs, r.Missed, r.Peak); err != nil {
					return err
				}
			}
			return nil
		}}
	c.Flags().IntVarP(&n, "n", "n", 1_000_000, "sentences of each library")
	c.Flags().Uint64Var(&seed, "seed", 1, "seed of the random fingerprints")
	c.Flags().BoolVar(&one, "one", false, "also with one hash of a band changed")
	return c
}
