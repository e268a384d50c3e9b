package screening

import (
	"context"
	"fmt"
	"regexp"
	"strconv"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/instance"
	"concordat/screen"
	"concordat/segment"
	"concordat/simhash"
)

// PrintOptions defines how to make the prints of documents, and how close two prints must be.
type PrintOptions struct {
	Bits      int    `json:"bits"`
	Distance  int    `json:"distance"`
	Features  string `json:"features"`
	StopWords string `json:"stop_words"`
	Stem      bool   `json:"stem,omitempty"`
	TF        string `json:"tf"`
	IDF       string `json:"idf"`
	Hash      string `json:"hash"`
	Levels    []int  `json:"levels,omitempty"`
	// Counted is the number of documents whose frequencies weight the features. It is recorded because prints change as a library grows.
	// If it is 0, features are not weighted.
	Counted int `json:"counted,omitempty"`
}

// The values of --idf other than files, and the values of --stop-words.
const (
	IDFAuto       = "auto"
	IDFCollection = "collection"
	IDFNone       = "none"
	StopDrop      = "drop"
	StopKeep      = "keep"
)

// LeastCounted is the minimum number of documents for idfAuto to use their frequencies. In a smaller library, features shared by two
// near-duplicates already count as frequent.
const LeastCounted = 200

// defaultPrint returns the options with the best measured results (doc/evaluation/screen.md, Which options). Prints of word runs are
// distributed more evenly but find fewer revisions.
func defaultPrint() PrintOptions {
	return PrintOptions{Bits: 64, Distance: 3, Features: "words", StopWords: StopDrop, TF: "log", IDF: IDFAuto, Hash: "mix"}
}

func (f *PrintOptions) define(c *cobra.Command) {
	f.defineMaking(c)
	c.Flags().IntVar(&f.Distance, "distance", 3, "maximum number of bits in which two prints may differ (simhash)")
	c.Flags().IntSliceVar(&f.Levels, "levels", nil,
		"number of table blocks at each level, such as 5 or 4,4 (default: chosen from the number of prints and --memory)")
}

func (f *PrintOptions) defineMaking(c *cobra.Command) {
	c.Flags().IntVar(&f.Bits, "bits", 64, "size of a print in bits: 64 or 128 (simhash)")
	f.DefineFeatures(c)
	f.DefineWeights(c)
}

// DefineFeatures defines the flags that affect frequencies.
func (f *PrintOptions) DefineFeatures(c *cobra.Command) {
	d, fl := defaultPrint(), c.Flags()
	fl.StringVar(&f.Features, "features", d.Features,
		"features of a print: words, letters or sentences, with the lengths of their runs, such as words1-3 or letters3 (simhash)")
	fl.StringVar(&f.StopWords, "stop-words", d.StopWords, "stop words of the text's language, such as \"and\": drop or keep (simhash)")
	fl.BoolVar(&f.Stem, "stem", d.Stem, "reduce English words to their stems (simhash)")
}

func (f *PrintOptions) DefineWeights(c *cobra.Command) {
	d, fl := defaultPrint(), c.Flags()
	fl.StringVar(&f.TF, "tf", d.TF, "weight of a repeated feature: log, count or once (simhash)")
	fl.StringVar(&f.IDF, "idf", d.IDF, "how to weight features by rarity: none, collection, a FILE written by screen frequencies, or auto, "+
		"which means collection if there are at least "+strconv.Itoa(LeastCounted)+" documents (simhash)")
	fl.StringVar(&f.Hash, "hash", d.Hash, "hash of a feature: mix, plain (64 bits), xxhash, md5, sha1 or sha256 (simhash)")
}

var (
	printHashes = map[string]simhash.Hash{"mix": simhash.HashMix, "plain": simhash.HashPlain, "md5": simhash.HashMD5,
		"xxhash": simhash.HashXX, "sha1": simhash.HashSHA1, "sha256": simhash.HashSHA256}
	printWeights = map[string]simhash.TF{"log": simhash.TFLog, "count": simhash.TFCount, "once": simhash.TFOnce}
	printRuns    = regexp.MustCompile(`^(words|letters|sentences)(?:([1-9]\d?)(?:-([1-9]\d?))?)?$`)
)

