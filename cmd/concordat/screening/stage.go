package screening

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/instance"
	"concordat/screen"
	"concordat/screen/stage"
	"concordat/segment"
)

const stageLong = `A stage reads lines on standard input and writes lines on standard output, with tab-separated fields, the
first being the key. It needs no site, keeps no state, and writes the same lines for the same input, so an engine
such as Spark, Slurm or Kubernetes may divide the input at any line, run a stage twice, and drop half-written
output. A reduce stage needs all lines of its keys, sorted by their bytes (merge does that).

Exit codes: 0 done; 2 the input or options are wrong (the message names the line), so do not retry; 1 anything
else, so a retry may succeed.

  near prints         prints, buckets  | pairs
  near given prints   prints, near --queries FILE
  resembling texts    shingles         | shared  | merge --sum, resemblance
  short texts         grams            | alike

| means that lines are divided by key (split, merge). A document is an identifier, a tab and the text (fields in
between are ignored), or a JSON object with id and text, as concordat screen documents writes. For drivers, see
doc/screening-at-scale.md.`

func (a *commands) screenStageCommand() *cobra.Command {
	c := &cobra.Command{Use: "stage", Short: "Run one step of a screening on a batch engine", Long: stageLong, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	c.AddCommand(a.stagePrints(), a.stageBuckets(), a.stagePairs(), a.stageNear(), a.stageShingles(), a.stageShared(),
		a.stageResemblance(), a.stageGrams(), a.stageAlike(), a.stageMerge(), a.stageSplit())
	return c
}

// stage returns a command that filters standard input to standard output. build creates do from the flags.
func (a *commands) stage(use, short string, do func(in io.Reader, out io.Writer) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error {
		out := bufio.NewWriterSize(a.Stdout, 1<<18)
		return misinput(errors.Join(do(a.Stdin, out), out.Flush()))
	}}
}

// misinput converts input errors to usage errors.
func misinput(err error) error {
	var fault *stage.InputError
	if errors.As(err, &fault) {
		return cli.Usage(err)
	}
	return err
}

func (a *commands) stagePrints() *cobra.Command {
	f := defaultPrint()
	f.IDF = IDFNone
	c := a.stage("prints", "Map documents to their prints: identifier, 16 hexadecimal digits", func(in io.Reader, out io.Writer) error {
		if f.IDF == IDFAuto || f.IDF == IDFCollection {
			return cli.Usagef("--idf %s: a stage sees only part of the collection; want none, or a file written by concordat screen frequencies", f.IDF)
		}
		m, err := NewPrintMaker(f)
		if err != nil {
			return err
		}
		return stage.Prints(in, out, func(t *segment.Text) (uint64, bool, error) {
			p, any, err := m.print(t)
			return p[0], any, err
		})
	})
	f.DefineFeatures(c)
	f.DefineWeights(c)
	f.Bits, f.IDF = 64, IDFNone
	c.Flag("idf").DefValue = IDFNone
	c.Flag("idf").Usage = "how to weight features by rarity: none, or a FILE written by screen frequencies"
	return c
}

// stageDesign defines the flags of a design. The function that it returns creates the design from them.
func stageDesign(c *cobra.Command) func() (*screen.Design, error) {
	k := c.Flags().Int("distance", 3, "maximum number of bits in which two prints may differ")
	levels := c.Flags().IntSlice("levels", nil, "number of table blocks at each level, such as 5 or 4,4; buckets and pairs need the same; "+
		"concordat screen plan --prints N suggests numbers (default: one more than --distance)")
	return func() (*screen.Design, error) {
		l := *levels
		if len(l) == 0 {
			l = []int{*k + 1}
		}
		d, err := screen.NewDesign(64, *k, l...)
		if err != nil {
			return nil, cli.Usagef("--distance, --levels: %w", err)
		}
		return d, nil
	}
}

func (a *commands) stageBuckets() *cobra.Command {
	var design func() (*screen.Design, error)
	c := a.stage("buckets", "Map prints to a bucket of each table: bucket, print, identifier", func(in io.Reader, out io.Writer) error {
		d, err := design()
		if err != nil {
			return err
		}
		return stage.Buckets(in, out, d)
	})
	design = stageDesign(c)
	return c
}

func (a *commands) stagePairs() *cobra.Command {
	var design func() (*screen.Design, error)
	c := a.stage("pairs", "Reduce buckets to pairs of near prints: both identifiers, distance", func(in io.Reader, out io.Writer) error {
		d, err := design()
		if err != nil {
			return err
		}
		return stage.Pairs(in, out, d)
	})
	design = stageDesign(c)
	return c
}

