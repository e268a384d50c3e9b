package crypto_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"filippo.io/age"

	"concordat/crypto"
)

// fileIdentity creates an identity of either kind, and returns its recipient and the opener of its files.
func fileIdentity(t *testing.T, hybrid bool) (string, crypto.Opener) {
	t.Helper()
	var text, recipient string
	if hybrid {
		id, err := age.GenerateHybridIdentity()
		if err != nil {
			t.Fatal(err)
		}
		text, recipient = id.String(), id.Recipient().String()
	} else {
		id, err := age.GenerateX25519Identity()
		if err != nil {
			t.Fatal(err)
		}
		text, recipient = id.String(), id.Recipient().String()
	}
	o, err := crypto.ParseIdentities([]byte("# a comment\n"+text+"\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	return recipient, o
}

func encrypted(t *testing.T, content []byte, recipients ...string) []byte {
	t.Helper()
	r, err := crypto.ParseRecipients(recipients)
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	w, err := r.Encrypt(&file)
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Write(content)
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func opened(o crypto.Opener, file []byte) ([]byte, error) {
	r, err := o.Open(bytes.NewReader(file))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// Files of about the chunk size are restored unchanged for each recipient and for no one else.
func TestEncryptedFiles(t *testing.T) {
	for _, hybrid := range []bool{true, false} {
		one, opensOne := fileIdentity(t, hybrid)
		two, opensTwo := fileIdentity(t, hybrid)
		_, opensNone := fileIdentity(t, hybrid)
		for _, size := range []int{0, 1, 64<<10 - 1, 64 << 10, 64<<10 + 1, 200_000} {
			content := bytes.Repeat([]byte("content "), size/8+1)[:size]
			file := encrypted(t, content, two, one, one)
			for _, o := range []crypto.Opener{opensOne, opensTwo} {
				if got, err := opened(o, file); err != nil || !bytes.Equal(got, content) {
					t.Errorf("%d bytes: %d came back, %v", size, len(got), err)
				}
			}
			for _, o := range []crypto.Opener{opensNone, {}} {
				if _, err := opened(o, file); !errors.Is(err, crypto.ErrNotRecipient) {
					t.Errorf("%d bytes, to another: %v", size, err)
				}
			}
			if size >= 16 && bytes.Contains(file, content[:16]) {
				t.Errorf("%d bytes: the content stands in the file", size)
			}
		}
	}
}

// A file that was truncated, extended or altered in any byte cannot be opened, although its beginning might be returned first.
func TestAlteredFilesDoNotOpen(t *testing.T) {
	recipient, o := fileIdentity(t, false) // its header is short, so every byte can be tried
	file := encrypted(t, bytes.Repeat([]byte("x"), 64<<10+100), recipient)
	chunk := len(file) - 100 - 32
	for _, n := range []int{0, 1, 10, 100, 150, 200, chunk - 64<<10, chunk, chunk + 16, len(file) - 16, len(file) - 1} {
		if _, err := opened(o, file[:n]); err == nil {
			t.Errorf("the first %d of %d bytes open", n, len(file))
		}
	}
	if _, err := opened(o, append(bytes.Clone(file), 0)); err == nil {
		t.Error("a byte too many is not noticed")
	}
	for i := 0; i < len(file); i += 1 + i/64 {
		altered := bytes.Clone(file)
		altered[i] ^= 1
		if _, err := opened(o, altered); err == nil {
			t.Errorf("byte %d can be altered", i)
		}
	}
}

func TestRecipients(t *testing.T) {
	hybrid, _ := fileIdentity(t, true)
	classical, _ := fileIdentity(t, false)
	secret, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	many := make([]string, crypto.MaxRecipients+1)
	for i := range many {
		many[i], _ = fileIdentity(t, false)
	}
	for name, c := range map[string]struct {
		texts []string
		want  string // expected in the error; empty if accepted
	}{
		"hybrid":        {[]string{hybrid}, ""},
		"spaces":        {[]string{" " + classical + "\n"}, ""},
		"one under":     {many[:crypto.MaxRecipients-1], ""},
		"most":          {many[:crypto.MaxRecipients], ""},
		"one too many":  {many, "want 1 to 16"},
		"none":          {nil, "want 1 to 16"},
		"both kinds":    {[]string{hybrid, classical}, "cannot mix"},
		"an identity":   {[]string{secret.String()}, "secret identity"},
		"mistyped":      {[]string{classical[:20] + "q" + classical[21:]}, ""},
		"cut":           {[]string{hybrid[:100]}, "incomplete"},
		"an SSH key":    {[]string{"ssh-ed25519 AAAA"}, "must begin with age1"},
		"empty":         {[]string{""}, "must begin with age1"},
		"a passphrase":  {[]string{"correct horse"}, "must begin with age1"},
		"another human": {[]string{"age1" + strings.Repeat("q", 58)}, "incomplete"},
	} {
		if name == "mistyped" { // change to a different letter
			c.texts[0] = strings.Map(func(r rune) rune { return r }, classical[:len(classical)-1]+flip(classical[len(classical)-1]))
			c.want = "incomplete"
		}
		_, err := crypto.ParseRecipients(c.texts)
		if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, crypto.ErrFormat) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && strings.Contains(err.Error(), secret.String()) {
			t.Errorf("%s: the error holds the secret", name)
		}
	}
	var none crypto.Recipients
	if _, err := none.Encrypt(io.Discard); err == nil {
		t.Error("something is encrypted to nobody")
	}
}

func flip(letter byte) string {
	if letter == 'q' {
		return "p"
	}
	return "q"
}

// TestLockedIdentity: an identity protected by a passphrase, as made by age's own program, can be opened only with the passphrase.
func TestLockedIdentity(t *testing.T) {
	id, err := age.GenerateHybridIdentity()
	if err != nil {
		t.Fatal(err)
	}
	key, err := age.NewScryptRecipient("correct horse")
	if err != nil {
		t.Fatal(err)
	}
	key.SetWorkFactor(4) // as cheap as possible while distinct from the limit
	var file bytes.Buffer
	w, err := age.Encrypt(&file, key)
	if err != nil {
		t.Fatal(err)
	}
	_, err = fmt.Fprintln(w, id)
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	locked := file.Bytes()
	asked := 0
	answer := func(s crypto.Secret) func() (crypto.Secret, error) {
		return func() (crypto.Secret, error) { asked++; return s, nil }
	}
	o, err := crypto.ParseIdentities(locked, answer(crypto.Passphrase([]byte("correct horse"))))
	if err != nil || asked != 1 {
		t.Fatalf("%v, asked %d times", err, asked)
	}
	if got, err := opened(o, encrypted(t, []byte("text"), id.Recipient().String())); err != nil || string(got) != "text" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := crypto.ParseIdentities(locked, answer(crypto.Passphrase([]byte("correct house")))); !errors.Is(err, crypto.ErrPassphrase) {
		t.Errorf("another passphrase: %v", err)
	}
	if _, err := crypto.ParseIdentities(locked, answer(crypto.RawKey([32]byte{}))); !errors.Is(err, crypto.ErrPassphrase) {
		t.Errorf("a key: %v", err)
	}
	gone := errors.New("nobody is there")
	if _, err := crypto.ParseIdentities(locked, func() (crypto.Secret, error) { return crypto.Secret{}, gone }); !errors.Is(err, gone) {
		t.Errorf("nobody to ask: %v", err)
	}
	recipient, _ := fileIdentity(t, false)
	for name, b := range map[string][]byte{
		"empty": {}, "no identity": []byte("secret\n"), "to a recipient": encrypted(t, []byte("x"), recipient),
		"cut": locked[:len(locked)-1], "too long": bytes.Repeat([]byte("#"), 1<<20+1),
		"costs too much": bytes.Replace(locked, []byte(" 4\n"), []byte(" 21\n"), 1),
	} {
		if _, err := crypto.ParseIdentities(b, answer(crypto.Passphrase([]byte("correct horse")))); !errors.Is(err, crypto.ErrFormat) {
			t.Errorf("%s: %v, want crypto.ErrFormat", name, err)
		}
	}
	if _, _, err := crypto.NewLockedIdentity(crypto.RawKey([32]byte{})); err == nil {
		t.Error("an identity was locked with a key")
	}
	r, own, err := crypto.NewLockedIdentity(crypto.Passphrase([]byte("own")))
	if err != nil {
		t.Fatal(err)
	}
	if o, err = crypto.ParseIdentities(own, answer(crypto.Passphrase([]byte("own")))); err != nil {
		t.Fatal(err)
	}
	if got, err := opened(o, encrypted(t, []byte("text"), r.Names()...)); err != nil || string(got) != "text" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestFileVectors: testdata/agefile.txt was made once and contains an identity, its recipient, a file for it, and the name of that
// content under a key. Other programs need these to agree with this one.
func TestFileVectors(t *testing.T) {
	b, err := os.ReadFile("testdata/agefile.txt")
	if err != nil {
		t.Fatal(err)
	}
	v := map[string]string{}
	for line := range strings.Lines(string(b)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok && name != "#" {
			v[name] = value
		}
	}
	o, err := crypto.ParseIdentities([]byte(v["identity"]), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := opened(o, unhex(t, v["file"])); err != nil || string(got) != v["content"] {
		t.Errorf("%q, %v, want %q", got, err, v["content"])
	}
	r, err := crypto.ParseRecipients([]string{v["recipient"]})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := opened(o, encrypted(t, []byte(v["content"]), v["recipient"])); err != nil || string(got) != v["content"] {
		t.Errorf("%q, %v", got, err)
	}
	key, hash := [32]byte(unhex(t, v["name-key"])), [32]byte(unhex(t, v["content-hash"]))
	if got := r.FileName(key, hash); got != v["name"] {
		t.Errorf("name %s, want %s", got, v["name"])
	}
}

// TestFileNames: a file's name depends on key, content and recipients.
func TestFileNames(t *testing.T) {
	a, _ := fileIdentity(t, false)
	b, _ := fileIdentity(t, false)
	seen := map[string]string{}
	for _, names := range [][]string{{a}, {b}, {a, b}} {
		r, err := crypto.ParseRecipients(names)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range [][32]byte{{1}, {2}} {
			for _, content := range [][32]byte{{1}, {2}} {
				what, name := fmt.Sprint(len(names), names[0] == a, key[0], content[0]), r.FileName(key, content)
				if other, ok := seen[name]; ok || len(name) != 64 {
					t.Errorf("%s has the name of %s: %s", what, other, name)
				}
				seen[name] = what
			}
		}
	}
}

func FuzzF1EncryptedFile(f *testing.F) {
	b, err := os.ReadFile("testdata/agefile.txt")
	if err != nil {
		f.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "identity ")
	identity, _, _ := strings.Cut(rest, "\n")
	o, err := crypto.ParseIdentities([]byte(identity), nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte("age-encryption.org/v1\n-> X25519 abc\n"))
	f.Add([]byte(""))
	f.Fuzz(func(t *testing.T, file []byte) {
		_, _ = opened(o, file)
		if bytes.HasPrefix(file, []byte("age-encryption.org/")) {
			return // checking it would cost as much as the passphrase
		}
		_, _ = crypto.ParseIdentities(file, nil)
		_, _ = crypto.ParseRecipients(strings.Split(string(file), ","))
	})
}
