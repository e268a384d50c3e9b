package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/bench"
	"concordat/profile"
)

func (a *app) benchCommand() *cobra.Command {
	c := &cobra.Command{Use: "bench", Short: "Measure speed, with ratios to a plain table in memory", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	c.PersistentFlags().StringVar(&a.figures.path, "benchfmt", "", "also add the figures to this file in the format of Go's benchmarks, which benchstat compares")
	c.AddCommand(a.benchRun(), a.benchIndex(), a.benchQuery(), a.benchFingerprint(), a.benchCheck(), a.benchJoin(), a.benchMemory(), a.benchGrowth(), a.benchIngest(), a.benchWeb(), a.benchCluster(), a.benchOccupancy())
	return c
}

// printFlags say which fingerprints are measured.
type printFlags struct {
	n, questions int
	seed         uint64
	in, dump     string
}

func (f *printFlags) add(c *cobra.Command) {
	c.Flags().IntVarP(&f.n, "n", "n", 1_000_000, "number of random fingerprints")
	c.Flags().IntVar(&f.questions, "queries", 100_000, "number of queries, half of them planted")
	c.Flags().Uint64Var(&f.seed, "seed", 1, "seed of the random fingerprints")
	c.Flags().StringVar(&f.in, "prints", "", "read fingerprints and queries from this file (exchange format, doc/format.md)")
	c.Flags().StringVar(&f.dump, "dump", "", "also write them to this file")
}

func (f *printFlags) load() ([]concordat.Fingerprint, []bench.Question, error) {
	if f.n < 1 || f.questions < 1 {
		return nil, nil, usagef("--n %d, --queries %d: must be at least 1", f.n, f.questions)
	}
	prints, qs := []concordat.Fingerprint(nil), []bench.Question(nil)
	if f.in == "" {
		prints, qs = bench.Prints(f.n, f.questions, f.seed)
	} else {
		file, err := os.Open(f.in)
		if err != nil {
			return nil, nil, usage(err)
		}
		defer file.Close()
		if prints, qs, err = bench.ReadPrints(file); err != nil {
			return nil, nil, usage(err)
		}
		if len(prints) == 0 || len(qs) == 0 {
			return nil, nil, usagef("%s holds %d fingerprints and %d queries: want at least one of each", f.in, len(prints), len(qs))
		}
	}
	if f.dump == "" {
		return prints, qs, nil
	}
	out, err := os.Create(f.dump)
	if err != nil {
		return nil, nil, usage(err)
	}
	return prints, qs, errors.Join(bench.WritePrints(out, prints, qs), out.Close())
}

// scratch calls f with a temporary folder.
func scratch(f func(dir string) error) error {
	dir, err := os.MkdirTemp("", "concordat-bench-")
	if err != nil {
		return err
	}
	return errors.Join(f(dir), os.RemoveAll(dir))
}

func (a *app) benchIndex() *cobra.Command {
	var f printFlags
	c := &cobra.Command{Use: "index", Short: "Build an index of fingerprints: speed and size", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			prints, _, err := f.load()
			if err != nil {
				return err
			}
			return scratch(func(dir string) error {
				return bench.Index(cmd.Context(), dir, prints, func(r bench.IndexResult) error {
					return a.figure("Index", r, "%-6s %d sentences: %.0f sentences per CPU second (plain table %.0f, ratio %.2f), %.1f bytes per sentence, peak %.0f MB",
						r.Build, r.Sentences, r.Rate, r.TableRate, r.Ratio, r.Bytes, r.Peak)
				})
			})
		}}
	f.add(c)
	return c
}

func (a *app) benchQuery() *cobra.Command {
	var f printFlags
	var o bench.QueryOptions
	c := &cobra.Command{Use: "query", Short: "Ask an index: the derived table and Bleve itself, exact and with probes", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Rounds < 1 || o.Path != "" && o.Path != "table" && o.Path != "bleve" {
				return usagef("--rounds must be at least 1, --path table or bleve")
			}
			prints, qs, err := f.load()
			if err != nil {
				return err
			}
			return scratch(func(dir string) error {
				return bench.Query(cmd.Context(), dir, prints, qs, o, func(r bench.QueryResult) error {
					return a.figure("Query", r, "%-5s %-5s %d sentences: %.2f us CPU a sentence, the best of %d rounds %.2f (plain table %.2f, ratio %.2f; as %.0f lines of memory at random), document of 200 %.2f ms, p50 %.1f us, p99 %.1f us, %.1f candidates, %d missed",
						r.Path, r.Probe, r.Sentences, r.CPU, r.Rounds, r.Best, r.TableCPU, r.Ratio, r.Lines, r.Document, r.P50, r.P99, r.Candidates, r.Missed)
				})
			})
		}}
	f.add(c)
	c.Flags().IntVar(&o.Rounds, "rounds", 3, "times that every question is asked; the median is taken")
	c.Flags().StringVar(&o.Path, "path", "", "only the derived table, or only bleve itself: table or bleve")
	return c
}

