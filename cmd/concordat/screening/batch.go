package screening

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"concordat/cmd/cli"
	"concordat/screen"
)

// PrintFile is a file of prints.
type PrintFile struct {
	Path     string    `json:"path"`
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified"`
	bytes    int       // bytes per print
}

func (f *PrintFile) Prints() int { return int(f.Size / int64(f.bytes)) }

func OpenPrintFile(path string, bits int) (*PrintFile, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, cli.Usage(err)
	}
	f := &PrintFile{Path: path, Size: info.Size(), Modified: info.ModTime(), bytes: bits / 8}
	if !info.Mode().IsRegular() || f.Size%int64(f.bytes) != 0 {
		return nil, cli.Usagef("%s: file size of %d bytes is not a whole number of %d-bit prints", path, f.Size, bits)
	}
	return f, nil
}

// part yields the prints in [from, to) in chunks.
func (f *PrintFile) part(from, to int) iter.Seq2[[]screen.Wide, error] {
	return func(yield func([]screen.Wide, error) bool) {
		in, err := os.Open(f.Path)
		if err != nil {
			yield(nil, err)
			return
		}
		defer in.Close()
		r := io.NewSectionReader(in, int64(from)*int64(f.bytes), int64(to-from)*int64(f.bytes))
		if f.bytes == 16 {
			screen.WideChunks(r, chunkPrints)(yield)
			return
		}
		var out []screen.Wide
		for chunk, err := range screen.Chunks(r, chunkPrints) {
			out = out[:0]
			for _, p := range chunk {
				out = append(out, screen.Wide{p})
			}
			if !yield(out, err) {
				return
			}
		}
	}
}

// Narrow yields all 64-bit prints in chunks.
func (f *PrintFile) Narrow() iter.Seq2[[]uint64, error] {
	return f.narrowPart(0, f.Prints())
}

func (f *PrintFile) narrowPart(from, to int) iter.Seq2[[]uint64, error] {
	return func(yield func([]uint64, error) bool) {
		in, err := os.Open(f.Path)
		if err != nil {
			yield(nil, err)
			return
		}
		defer in.Close()
		screen.Chunks(io.NewSectionReader(in, int64(from)*8, int64(to-from)*8), chunkPrints)(yield)
	}
}

// IDs returns the document of each print, from the lines of FILE.ids, or nil if that file does not exist.
func (f *PrintFile) IDs() ([]string, error) {
	b, err := os.ReadFile(f.Path + ".ids")
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	ids := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	if f.Size > 0 && len(ids) != f.Prints() {
		return nil, cli.Usagef("%s.ids: found %d lines for %d prints; want one line per print", f.Path, len(ids), f.Prints())
	}
	return ids, nil
}

const (
	chunkPrints = 1 << 16
	// batchUnit is the number of stored prints per unit of a batch: 64 MB of 64-bit prints, the chunk size of Manku, Jain and Das Sarma
	// 2007, section 3.5.
	batchUnit = 1 << 23
)

// batchHit is a stored print close to a query.
type batchHit struct {
	Type     string `json:"type"` // hit
	Query    string `json:"query"`
	File     string `json:"file"`
	Stored   string `json:"stored"`
	Distance int    `json:"distance"`
}

type batchFlags struct {
	queries, work string
	bits, k       int
	levels        []int
	memory        int
}