// check returns a usage error for options that do not result in a print of 64 or 128 bits.
func (f *PrintOptions) check() error {
	if f.Distance < 0 || f.Distance >= f.Bits {
		return cli.Usagef("--distance %d: want 0 to less than %d bits", f.Distance, f.Bits)
	}
	if f.Bits != 64 && (f.Bits != 128 || f.Hash == "plain") {
		return cli.Usagef("--bits %d with hash %s: want 64, or 128 with a hash other than plain", f.Bits, f.Hash)
	}
	if len(f.Levels) > 0 {
		if _, err := screen.NewDesign(f.Bits, f.Distance, f.Levels...); err != nil {
			return cli.Usagef("--levels: %w", err)
		}
	}
	_, err := NewPrintMaker(*f)
	return err
}

// PrintMaker makes prints of documents.
type PrintMaker struct {
	Flags   PrintOptions
	Printer *simhash.Printer
	Runs    []screen.Shingling
	Weigh   simhash.Weighting
}

func NewPrintMaker(f PrintOptions) (*PrintMaker, error) {
	m := &PrintMaker{Flags: f}
	h, ok := printHashes[f.Hash]
	tf, known := printWeights[f.TF]
	if !ok || !known {
		return nil, cli.Usagef("--hash %q, --tf %q: --hash must be mix, plain, xxhash, md5, sha1 or sha256, and --tf must be log, count or once", f.Hash, f.TF)
	}
	if f.StopWords != StopDrop && f.StopWords != StopKeep {
		return nil, cli.Usagef("--stop-words %q: want drop or keep", f.StopWords)
	}
	m.Weigh.TF = tf
	if h == simhash.HashPlain && f.Bits > 64 {
		return nil, cli.Usagef("--hash plain makes prints of 64 bits, not %d", f.Bits)
	}
	var err error
	if m.Runs, err = f.shinglings(); err != nil {
		return nil, err
	}
	if m.Printer, err = simhash.NewPrinter(h, nil); err != nil {
		return nil, err
	}
	if f.IDF != IDFAuto && f.IDF != IDFCollection && f.IDF != IDFNone {
		m.Weigh.Frequencies, err = readFrequencies(f.IDF, f)
		if err == nil {
			m.Flags.Counted = m.Weigh.Frequencies.Documents()
		}
	}
	return m, err
}

// shinglings returns the runs named by --features, one per length.
func (f *PrintOptions) shinglings() (runs []screen.Shingling, err error) {
	p := printRuns.FindStringSubmatch(f.Features)
	if p == nil {
		return nil, cli.Usagef("--features %q: want words, letters or sentences with the lengths of their runs, such as words1-3 or letters3", f.Features)
	}
	from, to := 1, 1
	if p[2] != "" {
		from, _ = strconv.Atoi(p[2]) // the pattern allows only digits
		to = from
	}
	if p[3] != "" {
		to, _ = strconv.Atoi(p[3])
	}
	if to < from {
		return nil, cli.Usagef("--features %q: the second length is less than the first", f.Features)
	}
	letters := p[1] == "letters"
	if letters && f.Stem {
		return nil, cli.Usagef("--stem cannot be used with --features %s", f.Features)
	}
	for w := from; w <= to; w++ {
		runs = append(runs, screen.Shingling{Width: w, Letters: letters, Sentences: p[1] == "sentences",
			Content: f.StopWords == StopDrop && !letters, Stems: f.Stem})
	}
	return runs, nil
}

// print returns the print of a text, and reports whether the text has any features.
func (m *PrintMaker) print(t *segment.Text) (screen.Wide, bool, error) {
	weighed := m.Weigh.Weigh(screen.Features(t, m.Runs), nil)
	if m.Flags.Bits == 64 {
		return screen.Wide{m.Printer.Print64(weighed)}, len(weighed) > 0, nil
	}
	p, err := m.Printer.Print128(weighed)
	return p, len(weighed) > 0, err
}

