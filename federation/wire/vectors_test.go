package wire_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"concordat"
	"concordat/federation/wire"
)

var rewrite = flag.Bool("rewrite", false, "write the vectors anew: only for a new version of the payloads")

const vectorFile = "testdata/vectors.txt"

// vectors reads a file that has, for each message, a line with its name, one with its content as JSON and one with its bytes in
// hexadecimal.
func vectors(t *testing.T, file string) map[string][2]string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][2]string{}
	for block := range strings.SplitSeq(string(b), "\n\n") {
		if lines := strings.Split(strings.TrimSpace(block), "\n"); len(lines) == 3 {
			all[lines[0]] = [2]string{lines[1], lines[2]}
		}
	}
	return all
}

// TestVectors: each message has the bytes frozen in testdata, in both directions.
func TestVectors(t *testing.T) {
	if *rewrite {
		writeVectors(t)
	}
	all := vectors(t, vectorFile)
	for _, m := range messages {
		v, ok := all[m.name]
		if !ok {
			t.Errorf("no vector of %s", m.name)
			continue
		}
		b, err := hex.DecodeString(v[1])
		if err != nil {
			t.Fatal(err)
		}
		got, err := m.read(b)
		if err != nil {
			t.Errorf("%s: %v", m.name, err)
			continue
		}
		want := reflect.New(reflect.TypeOf(got).Elem()).Interface()
		if err := json.Unmarshal([]byte(v[0]), want); err != nil {
			t.Fatal(err)
		}
		if written, err := m.write(want); err != nil || !bytes.Equal(written, b) {
			t.Errorf("%s: written from JSON: %x, %v, want %x", m.name, written, err, b)
		}
		if text, err := json.Marshal(got); err != nil || string(text) != v[0] {
			t.Errorf("%s: read %s, %v, want %s", m.name, text, err, v[0])
		}
	}
	if len(all) != len(messages) {
		t.Errorf("%d vectors of %d messages", len(all), len(messages))
	}
}

// TestEarlierVersion: answers of version 1, which are stored in reports, are read with their distances as steps; requests of that version
// are refused because of the version.
func TestEarlierVersion(t *testing.T) {
	all := vectors(t, "testdata/vectors-v1.txt")
	payload := func(name string) []byte {
		t.Helper()
		b, err := hex.DecodeString(all[name][1])
		if err != nil || len(b) == 0 {
			t.Fatalf("%s: %d bytes, %v", name, len(b), err)
		}
		return b
	}
	answer, err := wire.ParseAnswer(payload("tell"))
	if err != nil {
		t.Fatal(err)
	}
	var want struct {
		Tell struct {
			Documents []struct{ Title string }
			Hits      []struct{ Ordinal, Distance int }
		}
	}
	if err := json.Unmarshal([]byte(all["tell"][0]), &want); err != nil {
		t.Fatal(err)
	}
	got := answer.Answer
	if len(got.Hits) == 0 || len(got.Hits) != len(want.Tell.Hits) || len(got.Documents) != len(want.Tell.Documents) {
		t.Fatalf("%d hits in %d documents, want %d in %d", len(got.Hits), len(got.Documents), len(want.Tell.Hits), len(want.Tell.Documents))
	}
	for i, h := range got.Hits {
		step := concordat.CloseFar
		if d := want.Tell.Hits[i].Distance; d == 0 {
			step = concordat.CloseSame
		} else if d <= 20 {
			step = concordat.CloseNear
		}
		if h.Ordinal != want.Tell.Hits[i].Ordinal || h.Closeness != step {
			t.Errorf("hit %d is %+v, want %+v", i, h, want.Tell.Hits[i])
		}
	}
	if _, err := wire.ParseRevealed(payload("revealed")); err != nil {
		t.Error(err)
	}
	catalogue, err := wire.AppendCatalogueAsk(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []byte{0, 1, wire.Version + 1} {
		catalogue[0] = version
		if err := wire.ParseCatalogueAsk(catalogue); !errors.Is(err, wire.ErrVersion) || !errors.Is(err, wire.ErrFormat) {
			t.Errorf("a request of version %d: error %v, want ErrVersion", version, err)
		}
	}
}

func writeVectors(t *testing.T) {
	var b bytes.Buffer
	for i, m := range messages {
		p, err := m.write(m.random(newGen(uint64(100 + i))))
		if err != nil {
			t.Fatal(err)
		}
		v, err := m.read(p)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s\n%s\n%x\n\n", m.name, text, p)
	}
	if err := os.WriteFile(vectorFile, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestOrderVectors: the order of sentences is fixed, because a site stores it for later alerts.
func TestOrderVectors(t *testing.T) {
	var key [32]byte
	for i := range key {
		key[i] = byte(i)
	}
	const want = "[39 31 11 14 59 8 17 56]"
	if got := fmt.Sprint(wire.Order(key, 64)[:8]); got != want {
		t.Errorf("order begins with %s, want %s", got, want)
	}
}
