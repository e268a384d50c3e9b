package screening

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cluster"
	"concordat/cmd/internal/cli"
	"concordat/instance"
	"concordat/screen"
	"concordat/segment"
	"concordat/simhash"
)

// printOptions say how a print of a document is made and how near two are to be.
type printOptions struct {
	Bits     int    `json:"bits"`
	Distance int    `json:"distance"`
	Features string `json:"features"`
	TF       string `json:"tf"`
	IDF      bool   `json:"idf,omitempty"`
	Hash     string `json:"hash"`
	Levels   []int  `json:"levels,omitempty"`
	// Counted is the number of documents whose frequencies weigh the features, so that a library that
	// grows makes other prints.
	Counted int `json:"counted,omitempty"`
}

func (f *printOptions) define(c *cobra.Command) {
	f.defineMaking(c)
	c.Flags().IntVar(&f.Distance, "distance", 3, "bits in which two prints may differ (simhash)")
	c.Flags().IntSliceVar(&f.Levels, "levels", nil,
		"blocks of the tables at each level, such as 6, 4,4, 5 or 4 (default: planned from the number of prints and --memory)")
}

func (f *printOptions) defineMaking(c *cobra.Command) {
	fl := c.Flags()
	fl.IntVar(&f.Bits, "bits", 64, "bits of a print, 64 or 128 (simhash)")
	fl.StringVar(&f.Features, "features", "words",
		"features of a print: words or letters, with the lengths of their runs, such as words1-3 or letters3 (simhash)")
	fl.StringVar(&f.TF, "tf", "log", "weight of a repeated feature: log, count or once (simhash)")
	fl.BoolVar(&f.IDF, "idf", false, "weigh features by how few documents have them; takes another reading of the library (simhash)")
	fl.StringVar(&f.Hash, "hash", "mix", "hash of a feature: mix, plain (64 bits) or md5 (simhash)")
}

var (
	printHashes  = map[string]simhash.Hash{"mix": simhash.HashMix, "plain": simhash.HashPlain, "md5": simhash.HashMD5}
	printWeights = map[string]simhash.TF{"log": simhash.TFLog, "count": simhash.TFCount, "once": simhash.TFOnce}
	printRuns    = regexp.MustCompile(`^(words|letters)(?:([1-9]\d?)(?:-([1-9]\d?))?)?$`)
)

// check returns a usage error for options that make no print.
func (f *printOptions) check() error {
	if f.Distance < 0 || f.Distance >= f.Bits {
		return cli.Usagef("--distance %d: want 0 to less than %d bits", f.Distance, f.Bits)
	}
	if len(f.Levels) > 0 {
		if _, err := screen.NewDesign(f.Bits, f.Distance, f.Levels...); err != nil {
			return cli.Usagef("--levels: %w", err)
		}
	}
	_, err := newPrintMaker(*f)
	return err
}

// printMaker makes prints of documents.
type printMaker struct {
	flags   printOptions
	printer *simhash.Printer
	runs    []screen.Shingling
	weigh   simhash.Weighting
}

func newPrintMaker(f printOptions) (*printMaker, error) {
	m := &printMaker{flags: f}
	h, ok := printHashes[f.Hash]
	tf, known := printWeights[f.TF]
	if !ok || !known {
		return nil, cli.Usagef("--hash %q, --tf %q: want mix, plain or md5, and log, count or once", f.Hash, f.TF)
	}
	if f.Bits != 64 && (f.Bits != 128 || h == simhash.HashPlain) {
		return nil, cli.Usagef("--bits %d with hash %s: want 64, or 128 with mix or md5", f.Bits, f.Hash)
	}
	m.weigh.TF = tf
	p := printRuns.FindStringSubmatch(f.Features)
	if p == nil {
		return nil, cli.Usagef("--features %q: want words or letters with the lengths of their runs, such as words1-3 or letters3", f.Features)
	}
	from, to := 1, 1
	if p[2] != "" {
		from, _ = strconv.Atoi(p[2]) // the pattern lets digits through only
		to = from
	}
	if p[3] != "" {
		to, _ = strconv.Atoi(p[3])
	}
	if to < from {
		return nil, cli.Usagef("--features %q: the second length is below the first", f.Features)
	}
	for w := from; w <= to; w++ {
		m.runs = append(m.runs, screen.Shingling{Width: w, Letters: p[1] == "letters"})
	}
	var err error
	m.printer, err = simhash.NewPrinter(h, nil)
	return m, err
}

func (m *printMaker) features(t *segment.Text) []uint64 {
	var out []uint64
	for i, r := range m.runs {
		from := len(out)
		out = r.Append(t, out)
		for j := range out[from:] {
			out[from+j] ^= uint64(i) * 0x9e3779b97f4a7c15 // a short text is no run of its own length
		}
	}
	return out
}

