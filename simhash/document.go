package simhash

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/bits"
	"slices"

	"github.com/cespare/xxhash/v2"
)

// Hash identifies the function that assigns a feature to the sides of the hyperplanes.
type Hash int

const (
	// HashMix is a keyed bijection of the feature's 64 bits, one for each word of the print.
	HashMix Hash = iota
	// HashPlain uses the feature itself as its hash, as in Manku, Jain and Das Sarma 2007 (section 2.1). It has no key and provides 64
	// bits.
	HashPlain
	// HashMD5 is MD5 (RFC 1321) of key and feature. It is slow and intended for comparison with other programs.
	HashMD5
	// HashXX is xxHash64 of the key, the word's number and the feature.
	HashXX
	// HashSHA1 is SHA-1 (RFC 3174) of key and feature.
	HashSHA1
	// HashSHA256 is SHA-256 (FIPS 180-4) of key and feature.
	HashSHA256
)

// MaxBits is the maximum width of a print.
const MaxBits = 256

// Feature is a feature of a document and its weight in units of 1/256. A negative weight counts for the opposite side.
type Feature struct {
	Hash   uint64
	Weight int32
}

// Unit is the weight of a feature that counts once.
const Unit = 256

// Printer makes the prints of whole documents, 64 or 128 bits (Charikar 2002; Manku, Jain and Das Sarma 2007, section 2.1). It is
// immutable and safe for concurrent use. Do not compare prints made with different hashes or keys.
type Printer struct {
	hash  Hash
	key   []byte
	seeds [3]uint64
	more  [2]uint64 // for words 2 and 3 with HashMix
}

// NewPrinter returns a printer with the given hash and key; the empty key selects the public functions. It refuses an unknown hash and a
// key with HashPlain, which would have no effect.
func NewPrinter(h Hash, key []byte) (*Printer, error) {
	if h < HashMix || h > HashSHA256 {
		return nil, fmt.Errorf("simhash: unknown hash %d", h)
	}
	if h == HashPlain && len(key) > 0 {
		return nil, fmt.Errorf("simhash: plain hashes cannot be keyed")
	}
	p := &Printer{hash: h, key: slices.Clone(key)}
	for i := range len(p.seeds) + len(p.more) {
		b := append([]byte("concordat/simhash/document/1\x00"), byte(i))
		sum := sha256.Sum256(append(b, key...))
		seed := &p.more[max(0, i-len(p.seeds))]
		if i < len(p.seeds) {
			seed = &p.seeds[i]
		}
		*seed = binary.BigEndian.Uint64(sum[:])
	}
	return p, nil
}

// planes returns on which side of each of 128 hyperplanes a feature lies. With HashPlain, the last 64 sides repeat the first 64.
func (p *Printer) planes(f uint64) [2]uint64 {
	switch p.hash {
	case HashPlain:
		return [2]uint64{f, f}
	case HashMix:
		return [2]uint64{mix(f ^ p.seeds[0]), mix(f ^ p.seeds[1])}
	}
	d := p.digest(f, 0)
	return [2]uint64(d[:2])
}

// farPlanes returns the sides for hyperplanes 128 to 255. Digests that are too short are extended by the digest of the feature followed
// by a byte of value 1.
func (p *Printer) farPlanes(f uint64) [2]uint64 {
	switch p.hash {
	case HashPlain:
		return [2]uint64{f, f}
	case HashMix:
		return [2]uint64{mix(f ^ p.more[0]), mix(f ^ p.more[1])}
	case HashSHA256:
		d := p.digest(f, 0)
		return [2]uint64(d[2:])
	}
	d := p.digest(f, 1)
	return [2]uint64(d[:2])
}

