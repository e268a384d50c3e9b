package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/cmd/parallel"
	"concordat/lab/bench"
	"concordat/profile"
	"concordat/screen"
)

func (l *lab) benchCommand() *cobra.Command {
	c := &cobra.Command{Use: "bench", Short: "Benchmark Concordat against a plain in-memory table", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	c.PersistentFlags().StringVar(&l.figures.path, "benchfmt", "",
		"also append the figures to this file in Go benchmark format, for comparison with benchstat")
	c.AddCommand(l.benchRun(), l.benchIndex(), l.benchQuery(), l.benchFingerprint(), l.benchCheck(), l.benchJoin(), l.benchMemory(),
		l.benchGrowth(), l.benchIngest(), l.benchWeb(), l.benchCluster())
	return c
}

// scratch calls f with a temporary folder.
func scratch(f func(dir string) error) error {
	dir, err := os.MkdirTemp("", "concordat-bench-")
	if err != nil {
		return err
	}
	return errors.Join(f(dir), os.RemoveAll(dir))
}

func (l *lab) benchRun() *cobra.Command {
	var times int
	var name string
	c := &cobra.Command{Use: "run -- COMMAND [ARGUMENT]...", Short: "Measure the processor time and memory of a command",
		Args: cobra.MinimumNArgs(1),
		Long: `Run starts a command --rounds times, one after another, and measures the processor time of its processes, the elapsed
time and the peak memory of any one process. The command's output goes to standard error.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if times < 1 {
				return cli.Usagef("--rounds is %d, but must be at least 1", times)
			}
			if name == "" {
				name = strings.Join(append([]string{filepath.Base(args[0])}, args[1:min(2, len(args))]...), " ")
			}
			r, err := bench.Process(cmd.Context(), name, args, times, l.Stderr)
			if err != nil {
				return err
			}
			return l.figure("Run", r, "%s: %.2f s of processor time (minimum %.2f), %.2f s elapsed, %d rounds; peak %.0f MB", r.Command,
				r.CPU, r.Best, r.Wall, r.Rounds, r.Peak)
		}}
	c.Flags().IntVar(&times, "rounds", 1, "number of times to run the command; prints the median")
	c.Flags().StringVar(&name, "name", "", "name of the figure (default: the command and its first argument)")
	return c
}

func (l *lab) benchMemory() *cobra.Command {
	return &cobra.Command{Use: "memory", Short: "Measure this machine's memory speed, which limits lookups", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			r := bench.Memory()
			return l.figure("Memory", r, "memory: %.1f GB/s sequential, %.1f ns per independent random access, %.0f ns per dependent random access", r.Stream,
				r.Lines, r.Latency)
		}}
}

func (l *lab) benchCheck() *cobra.Command {
	var o bench.CheckOptions
	var channel string
	c := &cobra.Command{Use: "check", Short: "Benchmark each stage of a check against a library of generated text",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Sentences < 1 || o.Rounds < 1 || o.Documents < 0 || o.PerDocument < 1 || o.Submission < 1 {
				return cli.Usagef("--n, --rounds, --per-document and --submission must be at least 1, and --documents must not be negative")
			}
			ch, err := cli.ChannelFlag(channel)
			if err != nil {
				return err
			}
			o.Channel = ch
			if o.Documents > 0 && !cmd.Flags().Changed("n") {
				o.Sentences = 0
			}
			return scratch(func(dir string) error {
				return bench.Check(cmd.Context(), dir, o, func(r bench.CheckResult) error {
					return l.figure("Check", r, "%d documents, %d sentences; check of %d words: %.1f ms CPU (profile %.1f, probes %.1f, words %.1f, verify %.1f, align %.1f, keep %.1f), report %.1f ms; %d candidates, %d of %d sources found, %d sources in the report; start %.0f ms, ingest %.0f sentences per CPU second, peak %.0f MB",
						r.Documents, r.Sentences, r.Words, r.CPU, r.Fingerprint, r.Match, r.Search, r.Verify, r.Align, r.Keep, r.Report, r.Candidates,
						r.Found, r.Planted, r.Sources, r.Start, r.Rate, r.Peak)
				})
			})
		}}
	c.Flags().IntVarP(&o.Sentences, "n", "n", 100_000, "number of sentences in the library")
	c.Flags().IntVar(&o.Documents, "documents", 0, "number of documents in the library (default: enough for --n sentences)")
	c.Flags().IntVar(&o.PerDocument, "per-document", 200, "number of sentences, of 21 words each, in each document of the library")
	c.Flags().IntVar(&o.Submission, "submission", 200, "number of sentences in the submission")
	c.Flags().IntVar(&o.Rounds, "rounds", 5, "number of submissions to check")
	c.Flags().StringVar(&channel, "channel", "both", "how candidate sources are found: fingerprints, text or both")
	c.Flags().Uint64Var(&o.Seed, "seed", 1, "seed for the generated text")
	return c
}

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

// maxBenchText is the maximum text of one file that bench fingerprint reads, in bytes.
const maxBenchText = 32 << 20

func (l *lab) benchFingerprint() *cobra.Command {
	var scheme string
	var lines bool
	var times int
	c := &cobra.Command{Use: "fingerprint TEXTFILE...", Short: "Benchmark fingerprinting of text on one core",
		Args: cobra.MinimumNArgs(1),
		Long: `Fingerprint reads each plain-text file (UTF-8, at most its first 32 MiB) and measures, on one core, how text is turned
into fingerprints when documents are added. In each round, it also measures hashing of the text and reading of memory.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if times < 1 {
				return cli.Usagef("--rounds is %d, but must be at least 1", times)
			}
			p, err := profile.New(profile.Options{Recipe: scheme})
			if err != nil {
				return cli.Usage(err)
			}
			for _, path := range args {
				text, err := readText(path)
				if err != nil {
					return cli.Usage(err)
				}
				documents := []string{text}
				if lines {
					documents = strings.Split(strings.TrimSuffix(text, "\n"), "\n")
				}
				r, err := bench.Fingerprint(p, filepath.Base(path), documents, times)
				if err != nil {
					return err
				}
				if err := l.figure("Fingerprint", r, "%s: %.1f MB per CPU second (best of %d rounds: %.1f), %.0f sentences per CPU second (%s, %d bytes, %d sentences, %d documents); xxHash %.1f GB per second (%.0f times as fast); memory read %.1f GB per second; peak %.0f MB",
					r.File, r.Rate, r.Rounds, r.Best, r.Prints, r.Scheme, r.Bytes, r.Sentences, r.Documents, r.Hash, r.Hashes, r.Read,
					r.Peak); err != nil {
					return err
				}
			}
			return nil
		}}
	c.Flags().StringVar(&scheme, "scheme", profile.Natural, "fingerprint scheme")
	c.Flags().BoolVar(&lines, "lines", false, "treat each line as a document")
	c.Flags().IntVar(&times, "rounds", 1, "minimum number of rounds for each text, which run for at least two seconds in total; prints the median")
	return c
}