// print returns the print of a text and whether it has any features.
func (m *printMaker) print(t *segment.Text) (screen.Wide, bool, error) {
	weighed := m.weigh.Weigh(m.features(t), nil)
	if m.flags.Bits == 64 {
		return screen.Wide{m.printer.Print64(weighed)}, len(weighed) > 0, nil
	}
	p, err := m.printer.Print128(weighed)
	return p, len(weighed) > 0, err
}

// design returns the design of the flags, or the best one for so many prints.
func (f *printOptions) design(prints int, memory int64) (*screen.Design, error) {
	if len(f.Levels) > 0 {
		return screen.NewDesign(f.Bits, f.Distance, f.Levels...)
	}
	return screen.NewPlan(screen.PlanOptions{F: f.Bits, K: f.Distance, Prints: prints, Bytes: memory, Queries: prints})
}

// tables returns what finds the prints near one.
func (m *printMaker) tables(prints []screen.Wide, memory int64) (func(q screen.Wide, dst []screen.Hit) []screen.Hit, error) {
	d, err := m.flags.design(len(prints), memory)
	if err != nil {
		return nil, err
	}
	if m.flags.Bits > 64 {
		t, err := screen.NewWideTables(d, prints)
		if err != nil {
			return nil, err
		}
		return t.Near, nil
	}
	narrow := make([]uint64, len(prints))
	for i, p := range prints {
		narrow[i] = p[0]
	}
	t, err := screen.NewTables(d, narrow)
	if err != nil {
		return nil, err
	}
	return func(q screen.Wide, dst []screen.Hit) []screen.Hit { return t.Near(q[0], dst) }, nil
}

// countFeatures counts in how many documents of the libraries each feature occurs, in so many bytes.
func (a *commands) countFeatures(ctx context.Context, o *instance.Instance, m *printMaker, memory int64, libraries ...string) error {
	const featureBytes = 40
	counted := &simhash.Frequencies{}
	b := a.Progress(-1, "counting features")
	defer b.Done()
	for _, lib := range libraries {
		if lib == "" {
			continue
		}
		for d, err := range o.LibraryDocuments(ctx, concordat.LibraryID(lib)) {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err != nil {
				continue // the reading proper reports it
			}
			t, err := segment.Split(d.Text)
			if err != nil {
				return fmt.Errorf("document %s/%s: %w", d.Library, d.ID, err)
			}
			counted.Add(m.features(t))
			b.Add(1)
			if int64(counted.Features())*featureBytes > memory {
				return fmt.Errorf("--idf: %w: more than %d distinct features; allow more --memory or take shorter --features", screen.ErrMemory,
					memory/featureBytes)
			}
		}
	}
	m.weigh.Frequencies = counted
	m.flags.Counted = counted.Documents()
	return nil
}

// Files of prints hold 8 or 16 bytes a print, the number big-endian, and nothing else; FILE.ids has
// the document of each on a line.

