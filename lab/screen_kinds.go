package main

import (
	"fmt"
	"math/bits"
	"regexp"
	"strconv"
	"strings"
	"time"

	"concordat/cmd/cli"
	"concordat/cmd/concordat/screening"
	"concordat/minhash"
	"concordat/screen"
	"concordat/segment"
	"concordat/simhash"
)

// sweepPrint is a print in a sweep, of up to 256 bits.
type sweepPrint [simhash.MaxBits / 64]uint64

func (p sweepPrint) distance(q sweepPrint) (n int) {
	for i := range p {
		n += bits.OnesCount64(p[i] ^ q[i])
	}
	return n
}

// kindOfPrint is one column of a sweep.
type kindOfPrint struct {
	name     string
	bits     int
	farthest int // maximum distance of related documents
	maker    int // index into makers
	of       func(features []uint64, weighed []simhash.Feature) sweepPrint
}

// sweeper makes the prints of a text, one of each kind.
type sweeper struct {
	makers  []*screening.PrintMaker // one for each variant of an option, or a single one
	kinds   []kindOfPrint
	sweeps  []screen.Sweep
	spreads []screen.Distribution
	texts   int
	shared  []time.Duration // by maker: time for features and weights of all texts
	own     []time.Duration // time by kind
}

// check rejects options that produce no prints or that do not affect prints.
func (f *sweepFlags) check(given func(string) bool) error {
	f.print.Bits, f.print.Distance = 64, 0
	if f.vary != "" && !given("widths") {
		f.widths = f.widths[:1]
	}
	letters := strings.HasPrefix(f.print.Features, "letters")
	switch {
	case f.vary == "bits" && given("widths") || given(f.vary):
		return cli.Usagef("--vary %s compares all values of that option, so the option cannot be set", f.vary)
	case f.vary != "" && len(f.widths) > 1:
		return cli.Usagef("--vary %s compares prints of one width, so --widths must have a single value", f.vary)
	case letters && (given("stop-words") || f.vary == "stop-words"):
		return cli.Usagef("--stop-words applies only to words and cannot be used with --features %s", f.print.Features)
	}
	for _, w := range f.widths {
		if w < 1 || w > simhash.MaxBits {
			return cli.Usagef("invalid width %d; --widths must be 1 to %d bits", w, simhash.MaxBits)
		}
		if w > 64 && f.print.Hash == "plain" && f.vary != "hash" {
			return cli.Usagef("--hash plain has 64 bits and does not support %d; set --widths to at most 64", w)
		}
	}
	if len(f.widths) == 0 {
		return cli.Usagef("--widths requires at least one width")
	}
	_, err := newSweeper(f)
	return err
}

// variants returns the options to compare, with their names.
func (f *sweepFlags) variants() (names []string, all []screening.PrintOptions, err error) {
	base := f.print
	base.Bits = f.widths[0]
	vary := func(set func(*screening.PrintOptions, string), values ...string) {
		for _, v := range values {
			o := base
			set(&o, v)
			names, all = append(names, v), append(all, o)
		}
	}
	switch f.vary {
	case "hash":
		base.Bits = min(64, base.Bits)
		vary(func(o *screening.PrintOptions, v string) { o.Hash = v }, "mix", "plain", "xxhash", "md5", "sha1", "sha256")
	case "bits":
		if base.Hash == "plain" {
			return nil, nil, cli.Usagef("--vary bits: --hash plain has only 64 bits")
		}
		vary(func(o *screening.PrintOptions, v string) { o.Bits, _ = strconv.Atoi(v) }, "32", "64", "96", "128", "192", "256")
	case "features":
		if base.Stem {
			return nil, nil, cli.Usagef("--stem cannot be used with --vary features, because letters have no stems")
		}
		vary(func(o *screening.PrintOptions, v string) { o.Features = v }, "words", "words1-2", "words1-3", "words2", "words3", "letters3",
			"letters5", "letters8", "sentences")
	case "stop-words":
		vary(func(o *screening.PrintOptions, v string) { o.StopWords = v }, screening.StopDrop, screening.StopKeep)
	case "stem":
		vary(func(o *screening.PrintOptions, v string) { o.Stem = v == "stems" }, "words", "stems")
	case "tf":
		vary(func(o *screening.PrintOptions, v string) { o.TF = v }, "log", "count", "once")
	case "idf":
		vary(func(o *screening.PrintOptions, v string) { o.IDF = v }, screening.IDFNone, screening.IDFCollection)
	default:
		err = cli.Usagef("unknown option %q for --vary; want hash, bits, features, stop-words, stem, tf or idf", f.vary)
	}
	return names, all, err
}

