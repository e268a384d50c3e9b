package segment_test

import (
	"strings"
	"testing"

	"concordat/segment"
)

func TestStopWords(t *testing.T) {
	for text, want := range map[string]string{
		"The report was written by a committee and is of use to the members": "report written committee use members",
		"Der Bericht wurde von einem Ausschuss geschrieben und ist für alle": "bericht wurde ausschuss geschrieben",
		"qwx zzrt plomk vrebb": "qwx zzrt plomk vrebb",
		"":                     "",
	} {
		s, err := segment.Split(text)
		if err != nil {
			t.Fatal(err)
		}
		var left []string
		stops := s.StopWords()
		for i := range s.Words {
			if !stops[i] {
				left = append(left, string(s.Folded(i)))
			}
		}
		if got := strings.Join(left, " "); got != want {
			t.Errorf("%q without stop words: got %q, want %q", text, got, want)
		}
	}
	s, err := segment.Split("我们的图书馆和学校")
	if err != nil {
		t.Fatal(err)
	}
	dropped := 0
	for _, stop := range s.StopWords() {
		if stop {
			dropped++
		}
	}
	if dropped == 0 || dropped == len(s.Words) {
		t.Errorf("%d of %d Chinese words are stop words, want some and not all", dropped, len(s.Words))
	}
}