func readText(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxBenchText))
	if err != nil {
		return "", err
	}
	for i := 0; i < utf8.UTFMax && len(b) == maxBenchText-i && !utf8.Valid(b); i++ {
		b = b[:len(b)-1] // a rune cut by the limit
	}
	if !utf8.Valid(b) {
		return "", fmt.Errorf("%s is not UTF-8 text", path)
	}
	return string(b), nil
}

func (l *lab) benchJoin() *cobra.Command {
	var n int
	var seed uint64
	var one bool
	c := &cobra.Command{Use: "join", Short: "Benchmark the join of two libraries of fingerprints", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if n < 1 {
				return cli.Usagef("--n is %d, but must be at least 1", n)
			}
			probes := []concordat.Probe{concordat.ProbeExact}
			if one {
				probes = append(probes, concordat.ProbeOne)
			}
			for _, p := range probes {
				r, err := bench.Join(n, seed, p, func(docs []screen.Document, o screen.JoinOptions) (screen.Joined, error) {
					return parallel.Join(cmd.Context(), docs, o)
				})
				if err != nil {
					return err
				}
				if err := l.figure("Join", r, "join %-5s %d x %d sentences: %.2f CPU seconds (plain table %.2f, ratio %.2f), %.2f s on %d cores, %d pairs of documents, %d pairs missed, peak %.0f MB",
					r.Probe, r.Sentences, r.Sentences, r.CPU, r.TableCPU, r.Ratio, r.Clock, r.Cores, r.Pairs, r.Missed, r.Peak); err != nil {
					return err
				}
			}
			return nil
		}}
	c.Flags().IntVarP(&n, "n", "n", 1_000_000, "number of sentences in each library")
	c.Flags().Uint64Var(&seed, "seed", 1, "seed for the random fingerprints")
	c.Flags().BoolVar(&one, "one", false, "also join with one hash changed per band")
	return c
}