func newSweeper(f *sweepFlags) (*sweeper, error) {
	s := &sweeper{}
	if f.vary != "" {
		names, all, err := f.variants()
		if err != nil {
			return nil, err
		}
		for i, o := range all {
			m, err := screening.NewPrintMaker(o)
			if err != nil {
				return nil, err
			}
			s.makers = append(s.makers, m)
			s.kinds = append(s.kinds, simhashKind(fmt.Sprintf("simhash %d, %s %s", o.Bits, f.vary, names[i]), m, o.Bits, i))
		}
		s.ready()
		return s, nil
	}
	m, err := screening.NewPrintMaker(f.print)
	if err != nil {
		return nil, err
	}
	s.makers = []*screening.PrintMaker{m}
	for _, w := range f.widths {
		s.kinds = append(s.kinds, simhashKind(fmt.Sprintf("simhash %d", w), m, w, 0))
	}
	for _, b := range []int{1, 4} {
		sketch, err := minhash.New(b, nil)
		if err != nil {
			return nil, err
		}
		s.kinds = append(s.kinds, kindOfPrint{fmt.Sprintf("minhash 100 (%d x %d bits)", 100/b, b), 100, 48, 0,
			func(f []uint64, _ []simhash.Feature) sweepPrint {
				hi, lo := sketch.Sketch(f).Halves()
				return sweepPrint{lo, hi}
			}})
	}
	s.ready()
	return s, nil
}

func simhashKind(name string, m *screening.PrintMaker, width, maker int) kindOfPrint {
	return kindOfPrint{name, width, width * 42 / 100, maker, func(_ []uint64, w []simhash.Feature) sweepPrint {
		p, _ := m.Printer.Print(w, width) // the width has been checked
		return p
	}}
}

func (s *sweeper) ready() {
	s.sweeps, s.spreads = make([]screen.Sweep, len(s.kinds)), make([]screen.Distribution, len(s.kinds))
	s.shared, s.own = make([]time.Duration, len(s.makers)), make([]time.Duration, len(s.kinds))
}

// weighed adds I-Match, which needs the frequencies of features, once the makers have them.
func (s *sweeper) weighed() {
	df := s.makers[0].Weigh.Frequencies
	if len(s.makers) > 1 || df == nil {
		return
	}
	s.kinds = append(s.kinds, kindOfPrint{"I-Match", 1, 0, 0, func(f []uint64, _ []simhash.Feature) sweepPrint {
		return sweepPrint(screen.IMatch(f, df))
	}})
	s.ready()
}

// weighTexts provides the makers with the frequencies requested by --idf, counted in the texts that each yields.
func (s *sweeper) weighTexts(each func(count func(text string) error) error) error {
	for _, m := range s.makers {
		if m.Flags.IDF != screening.IDFAuto && m.Flags.IDF != screening.IDFCollection {
			continue
		}
		counted := &simhash.Frequencies{}
		err := each(func(text string) error {
			t, err := segment.Split(text)
			if err == nil {
				counted.Add(screen.Features(t, m.Runs))
			}
			return err
		})
		if err != nil {
			return err
		}
		if m.Flags.IDF == screening.IDFCollection || counted.Documents() >= screening.LeastCounted {
			m.Weigh.Frequencies, m.Flags.Counted = counted, counted.Documents()
		}
	}
	s.weighed()
	return nil
}

// prints returns the prints of a text. It measures their cost as elapsed time of one goroutine.
func (s *sweeper) prints(text string) ([]sweepPrint, error) {
	t, err := segment.Split(text)
	if err != nil {
		return nil, err
	}
	s.texts++
	out := make([]sweepPrint, len(s.kinds))
	for i, m := range s.makers {
		since := time.Now()
		features := screen.Features(t, m.Runs)
		weighed := m.Weigh.Weigh(features, nil)
		s.shared[i] += time.Since(since)
		for j, k := range s.kinds {
			if k.maker != i {
				continue
			}
			since = time.Now()
			out[j] = k.of(features, weighed)
			s.own[j] += time.Since(since)
			s.spreads[j].Add(out[j][0])
		}
	}
	return out, nil
}

// cost returns the time for making a print of the kind from a text, without the time for dividing the text into words.
func (s *sweeper) cost(kind int) time.Duration {
	if s.texts == 0 {
		return 0
	}
	return (s.own[kind] + s.shared[s.kinds[kind].maker]) / time.Duration(s.texts)
}

func (s *sweeper) add(a, b []sweepPrint, same bool) {
	for i := range s.kinds {
		s.sweeps[i].Add(screen.Labelled{Distance: a[i].distance(b[i]), Same: same})
	}
}

// exactRuns matches the form of --exact.
var exactRuns = regexp.MustCompile(`^(words|letters)([1-9]\d?)$`)

// parseExact parses --exact.
func parseExact(text string) (screen.Shingling, error) {
	p := exactRuns.FindStringSubmatch(text)
	if p == nil {
		return screen.Shingling{}, cli.Usagef("invalid value %q for --exact; want letters or words and a length, such as letters8", text)
	}
	width, _ := strconv.Atoi(p[2]) // the pattern allows only digits
	return screen.Shingling{Letters: p[1] == "letters", Width: width}, nil
}
