package screening

import (
	"bytes"
	"encoding/json"
	"testing"
)

// FuzzFrequencies: for any bytes, a file that can be read contains what its header says.
func FuzzFrequencies(f *testing.F) {
	header := func(documents uint32, counts int) []byte {
		b, _ := json.Marshal(frequencyHeader{"frequencies", "words", StopDrop, false, documents, counts})
		return append(b, '\n')
	}
	one := append(header(7, 1), 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 7)
	f.Add(one)
	f.Add(header(0, 0))
	f.Add(header(7, 2))                                 // truncated
	f.Add(append(header(1, 1), one[len(one)-12:]...))   // claims more documents than there are
	f.Add(append(header(7, 2), append(one, one...)...)) // unordered
	f.Add([]byte(`{"type":"frequencies","counts":-1}`)) // invalid number
	f.Add(bytes.Repeat([]byte("x"), 10_000))            // without a header
	f.Fuzz(func(t *testing.T, b []byte) {
		h, counted, err := parseFrequencies(bytes.NewReader(b))
		if err != nil {
			return
		}
		if counted.Features() != h.Counts || counted.Documents() != int(h.Documents) {
			t.Fatalf("%d features of %d documents, the header says %d and %d", counted.Features(), counted.Documents(), h.Counts, h.Documents)
		}
	})
}

func TestFrequenciesRefused(t *testing.T) {
	for _, b := range []string{"", "{}\n",
		`{"type":"frequencies","documents":1,"counts":1}` + "\n", `{"type":"frequencies","counts":2000000000}` + "\n"} {
		if _, _, err := parseFrequencies(bytes.NewReader([]byte(b))); err == nil {
			t.Errorf("%q is read as frequencies", b)
		}
	}
}
