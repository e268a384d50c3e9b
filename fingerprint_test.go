package concordat_test

import (
	"math/rand/v2"
	"testing"

	"concordat"
)

func random(rng *rand.Rand) concordat.Fingerprint {
	return concordat.FingerprintFromHalves(rng.Uint64(), rng.Uint64())
}

func TestFingerprintForms(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		f := random(rng)
		var bands [concordat.Bands]uint32
		for i := range bands {
			bands[i] = f.Band(i)
		}
		if got := concordat.FingerprintOf(bands); got != f {
			t.Fatalf("from bands: got %v, want %v", got, f)
		}
		b, _ := f.AppendBinary(nil)
		if got, err := concordat.ParseFingerprint(b); err != nil || got != f {
			t.Fatalf("from binary: got %v, %v, want %v", got, err, f)
		}
		text, _ := f.MarshalText()
		var g concordat.Fingerprint
		if err := g.UnmarshalText(text); err != nil || g != f {
			t.Fatalf("from text %s: got %v, %v", text, g, err)
		}
	}
	one := concordat.FingerprintOf([concordat.Bands]uint32{1, 2, 3, 4, 5})
	if got, want := one.String(), "0000500004000030000200001"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestFingerprintRefuses(t *testing.T) {
	for _, b := range [][]byte{nil, make([]byte, 12), make([]byte, 14), append([]byte{0x10}, make([]byte, 12)...)} {
		if _, err := concordat.ParseFingerprint(b); err == nil {
			t.Errorf("ParseFingerprint(%x) gave no error", b)
		}
	}
	var f concordat.Fingerprint
	for _, s := range []string{"", "zzzz500004000030000200001", "000050000400003000020000", "00005000040000300002000011"} {
		if err := f.UnmarshalText([]byte(s)); err == nil {
			t.Errorf("UnmarshalText(%q) gave no error", s)
		}
	}
}

// TestDistances compares with a bit-by-bit count and checks both guarantees: four changed bits leave a band unchanged, and nine changed
// nibbles leave a band with at most one changed nibble (Manku, Jain and Das Sarma 2007, section 3, by the pigeonhole principle).
func TestDistances(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 5000 {
		f, g := random(rng), random(rng)
		if rng.IntN(2) == 0 {
			g = f
			for range rng.IntN(12) {
				b := rng.IntN(concordat.Bits)
				g[b/60] ^= 1 << (b % 60)
			}
		}
		bits, nibbles, equal, near := 0, 0, 0, 0
		for i := range concordat.Bands {
			x := f.Band(i) ^ g.Band(i)
			changed := 0
			for j := 0; j < concordat.BandBits; j += 4 {
				if x>>j&15 != 0 {
					changed++
				}
			}
			for ; x != 0; x &= x - 1 {
				bits++
			}
			nibbles += changed
			if changed == 0 {
				equal++
			}
			if changed <= 1 {
				near++
			}
		}
		if got := f.Distance(g); got != bits {
			t.Fatalf("distance %d, want %d", got, bits)
		}
		if got := f.NibbleDistance(g); got != nibbles {
			t.Fatalf("nibble distance %d, want %d", got, nibbles)
		}
		if bits <= concordat.Complete && equal == 0 || nibbles <= concordat.CompleteNibbles && near == 0 {
			t.Fatalf("guarantee broken at %d bits, %d nibbles", bits, nibbles)
		}
	}
}

func FuzzParseFingerprint(f *testing.F) {
	f.Add(make([]byte, 13))
	f.Fuzz(func(t *testing.T, b []byte) {
		fp, err := concordat.ParseFingerprint(b)
		if err != nil {
			return
		}
		if again, _ := fp.AppendBinary(nil); string(again) != string(b) {
			t.Fatalf("%x reads as %v, writes as %x", b, fp, again)
		}
	})
}
