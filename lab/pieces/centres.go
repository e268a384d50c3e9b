package pieces

import (
	"archive/zip"
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"concordat/meaning"
)

// centresNotice is stored with the centres.
const centresNotice = "Means of the table's vectors over the words of languages by frequency, made by concordat-lab centres from the " +
	"lists of wordfreq 3.1.1 (Robyn Speer; data under CC BY-SA 4.0). No word is in it."

// centreLanguages are the languages with centres, with their codes in wordfreq: languages in the Latin alphabet that are detected. A text
// in Chinese characters is centred by its script.
var centreLanguages = map[string]string{"ca": "ca", "cs": "cs", "da": "da", "de": "de", "en": "en", "es": "es", "fi": "fi", "fr": "fr",
	"hr": "sh", "hu": "hu", "id": "id", "it": "it", "nl": "nl", "no": "nb", "pl": "pl", "pt": "pt", "ro": "ro", "sv": "sv", "tr": "tr"}

// centreWords is the number of most frequent words that form a centre.
const centreWords = 50_000

// MakeCentres returns the centres of languages from the word lists in the wheel of wordfreq.
func MakeCentres(wheel io.ReaderAt, size int64, t *meaning.Table) (*meaning.Centres, error) {
	z, err := zip.NewReader(wheel, size)
	if err != nil {
		return nil, err
	}
	out := &meaning.Centres{Table: t.Digest(), Notice: centresNotice, Centres: map[string]meaning.Vector{}}
	for language, code := range centreLanguages {
		lists, err := wordLists(z, code)
		if err != nil {
			return nil, fmt.Errorf("words of %s: %w", language, err)
		}
		mean := t.MeanOfWords(func(yield func(string, float64) bool) {
			n := 0
			for rank, words := range lists {
				for _, w := range words {
					if n++; n > centreWords || !yield(w, math.Pow(10, -float64(rank)/100)) {
						return
					}
				}
			}
		})
		for k, x := range mean {
			mean[k] = float32(math.Round(float64(x)*1e3) / 1e3)
		}
		out.Centres[language] = mean
	}
	return out, nil
}

// wordLists returns the words of a language by frequency: list i holds words with a frequency of 10^(-i/100). The large list is
// preferred.
func wordLists(z *zip.Reader, code string) ([][]string, error) {
	f, err := z.Open("wordfreq/data/large_" + code + ".msgpack.gz")
	if err != nil {
		f, err = z.Open("wordfreq/data/small_" + code + ".msgpack.gz")
	}
	if err != nil {
		return nil, err
	}
	packed, err := gzip.NewReader(f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	lists, err := readLists(bufio.NewReader(packed))
	return lists, errors.Join(err, f.Close())
}

// readLists decodes an array of a map, which it skips, and of arrays of strings (MessagePack specification).
func readLists(r *bufio.Reader) ([][]string, error) {
	n, err := packedLength(r, 0x90, 16, 0xdc, 2)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, errors.New("no lists")
	}
	fields, err := packedLength(r, 0x80, 16, 0xde, 2)
	if err != nil {
		return nil, err
	}
	for range fields {
		if _, err := packedString(r); err != nil {
			return nil, err
		}
		next, err := r.Peek(1)
		if err == nil && next[0] < 0x80 { // a small number
			_, err = r.Discard(1)
		} else if err == nil {
			_, err = packedString(r)
		}
		if err != nil {
			return nil, err
		}
	}
	var out [][]string
	for range n - 1 {
		words, err := packedLength(r, 0x90, 16, 0xdc, 2)
		if err != nil {
			return nil, err
		}
		var list []string
		for range words {
			w, err := packedString(r)
			if err != nil {
				return nil, err
			}
			list = append(list, w)
		}
		out = append(out, list)
	}
	return out, nil
}

func packedString(r *bufio.Reader) (string, error) {
	n, err := packedLength(r, 0xa0, 32, 0xd9, 1)
	if err != nil {
		return "", err
	}
	var b []byte
	for range n {
		c, err := r.ReadByte()
		if err != nil {
			return "", err
		}
		b = append(b, c)
	}
	return string(b), nil
}

// packedLength reads a length. If it is below few, it is added to short in the first byte; otherwise the first byte is long, and the length
// follows in first bytes, or the first byte is one or two more, and the length has two or four times as many bytes.
func packedLength(r *bufio.Reader, short, few, long byte, first int) (int, error) {
	b, err := r.ReadByte()
	if err != nil {
		return 0, err
	}
	if b >= short && b < short+few {
		return int(b - short), nil
	}
	size := first << (b - long)
	if b < long || size > 4 {
		return 0, fmt.Errorf("unexpected byte %#x", b)
	}
	var n [4]byte
	_, err = io.ReadFull(r, n[4-size:])
	return int(binary.BigEndian.Uint32(n[:])), err
}
