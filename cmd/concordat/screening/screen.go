// Package screening implements the command screen and its subcommands. They find near-duplicates in whole libraries by the methods of
// package screen, and include preparation and measurement. Start from [Command].
package screening

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cmd/cli"
	"concordat/instance"
	"concordat/report"
	"concordat/screen"
	"concordat/segment"
	"concordat/site"
)

// Screening methods. The exact pass precedes each method.
const (
	methodExact       = "exact"
	methodFingerprint = "fingerprint"
	methodSimhash     = "simhash"
	methodShingle     = "shingle"
	methodShort       = "short"
)

const maxFolded = 100 // the maximum number of copies of a text for which all pairs are printed

// screenFlags defines a screening. Fields without a JSON name affect only how the result is computed or shown, and may differ when a
// screening resumes.
type screenFlags struct {
	Library   string  `json:"library"`
	Against   string  `json:"against,omitempty"`
	Method    string  `json:"method"`
	Threshold float64 `json:"threshold"`
	Contained bool    `json:"contained,omitempty"`
	// CheckShares is the number of documents to check for the shares of their pairs.
	CheckShares int    `json:"shares,omitempty"`
	Template    string `json:"template,omitempty"`
	MemoryMiB   int    `json:"memory_mib"` // determines how the work is divided

	Print   PrintOptions `json:"print,omitzero"`
	Shingle shingleFlags `json:"shingle,omitzero"`
	Short   shortFlags   `json:"short,omitzero"`

	Partners []string `json:"partners,omitempty"`
	Purpose  string   `json:"purpose,omitempty"`

	Scheme concordat.Scheme `json:"scheme"`
	Site   concordat.SiteID `json:"site"`

	work, out, dates, keep string
	removal                float64
	top                    int // the number of pairs to print per document; 0 means all
	deadline               time.Duration
}

// shingleFlags contains the options of the method shingle.
type shingleFlags struct {
	Width   int    `json:"width"`
	Letters bool   `json:"letters,omitempty"`
	Sketch  int    `json:"sketch,omitempty"`  // the number of values in MIN_s
	Modulus uint64 `json:"modulus,omitempty"` // m of MOD_m; 0 selects MIN_s
	Super   int    `json:"super,omitempty"`
}

// shortFlags contains the options of the method short.
type shortFlags struct {
	Grams   []int  `json:"grams"` // nil means depending on the script
	Words   bool   `json:"words,omitempty"`
	Measure string `json:"measure"`
	Edits   int    `json:"edits"`
	Longest int    `json:"longest"` // maximum length in letters
	Ranges  int    `json:"ranges"`  // determines how the comparison is divided
}

var measures = map[string]screen.Measure{"jaccard": screen.Jaccard, "cosine": screen.Cosine, "edit": screen.Edit}

// commands contains the state that the screening commands share, for the site of a folder.
type commands struct{ *cli.Site }