// digest returns the leading words of a feature's hash, four for SHA-256 and two for the others.
func (p *Printer) digest(f uint64, part byte) (out [4]uint64) {
	b := binary.BigEndian.AppendUint64(slices.Clip(p.key), f)
	if part > 0 {
		b = append(b, part)
	}
	switch p.hash {
	case HashMD5:
		sum := md5.Sum(b)
		out[0], out[1] = binary.BigEndian.Uint64(sum[:]), binary.BigEndian.Uint64(sum[8:])
	case HashSHA1:
		sum := sha1.Sum(b)
		out[0], out[1] = binary.BigEndian.Uint64(sum[:]), binary.BigEndian.Uint64(sum[8:])
	case HashSHA256:
		sum := sha256.Sum256(b)
		for i := range out {
			out[i] = binary.BigEndian.Uint64(sum[8*i:])
		}
	case HashXX:
		out[0] = xxhash.Sum64(append(b, 'a'))
		out[1] = xxhash.Sum64(append(b, 'b'))
	}
	return out
}

// Print returns the print of the given width, 1 to 256 bits, or 1 to 64 with HashPlain; the higher bits are zero. Up to the width, its
// first word equals Print64, and its first two words equal Print128.
func (p *Printer) Print(features []Feature, width int) (out [MaxBits / 64]uint64, err error) {
	if width < 1 || width > MaxBits || width > 64 && p.hash == HashPlain {
		return out, fmt.Errorf("simhash: invalid width of %d bits; want 1 to 256, or at most 64 with plain hashes", width)
	}
	if len(features) == 0 {
		return out, nil
	}
	var sums [len(out)][64]int64
	tie := p.seeds[2]
	for _, f := range features {
		near := p.planes(f.Hash)
		add(&sums[0], near[0], f.Weight)
		if width > 64 {
			add(&sums[1], near[1], f.Weight)
		}
		if width > 128 {
			far := p.farPlanes(f.Hash)
			add(&sums[2], far[0], f.Weight)
			add(&sums[3], far[1], f.Weight)
		}
		tie += mix(f.Hash ^ p.seeds[2])
	}
	ties := [len(out)]uint64{mix(tie), mix(^tie), mix(tie + 1), mix(^tie - 1)}
	for w := range out {
		switch left := width - 64*w; {
		case left >= 64:
			out[w] = signs(&sums[w], ties[w])
		case left > 0:
			out[w] = signs(&sums[w], ties[w]) & (1<<left - 1)
		}
	}
	return out, nil
}

// Print64 returns the 64-bit print. Bit i is set if the features on the positive side of hyperplane i outweigh the others. A hash of the
// set decides ties, so that unrelated documents do not agree on them. Order does not matter; if a feature is given twice, its weights add
// up. Without features, the print is zero. There may be at most 2^31 features.
func (p *Printer) Print64(features []Feature) uint64 {
	var sums [64]int64
	tie := p.seeds[2]
	for _, f := range features {
		add(&sums, p.planes(f.Hash)[0], f.Weight)
		tie += mix(f.Hash ^ p.seeds[2])
	}
	if len(features) == 0 {
		return 0
	}
	return signs(&sums, mix(tie))
}

// Print128 returns the 128-bit print; its first word is Print64. It fails with HashPlain, which has only 64 bits.
func (p *Printer) Print128(features []Feature) ([2]uint64, error) {
	if p.hash == HashPlain {
		return [2]uint64{}, fmt.Errorf("simhash: plain hashes have 64 bits, but 128 are required")
	}
	if len(features) == 0 {
		return [2]uint64{}, nil
	}
	var sums [2][64]int64
	tie := p.seeds[2]
	for _, f := range features {
		for w, b := range p.planes(f.Hash) {
			add(&sums[w], b, f.Weight)
		}
		tie += mix(f.Hash ^ p.seeds[2])
	}
	return [2]uint64{signs(&sums[0], mix(tie)), signs(&sums[1], mix(^tie))}, nil
}

func add(sums *[64]int64, planes uint64, weight int32) {
	w := int64(weight)
	for b := range sums {
		m := int64(planes>>b&1) - 1 // 0 on the positive side, otherwise all ones
		sums[b] += (w ^ m) - m
	}
}

func signs(sums *[64]int64, ties uint64) uint64 {
	var out uint64
	for b, s := range sums {
		if s > 0 || s == 0 && ties>>b&1 == 1 {
			out |= 1 << b
		}
	}
	return out
}

// TF states how a feature's number of occurrences in its document affects its weight.
type TF int

const (
	TFCount TF = iota // number of occurrences
	TFOnce            // 1, however often it occurs
	TFLog             // 1 + log2 of the number of occurrences
)

