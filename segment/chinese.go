package segment

import (
	_ "embed"
	"fmt"
	"os"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"
	"github.com/yanyiwu/gojieba"
	"golang.org/x/sys/unix"
)

// The dictionaries of jieba 0.42 as gojieba v1.4.7 ships them. They are part of every scheme.
var (
	//go:embed data/jieba.dict.utf8.gz
	jiebaDictGz []byte
	//go:embed data/hmm_model.utf8.gz
	jiebaModelGz []byte
)

// chunkBytes is how much Han text goes to the segmenter in one call: enough to make the cost of
// crossing into C small, and little enough to keep its working memory small.
const chunkBytes = 32 << 10

// jieba is the word segmenter, made when the first Chinese text comes. It is safe for concurrent use.
var jieba = sync.OnceValues(newJieba)

// newJieba gives the segmenter its dictionaries as anonymous files in memory: it opens them by
// name, and a binary must not depend on where it was built. User dictionary, idf weights and stop
// words are not used; the library still wants files with at least one line.
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

// memoryFile returns a path under which content can be read until release is called: a memfd, or
// a private temporary file where the kernel has none.
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

// cutChinese replaces every Han run among the words by the words jieba finds in it. Runs go to the
// segmenter one to a line, many lines a call; a run's words do not depend on its neighbours.
func (t *Text) cutChinese() error {
	j, err := jieba()
	if err != nil {
		return err
	}
	c := chineseCutter{t: t, stop: stopLists(), old: t.Words}
	t.Words = make([]Word, 0, len(c.old)+len(t.hanAt)/2)
	for from := 0; from < len(c.old); {
		to := c.gather(from)
		if err := c.cut(j, from, to); err != nil {
			return err
		}
		from = to
	}
	c.closeSentences(len(c.old))
	return nil
}

// chineseCutter walks the provisional words and the sentences over them side by side.
type chineseCutter struct {
	t        *Text
	stop     *stopTable
	old      []Word
	input    strings.Builder
	runeAt   int // next entry of hanAt
	sentence int // next sentence whose word indices are to be rewritten
	opened   bool
}

// gather writes the Han runs of words from on to the input, up to a chunk, and returns the word
// after the last.
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
			return fmt.Errorf("chinese segmenter returned no words for %d bytes", c.input.Len())
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
				return fmt.Errorf("chinese segmenter lost its place")
			}
			c.place(&piece)
			c.t.Words = append(c.t.Words, piece)
			w.Flags &^= AfterClause | AfterSpace
		}
		if n != w.NormEnd {
			return fmt.Errorf("chinese segmenter lost %d of %d bytes", w.NormEnd-n, w.NormEnd-w.NormStart)
		}
		if len(found) > 0 {
			found = found[1:]
		}
	}
	return nil
}

// place gives a Chinese word its place in the original, hash and stop flag.
func (c *chineseCutter) place(w *Word) {
	folded := c.t.Norm[w.NormStart:w.NormEnd]
	n := utf8.RuneCount(folded)
	w.Chars = uint16(n)
	w.Start = c.t.hanAt[c.runeAt]
	last := c.t.hanAt[c.runeAt+n-1]
	_, size := utf8.DecodeRuneInString(c.t.Source[last:])
	w.End = last + int32(size)
	c.runeAt += n
	w.Hash = xxhash.Sum64(folded)
	w.Stop = 0
	if c.stop.han[w.Hash] {
		w.Flags |= HanStop
	}
}

// closeSentences rewrites the word indices of the sentences that begin or end before old word i.
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
