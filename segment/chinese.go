package segment

import (
	_ "embed"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"
	"github.com/yanyiwu/gojieba"
	"golang.org/x/sys/unix"

	"concordat/segment/internal/words"
)

// These are the dictionaries of jieba 0.42 as shipped with gojieba v1.4.7. Every scheme depends on them.
var (
	//go:embed data/jieba.dict.utf8.gz
	jiebaDictGz []byte
	//go:embed data/hmm_model.utf8.gz
	jiebaModelGz []byte
)

// These are the logarithms of the dictionary's counts; see lab/gen/segment.
//
//go:embed data/weights.bin.gz
var weightsGz []byte

// UseGojieba sets whether gojieba itself finds Chinese words in subsequent texts, instead of the same algorithm in
// segment/internal/words. The words are the same; a test compares them. gojieba takes several times as long, and needs half a second and
// 120 MB to start.
func UseGojieba(use bool) { useGojieba.Store(use) }

var useGojieba atomic.Bool

// cutter finds Chinese words. The first Chinese text creates it. It is safe for concurrent use.
var cutter = sync.OnceValues(func() (*words.Cutter, error) {
	var raw [3][]byte
	for i, b := range [][]byte{jiebaDictGz, weightsGz, jiebaModelGz} {
		var err error
		if raw[i], err = gunzip(b); err != nil {
			return nil, fmt.Errorf("chinese dictionary: %w", err)
		}
	}
	return words.Load(raw[0], raw[1], raw[2])
})

// chunkBytes is the amount of Han text passed to gojieba in one call, large enough to make calls into C cheap, and small enough to limit
// its working memory.
const chunkBytes = 32 << 10

// jieba is gojieba's segmenter, created for the first Chinese text passed to it. It is safe for concurrent use.
var jieba = sync.OnceValues(newJieba)

// newJieba returns a segmenter that reads its dictionaries from anonymous files in memory, because the segmenter opens them by name and a
// binary must not depend on where it was built. The user dictionary, idf weights and stop words are unused, but the library still
// requires files with at least one line.
func newJieba() (*gojieba.Jieba, error) {
	dict, err := gunzip(jiebaDictGz)
	if err != nil {
		return nil, fmt.Errorf("chinese dictionary: %w", err)
	}
	model, err := gunzip(jiebaModelGz)
	if err != nil {
		return nil, fmt.Errorf("chinese word model: %w", err)
	}
	var paths []string
	for _, content := range [][]byte{dict, model, []byte("\n"), []byte("\u4e00 1\n"), []byte("\u4e00\n")} {
		path, release, err := memoryFile(content)
		if err != nil {
			return nil, fmt.Errorf("chinese dictionary: %w", err)
		}
		defer release()
		paths = append(paths, path)
	}
	return gojieba.NewJieba(paths...), nil
}

// memoryFile returns a path at which content can be read until release is called. The path leads to a memfd or, if the kernel does not
// support memfd, to a private temporary file.
func memoryFile(content []byte) (path string, release func(), err error) {
	if fd, err := unix.MemfdCreate("concordat-dictionary", unix.MFD_CLOEXEC); err == nil {
		f := os.NewFile(uintptr(fd), "dictionary")
		if _, err := f.Write(content); err != nil {
			f.Close()
			return "", nil, err
		}
		return fmt.Sprintf("/proc/self/fd/%d", fd), func() { f.Close() }, nil
	}
	f, err := os.CreateTemp("", "concordat-dictionary-")
	if err != nil {
		return "", nil, err
	}
	if _, err := f.Write(content); err != nil {
		f.Close()
		os.Remove(f.Name())
		return "", nil, err
	}
	return f.Name(), func() { f.Close(); os.Remove(f.Name()) }, nil
}

// cutChinese replaces every Han run among the words with the words in it.
func (t *Text) cutChinese() error {
	c := chineseCutter{t: t, stop: stopLists(), old: t.Words}
	// The next text reuses the memory of the old words.
	t.Words, t.spare = slices.Grow(t.spare[:0], len(c.old)+len(t.hanAt)/2), c.old
	err := c.all()
	c.closeSentences(len(c.old))
	return err
}

