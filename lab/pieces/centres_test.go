package pieces

import (
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"reflect"
	"strings"
	"testing"

	"concordat/meaning"
)

// packed is a list of words in wordfreq's form: a header, no words with a frequency of 1, and two of words below.
const packed = "\x94\x82\xa6format\xa2cB\xa7version\x01\x90\x92\xa3the\xa2of\xdc\x00\x01\xd9\x05hav\xc3\xa9"

func TestReadLists(t *testing.T) {
	got, err := readLists(bufio.NewReader(strings.NewReader(packed)))
	if want := [][]string{nil, {"the", "of"}, {"havé"}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	for n := range len(packed) {
		if got, err := readLists(bufio.NewReader(strings.NewReader(packed[:n]))); err == nil {
			t.Errorf("the first %d bytes: %q", n, got)
		}
	}
	if got, err := readLists(bufio.NewReader(strings.NewReader("\x92\x80\xcb"))); err == nil {
		t.Errorf("a number in place of words: %q", got)
	}
}

// TestMakeCentres: every language has the mean of its own words, from its large list if there is one; a missing list is an error.
func TestMakeCentres(t *testing.T) {
	table, err := meaning.Default()
	if err != nil {
		t.Fatal(err)
	}
	wheel := func(but string) *bytes.Reader {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		add := func(name, words string) {
			f, err := z.Create("wordfreq/data/" + name + ".msgpack.gz")
			if err != nil {
				t.Fatal(err)
			}
			g := gzip.NewWriter(f)
			if _, err := g.Write([]byte(words)); err != nil {
				t.Fatal(err)
			}
			if err := g.Close(); err != nil {
				t.Fatal(err)
			}
		}
		for _, code := range centreLanguages {
			if code != but {
				add("small_"+code, packed)
			}
		}
		add("large_de", "\x92\x80\x91\xa5Hafen")
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return bytes.NewReader(b.Bytes())
	}
	in := wheel("")
	c, err := MakeCentres(in, in.Size(), table)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Centres) != len(centreLanguages) || c.Table != table.Digest() || c.Centres["en"] != c.Centres["es"] ||
		c.Centres["en"] == c.Centres["de"] || c.Centres["en"] == (meaning.Vector{}) {
		t.Errorf("%d centres for table %s", len(c.Centres), c.Table)
	}
	in = wheel("nb")
	if _, err := MakeCentres(in, in.Size(), table); err == nil {
		t.Error("no words of Norwegian, and no error")
	}
}