// Weighting defines how a document's features are weighted. The zero value weights by count.
type Weighting struct {
	TF TF
	// Frequencies, unless nil, provides the inverse document frequency that multiplies each weight. Different frequencies make different
	// prints, so they must stay fixed for the life of a collection.
	Frequencies *Frequencies
}

// Weigh appends the distinct features of a document, given with repeats, to dst with their weights. It sorts features in place.
func (w Weighting) Weigh(features []uint64, dst []Feature) []Feature {
	slices.Sort(features)
	for i := 0; i < len(features); {
		j := i + 1
		for j < len(features) && features[j] == features[i] {
			j++
		}
		weight := uint64(Unit)
		switch w.TF {
		case TFCount:
			weight = uint64(j-i) * Unit
		case TFLog:
			weight = Unit + log2(uint64(j-i), 1)
		}
		if w.Frequencies != nil {
			weight = weight * w.Frequencies.IDF(features[i]) / Unit
		}
		dst = append(dst, Feature{features[i], int32(min(weight, 1<<31-1))})
		i = j
	}
	return dst
}

// Frequencies counts the documents in which each feature occurs. The zero value is empty. It is safe for concurrent use as long as Add is
// not called.
type Frequencies struct {
	documents uint64
	count     map[uint64]uint32
}

// Add counts one document. It sorts features and removes their repeats in place.
func (f *Frequencies) Add(features []uint64) {
	if f.count == nil {
		f.count = make(map[uint64]uint32)
	}
	f.documents++
	slices.Sort(features)
	for _, x := range slices.Compact(features) {
		f.count[x]++
	}
}

// Prune drops the features found in the fewest documents until at most the given number remains, as in lossy counting (Manku and Motwani
// 2002). Afterwards, dropped features count as occurring in no document.
func (f *Frequencies) Prune(most int) {
	for least := uint32(1); len(f.count) > max(0, most); least++ {
		maps.DeleteFunc(f.count, func(_ uint64, n uint32) bool { return n <= least })
	}
}

// Documents returns the number of documents counted.
func (f *Frequencies) Documents() int { return int(f.documents) }

// All yields every feature with its number of documents, in order of feature.
func (f *Frequencies) All() iter.Seq2[uint64, uint32] {
	return func(yield func(uint64, uint32) bool) {
		features := make([]uint64, 0, len(f.count))
		for x := range f.count {
			features = append(features, x)
		}
		slices.Sort(features)
		for _, x := range features {
			if !yield(x, f.count[x]) {
				return
			}
		}
	}
}

// NewFrequencies returns Frequencies with earlier counts, in the form yielded by All. It refuses a feature found in no document, or in
// more documents than there are.
func NewFrequencies(documents uint32, counts iter.Seq2[uint64, uint32]) (*Frequencies, error) {
	f := &Frequencies{documents: uint64(documents), count: map[uint64]uint32{}}
	for x, n := range counts {
		if n == 0 || n > documents {
			return nil, errors.New("simhash: document count of a feature must be between 1 and the total number of documents")
		}
		f.count[x] = n
	}
	return f, nil
}

// Features returns the number of distinct features counted; each takes about 40 bytes.
func (f *Frequencies) Features() int { return len(f.count) }

// IDF returns log2((1+N)/(1+n)) + 1/256 in units of 1/256, for a feature in n of the N documents. A feature in all documents has hardly
// any weight, and one in no document has the maximum.
func (f *Frequencies) IDF(feature uint64) uint64 {
	return 1 + log2(1+f.documents, 1+uint64(f.count[feature]))
}

// log2 returns ⌊256·log2(a/b)⌋ for a ≥ b > 0, below 2^32, by squaring. It uses integers because floating-point logarithms differ between
// machines in their last bit, and prints must not differ.
func log2(a, b uint64) uint64 {
	x := a << 31 / b // the ratio with 31 bits of fraction
	whole := bits.Len64(x) - 32
	x >>= whole
	out := uint64(whole)
	for range 8 {
		x = x * x >> 31
		out <<= 1
		if x >= 1<<32 {
			x >>= 1
			out |= 1
		}
	}
	return out
}