func (a *commands) screenPrintsCommand() *cobra.Command {
	var f printOptions
	var library, out string
	var random, plant int
	var parts shardParts
	var seed uint64
	var memory int
	c := &cobra.Command{
		Use: "prints --library L --out FILE", Short: "Write one print a document to a file, for batch, join and distribution", Args: cobra.NoArgs,
		Long: `Prints writes the simhash of every document of a library, 8 bytes each (16 of 128 bits), the number
big-endian, and beside it FILE.ids with the document of each on a line. A print says nothing of the
text but how alike it is to another: files of prints may go where texts must not.

With --shards N the prints go to N files, FILE.00 and so on: those of the documents that each shard of a
site of N shards holds, for batch, which streams them side by side; --shard K writes one of them alone, such as on
the node that has the shard.

With --random N it writes N pseudo-random prints of 64 bits instead, the same for the same --seed; the last --plant of them are copies of the first in reverse order, in which 0 to
5 bits differ by turns.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if out == "" || (library == "") == (random <= 0) {
				return cli.Usagef("want --out, and --library or --random")
			}
			if random > 0 {
				if plant < 0 || plant > random/2 {
					return cli.Usagef("--plant %d: want at most half of the %d prints", plant, random)
				}
				return a.randomPrints(cmd.Context(), out, random, plant, seed)
			}
			if err := errors.Join(f.check(), parts.check()); err != nil {
				return err
			}
			return a.With(cmd.Context(), instance.WithIndex, func(o *instance.Instance) error {
				return a.libraryPrints(cmd.Context(), o, f, library, out, parts, int64(memory)<<20)
			})
		},
	}
	f.defineMaking(c)
	c.Flags().StringVar(&library, "library", "", "library whose documents are printed")
	c.Flags().StringVar(&out, "out", "", "file to write")
	c.Flags().IntVar(&parts.of, "shards", 0, "write a file for each shard of a site of so many; 0: one file")
	c.Flags().IntVar(&parts.only, "shard", -1, "write that of one shard alone, from 0")
	c.Flags().IntVar(&random, "random", 0, "write so many pseudo-random prints instead")
	c.Flags().IntVar(&plant, "plant", 0, "plant so many near copies among the --random prints")
	c.Flags().Uint64Var(&seed, "seed", 1, "seed of --random")
	c.Flags().IntVar(&memory, "memory", 1024, "memory for --idf in MiB")
	return c
}

// shardParts say how prints are divided among files.
type shardParts struct {
	of   int // shards; 0: not divided
	only int // the one that is written; -1: all
}

func (p shardParts) check() error {
	if p.of < 0 || p.of > 256 || p.only < -1 || p.only >= 0 && p.only >= p.of {
		return cli.Usagef("--shards %d, --shard %d: want 1 to 256 shards, and one of them, from 0", p.of, p.only)
	}
	return nil
}

// paths are the files, each followed by that of its documents.
func (p shardParts) paths(out string) (all []string) {
	if p.of == 0 {
		return []string{out, out + ".ids"}
	}
	for i := range p.of {
		if p.only < 0 || p.only == i {
			path := fmt.Sprintf("%s.%02d", out, i)
			all = append(all, path, path+".ids")
		}
	}
	return all
}

// place is which of the files a document belongs to; false: to none that is written.
func (p shardParts) place(lib concordat.LibraryID, id concordat.DocumentID) (int, bool) {
	if p.of == 0 {
		return 0, true
	}
	n := cluster.ShardOf(cluster.Slot(lib, id), p.of)
	if p.only >= 0 {
		return 0, n == p.only
	}
	return n, true
}

// libraryPrints writes the prints of a library.
func (a *commands) libraryPrints(ctx context.Context, o *instance.Instance, f printOptions, library, out string, parts shardParts,
	memory int64) error {
	if _, err := o.Store.Library(ctx, concordat.LibraryID(library)); errors.Is(err, concordat.ErrNotFound) {
		return cli.Usagef("no library %q; concordat library list shows them", library)
	} else if err != nil {
		return err
	}
	m, err := newPrintMaker(f)
	if err != nil {
		return err
	}
	if f.IDF {
		if err := a.countFeatures(ctx, o, m, memory, library); err != nil {
			return err
		}
	}
	n, unread := 0, 0
	err = cli.WriteFiles(func(w []*bufio.Writer) error {
		for d, err := range o.LibraryDocuments(ctx, concordat.LibraryID(library)) {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err != nil {
				unread++
				a.Warn("%v", err)
				continue
			}
			place, wanted := parts.place(d.Library, d.ID)
			if !wanted {
				continue
			}
			t, err := segment.Split(d.Text)
			if err != nil {
				return err
			}
			p, _, err := m.print(t)
			if err != nil {
				return err
			}
			n++
			b := screen.AppendWide(nil, p)
			if _, err := w[2*place].Write(b[16-f.Bits/8:]); err != nil {
				return err
			}
			if _, err := fmt.Fprintf(w[2*place+1], "%s\n", d.ID); err != nil {
				return err
			}
		}
		return nil
	}, parts.paths(out)...)
	if err != nil {
		return err
	}
	if err := a.Report(map[string]any{"type": "prints", "library": library, "prints": n, "bits": f.Bits, "unread": unread, "file": out},
		"%d prints of %d bits in %s", n, f.Bits, out); err != nil {
		return err
	}
	if unread > 0 {
		return &cli.Exit{Code: cli.Unreadable, Err: fmt.Errorf("%d documents could not be read", unread)}
	}
	return nil
}

// randomPrint is print i of a seed: SplitMix64 (Steele, Lea and Flood 2014).
func randomPrint(seed uint64, i int) uint64 {
	x := seed + uint64(i+1)*0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func (a *commands) randomPrints(ctx context.Context, out string, n, plant int, seed uint64) error {
	err := cli.WriteFiles(func(w []*bufio.Writer) error {
		for i := range n {
			if i&0xffff == 0 && ctx.Err() != nil {
				return context.Cause(ctx)
			}
			p := randomPrint(seed, i)
			if of := n - 1 - i; of < plant {
				p = randomPrint(seed, of)
				for b := range of % 6 {
					p ^= 1 << ((of/6 + 11*b) % 64)
				}
			}
			var b [8]byte
			binary.BigEndian.PutUint64(b[:], p)
			if _, err := w[0].Write(b[:]); err != nil {
				return err
			}
		}
		return nil
	}, out)
	if err != nil {
		return err
	}
	return a.Report(map[string]any{"type": "prints", "prints": n, "bits": 64, "file": out}, "%d pseudo-random prints in %s", n, out)
}
