package profile

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"testing"

	"github.com/dchest/siphash"

	"concordat"
	"concordat/internal/cputime"
)

// TestSipHash checks the vector of Aumasson and Bernstein 2012, appendix A: key 00 to 0f, message 00 to 0e.
func TestSipHash(t *testing.T) {
	message := make([]byte, 15)
	for i := range message {
		message[i] = byte(i)
	}
	if got := siphash.Hash(0x0706050403020100, 0x0f0e0d0c0b0a0908, message); got != 0xa129ca6149be45e5 {
		t.Errorf("got %x", got)
	}
}

// TestKeyedVectors fixes keyed fingerprints: if they change, every epoch's sets must be recomputed. The key consists of the bytes 00 to
// 1f.
func TestKeyedVectors(t *testing.T) {
	key := make([]byte, 32)
	for i := range key {
		key[i] = byte(i)
	}
	const english = "The committee found that merchants counted barrels of salt fish throughout the long winter."
	const chinese = "委员会认定，商人在整个漫长的冬季清点了成桶的咸鱼，并且向城市的居民出售了它们。"
	for _, c := range []struct {
		recipe, english, chinese string
	}{
		{Natural, "57bbc5868c6a2aa324716351e", "bb921ea6497a8b502d0a7242d"},
		{NaturalSimhash, "258c5c5aa3c3ba7f96f7422c5", "f999663033a30c6cf8884bd69"},
	} {
		p := must1(New(Options{Recipe: c.recipe, Key: key}))
		if p.Scheme() == must1(New(Options{Recipe: c.recipe})).Scheme() {
			t.Errorf("with and without a key the scheme is %s", p.Scheme())
		}
		for text, want := range map[string]string{english: c.english, chinese: c.chinese} {
			got, err := p.ForIndex(concordat.Document{ID: "d", Text: text})
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Indexed) != 1 || got.Indexed[0].Fingerprint.String() != want {
				t.Errorf("%s: %.20s: %v, want %s", c.recipe, text, got.Indexed, want)
			}
		}
	}
}

// BenchmarkPRF measures the cost of a key per feature, and the cost that HMAC-SHA-256 would have.
func BenchmarkPRF(b *testing.B) {
	features := make([]uint64, 1000)
	p := newPRF([]byte("key"))
	b.Run("by=siphash", func(b *testing.B) {
		start := cputime.Used()
		for b.Loop() {
			p.apply(features)
		}
		cputime.Report(b, start, b.N*len(features), "feature")
	})
	b.Run("by=hmac", func(b *testing.B) {
		mac := hmac.New(sha256.New, []byte("key"))
		var block [8]byte
		start := cputime.Used()
		for b.Loop() {
			for i, f := range features {
				binary.LittleEndian.PutUint64(block[:], f)
				mac.Reset()
				mac.Write(block[:])
				features[i] = binary.LittleEndian.Uint64(mac.Sum(nil))
			}
		}
		cputime.Report(b, start, b.N*len(features), "feature")
	})
}