// benchSettle is the time allowed for merges after the last put.
const benchSettle = 5 * time.Second

func (l *lab) benchCluster() *cobra.Command {
	o := bench.ClusterOptions{Settle: benchSettle}
	c := &cobra.Command{Use: "cluster", Short: "Benchmark a growing cluster: throughput, latency and memory", Args: cobra.NoArgs,
		Long: `Cluster opens nodes in this process, connected over loopback, adds random fingerprints through all nodes, as documents
of 200 sentences, and runs queries at each size. Processor time is the total for all nodes.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Nodes < 1 || o.Shards < 1 || o.Copies < 1 || o.Copies > o.Nodes || o.Questions < 1 || o.Writers < 1 || len(o.Sizes) == 0 ||
				o.Sizes[0] < 200 || !slices.IsSorted(o.Sizes) {
				return cli.Usagef("all numbers must be at least 1, --copies must be at most --nodes, and --sizes must be ascending and at least 200")
			}
			return scratch(func(dir string) error {
				return bench.Cluster(cmd.Context(), dir, o, func(r bench.ClusterResult) error {
					return l.figure("Cluster", r, "%d sentences in %d copies: %.1f us CPU per sentence (ratio to one node %.2f, per follower %.2f), %.0f sentences per second, put p50 %.1f ms and p99 %.1f ms, lag %d records, drained in %.0f ms, %.1f bytes per sentence on disk and %.1f in memory; exact query p50 %.2f ms and p99 %.2f ms, %.2f us CPU; one-hash query p50 %.2f ms and p99 %.2f ms, %.2f us CPU; document query %.1f ms; %d pairs missed, peak %.0f MB",
						r.Sentences, r.Copies, r.CPU, r.Ratio, r.Follower, r.Rate, r.PutP50, r.PutP99, r.Lag, r.Drain, r.Bytes, r.Memory, r.ExactP50,
						r.ExactP99, r.Exact, r.OneP50, r.OneP99, r.One, r.Document, r.Missed, r.Resident)
				})
			})
		}}
	c.Flags().IntVar(&o.Nodes, "nodes", 3, "number of nodes")
	c.Flags().IntVar(&o.Shards, "shards", 8, "number of shards")
	c.Flags().IntVar(&o.Copies, "copies", 2, "number of copies of each shard")
	c.Flags().IntSliceVar(&o.Sizes, "sizes", []int{100_000, 1_000_000}, "numbers of sentences, ascending")
	c.Flags().IntVar(&o.Questions, "queries", 4000, "number of queries at each size, half of which have planted matches")
	c.Flags().IntVar(&o.Writers, "writers", 8, "number of documents to add concurrently")
	c.Flags().Uint64Var(&o.Seed, "seed", 1, "seed")
	return c
}
