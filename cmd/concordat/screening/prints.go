package screening

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cluster"
	"concordat/cmd/cli"
	"concordat/instance"
	"concordat/screen"
	"concordat/segment"
)

// Files of prints contain only prints, as big-endian numbers of 8 or 16 bytes. FILE.ids contains the document of each print, one per
// line.

func (a *commands) screenPrintsCommand() *cobra.Command {
	var f PrintOptions
	var library, out string
	var random, plant int
	var parts shardParts
	var seed uint64
	var memory int
	c := &cobra.Command{
		Use: "prints --library L --out FILE", Short: "Write the print of each document to a file, for use by batch, join and distribution", Args: cobra.NoArgs,
		Long: `Prints writes the simhash of every document in a library to FILE, 8 bytes each (16 for 128 bits), big-endian.
FILE.ids names the document of each print, one per line. A print reveals only how similar its text is to another, so
files of prints may go where texts must not.

With --shards N, the prints go to N files, FILE.00 and so on, one for each shard of a site with N shards; batch
streams these files in parallel. --shard K writes only one of the files, for example on the node that has the shard.

With --random N, prints writes N pseudo-random 64-bit prints, which depend only on --seed. The last --plant of
them are near copies of the first ones, in reverse order, and differ from them in 0 to 5 bits in turn.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if out == "" || (library == "") == (random <= 0) {
				return cli.Usagef("--out is required, and so is either --library or --random")
			}
			if random > 0 {
				if plant < 0 || plant > random/2 {
					return cli.Usagef("--plant %d: want at most half of the %d prints", plant, random)
				}
				if err := writeRandom(cmd.Context(), out, random, plant, seed); err != nil {
					return err
				}
				return a.Report(map[string]any{"type": "prints", "prints": random, "bits": 64, "file": out},
					"wrote %d pseudo-random prints to %s", random, out)
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
	c.Flags().StringVar(&library, "library", "", "library of the documents")
	c.Flags().StringVar(&out, "out", "", "file to write")
	c.Flags().IntVar(&parts.of, "shards", 0, "number of shards, each of which gets its own file (0: a single file)")
	c.Flags().IntVar(&parts.only, "shard", -1, "write only the file of this shard, counting from 0")
	c.Flags().IntVar(&random, "random", 0, "write this many pseudo-random prints instead")
	c.Flags().IntVar(&plant, "plant", 0, "plant this many near copies among the --random prints")
	c.Flags().Uint64Var(&seed, "seed", 1, "seed for --random")
	c.Flags().IntVar(&memory, "memory", 1024, "memory for counting features, in MiB")
	return c
}

// shardParts specifies how to divide prints among files.
type shardParts struct {
	of   int // number of shards; 0 means undivided
	only int // the shard to write; -1 means all
}

func (p shardParts) check() error {
	if p.of < 0 || p.of > 256 || p.only < -1 || p.only >= 0 && p.only >= p.of {
		return cli.Usagef("--shards %d, --shard %d: want 1 to 256 shards, and a shard number from 0 to one less than that", p.of, p.only)
	}
	return nil
}

// paths returns the files, each followed by its file of documents.
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

// place returns the file for a document, or false if no written file includes it.
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
func (a *commands) libraryPrints(ctx context.Context, o *instance.Instance, f PrintOptions, library, out string, parts shardParts,
	memory int64) error {
	if _, err := o.Store.Catalogue.Library(ctx, concordat.LibraryID(library)); errors.Is(err, concordat.ErrNotFound) {
		return cli.Usagef("no library %q; to list the libraries, run concordat library list", library)
	} else if err != nil {
		return err
	}
	m, err := NewPrintMaker(f)
	if err != nil {
		return err
	}
	if err := m.WeighFeatures(ctx, &a.Terminal, o, memory, library); err != nil {
		return err
	}
	n, unread := 0, 0
	var spread screen.Distribution
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
			spread.Add(p[0])
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
	a.warnUneven(&spread)
	if err := a.Report(map[string]any{"type": "prints", "library": library, "prints": n, "bits": f.Bits, "unread": unread, "file": out,
		"idf_documents": m.Flags.Counted, "spread": spread.Spread()},
		"wrote %d prints of %d bits to %s, with %s", n, f.Bits, out, m.Flags.Weights()); err != nil {
		return err
	}
	if unread > 0 {
		return &cli.Exit{Code: cli.Unreadable, Err: fmt.Errorf("%d documents could not be read", unread)}
	}
	return nil
}

// randomPrint returns print number i for a seed, using SplitMix64 (Steele, Lea and Flood 2014).
func randomPrint(seed uint64, i int) uint64 {
	x := seed + uint64(i+1)*0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// writeRandom writes n pseudo-random prints to a file; the last plant of them are near the first ones.
func writeRandom(ctx context.Context, out string, n, plant int, seed uint64) error {
	return cli.WriteFiles(func(w []*bufio.Writer) error {
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
}
