package screening

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"concordat/cmd/cli"
	"concordat/screen"
)

func (a *commands) screenNearCommand() *cobra.Command {
	f := PrintOptions{Bits: 64}
	memory := 0
	c := &cobra.Command{
		Use: "near DIR|FILE PRINT...", Short: "Look up prints in packed tables or in a file of prints", Args: cobra.MinimumNArgs(2),
		Long: `Near lists the stored prints near each PRINT, given as 16 hexadecimal digits. If PRINT is -, prints are read from
standard input, one per line, and each is answered immediately.

DIR contains packed tables (concordat screen pack), which are read block by block; a stored print is listed once
for each of its documents, if they are known. For a FILE of 64-bit prints, tables are first built in memory; a
stored print is listed with its document in FILE.ids or, without FILE.ids, with its number, counting from 0.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.Distance < 0 || f.Distance >= f.Bits {
				return cli.Usagef("--distance %d: want 0 to less than %d bits", f.Distance, f.Bits)
			}
			near, done, err := nearIn(cmd.Context(), args[0], f, int64(memory)<<20)
			if err != nil {
				return err
			}
			defer done()
			return a.screenNear(cmd.Context(), args[1:], near)
		},
	}
	c.Flags().IntVar(&f.Distance, "distance", 3, "maximum number of bits in which two prints may differ (FILE)")
	c.Flags().IntSliceVar(&f.Levels, "levels", nil, "number of table blocks at each level (FILE; default: chosen automatically)")
	c.Flags().IntVar(&memory, "memory", 4096, "approximate memory for the tables, in MiB (FILE)")
	return c
}

// nearPrint is a stored print close to a query, with its document or number if known.
type nearPrint struct {
	print  uint64
	stored string
}

type nearFunc func(q uint64) ([]nearPrint, error)

// nearIn opens packed tables, or builds tables from a file of prints.
func nearIn(ctx context.Context, path string, f PrintOptions, memory int64) (nearFunc, func(), error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, cli.Usage(err)
	}
	if info.IsDir() {
		return nearPacked(path)
	}
	file, err := OpenPrintFile(path, f.Bits)
	if err != nil {
		return nil, nil, err
	}
	name, err := namer(file)
	if err != nil {
		return nil, nil, err
	}
	d, err := f.design(file.Prints(), memory)
	if err != nil {
		return nil, nil, cli.Usage(err)
	}
	prints := make([]uint64, 0, file.Prints())
	for chunk, err := range file.Narrow() {
		if err = errors.Join(err, context.Cause(ctx)); err != nil {
			return nil, nil, err
		}
		prints = append(prints, chunk...)
	}
	t, err := screen.NewTables(d, prints)
	if err != nil {
		return nil, nil, err
	}
	var hits []screen.Hit
	return func(q uint64) (out []nearPrint, err error) {
		hits = t.Near(q, hits[:0])
		for _, h := range hits {
			out = append(out, nearPrint{prints[h.ID], name(uint64(h.ID))})
		}
		return out, nil
	}, func() {}, nil
}

// nearPacked opens the packed tables of a folder.
func nearPacked(dir string) (near nearFunc, done func(), err error) {
	b, err := os.ReadFile(filepath.Join(dir, packedDesign))
	if err != nil {
		return nil, nil, cli.Usagef("%s does not contain packed tables: %w", dir, err)
	}
	var h packedHeader
	if err := json.Unmarshal(b, &h); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", filepath.Join(dir, packedDesign), err)
	}
	d, err := screen.NewDesign(h.Bits, h.K, h.Levels...)
	if err != nil {
		return nil, nil, err
	}
	var files []*os.File
	done = func() {
		for _, f := range files {
			_ = f.Close() // only read
		}
	}
	defer func() {
		if err != nil {
			done()
		}
	}()
	var tables []*screen.Packed
	for i := range d.Tables {
		f, err := os.Open(packedPath(dir, i))
		if err != nil {
			return nil, nil, err
		}
		files = append(files, f)
		info, err := f.Stat()
		if err != nil {
			return nil, nil, err
		}
		t, err := screen.OpenPacked(f, info.Size())
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", f.Name(), err)
		}
		tables = append(tables, t)
	}
	packed, err := screen.NewPackedTables(d, tables)
	if err != nil {
		return nil, nil, err
	}
	closeTables := done // done is a named result
	names, err := openNames(dir)
	if err != nil {
		return nil, nil, err
	}
	return func(q uint64) (out []nearPrint, err error) {
		found, err := packed.Near(q, nil)
		if err != nil || names == nil {
			for _, p := range found {
				out = append(out, nearPrint{print: p})
			}
			return out, err
		}
		for _, p := range found {
			documents, err := names.of(p)
			if err != nil {
				return nil, err
			}
			for _, d := range documents {
				out = append(out, nearPrint{p, d})
			}
		}
		return out, nil
	}, func() { closeTables(); names.close() }, nil
}

// screenNear answers for the prints in args; - stands for the prints on standard input.
func (a *commands) screenNear(ctx context.Context, args []string, near nearFunc) error {
	answer := func(word string) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		q, err := parsePrint(word)
		if err != nil {
			return cli.Usage(err)
		}
		found, err := near(q)
		if err != nil {
			return err
		}
		for _, p := range found {
			k := screen.Wide{p.print}.Distance(screen.Wide{q})
			line := map[string]any{"type": "near", "query": fmt.Sprintf("%016x", q), "print": fmt.Sprintf("%016x", p.print), "distance": k}
			text := fmt.Sprintf("%016x\t%016x\t%d", q, p.print, k)
			if p.stored != "" {
				line["stored"] = p.stored
				text += "\t" + p.stored
			}
			if err := a.Report(line, "%s", text); err != nil {
				return err
			}
		}
		return nil
	}
	for _, arg := range args {
		if arg != "-" {
			if err := answer(arg); err != nil {
				return err
			}
			continue
		}
		if err := EachLine(a.Stdin, answer); err != nil {
			return err
		}
	}
	return nil
}