func (a *commands) stageNear() *cobra.Command {
	var design func() (*screen.Design, error)
	var queries string
	const short = "Map stored prints to queries near them: query, stored, distance"
	c := a.stage("near --queries FILE", short, func(in io.Reader, out io.Writer) error {
		d, err := design()
		if err != nil {
			return err
		}
		if queries == "" {
			return cli.Usagef("--queries is required: give a file written by concordat screen stage prints")
		}
		f, err := os.Open(queries)
		if err != nil {
			return cli.Usage(err)
		}
		defer f.Close()
		return stage.Near(in, out, d, f)
	})
	design = stageDesign(c)
	c.Flags().StringVar(&queries, "queries", "", "file of the query prints, which every task reads")
	return c
}

func (a *commands) stageShingles() *cobra.Command {
	var s screen.Shingling
	var modulus uint64
	const short = "Map documents to a sample of their shingles: shingle, identifier, number of shingles"
	c := a.stage("shingles", short, func(in io.Reader, out io.Writer) error {
		if s.Width < 1 || s.Width > 1000 || modulus < 1 {
			return cli.Usagef("--width %d, --modulus %d: want a width from 1 to 1000 and a modulus of at least 1", s.Width, modulus)
		}
		return stage.Shingles(in, out, s, modulus)
	})
	c.Flags().IntVar(&s.Width, "width", 5, "number of words, or letters, in a shingle")
	c.Flags().BoolVar(&s.Letters, "letters", false, "use shingles of letters instead of words")
	c.Flags().Uint64Var(&modulus, "modulus", 25, "sample one in this many shingles")
	return c
}

func (a *commands) stageShared() *cobra.Command {
	var common int
	const short = "Reduce shingles to the pairs of documents that share them: both identifiers, their numbers of shingles, 1"
	c := a.stage("shared", short, func(in io.Reader, out io.Writer) error {
		if common < 1 {
			return cli.Usagef("--common %d: want 1 or more", common)
		}
		return stage.Shared(in, out, common)
	})
	c.Flags().IntVar(&common, "common", 200, "for a shingle in more documents than this, pair each document with only this many earlier ones")
	return c
}

func (a *commands) stageResemblance() *cobra.Command {
	var threshold float64
	var contained bool
	c := a.stage("resemblance", "Map the sums written by merge --sum to pairs: both identifiers, resemblance, share of each in the other",
		func(in io.Reader, out io.Writer) error {
			if err := checkShare(threshold); err != nil {
				return err
			}
			return stage.Resemblance(in, out, threshold, contained)
		})
	c.Flags().Float64Var(&threshold, "threshold", 0.3, "minimum resemblance of a pair")
	c.Flags().BoolVar(&contained, "contained", false, "apply the threshold to the share of either document that is found in the other")
	return c
}

func checkShare(threshold float64) error {
	if !(threshold > 0 && threshold <= 1) {
		return cli.Usagef("--threshold %v: want a share above 0, at most 1", threshold)
	}
	return nil
}

// stageShort defines the flags that grams and alike have in common.
func stageShort(c *cobra.Command) func() (float64, *stage.Counts, error) {
	threshold := c.Flags().Float64("threshold", 0.6, "minimum Jaccard similarity of a pair; use the same value for grams and alike")
	counts := c.Flags().String("counts", "", "file of gram counts (from grams --count and merge --sum); use the same file for grams and alike: "+
		"the rarest grams then become the keys, which far fewer texts share")
	return func() (float64, *stage.Counts, error) {
		if err := checkShare(*threshold); err != nil || *counts == "" {
			return *threshold, &stage.Counts{}, err
		}
		f, err := os.Open(*counts)
		if err != nil {
			return 0, nil, cli.Usage(err)
		}
		defer f.Close()
		known, err := stage.ReadCounts(f)
		if err != nil {
			return 0, nil, fmt.Errorf("%s: %w", *counts, err)
		}
		return *threshold, known, nil
	}
}

func (a *commands) stageGrams() *cobra.Command {
	var flags func() (float64, *stage.Counts, error)
	var count bool
	c := a.stage("grams", "Map short texts to their rarest grams: gram, identifier, letters", func(in io.Reader, out io.Writer) error {
		threshold, known, err := flags()
		if err != nil {
			return err
		}
		if count {
			return stage.GramCounts(in, out)
		}
		return stage.Grams(in, out, threshold, known)
	})
	flags = stageShort(c)
	c.Flags().BoolVar(&count, "count", false, "write every gram with a count of 1, for use with --counts")
	return c
}

