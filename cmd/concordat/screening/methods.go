package screening

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"concordat"
	"concordat/minhash"
	"concordat/screen"
	"concordat/segment"
)

// textSum is equal for texts that differ only in case, spaces and punctuation.
type textSum [sha256.Size]byte

// sumOf returns the sum of a text and its number of letters, marks and digits.
func sumOf(text string) (sum textSum, letters int) {
	b := make([]byte, 0, len(text))
	for _, r := range text {
		if unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsNumber(r) {
			b = utf8.AppendRune(b, unicode.ToLower(r))
			letters++
		}
	}
	return sha256.Sum256(b), letters
}

// joinRecord joins the head with the data that the method compares; splitRecord is its inverse.
func joinRecord(head, body []byte) []byte {
	out := make([]byte, 0, 4+len(head)+len(body))
	out = binary.LittleEndian.AppendUint32(out, uint32(len(head)))
	return append(append(out, head...), body...)
}

func splitRecord(b []byte) (head, body []byte, err error) {
	if len(b) < 4 || int64(binary.LittleEndian.Uint32(b)) > int64(len(b)-4) {
		return nil, nil, errors.New("work file: a record is missing its text")
	}
	n := 4 + int(binary.LittleEndian.Uint32(b))
	return b[4:n], b[n:], nil
}

// prepare converts a text to the data that the method compares.
func (s *screening) prepare(d *concordat.Document) (body []byte, blank bool, err error) {
	t, err := segment.Split(d.Text)
	if err != nil {
		return nil, false, fmt.Errorf("document %s/%s: %w", d.Library, d.ID, err)
	}
	if s.abroad != nil {
		text := d.Text
		if t.Chars() == 0 {
			text = ""
		}
		return []byte(text), text == "", nil
	}
	switch s.Method {
	case methodFingerprint:
		p, err := s.site.Profiler.Profile(*d, s.template)
		if err != nil {
			return nil, false, err
		}
		doc := screen.NewDocument(p, t)
		body, err = doc.AppendBinary(nil)
		return body, len(doc.Indexed) == 0, err
	case methodShingle:
		m := s.sketch(t)
		body = binary.LittleEndian.AppendUint64(nil, uint64(m.Set))
		for _, v := range m.Values {
			body = binary.LittleEndian.AppendUint64(body, v)
		}
		return body, m.Set == 0, nil
	case methodSimhash:
		p, any, err := s.printer.print(t)
		return screen.AppendWide(nil, p), !any, err
	case methodShort:
		text := screen.Letters(t)
		if blank = text == "" || utf8.RuneCountInString(text) > s.Short.Longest; blank {
			return nil, true, nil
		}
		if s.Short.Words {
			text = screen.Words(t)
		}
		return []byte(text), false, nil
	}
	return nil, false, fmt.Errorf("method %q", s.Method)
}

// sketch returns MIN_s of the shingles, or MOD_m as a sketch of unlimited size, which has the same estimates as MOD_m.
func (s *screening) sketch(t *segment.Text) minhash.MinSketch {
	shingles := screen.Shingling{Width: s.Shingle.Width, Letters: s.Shingle.Letters}.Append(t, nil)
	if s.Shingle.Modulus == 0 {
		return minhash.NewShingler(nil).Min(shingles, s.Shingle.Sketch)
	}
	return minhash.NewShingler(nil).Mod(shingles, s.Shingle.Modulus).Unbounded()
}

// body returns the data of a text that the method compares.
func (s *screening) body(text int, buf []byte) ([]byte, error) {
	b, err := s.work.texts.read(s.texts[text].at, buf)
	if err != nil {
		return nil, err
	}
	_, body, err := splitRecord(b)
	return body, err
}

// across reports whether two texts have documents to compare with each other.
func (s *screening) across(i, j int) bool {
	x, y := &s.texts[i], &s.texts[j]
	return s.self || len(x.members[0]) > 0 && len(y.members[1]) > 0 || len(y.members[0]) > 0 && len(x.members[1]) > 0
}

