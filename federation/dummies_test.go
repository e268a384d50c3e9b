package federation_test

import (
	"crypto/rand"
	"math"
	"strings"
	"testing"

	"concordat"
	"concordat/federation/wire"
	"concordat/internal/corpora"
	"concordat/profile"
)

// TestP2Dummies is attack P2, which succeeds. The test shows this so that no document claims otherwise (doc/security.md). A member with
// its own texts distinguishes sentences from dummies by how often each hash has each value under the key. The questions come from other
// texts of the same genre and from texts of another genre.
func TestP2Dummies(t *testing.T) {
	p, err := profile.New(profile.Options{Key: []byte("the key of the federation's epoch")})
	if err != nil {
		t.Fatal(err)
	}
	var own, same, other []concordat.Fingerprint
	prints := func(text string) (out []concordat.Fingerprint) {
		x, err := p.ForIndex(concordat.Document{Text: text})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range x.Indexed {
			out = append(out, s.Fingerprint)
		}
		return out
	}
	for i, d := range corpora.Reviews(t, 2400) {
		if i < 1600 {
			own = append(own, prints(d.Text)...)
		} else {
			same = append(same, prints(d.Text)...)
		}
	}
	corpora.Lines(t, "msrp/msr_paraphrase_train.txt.gz", func(line string) bool {
		if c := strings.Split(line, "\t"); len(c) == 5 {
			other = append(other, prints(c[3])...)
		}
		return len(other) < 1500
	})
	score := model(own)
	for genre, asked := range map[string][]concordat.Fingerprint{"reviews": same, "news": other} {
		a := &concordat.Ask{}
		for _, f := range asked[:min(1500, len(asked))] {
			a.Sentences = append(a.Sentences, concordat.AskedSentence{Fingerprint: f, Gate: 26})
		}
		n := len(a.Sentences)
		var sentences, dummies []float64
		for range 6 {
			padded, order, err := wire.Pad(a, [32]byte{1}, rand.Reader)
			if err != nil {
				t.Fatal(err)
			}
			for i, s := range padded.Sentences {
				if order[i] >= n {
					dummies = append(dummies, score(s.Fingerprint))
				}
			}
		}
		for _, f := range asked[:n] {
			sentences = append(sentences, score(f))
		}
		wins := 0.0
		for _, s := range sentences {
			for _, d := range dummies {
				if s > d {
					wins++
				}
			}
		}
		auc := wins / float64(len(sentences)*len(dummies))
		t.Logf("%s: %d sentences among %d dummies, AUC %.3f", genre, n, len(dummies), auc)
		if auc < 0.6 {
			t.Errorf("%s: AUC %.3f: the documented leak is not there, so what is measured is something else", genre, auc)
		}
	}
}

// model returns a function that computes the log-likelihood ratio that a fingerprint comes from a text like the given ones rather than
// being uniformly random. It treats the hashes as independent.
func model(of []concordat.Fingerprint) func(concordat.Fingerprint) float64 {
	var n [concordat.Nibbles][16]float64
	for _, f := range of {
		for i, v := range nibbles(f) {
			n[i][v]++
		}
	}
	return func(f concordat.Fingerprint) (sum float64) {
		for i, v := range nibbles(f) {
			sum += math.Log(16 * (n[i][v] + 1) / (float64(len(of)) + 16))
		}
		return sum
	}
}

// nibbles returns the values of a fingerprint's hashes.
func nibbles(f concordat.Fingerprint) (v [concordat.Nibbles]byte) {
	b, _ := f.AppendBinary(nil) // cannot fail
	for i := range v {
		x := b[len(b)-1-i/2]
		v[i] = x >> (4 * (i % 2)) & 15
	}
	return v
}