// all finds the words of every run.
func (c *chineseCutter) all() error {
	if useGojieba.Load() {
		return c.byGojieba()
	}
	d, err := cutter()
	if err != nil {
		return err
	}
	for i := range c.old {
		c.closeSentences(i)
		w := c.old[i]
		if w.Flags&Han == 0 {
			c.t.Words = append(c.t.Words, w)
			continue
		}
		c.runes = appendRunes(c.runes[:0], c.t.Norm[w.NormStart:w.NormEnd])
		n, from := w.NormStart, int32(0)
		for _, end := range d.Cut(c.runes, &c.t.room) {
			piece := w
			piece.NormStart = n
			for _, r := range c.runes[from:end] {
				n += int32(utf8.RuneLen(r))
			}
			piece.NormEnd = n
			c.place(&piece, int(end-from))
			c.t.Words = append(c.t.Words, piece)
			w.Flags &^= AfterClause | AfterSpace
			from = end
		}
	}
	return nil
}

func appendRunes(dst []rune, b []byte) []rune {
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		dst, b = append(dst, r), b[size:]
	}
	return dst
}

// byGojieba segments using only the library. It passes runs to the segmenter one per line, many lines per call; a run's words do not
// depend on its neighbours.
func (c *chineseCutter) byGojieba() error {
	j, err := jieba()
	if err != nil {
		return err
	}
	for from := 0; from < len(c.old); {
		to := c.gather(from)
		if err := c.cut(j, from, to); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// chineseCutter iterates over the provisional words and their sentences in parallel.
type chineseCutter struct {
	t        *Text
	stop     *stopTable
	old      []Word
	input    strings.Builder // for gojieba
	runes    []rune
	runeAt   int // next entry of hanAt
	sentence int // next sentence whose word indexes need rewriting
	opened   bool
}

// gather writes the Han runs of words to the input, starting at index from, up to a chunk, and returns the index after the last word.
func (c *chineseCutter) gather(from int) int {
	c.input.Reset()
	i := from
	for ; i < len(c.old) && c.input.Len() < chunkBytes; i++ {
		if w := &c.old[i]; w.Flags&Han != 0 {
			c.input.Write(c.t.Norm[w.NormStart:w.NormEnd])
			c.input.WriteByte('\n')
		}
	}
	return i
}

func (c *chineseCutter) cut(j *gojieba.Jieba, from, to int) error {
	var found []string
	if c.input.Len() > 0 {
		found = j.Cut(c.input.String(), true)
		if len(found) == 0 {
			return fmt.Errorf("the Chinese segmenter returned no words for %d bytes", c.input.Len())
		}
	}
	for i := from; i < to; i++ {
		c.closeSentences(i)
		w := c.old[i]
		if w.Flags&Han == 0 {
			c.t.Words = append(c.t.Words, w)
			continue
		}
		n := w.NormStart
		for ; len(found) > 0 && found[0] != "\n"; found = found[1:] {
			piece := w
			piece.NormStart, piece.NormEnd = n, n+int32(len(found[0]))
			n = piece.NormEnd
			if n > w.NormEnd {
				return fmt.Errorf("the Chinese segmenter returned more text than it was given")
			}
			c.place(&piece, utf8.RuneCountInString(found[0]))
			c.t.Words = append(c.t.Words, piece)
			w.Flags &^= AfterClause | AfterSpace
		}
		if n != w.NormEnd {
			return fmt.Errorf("the Chinese segmenter dropped %d of %d bytes", w.NormEnd-n, w.NormEnd-w.NormStart)
		}
		if len(found) > 0 {
			found = found[1:]
		}
	}
	return nil
}

// place sets the original position, hash and stop flag of a Chinese word of n characters.
func (c *chineseCutter) place(w *Word, n int) {
	w.Chars = uint16(n)
	w.Start = c.t.hanAt[c.runeAt]
	last := c.t.hanAt[c.runeAt+n-1]
	_, size := utf8.DecodeRuneInString(c.t.Source[last:])
	w.End = last + int32(size)
	c.runeAt += n
	w.Hash = xxhash.Sum64(c.t.Norm[w.NormStart:w.NormEnd])
	w.Term, w.Stop = uint32(w.Hash), 0
	if c.stop.isHan(w.Hash) {
		w.Flags |= HanStop
	}
}

// closeSentences rewrites the word indexes of the sentences that begin or end before old word i.
func (c *chineseCutter) closeSentences(i int) {
	for c.sentence < len(c.t.Sentences) {
		s := &c.t.Sentences[c.sentence]
		if !c.opened {
			if s.First > i {
				return
			}
			s.First, c.opened = len(c.t.Words), true
		}
		if s.Last > i {
			return
		}
		s.Last, c.opened = len(c.t.Words), false
		c.sentence++
	}
}