// unit is a record of work.found for a completed part of the comparison.
type unit struct {
	Unit       int         `json:"unit"`
	Candidates int         `json:"candidates"`
	Pairs      []foundPair `json:"pairs"`
}

// units stores findings, including those of an earlier run.
type units struct {
	s    *screening
	done map[int]bool
	mu   sync.Mutex // protects s.pairs and s.sum
}

// found reads the units of an earlier run.
func (s *screening) found() (*units, error) {
	u := &units{s: s, done: map[int]bool{}}
	err := s.work.found.replay(func(b []byte, _ int64) bool {
		var r struct {
			unit
			measured
		}
		if json.Unmarshal(b, &r) != nil || r.Measured > len(s.texts) {
			return false
		}
		if r.Measured > 0 {
			s.measured[r.Measured-1] = r.Shares
			return true
		}
		for _, p := range r.Pairs {
			if p.A < 0 || p.B < 0 || p.A >= len(s.texts) || p.B >= len(s.texts) {
				return false
			}
		}
		u.done[r.Unit] = true
		s.pairs = append(s.pairs, r.Pairs...)
		s.sum.Candidates += r.Candidates
		return true
	})
	return u, err
}

// keep writes a completed unit.
func (u *units) keep(r unit) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.s.pairs)+len(r.Pairs) > maxPairs {
		return fmt.Errorf("found more than %d pairs: %w; repeat with a higher --threshold", maxPairs, screen.ErrMemory)
	}
	u.s.pairs = append(u.s.pairs, r.Pairs...)
	u.s.sum.Candidates += r.Candidates
	if _, err := u.s.work.found.append(b); err != nil {
		return err
	}
	return u.s.work.found.flush()
}

func (s *screening) compare(ctx context.Context) error {
	if s.abroad != nil {
		return s.matchPartners(ctx)
	}
	u, err := s.found()
	if err != nil {
		return err
	}
	switch s.Method {
	case methodShingle:
		return s.bySketch(ctx, u)
	case methodSimhash:
		return s.byPrint(ctx, u)
	case methodShort:
		return s.byLetters(ctx, u)
	}
	return s.byFingerprint(ctx, u)
}

// bySketch estimates resemblance from sketches, which it reads from the work file as needed. A unit contains the pairs found for a fixed
// number of texts.
func (s *screening) bySketch(ctx context.Context, u *units) error {
	const texts = 20_000
	size := s.Shingle.Sketch
	if s.Shingle.Modulus > 0 {
		size = math.MaxInt
	}
	var buf []byte
	var values []uint64
	b := s.app.Progress(int64(len(s.texts)), "joining")
	defer b.Done()
	join := screen.SketchJoin{
		Options: screen.SketchOptions{Threshold: s.Threshold, Contained: s.Contained, Super: s.Shingle.Super},
		Space:   s.work, Bytes: int64(s.MemoryMiB) << 20, Documents: len(s.texts),
		Sketch: func(i int) (minhash.MinSketch, error) {
			if cap(buf) == 0 {
				buf = make([]byte, 4096)
			}
			body, err := s.body(i, buf)
			if err != nil || len(body) < 8 || len(body)%8 != 0 {
				return minhash.MinSketch{}, errors.Join(err, errIf(len(body) < 8, "work file: a record is missing its sketch"))
			}
			values = values[:0]
			for at := 8; at < len(body); at += 8 {
				values = append(values, binary.LittleEndian.Uint64(body[at:]))
			}
			return minhash.MinSketch{Values: values, Size: size, Set: int(binary.LittleEndian.Uint64(body))}, nil
		},
	}
	current := unit{}
	stats, err := join.Run(ctx, func(p screen.SketchPair) error {
		if n := p.A / texts; n != current.Unit {
			if err := u.finish(current); err != nil {
				return err
			}
			current = unit{Unit: n}
			b.Set(p.A)
		}
		if u.done[current.Unit] || !s.across(p.A, p.B) {
			return nil
		}
		low, high := p.Resemblance.Interval(0.95)
		current.Pairs = append(current.Pairs, foundPair{A: p.A, B: p.B, Resemblance: p.Resemblance.Value(),
			Contained: &[2]float64{p.ContainedA.Value(), p.ContainedB.Value()}, Interval: &[2]float64{low, high}})
		return nil
	})
	if err != nil {
		return err
	}
	s.sum.Common, s.sum.Candidates = stats.Common, stats.Measured
	return u.finish(current)
}

