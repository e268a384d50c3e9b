package pdf

import (
	"bytes"
	"testing"
	"time"

	"concordat"
	"concordat/report"
)

// TestWordsStayWhole: each letter is a piece of its own, and in a column that is wider than every word a line begins with a word.
func TestWordsStayWhole(t *testing.T) {
	fs, err := faces()
	if err != nil {
		t.Fatal(err)
	}
	d := &doc{faces: fs}
	text := "Some words of many letters stand (in brackets) here; 中文没有空格。\nA new paragraph of several words."
	ps := d.pieces([]run{body(text)})
	if letters := len([]rune(text)); len(ps) != letters {
		t.Errorf("%d pieces, want %d", len(ps), letters)
	}
	for w := 90.0; w < 300; w += 7 {
		before := piece{newRow: true}
		for _, l := range lines(ps, w) {
			if !before.newRow && !l[0].begins {
				t.Errorf("width %v: a line begins with %q within a word", w, l[0].text)
			}
			before = l[len(l)-1]
		}
	}
}

// TestSealNamesWhatItAdds: a sealed file lists attachments if there are some, with their types as names of PDF, and none if not.
func TestSealNamesWhatItAdds(t *testing.T) {
	pages, err := Write(report.Build(&report.Findings{Submission: concordat.Document{ID: "x", Text: "Words."}}, report.Rules{}), Options{})
	if err != nil {
		t.Fatal(err)
	}
	sign := &Signature{At: time.Unix(0, 0), Size: 40, Sign: func([]byte) ([]byte, error) { return []byte{0x30, 1, 2}, nil }}
	none, err := Seal(pages, nil, sign)
	if err != nil {
		t.Fatal(err)
	}
	if added := none[len(pages):]; bytes.Contains(added, []byte("/EmbeddedFiles")) || bytes.Contains(added, []byte("/AF [")) {
		t.Errorf("a file without attachments lists some:\n%s", added)
	}
	one, err := Seal(pages, []File{{Name: "a", Type: "x-9+0/json", Content: []byte("c")}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(one, []byte("/Subtype /x-9#2B0#2Fjson ")) || !bytes.Contains(one, []byte("/EmbeddedFiles")) {
		t.Errorf("the attachment is added as\n%s", one[len(pages):])
	}
}