func (a *commands) stageAlike() *cobra.Command {
	var flags func() (float64, *stage.Counts, error)
	const short = "Reduce grams to pairs of similar short texts: both identifiers, similarity"
	c := a.stage("alike", short, func(in io.Reader, out io.Writer) error {
		threshold, known, err := flags()
		if err != nil {
			return err
		}
		return stage.Alike(in, out, threshold, known)
	})
	flags = stageShort(c)
	return c
}

func (a *commands) stageMerge() *cobra.Command {
	var sum bool
	var memory int
	var folder string
	c := &cobra.Command{Use: "merge [FILE...]", Short: "Sort lines by their bytes and drop duplicates, within --memory",
		RunE: func(_ *cobra.Command, args []string) error {
			if memory < 1 || memory > 1<<20 {
				return cli.Usagef("--memory %d: want 1 to %d MiB", memory, 1<<20)
			}
			debug.SetMemoryLimit(int64(memory+mergeBase) << 20)
			in := []io.Reader{a.Stdin}
			for i, path := range args {
				f, err := os.Open(path)
				if err != nil {
					return cli.Usage(err)
				}
				defer f.Close()
				if i == 0 {
					in = nil
				}
				in = append(in, f)
			}
			return misinput((&stage.Merge{Space: spillFolder(folder), Bytes: int64(memory) << 20, Sum: sum}).Run(in, a.Stdout))
		}}
	c.Flags().BoolVar(&sum, "sum", false, "add up the last fields of lines whose other fields are equal")
	c.Flags().IntVar(&memory, "memory", 64, "memory for lines, in MiB")
	c.Flags().StringVar(&folder, "work", "", "folder for lines that do not fit in memory (default: the system's temporary folder)")
	return c
}

// mergeBase is the memory in MiB that merge may use beyond its lines before it collects garbage more often.
const mergeBase = 24

// spillFolder provides unnamed files for sorting, which disappear when the process ends.
type spillFolder string

func (s spillFolder) Create() (screen.Spill, error) {
	f, err := os.CreateTemp(string(s), "concordat-merge-")
	if err != nil {
		return nil, err
	}
	return f, os.Remove(f.Name())
}

func (a *commands) stageSplit() *cobra.Command {
	var parts int
	var out string
	c := &cobra.Command{Use: "split --parts N --out DIR", Short: "Divide lines by key among the files DIR/0, DIR/1 and so on",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if parts < 1 || parts > 1<<12 || out == "" {
				return cli.Usagef("--parts %d, --out %q: want 1 to %d parts and a folder", parts, out, 1<<12)
			}
			if err := os.MkdirAll(out, 0o755); err != nil {
				return err
			}
			paths := make([]string, parts)
			for i := range paths {
				paths[i] = filepath.Join(out, fmt.Sprint(i))
			}
			return misinput(cli.WriteFiles(func(w []*bufio.Writer) error {
				to := make([]io.Writer, parts)
				for i := range w {
					to[i] = w[i]
				}
				return stage.Split(a.Stdin, to)
			}, paths...))
		}}
	c.Flags().IntVar(&parts, "parts", 0, "number of files, one for each reduce task")
	c.Flags().StringVar(&out, "out", "", "folder to write; each task needs its own")
	return c
}

func (a *commands) screenDocumentsCommand() *cobra.Command {
	var library string
	c := &cobra.Command{Use: "documents --library L", Short: "Write the documents of a library as JSON lines, the input of screen stage",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.With(cmd.Context(), instance.WithIndex, func(o *instance.Instance) error {
				return a.screenDocuments(cmd.Context(), o, concordat.LibraryID(library))
			})
		}}
	c.Flags().StringVar(&library, "library", "", "library of the documents")
	return c
}

func (a *commands) screenDocuments(ctx context.Context, o *instance.Instance, library concordat.LibraryID) (err error) {
	if _, err := o.Store.Catalogue.Library(ctx, library); errors.Is(err, concordat.ErrNotFound) {
		return cli.Usagef("no library %q; to list the libraries, run concordat library list", library)
	} else if err != nil {
		return err
	}
	out := bufio.NewWriterSize(a.Stdout, 1<<18)
	defer func() { err = errors.Join(err, out.Flush()) }()
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	unread := 0
	for d, err := range o.LibraryDocuments(ctx, library) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			unread++
			a.Warn("%v", err)
			continue
		}
		line := struct {
			ID    concordat.DocumentID `json:"id"`
			Title string               `json:"title,omitempty"`
			Text  string               `json:"text"`
		}{d.ID, d.Title, d.Text}
		if err := e.Encode(line); err != nil {
			return err
		}
	}
	if unread > 0 {
		return &cli.Exit{Code: cli.Unreadable, Err: fmt.Errorf("%d documents could not be read", unread)}
	}
	return nil
}
