package wire

import (
	"cmp"
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"

	"concordat"
)

// Order returns the order of sentences in a padded ask, a permutation of 0 to n-1 that depends only on key. Without the 32-byte key, it
// looks uniformly random. It is Fisher and Yates' shuffle (Knuth, The Art of Computer Programming 2, 3.4.2, algorithm P) over AES-256 in
// counter mode, without modulo bias.
func Order(key [32]byte, n int) []int {
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // 32 bytes are a key
	}
	stream := cipher.NewCTR(block, make([]byte, aes.BlockSize))
	next := func(below uint32) uint32 {
		for most := math.MaxUint32 - math.MaxUint32%below; ; {
			var b [4]byte
			stream.XORKeyStream(b[:], b[:])
			if v := binary.BigEndian.Uint32(b[:]); v < most {
				return v % below
			}
		}
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	for i := n - 1; i > 0; i-- {
		j := next(uint32(i + 1))
		order[i], order[j] = order[j], order[i]
	}
	return order
}

// Pad returns a copy of a with dummies added up to [concordat.Padded], in the order given by Order for key. Position p contains sentence
// order[p] of a, or a dummy if a has no such sentence. A dummy is a uniformly random fingerprint from random, with the gate of a random
// sentence, so neither distinguishes it from real sentences.
func Pad(a *concordat.Ask, key [32]byte, random io.Reader) (*concordat.Ask, []int, error) {
	n := len(a.Sentences)
	if n < 1 || n > concordat.MaxAsked {
		return nil, nil, fmt.Errorf("request for %d sentences, want 1 to %d: %w", n, concordat.MaxAsked, concordat.ErrInvalid)
	}
	v := *a
	v.Sentences = make([]concordat.AskedSentence, concordat.Padded(n))
	order := Order(key, len(v.Sentences))
	var b [concordat.FingerprintBytes + 8]byte
	for p, i := range order {
		if i < n {
			v.Sentences[p] = a.Sentences[i]
			continue
		}
		if _, err := io.ReadFull(random, b[:]); err != nil {
			return nil, nil, fmt.Errorf("draw dummies: %w", err)
		}
		b[0] &= 0x0f
		f, err := concordat.ParseFingerprint(b[:concordat.FingerprintBytes])
		if err != nil {
			return nil, nil, err
		}
		// 64 bits over at most 8192, so the bias is below 2^-50.
		of := binary.BigEndian.Uint64(b[concordat.FingerprintBytes:]) % uint64(n)
		v.Sentences[p] = concordat.AskedSentence{Fingerprint: f, Gate: a.Sentences[of].Gate}
	}
	return &v, order, nil
}

// Restore converts t, the answer to a padded ask, to the answer without dummies. Sentences get the caller's n numbers, and hits of
// dummies are removed, as are documents without other hits. If t contains only numbers of matches, chance matches of dummies cannot be
// removed. If t has a sentence that was not in the ask, Restore fails.
func Restore(t *concordat.SiteAnswer, order []int, n int) error {
	r := restoration{dummies: sets{}, sentences: sets{}, dummiesIn: sets{}, sentencesIn: sets{}}
	hits := t.Hits[:0]
	for _, h := range t.Hits {
		if h.Sentence >= len(order) {
			return fmt.Errorf("a match refers to sentence %d of %d: %w", h.Sentence, len(order), ErrFormat)
		}
		h.Sentence = order[h.Sentence]
		library := t.Documents[h.Document].Library
		if h.Sentence >= n {
			r.dummies.add(h.Document, h.Sentence)
			r.dummiesIn.add(library, h.Sentence)
			continue
		}
		r.sentences.add(h.Document, h.Sentence)
		r.sentencesIn.add(library, h.Sentence)
		hits = append(hits, h)
	}
	t.Hits = hits
	r.documents(t)
	slices.SortStableFunc(t.Hits, func(a, b concordat.Hit) int {
		return cmp.Or(a.Sentence-b.Sentence, int(b.Closeness)-int(a.Closeness), a.Document-b.Document, a.Ordinal-b.Ordinal)
	})
	return nil
}

// sets contains sets of sentences, by document or library.
type sets map[int]map[int]bool

func (s sets) add(at, sentence int) {
	if s[at] == nil {
		s[at] = map[int]bool{}
	}
	s[at][sentence] = true
}

// restoration records which dummies and which sentences have hits, by document and by library.
type restoration struct{ dummies, sentences, dummiesIn, sentencesIn sets }

// documents corrects the counts in t and drops documents matched only by dummies.
func (r *restoration) documents(t *concordat.SiteAnswer) {
	kept := t.Documents[:0]
	moved := make([]int, len(t.Documents))
	for i, d := range t.Documents {
		if chance := len(r.dummies[i]); chance > 0 {
			d.Matches = max(d.Matches-chance, len(r.sentences[i]))
			if d.Matches == 0 {
				l := &t.Libraries[d.Library]
				l.Documents = max(l.Documents-1, 0)
				l.Exists = l.Exists && l.Documents > 0
				continue
			}
		}
		moved[i] = len(kept)
		kept = append(kept, d)
	}
	t.Documents = kept
	for i := range t.Hits {
		t.Hits[i].Document = moved[t.Hits[i].Document]
	}
	for l, dummies := range r.dummiesIn {
		t.Libraries[l].Sentences = max(t.Libraries[l].Sentences-len(dummies), len(r.sentencesIn[l]))
	}
}