func (a *app) benchCheck() *cobra.Command {
	var o bench.CheckOptions
	var channel string
	c := &cobra.Command{Use: "check", Short: "Check a submission against a library of made-up text: processor time by stage", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Sentences < 1 || o.Rounds < 1 || o.Documents < 0 || o.PerDocument < 1 || o.Submission < 1 {
				return usagef("--n, --rounds, --per-document and --submission must be at least 1, --documents at least 0")
			}
			ch, err := channelFlag(channel)
			if err != nil {
				return err
			}
			o.Channel = ch
			if o.Documents > 0 && !cmd.Flags().Changed("n") {
				o.Sentences = 0
			}
			return scratch(func(dir string) error {
				return bench.Check(cmd.Context(), dir, o, func(r bench.CheckResult) error {
					return a.figure("Check", r, "%d documents, %d sentences; %d words asked: %.1f ms CPU (profile %.1f, probes %.1f, words %.1f, verify %.1f, align %.1f, keep %.1f), report %.1f; %d candidates, %d of %d sources found, %d named; start %.0f ms, ingest %.0f sentences per CPU second, peak %.0f MB",
						r.Documents, r.Sentences, r.Words, r.CPU, r.Fingerprint, r.Match, r.Search, r.Verify, r.Align, r.Keep, r.Report, r.Candidates, r.Found, r.Planted, r.Sources, r.Start, r.Rate, r.Peak)
				})
			})
		}}
	c.Flags().IntVarP(&o.Sentences, "n", "n", 100_000, "sentences of the library")
	c.Flags().IntVar(&o.Documents, "documents", 0, "documents of the library; what --n makes if not given")
	c.Flags().IntVar(&o.PerDocument, "per-document", 200, "sentences of a document of the library, 21 words each")
	c.Flags().IntVar(&o.Submission, "submission", 200, "sentences of the submission")
	c.Flags().IntVar(&o.Rounds, "rounds", 5, "submissions checked")
	c.Flags().StringVar(&channel, "channel", "both", "by what source documents are nominated: both, fingerprints or text")
	c.Flags().Uint64Var(&o.Seed, "seed", 1, "seed of the text")
	return c
}

// mostBenchText bounds the text of one file that bench fingerprint reads, in bytes.
const mostBenchText = 32 << 20

func (a *app) benchFingerprint() *cobra.Command {
	var scheme string
	var lines bool
	var times int
	c := &cobra.Command{Use: "fingerprint TEXTFILE...", Short: "Fingerprint text: megabytes a CPU second on one core", Args: cobra.MinimumNArgs(1),
		Long: `Fingerprint reads each plain-text file (UTF-8, at most its first 32 MiB) and measures the way from
text to fingerprints as ingest goes it, on one core, in turn with hashing the text and with reading memory.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if times < 1 {
				return usagef("--rounds %d: must be at least 1", times)
			}
			p, err := profile.New(profile.Options{Recipe: scheme})
			if err != nil {
				return usage(err)
			}
			for _, path := range args {
				text, err := readText(path)
				if err != nil {
					return usage(err)
				}
				documents := []string{text}
				if lines {
					documents = strings.Split(strings.TrimSuffix(text, "\n"), "\n")
				}
				r, err := bench.Fingerprint(p, filepath.Base(path), documents, times)
				if err != nil {
					return err
				}
				if err := a.figure("Fingerprint", r, "%s: %.1f MB per CPU second, the best of %d rounds %.1f, %.0f sentences per CPU second (%s, %d bytes, %d sentences, %d documents); xxHash of it %.1f GB, %.0f times; memory read %.1f GB; peak %.0f MB",
					r.File, r.Rate, r.Rounds, r.Best, r.Prints, r.Scheme, r.Bytes, r.Sentences, r.Documents, r.Hash, r.Hashes, r.Read, r.Peak); err != nil {
					return err
				}
			}
			return nil
		}}
	c.Flags().StringVar(&scheme, "scheme", profile.Natural, "fingerprint scheme")
	c.Flags().BoolVar(&lines, "lines", false, "take each line for a document")
	c.Flags().IntVar(&times, "rounds", 1, "least number of times that each text is taken, and two seconds; the median is printed")
	return c
}

func readText(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, mostBenchText))
	if err != nil {
		return "", err
	}
	for i := 0; i < utf8.UTFMax && len(b) == mostBenchText-i && !utf8.Valid(b); i++ {
		b = b[:len(b)-1] // a rune that the limit cut
	}
	if !utf8.Valid(b) {
		return "", fmt.Errorf("%s is not UTF-8", path)
	}
	return string(b), nil
}
