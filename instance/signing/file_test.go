package signing

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/crypto"
)

func source(t testing.TB) (*Source, *crypto.Card) {
	t.Helper()
	id, err := crypto.New(time.Now(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	id, card, err := id.MakeCard(crypto.CardFields{Name: "uni", Modes: crypto.ModeSealed}, nil, time.Now(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return NewSource(func() (*crypto.Identity, error) { return id, nil }), card
}

// TestFile: signed content verifies against the card; any other content, form or position of the signature does not.
func TestFile(t *testing.T) {
	s, card := source(t)
	verifies := func(b []byte) bool {
		sig, sum, err := ReadFile(b)
		return err == nil && card.VerifyStatement(sig.KeyEpoch, KindFile, sig.At, [32]byte{}, sum[:], sig.Signature) == nil
	}
	for _, f := range []Form{HTML, CSV, Text} {
		for _, content := range []string{"one\ntwo\n", "one\r\ntwo\r\n", "no end of line", ""} {
			var b bytes.Buffer
			if err := s.WriteFile(&b, f, func(w io.Writer) error { _, err := io.WriteString(w, content); return err }); err != nil {
				t.Fatal(err)
			}
			if !verifies(b.Bytes()) || !strings.HasPrefix(b.String(), content) {
				t.Errorf("%s of %q does not verify", f, content)
			}
			for name, changed := range map[string][]byte{
				"a byte before": append([]byte("x"), b.Bytes()...),
				"a line behind": append(bytes.Clone(b.Bytes()), "more\n"...),
				"a blank line":  append(bytes.Clone(b.Bytes()), '\n'),
				"cut":           b.Bytes()[:b.Len()-3],
			} {
				if verifies(changed) {
					t.Errorf("%s of %q verifies with %s", f, content, name)
				}
			}
		}
	}
	if _, _, err := ReadFile([]byte("plain\n")); !errors.Is(err, concordat.ErrNotFound) {
		t.Errorf("plain: %v, want ErrNotFound", err)
	}
}

// TestFileUnsigned: a site without keys writes the file unchanged.
func TestFileUnsigned(t *testing.T) {
	var b bytes.Buffer
	s := NewSource(func() (*crypto.Identity, error) { return nil, nil })
	err := s.WriteFile(&b, HTML, func(w io.Writer) error { _, err := io.WriteString(w, "<p>x</p>"); return err })
	if err != nil || b.String() != "<p>x</p>" {
		t.Errorf("got %q, %v", b.String(), err)
	}
}

// FuzzReadFile: for any bytes, it fails only with one of its two errors.
func FuzzReadFile(f *testing.F) {
	s, _ := source(f)
	for _, form := range []Form{HTML, CSV, Text} {
		var b bytes.Buffer
		if err := s.WriteFile(&b, form, func(w io.Writer) error { _, err := io.WriteString(w, "content\n"); return err }); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Add([]byte("concordat-signature 1 bm8=\n"))
	f.Add([]byte("\n\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, _, err := ReadFile(b); err != nil && !errors.Is(err, concordat.ErrNotFound) && !errors.Is(err, concordat.ErrInvalid) {
			t.Error(err)
		}
	})
}