// Command returns the command screen with its subcommands, for the site s.
func Command(s *cli.Site) *cobra.Command {
	a := &commands{s}
	var f screenFlags
	c := &cobra.Command{
		Use: "screen --library L", Short: "Find near-duplicates within a library or between two libraries", Args: cobra.NoArgs,
		Long: `Screen compares every document of a library with every other, or with all of another library. It prints the
pairs whose resemblance reaches the threshold, the clusters they form, each with a representative and probable
origins, and the documents that another one can replace. It deletes nothing.

Texts that differ only in case, spaces and punctuation are found first, whatever the method:

  fingerprint  by sentence fingerprints: shared passages; resemblance is the share of the characters
               of both texts that the passages cover
  shingle      by sampled runs of words: estimated resemblance and containment
  simhash      by one print per document: only versions of the same text
  short        by letters and pairs of letters, for short texts

The shares (in a, in b) are those of a check or batch: the documents of the pairs are compared word by word, and
text explained by a form or list of references counts in neither. Beyond --shares documents, the least similar
pairs keep the method's estimate, marked ~, with bounds in the tables and in --json.

With --partner, the library is compared with those of other sites: the keyed fingerprints of each text's
sentences are sent, and the partner answers as its rules allow. Texts stay here, and every share is an estimate.

Work is kept in the site's folder, or in --work, until the results are written; after an interruption or a full
disk, repeat the command to continue. --out writes a page with pictures, tables and the list of removable
documents.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			if os.Getenv("GOMEMLIMIT") == "" {
				debug.SetMemoryLimit(int64(f.MemoryMiB+screenBase) << 20)
			}
			return a.With(cmd.Context(), instance.WithIndex, func(o *instance.Instance) error { return a.screen(cmd.Context(), o, f) })
		},
	}
	f.define(c)
	c.AddCommand(a.screenPrintsCommand(), a.screenBatchCommand(), a.screenJoinCommand(), a.screenPackCommand(), a.screenNearCommand(),
		a.screenPlanCommand(), a.screenDistributionCommand(), a.screenGramsCommand(), a.screenThreeCommand(),
		a.screenFrequenciesCommand(), a.screenDocumentsCommand(), a.screenStageCommand())
	return c
}

// screenBase is the memory in MiB that the program may use beyond --memory before it collects garbage more often.
const screenBase = 96

func (f *screenFlags) define(c *cobra.Command) {
	fl := c.Flags()
	fl.StringVar(&f.Library, "library", "", "library to screen")
	fl.StringVar(&f.Against, "against", "", "compare with this library instead of within itself")
	fl.StringVar(&f.Method, "method", methodFingerprint, "method: fingerprint, simhash, shingle or short")
	fl.Float64Var(&f.Threshold, "threshold", 0.3, "minimum resemblance of the pairs to print")
	fl.BoolVar(&f.Contained, "contained", false,
		"apply the threshold to the share of either document that is found in the other (fingerprint, shingle)")
	fl.StringVar(&f.Template, "template", "", "section template, to show which sections overlap (fingerprint)")
	fl.IntVar(&f.MemoryMiB, "memory", 1024, "approximate memory for comparisons, in MiB")
	fl.StringVar(&f.work, "work", "", "folder for unfinished work (default: the folder screen in the site's folder)")
	fl.StringVar(&f.out, "out", "", "folder for a page with pictures, tables (CSV, JSON lines) and the removal list")
	fl.StringVar(&f.dates, "dates", "", "file with a line DOCUMENT TAB DATE for each document, with dates such as 2019-05 (default: the date on which it was added)")
	fl.StringVar(&f.keep, "keep", keepOldest, "which of several similar documents to leave off the removal list: oldest, newest, longest or central")
	fl.Float64Var(&f.removal, "removal-threshold", 0.9, "list a document for removal if its resemblance to a kept document is at least this value")
	fl.StringArrayVar(&f.Partners, "partner", nil,
		"compare with another site, or one library of it: SITE or SITE/LIBRARY; repeatable (fingerprint)")
	fl.StringVar(&f.Purpose, "purpose", "", "purpose stated to partners, such as thesis")
	fl.DurationVar(&f.deadline, "deadline", site.DefaultDeadline, "time limit per partner and text")
	fl.IntVar(&f.CheckShares, "shares", 1000, "number of documents to compare word by word, the most similar pairs first; the shares of other pairs are estimates (0: none)")
	fl.IntVar(&f.top, "top", 0, "print at most this many pairs for each document, the most similar first (0: all)")
	f.Print.define(c)
	fl.IntVar(&f.Shingle.Width, "width", 5, "number of words, or letters, in a shingle")
	fl.BoolVar(&f.Shingle.Letters, "letters", false, "use shingles of letters instead of words")
	fl.IntVar(&f.Shingle.Sketch, "sketch", 100, "number of values in a sketch, 8 bytes each")
	fl.Uint64Var(&f.Shingle.Modulus, "modulus", 0, "sample one in this many shingles, instead of a fixed number (--sketch)")
	fl.IntVar(&f.Shingle.Super, "super", 0, "find candidates by super-shingles of this many values: faster, but finds only high resemblance")
	fl.IntSliceVar(&f.Short.Grams, "grams", nil, "lengths of the runs of letters or words to compare in short texts "+
		"(default: 1,2 for words and for Chinese or Japanese text, otherwise 2,3)")
	fl.BoolVar(&f.Short.Words, "words", false, "compare short texts by runs of words instead of letters")
	fl.StringVar(&f.Short.Measure, "measure", "jaccard", "similarity of short texts: jaccard, cosine or edit")
	fl.IntVar(&f.Short.Edits, "edits", 2, "also find short texts this many edits apart")
	fl.IntVar(&f.Short.Longest, "longest", 200, "maximum length of a short text, in letters")
}

// check rejects impossible combinations, and clears the options of other methods.
func (f *screenFlags) check() error {
	switch {
	case f.Library == "":
		return cli.Usagef("--library is required: name the library to screen")
	case !slices.Contains([]string{methodFingerprint, methodSimhash, methodShingle, methodShort}, f.Method):
		return cli.Usagef("--method %q: want fingerprint, simhash, shingle or short", f.Method)
	case !(f.Threshold > 0 && f.Threshold <= 1):
		return cli.Usagef("--threshold %v: want a share above 0, at most 1", f.Threshold)
	case !(f.removal > 0 && f.removal <= 1):
		return cli.Usagef("--removal-threshold %v: want a share above 0, at most 1", f.removal)
	case f.CheckShares < 0:
		return cli.Usagef("--shares %d: want a number of documents, or 0 for none", f.CheckShares)
	case f.top < 0:
		return cli.Usagef("--top %d: want a number of pairs, or 0 for all", f.top)
	case f.MemoryMiB < 1 || f.MemoryMiB > 1<<20:
		return cli.Usagef("--memory %d: want 1 to %d MiB", f.MemoryMiB, 1<<20)
	case !slices.Contains(keeps, f.keep):
		return cli.Usagef("--keep %q: want oldest, newest, longest or central", f.keep)
	case f.Contained && f.Method != methodFingerprint && f.Method != methodShingle:
		return cli.Usagef("--contained: method %s does not measure containment", f.Method)
	case len(f.Partners) > 0 && f.Method != methodFingerprint:
		return cli.Usagef("--partner requires --method fingerprint, not %s", f.Method)
	case len(f.Partners) > 0 && (f.Against != "" || f.Template != ""):
		return cli.Usagef("--partner cannot be combined with --against or --template")
	case f.deadline <= 0:
		return cli.Usagef("--deadline %s: want a positive duration", f.deadline)
	case f.Template != "" && f.Method != methodFingerprint:
		return cli.Usagef("--template: method %s does not locate the passages that texts share", f.Method)
	}
	if f.Method != methodSimhash {
		f.Print = PrintOptions{}
	} else if err := f.Print.check(); err != nil {
		return err
	}
	if s := f.Shingle; f.Method != methodShingle {
		f.Shingle = shingleFlags{}
	} else if s.Width < 1 || s.Width > 1000 || s.Sketch < 1 || s.Sketch > 1<<20 || s.Super < 0 || s.Super > s.Sketch {
		return cli.Usagef("--width %d, --sketch %d, --super %d: want 1 to 1000, 1 to %d, and 0 to the size of the sketch", s.Width, s.Sketch, s.Super, 1<<20)
	}
	if f.Method != methodShort {
		f.Short = shortFlags{}
		return nil
	}
	f.Short.Ranges = shortRanges
	if f.Short.Words {
		f.Short.Edits = 0 // words have no letters to edit
	}
	if f.Short.Longest < 1 || f.Short.Longest > 10_000 {
		return cli.Usagef("--longest %d: want 1 to 10,000 letters", f.Short.Longest)
	}
	if _, err := f.shortOptions(); err != nil {
		return cli.Usage(err)
	}
	return nil
}

func (f *screenFlags) shortOptions() (screen.ShortOptions, error) {
	m, ok := measures[f.Short.Measure]
	if !ok {
		return screen.ShortOptions{}, fmt.Errorf("--measure %q: want jaccard, cosine or edit", f.Short.Measure)
	}
	o := screen.ShortOptions{Grams: f.Short.Grams, Measure: m, Threshold: f.Threshold, Edits: f.Short.Edits, Words: f.Short.Words}
	_, err := screen.NewShort(nil, o)
	return o, err
}

// sections returns the documents' section template, which defaults to their libraries' template. It records the template's name, which is
// part of the screening's identity. If there is none, or if the method does not locate matches, it returns nil.
func (f *screenFlags) sections(ctx context.Context, o *instance.Instance) (*segment.Template, error) {
	if f.Method != methodFingerprint || len(f.Partners) > 0 {
		return nil, nil
	}
	libraries := []concordat.LibraryID{concordat.LibraryID(f.Library)}
	if f.Against != "" {
		libraries = append(libraries, concordat.LibraryID(f.Against))
	}
	t, err := o.SectionTemplate(ctx, f.Template, libraries)
	if f.Template = ""; t != nil {
		f.Template = t.Name
	}
	return t, err
}

// screening is a single run.
type screening struct {
	screenFlags
	app      *commands
	site     *instance.Instance
	self     bool
	abroad   *abroad // nil if the screening stays within this site
	template *segment.Template
	printer  *PrintMaker
	work     *work
	docs     []screenDoc
	texts    []screenText
	pairs    []foundPair
	measured map[int]map[int]float64 // shares by text, and by the text that contains the matches
	sum      screenSummary
}

// screenDoc is a document in one of the libraries.
type screenDoc struct {
	Side    int                  `json:"side"`           // 0 in --library, 1 in --against or at a partner
	Site    concordat.SiteID     `json:"site,omitempty"` // empty for this site
	Library concordat.LibraryID  `json:"library"`
	ID      concordat.DocumentID `json:"id"`
	Title   string               `json:"title,omitempty"`
	Added   time.Time            `json:"added"`
	Letters int                  `json:"letters"`
	Bytes   int                  `json:"bytes"` // length of the text
	Text    int                  `json:"text"`  // index in texts
}

// screenText is a distinct text.
type screenText struct {
	members [2][]int32 // indices in docs, by side
	at      int64      // offset of the record in work.texts
	blank   bool       // contains nothing that the method can compare
}

// foundPair is a pair of texts that reaches the threshold. NaN means not measured.
type foundPair struct {
	A           int         `json:"a"`
	B           int         `json:"b"`
	Resemblance float64     `json:"r"`
	Contained   *[2]float64 `json:"c,omitempty"` // share of A in B and of B in A
	Interval    *[2]float64 `json:"i,omitempty"` // 95 % interval of an estimated resemblance
	OneSided    bool        `json:"-"`           // the length of B is undisclosed, so Resemblance is the share of A in B
	Measured    bool        `json:"-"`           // Contained contains shares from checks
	Found       float64     `json:"-"`           // the method's resemblance, if Measured
	// Within contains the bounds if Contained is an estimate.
	Within   *[2]report.Bounds `json:"-"`
	Sections []screenSections  `json:"s,omitempty"`
}

// maxPairs is the maximum number of pairs in a result. They are kept in memory.
const maxPairs = 5_000_000

// FolderName is the name of the folder for screenings in progress.
const FolderName = "screen"

func (a *commands) screen(ctx context.Context, o *instance.Instance, f screenFlags) (err error) {
	s, err := a.newScreening(ctx, o, f)
	if err != nil {
		return err
	}
	defer s.abroad.close()
	dates, err := readDates(f.dates)
	if err != nil {
		return err
	}
	parent := f.work
	if parent == "" {
		parent = filepath.Join(o.Dir, FolderName)
	}
	if s.work, err = openWork(parent, s.screenFlags); err != nil {
		return err
	}
	if err := s.run(ctx, dates); err != nil {
		return s.work.explain(errors.Join(err, s.work.close()))
	}
	if err := s.work.remove(); err != nil {
		return err
	}
	if s.sum.Unread > 0 {
		return &cli.Exit{Code: cli.Unreadable, Err: fmt.Errorf("%d documents could not be read; the others were compared", s.sum.Unread)}
	}
	return nil
}

func (a *commands) newScreening(ctx context.Context, o *instance.Instance, f screenFlags) (*screening, error) {
	for _, lib := range []string{f.Library, f.Against} {
		if lib == "" {
			continue
		}
		if _, err := o.Store.Catalogue.Library(ctx, concordat.LibraryID(lib)); errors.Is(err, concordat.ErrNotFound) {
			return nil, cli.Usagef("no library %q; to list the libraries, run concordat library list", lib)
		} else if err != nil {
			return nil, err
		}
	}
	if f.Against == f.Library {
		f.Against = ""
	}
	template, err := f.sections(ctx, o)
	if err != nil {
		return nil, err
	}
	f.Scheme, f.Site = o.Profiler.Scheme(), o.Config.Site.ID
	s := &screening{screenFlags: f, app: a, site: o, template: template, self: f.Against == "", measured: map[int]map[int]float64{}}
	s.sum = screenSummary{Type: "summary", Library: concordat.LibraryID(f.Library), Against: concordat.LibraryID(f.Against),
		Method: f.Method, Threshold: f.Threshold}
	if len(f.Partners) > 0 {
		s.self = false
		if s.abroad, err = a.openAbroad(ctx, o, &s.screenFlags); err != nil {
			return nil, err
		}
	}
	if f.Method == methodSimhash {
		if s.printer, err = NewPrintMaker(f.Print); err != nil {
			return nil, err
		}
		err = s.printer.WeighFeatures(ctx, &a.Terminal, o, int64(f.MemoryMiB)<<20, f.Library, f.Against)
	}
	return s, err
}

func (s *screening) run(ctx context.Context, dates map[concordat.DocumentID]time.Time) error {
	if err := s.read(ctx); err != nil {
		return err
	}
	if err := s.compare(ctx); err != nil {
		return err
	}
	if err := s.measure(ctx); err != nil {
		return err
	}
	r := s.results(dates)
	if s.out != "" {
		if err := s.writeOut(r); err != nil {
			return err
		}
	}
	return s.app.printScreened(s, r)
}