// Weights describes how features are weighted.
func (f *PrintOptions) Weights() string {
	if f.Counted == 0 {
		return "features not weighted by frequency"
	}
	return fmt.Sprintf("features weighted by their frequency in %d documents", f.Counted)
}

// design returns the design given by the flags, or the best one for this number of prints.
func (f *PrintOptions) design(prints int, memory int64) (*screen.Design, error) {
	if len(f.Levels) > 0 {
		return screen.NewDesign(f.Bits, f.Distance, f.Levels...)
	}
	return screen.NewPlan(screen.PlanOptions{F: f.Bits, K: f.Distance, Prints: prints, Bytes: memory, Queries: prints})
}

// tables returns an index that finds prints close to a given one.
func (m *PrintMaker) tables(prints []screen.Wide, memory int64) (func(q screen.Wide, dst []screen.Hit) []screen.Hit, error) {
	d, err := m.Flags.design(len(prints), memory)
	if err != nil {
		return nil, err
	}
	if m.Flags.Bits > 64 {
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

// WeighFeatures provides the maker with the frequencies named by --idf. It counts features of libraries within the given memory.
func (m *PrintMaker) WeighFeatures(ctx context.Context, a *cli.Terminal, o *instance.Instance, memory int64, libraries ...string) error {
	switch m.Flags.IDF {
	case IDFAuto:
		n := 0
		for _, lib := range libraries {
			if lib == "" {
				continue
			}
			for _, err := range o.LibraryDocuments(ctx, concordat.LibraryID(lib)) {
				if err == nil {
					n++
				}
				if n >= LeastCounted {
					break
				}
			}
		}
		if n < LeastCounted {
			return nil
		}
	case IDFCollection:
	default:
		return nil // none, or from a file
	}
	counted, err := m.countFeatures(ctx, a, o, memory, libraries...)
	if err != nil {
		return err
	}
	m.Weigh.Frequencies = counted
	m.Flags.Counted = counted.Documents()
	return nil
}

// countFeatures counts the documents of the libraries that contain each feature, within the given memory.
func (m *PrintMaker) countFeatures(ctx context.Context, a *cli.Terminal, o *instance.Instance, memory int64,
	libraries ...string) (*simhash.Frequencies, error) {
	const featureBytes = 40
	counted := &simhash.Frequencies{}
	b := a.Progress(-1, "counting features")
	defer b.Done()
	pruned := false
	for _, lib := range libraries {
		if lib == "" {
			continue
		}
		for d, err := range o.LibraryDocuments(ctx, concordat.LibraryID(lib)) {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			if err != nil {
				continue // reported when the document is read for its print
			}
			t, err := segment.Split(d.Text)
			if err != nil {
				return nil, fmt.Errorf("document %s/%s: %w", d.Library, d.ID, err)
			}
			counted.Add(screen.Features(t, m.Runs))
			b.Add(1)
			if int64(counted.Features())*featureBytes > memory {
				counted.Prune(int(memory / featureBytes / 2))
				pruned = true
			}
		}
	}
	if pruned {
		a.Warn("the rarest features are not counted: they need more than --memory %d MiB", memory>>20)
	}
	return counted, nil
}

// maxCrowded is the crowding of prints above which tables compare significantly more prints than they would if prints were uniform.
const maxCrowded = 1.5

// warnUneven warns about uneven prints and suggests a remedy.
func (a *commands) warnUneven(d *screen.Distribution) {
	if d.Prints < 1000 || d.Crowding() <= maxCrowded {
		return
	}
	a.Warn("the prints are uneven: they share leading bits %.1f times as often as uniform ones, so near prints often do not come "+
		"from near-duplicates, and more of them are compared. Weight the features (--idf collection), drop stop words, or use longer "+
		"runs (--features words1-3)", d.Crowding())
}