func (a *commands) screenBatchCommand() *cobra.Command {
	var f batchFlags
	c := &cobra.Command{
		Use: "batch --queries FILE STORED...", Short: "Find the stored prints near each query", Args: cobra.MinimumNArgs(1),
		Long: `Batch finds, for every query print, all prints of the stored files within --distance. Tables
are built from the queries, and the stored files (for example, one for each shard) are streamed in pieces that all
cores share. If the tables exceed --memory, the queries are processed in several rounds. With --work, an interrupted
batch can be resumed.

Each hit names the query and the stored print by their documents in FILE.ids. Without FILE.ids, it gives their
numbers, counting from 0.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.queries == "" {
				return cli.Usagef("--queries is required: give a file of prints written by concordat screen prints")
			}
			if f.bits != 64 && f.bits != 128 || f.k < 0 || f.k >= f.bits || f.memory < 1 {
				return cli.Usagef("--bits %d, --distance %d, --memory %d: want 64 or 128 bits, a distance below that, and memory above 0", f.bits, f.k, f.memory)
			}
			return a.screenBatch(cmd.Context(), f, args)
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.queries, "queries", "", "file of the query prints")
	fl.StringVar(&f.work, "work", "", "folder for unfinished work, to resume an interrupted batch")
	fl.IntVar(&f.bits, "bits", 64, "size of a print in bits: 64 or 128")
	fl.IntVar(&f.k, "distance", 3, "maximum number of bits in which two prints may differ")
	fl.IntSliceVar(&f.levels, "levels", nil, "number of table blocks at each level (default: chosen automatically)")
	fl.IntVar(&f.memory, "memory", 1024, "memory for the tables in MiB")
	return c
}

// scanner is screen.Batch or screen.WideBatch.
type scanner func(f *PrintFile, from, to int, first uint64, dst []screen.Found) ([]screen.Found, error)

func (f *batchFlags) scanner(queries []screen.Wide) (scanner, *screen.Design, error) {
	o := PrintOptions{Bits: f.bits, Distance: f.k, Levels: f.levels}
	d, err := o.design(len(queries), int64(f.memory)<<20)
	if err != nil {
		return nil, nil, err
	}
	if f.bits == 128 {
		b, err := screen.NewWideBatch(d, queries)
		return func(file *PrintFile, from, to int, first uint64, dst []screen.Found) ([]screen.Found, error) {
			for chunk, err := range file.part(from, to) {
				if err != nil {
					return dst, err
				}
				dst = b.Scan(chunk, first, dst)
				first += uint64(len(chunk))
			}
			return dst, nil
		}, d, err
	}
	narrow := make([]uint64, len(queries))
	for i, q := range queries {
		narrow[i] = q[0]
	}
	b, err := screen.NewBatch(d, narrow)
	return func(file *PrintFile, from, to int, first uint64, dst []screen.Found) ([]screen.Found, error) {
		// Scan processes many prints at a time, in the order of their leading bits.
		var all []uint64
		for chunk, err := range file.narrowPart(from, to) {
			if err != nil {
				return dst, err
			}
			all = append(all, chunk...)
			if len(all) >= 1<<18 {
				dst = b.Scan(all, first, dst)
				first += uint64(len(all))
				all = all[:0]
			}
		}
		return b.Scan(all, first, dst), nil
	}, d, err
}

// batchUnitRecord is a completed unit of a batch or a join.
type batchUnitRecord struct {
	Unit int         `json:"unit"`
	Hits [][3]uint64 `json:"hits"` // query, stored print and distance, or, for a join, the two prints of a pair and their distance
}

// openUnits opens the work of a batch or a join, either in the given folder or in a temporary one.
func openUnits(folder string, question any) (w *work, done map[int]bool, end func(error) error, err error) {
	parent := folder
	if folder == "" {
		if parent, err = os.MkdirTemp("", "concordat-screen-"); err != nil {
			return nil, nil, nil, err
		}
	}
	if w, err = openWork(parent, question); err != nil {
		return nil, nil, nil, err
	}
	done = map[int]bool{}
	err = w.found.replay(func(b []byte, _ int64) bool {
		var r batchUnitRecord
		ok := json.Unmarshal(b, &r) == nil
		done[r.Unit] = done[r.Unit] || ok
		return ok
	})
	end = func(err error) error {
		if err == nil || folder == "" {
			err = errors.Join(w.explain(err), w.remove())
			if folder == "" {
				err = errors.Join(err, os.RemoveAll(parent))
			}
			return err
		}
		return w.explain(errors.Join(err, w.close()))
	}
	return w, done, end, err
}

func (w *work) keepUnit(r batchUnitRecord) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if _, err := w.found.append(b); err != nil {
		return err
	}
	return w.found.flush()
}

// hits calls each with the hits of all units.
func (w *work) hits(each func([3]uint64) error) error {
	var failed error
	err := w.found.replay(func(b []byte, _ int64) bool {
		var r batchUnitRecord
		if failed = json.Unmarshal(b, &r); failed != nil {
			return true
		}
		for _, h := range r.Hits {
			if failed = each(h); failed != nil {
				break
			}
		}
		return true
	})
	return errors.Join(failed, err)
}

func (a *commands) screenBatch(ctx context.Context, f batchFlags, paths []string) (err error) {
	began := time.Now()
	queries, err := OpenPrintFile(f.queries, f.bits)
	if err != nil {
		return err
	}
	var stored []*PrintFile
	for _, p := range paths {
		s, err := OpenPrintFile(p, f.bits)
		if err != nil {
			return err
		}
		stored = append(stored, s)
	}
	w, done, end, err := openUnits(f.work, map[string]any{"batch": queries, "stored": stored, "bits": f.bits, "distance": f.k,
		"memory_mib": f.memory, "levels": f.levels})
	if err != nil {
		return err
	}
	defer func() { err = end(err) }()
	design, err := a.scanAll(ctx, f, queries, stored, w, done)
	if err != nil {
		return err
	}
	return a.printBatch(queries, stored, w, design, time.Since(began))
}

// scanAll processes as many queries at a time as fit in memory, and the stored files in units.
func (a *commands) scanAll(ctx context.Context, f batchFlags, queries *PrintFile, stored []*PrintFile, w *work,
	done map[int]bool) (*screen.Design, error) {
	turn := max(1, int(int64(f.memory)<<20/screen.LeastBytes(f.bits, f.k)))
	total := 0
	for _, s := range stored {
		total += s.Prints()
	}
	b := a.Progress(int64(total)*int64((queries.Prints()+turn-1)/turn), "scanning")
	defer b.Done()
	var design *screen.Design
	unit := 0
	for from := 0; from < queries.Prints(); from += turn {
		var asked []screen.Wide
		for chunk, err := range queries.part(from, min(from+turn, queries.Prints())) {
			if err != nil {
				return nil, err
			}
			asked = append(asked, chunk...)
		}
		scan, d, err := f.scanner(asked)
		if err != nil {
			return nil, err
		}
		design = d
		g, gctx := errgroup.WithContext(ctx)
		g.SetLimit(runtime.GOMAXPROCS(0))
		first := uint64(0)
		for _, s := range stored {
			for at := 0; at < s.Prints(); at += batchUnit {
				n, to := unit, min(at+batchUnit, s.Prints())
				begin := first + uint64(at)
				if unit++; done[n] {
					b.Add(to - at)
					continue
				}
				g.Go(func() error {
					if gctx.Err() != nil {
						return context.Cause(gctx)
					}
					hits, err := scan(s, at, to, begin, nil)
					if err != nil {
						return fmt.Errorf("%s: %w", s.Path, err)
					}
					r := batchUnitRecord{Unit: n}
					for _, h := range hits {
						r.Hits = append(r.Hits, [3]uint64{uint64(from) + uint64(h.Query), h.Stored, uint64(h.Distance)})
					}
					b.Add(to - at)
					return w.keepUnit(r)
				})
			}
			first += uint64(s.Prints())
		}
		if err := g.Wait(); err != nil {
			return nil, err
		}
	}
	return design, nil
}

// namer returns a function that maps a print's number to its document, if known.
func namer(f *PrintFile) (func(n uint64) string, error) {
	ids, err := f.IDs()
	return func(n uint64) string {
		if ids != nil {
			return ids[n]
		}
		return strconv.FormatUint(n, 10)
	}, err
}

func (a *commands) printBatch(queries *PrintFile, stored []*PrintFile, w *work, d *screen.Design, took time.Duration) error {
	query, err := namer(queries)
	if err != nil {
		return err
	}
	names := make([]func(uint64) string, len(stored))
	total := 0
	for i, s := range stored {
		if names[i], err = namer(s); err != nil {
			return err
		}
		total += s.Prints()
	}
	n := 0
	err = w.hits(func(h [3]uint64) error {
		n++
		at, i := h[1], 0
		for at >= uint64(stored[i].Prints()) {
			at -= uint64(stored[i].Prints())
			i++
		}
		hit := batchHit{"hit", query(h[0]), stored[i].Path, names[i](at), int(h[2])}
		return a.Report(hit, "%s\t%s\t%s\t%d", hit.Query, hit.File, hit.Stored, hit.Distance)
	})
	if err != nil {
		return err
	}
	sum := map[string]any{"type": "summary", "queries": queries.Prints(), "stored": total, "hits": n, "took_ns": took}
	if d != nil {
		sum["tables"] = len(d.Tables)
	}
	return a.Report(sum, "%d hits for %d queries among %d stored prints in %.1f s", n, queries.Prints(), total, took.Seconds())
}

// parsePrint reads 16 hexadecimal digits; anything after white space is a comment.
func parsePrint(line string) (uint64, error) {
	word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
	b, err := hex.DecodeString(word)
	if err != nil || len(b) != 8 {
		return 0, fmt.Errorf("%q is not a fingerprint: want 16 hexadecimal digits", word)
	}
	return strconv.ParseUint(word, 16, 64)
}

// The names of the files in a folder of packed tables.
const (
	packedDesign = "design.json"
	packedTable  = "table-%04d.packed"
)

type packedHeader struct {
	Bits   int   `json:"bits"`
	K      int   `json:"distance"`
	Levels []int `json:"levels"`
	Prints int   `json:"prints"`
}

func packedPath(dir string, i int) string { return filepath.Join(dir, fmt.Sprintf(packedTable, i)) }