func errIf(is bool, text string) error {
	if is {
		return errors.New(text)
	}
	return nil
}

// finish stores a unit unless an earlier run has done so.
func (u *units) finish(r unit) error {
	if u.done[r.Unit] {
		return nil
	}
	return u.keep(r)
}

// byPrint finds prints that differ by few bits. A unit contains the pairs found for a fixed number of prints.
func (s *screening) byPrint(ctx context.Context, u *units) error {
	const prints = 100_000
	var all []screen.Wide
	var of []int
	for i := range s.texts {
		if s.texts[i].blank {
			continue
		}
		body, err := s.body(i, nil)
		if err != nil || len(body) != 16 {
			return errors.Join(err, errIf(len(body) != 16, "work file: a record is missing its print"))
		}
		all = append(all, screen.Wide{binary.BigEndian.Uint64(body[8:]), binary.BigEndian.Uint64(body)})
		of = append(of, i)
	}
	near, err := s.printer.tables(all, int64(s.MemoryMiB)<<20)
	if err != nil {
		return err
	}
	b := s.app.Progress(int64(len(all)), "comparing")
	defer b.Done()
	var hits []screen.Hit
	for from := 0; from < len(all); from += prints {
		r := unit{Unit: from / prints}
		if u.done[r.Unit] {
			continue
		}
		for i := from; i < min(from+prints, len(all)); i++ {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			hits = near(all[i], hits[:0])
			for _, h := range hits {
				if int(h.ID) <= i || !s.across(of[i], of[h.ID]) {
					continue
				}
				r.Candidates++
				// The angle between the weighted feature vectors (Charikar 2002, section 3).
				if v := math.Cos(math.Pi * float64(h.Distance) / float64(s.Print.Bits)); v >= s.Threshold {
					r.Pairs = append(r.Pairs, foundPair{A: of[i], B: of[h.ID], Resemblance: v})
				}
			}
		}
		if err := u.keep(r); err != nil {
			return err
		}
		b.Set(from)
	}
	return nil
}

// shortRanges is the number of ranges of texts, each compared with all later texts. Ranges are the units of the method short.
const shortRanges = 64

// byLetters compares short texts by their common grams.
func (s *screening) byLetters(ctx context.Context, u *units) error {
	texts := make([]string, len(s.texts))
	for i := range texts {
		body, err := s.body(i, nil)
		if err != nil {
			return err
		}
		texts[i] = string(body)
	}
	o, err := s.shortOptions()
	if err != nil {
		return err
	}
	short, err := screen.NewShort(texts, o)
	if err != nil {
		return err
	}
	b := s.app.Progress(shortRanges, "comparing")
	defer b.Done()
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for n := range shortRanges {
		if u.done[n] {
			continue
		}
		g.Go(func() error {
			r := unit{Unit: n}
			from, to := n*len(texts)/shortRanges, (n+1)*len(texts)/shortRanges
			if from == to {
				return u.keep(r)
			}
			r.Candidates = short.Pairs(from, to, func(i, j int, similarity float64) bool {
				if s.across(i, j) {
					r.Pairs = append(r.Pairs, foundPair{A: i, B: j, Resemblance: similarity})
				}
				return ctx.Err() == nil
			})
			b.Add(1)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return u.keep(r)
		})
	}
	return g.Wait()
}
