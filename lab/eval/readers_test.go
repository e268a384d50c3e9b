package eval

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestReaderShares counts letters as a multiset, and order by runs.
func TestReaderShares(t *testing.T) {
	a, b := onlyLetters("The Harbour, ﬁled 12"), onlyLetters("12 filed; the harbour")
	if got := shareIn(runsOf(a, 1), runsOf(b, 1)); got != 1 {
		t.Errorf("the same letters in another order: %v", got)
	}
	if got := shareIn(runsOf(a, orderRun), runsOf(b, orderRun)); got >= 1 || got <= 0 {
		t.Errorf("order of words that changed places: %v", got)
	}
	if got := shareIn(runsOf([]rune("aab"), 1), runsOf([]rune("ab"), 1)); got < 0.66 || got > 0.67 {
		t.Errorf("two letters of three: %v", got)
	}
	if got := shareIn(nil, nil); got != 1 {
		t.Errorf("nothing: %v", got)
	}
}

// TestOneReaderDoesNotAgree: with only one other program, agreement between two is not measured.
func TestOneReaderDoesNotAgree(t *testing.T) {
	if _, err := exec.LookPath("cat"); err != nil {
		t.Skip(err)
	}
	file := filepath.Join(t.TempDir(), "a.txt")
	if err := os.WriteFile(file, []byte("one file of words"), 0o600); err != nil {
		t.Fatal(err)
	}
	cat := otherReader{Name: "cat"}
	for _, readers := range [][]otherReader{{cat}, {cat, cat}} {
		OtherReaders[".txt"] = readers
		f, err := CompareReaders(t.Context(), nil, file)
		if err != nil {
			t.Fatal(err)
		}
		if measured := f.Agree != nil; measured != (len(readers) > 1) || measured && *f.Agree != 1 {
			t.Errorf("%d readers: got %v", len(readers), f.Agree)
		}
	}
	delete(OtherReaders, ".txt")
}
