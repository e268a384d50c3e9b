package crypto_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"concordat/crypto"
)

func TestSiteID(t *testing.T) {
	s := newSite(t, "asker", 1).Site()
	text := s.String()
	if len(text) != 63 || strings.Count(text, "-") != 7 {
		t.Fatalf("text form %q", text)
	}
	for _, form := range []string{text, strings.ToLower(text), strings.ReplaceAll(text, "-", " "),
		strings.ReplaceAll(strings.NewReplacer("O", "0", "I", "1", "B", "8").Replace(text), "-", "")} {
		if got, err := crypto.ParseSiteID(form); err != nil || got != s {
			t.Errorf("parse %q: %v", form, err)
		}
	}
	// Typing errors: by design, a changed character is detected in 31 of 32 cases, as is a swap of two neighbours. At most twice as many
	// errors as expected may pass undetected.
	plain := strings.ReplaceAll(text, "-", "")
	tried, passed := 0, 0
	for i := range plain {
		for _, c := range "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567" {
			if byte(c) == plain[i] {
				continue
			}
			tried++
			if _, err := crypto.ParseSiteID(plain[:i] + string(c) + plain[i+1:]); err == nil {
				passed++
			}
		}
	}
	if passed*16 > tried {
		t.Errorf("%d of %d mistyped characters passed", passed, tried)
	}
	for _, bad := range []string{"", "A", text + "A", text[:62], strings.Repeat("A", 56), strings.Repeat("é", 56), strings.Repeat("A", 1000)} {
		if _, err := crypto.ParseSiteID(bad); !errors.Is(err, crypto.ErrFormat) {
			t.Errorf("parse %.20q: %v, want ErrFormat", bad, err)
		}
	}
}

// TestRotation runs through two years day by day, making a card every 80 days, as for a site whose root key is kept elsewhere, and every
// three weeks, as for a site that has it. At every moment, the newest card has a key of each kind, and never two keys for one epoch. The
// keystore contains keys no further ahead than necessary.
func TestRotation(t *testing.T) {
	for name, every := range map[string]int{"root kept elsewhere": 81, "root here": 21} {
		t.Run(name, func(t *testing.T) { walk(t, every) })
	}
}

func walk(t *testing.T, every int) {
	s := newSite(t, "asker", 1)
	r := source(2)
	other := newSite(t, "owner", 3)
	var roots [2][]byte
	ahead := crypto.SealingAhead + crypto.SealingLife
	if every > 21 {
		ahead = crypto.CardLife + crypto.SealingLife
		for i, x := range []*site{s, other} {
			var err error
			if roots[i], err = x.Root(); err != nil {
				t.Fatal(err)
			}
			x.Identity = x.WithoutRoot()
			if x.Identity, x.card, err = x.MakeCard(x.card.CardFields, roots[i], start, r); err != nil {
				t.Fatal(err)
			}
		}
	}
	epochs := map[uint32][]byte{}
	var err error
	for day := 0; day < 730; day += 3 {
		now := start.AddDate(0, 0, day)
		if day%every == every-3 {
			if s.Identity, s.card, err = s.MakeCard(fields("asker"), roots[0], now, r); err != nil {
				t.Fatal(err)
			}
			if other.Identity, other.card, err = other.MakeCard(fields("owner"), roots[1], now, r); err != nil {
				t.Fatal(err)
			}
			for _, k := range s.Keys(now) {
				if k.Kind == "sealing" && k.To.After(now.Add(ahead)) {
					t.Fatalf("day %d: sealing key %d is there and ends on %v", day, k.Epoch, k.To)
				}
			}
		}
		s.Identity, _ = s.Expire(now)
		env, _, err := other.SealRequest(crypto.Request{Type: crypto.TypeQuery, TTL: time.Minute}, s.card, now, r)
		if err != nil {
			t.Fatalf("day %d: %v", day, err)
		}
		if _, err := open(s.Identity, env, other.card, now); err != nil {
			t.Fatalf("day %d: %v", day, err)
		}
		cert, key, err := s.TLS(now)
		if err != nil {
			t.Fatalf("day %d: %v", day, err)
		}
		c, err := x509.ParseCertificate(cert)
		if err != nil || !s.card.PinnedTLS(crypto.PinOf(c.RawSubjectPublicKeyInfo)) || now.Before(c.NotBefore) || now.After(c.NotAfter) ||
			!key.Public().(ed25519.PublicKey).Equal(c.PublicKey) {
			t.Fatalf("day %d: certificate is not the card's, %v", day, err)
		}
		for _, k := range s.card.Signing {
			if old, ok := epochs[k.Epoch]; ok && !bytes.Equal(old, k.Key) {
				t.Fatalf("day %d: two keys of epoch %d", day, k.Epoch)
			}
			epochs[k.Epoch] = k.Key
		}
	}
	sealing := 0
	for _, k := range s.Keys(start.AddDate(2, 0, 0)) {
		if k.Kind == "sealing" && k.To.Add(crypto.SealingGrace).Before(start.AddDate(0, 0, 729)) {
			t.Errorf("sealing key %d of %v is still held", k.Epoch, k.To)
		}
		if k.Kind == "sealing" {
			sealing++
		}
	}
	if sealing == 0 || len(s.card.Signing) < 2 || s.card.Signing[0].Epoch != 1 {
		t.Errorf("%d sealing keys; the card has %d signing keys", sealing, len(s.card.Signing))
	}
}

// TestNewestSealingKey: a request is sealed to the newest key in force on the card, so that older ones can be deleted.
func TestNewestSealingKey(t *testing.T) {
	a, b := newSite(t, "asker", 1), newSite(t, "owner", 2)
	keys := b.card.Sealing
	if len(keys) < 2 {
		t.Fatalf("the card has %d sealing keys, too few for this test", len(keys))
	}
	for _, now := range []time.Time{keys[0].From, keys[1].From.Add(-time.Millisecond), keys[1].From, keys[len(keys)-1].From} {
		var want uint32
		for _, k := range keys {
			if !now.Before(k.From) {
				want = k.Epoch
			}
		}
		env, _ := request(t, a, b, now, "x")
		h, err := crypto.ParseHeader(env)
		if err != nil {
			t.Fatal(err)
		}
		if h.SealingEpoch != want {
			t.Errorf("%v after the beginning: sealed to key %d, want %d", now.Sub(start), h.SealingEpoch, want)
		}
	}
}

// TestBackAfterYears: a site that was off until all its keys had expired gets keys that begin now, and none for the time when it was off,
// because its card would have no room for them.
func TestBackAfterYears(t *testing.T) {
	a := newSite(t, "asker", 1)
	now := start.AddDate(3, 0, 0)
	id, card, err := a.MakeCard(fields("asker"), nil, now, source(2))
	if err != nil {
		t.Fatal(err)
	}
	id, _ = id.Expire(now)
	for _, k := range id.Keys(now) {
		if k.Kind != "root" && k.To.After(now) && k.From.Before(now) {
			t.Errorf("%s key %d begins at %v, before its site was back", k.Kind, k.Epoch, k.From)
		}
	}
	if got := card.Sealing[0].From; !got.Equal(now) {
		t.Errorf("the first sealing key of the card begins at %v, want %v", got, now)
	}
	if got := card.Signing[len(card.Signing)-1]; !got.From.Equal(now) || got.Epoch != 2 {
		t.Errorf("the newest signing key is %d from %v, want the second, from %v", got.Epoch, got.From, now)
	}
}

// TestRotateAndReplace: a planned rotation is announced before it takes effect and loses nothing; after a replacement, no old key is
// valid.
func TestRotateAndReplace(t *testing.T) {
	a, b := newSite(t, "asker", 1), newSite(t, "owner", 2)
	r := source(3)
	_, before, err := a.SignStatement("answer", start, [32]byte{1}, []byte("payload"))
	if err != nil {
		t.Fatal(err)
	}
	now := start.AddDate(0, 0, 10)
	rotated, err := a.Rotate(now, r)
	if err != nil {
		t.Fatal(err)
	}
	rotated, card, err := rotated.MakeCard(fields("asker"), nil, now, r)
	if err != nil {
		t.Fatal(err)
	}
	seal := func(id *crypto.Identity, now time.Time) []byte {
		env, _, err := id.SealRequest(crypto.Request{Type: crypto.TypeQuery, TTL: time.Minute}, b.card, now, r)
		if err != nil {
			t.Fatal(err)
		}
		return env
	}
	if _, err := open(b.Identity, seal(rotated, now.Add(crypto.Notice-time.Minute)), a.card, now.Add(crypto.Notice-time.Minute)); err != nil {
		t.Errorf("within the notice, with the old card: %v", err)
	}
	late := now.Add(crypto.Notice + time.Minute)
	if _, err := open(b.Identity, seal(rotated, late), card, late); err != nil {
		t.Errorf("after the notice, with the new card: %v", err)
	}
	if _, err := open(b.Identity, seal(rotated, late), a.card, late); !errors.Is(err, crypto.ErrEnvelope) {
		t.Errorf("the new key must sign after the notice: %v", err)
	}
	if err := card.VerifyStatement(1, "answer", start, [32]byte{1}, []byte("payload"), before); err != nil {
		t.Errorf("a statement from before: %v", err)
	}
	replaced, err := a.Replace(now, r)
	if err != nil {
		t.Fatal(err)
	}
	replaced, fresh, err := replaced.MakeCard(fields("asker"), nil, now, r)
	if err != nil {
		t.Fatal(err)
	}
	if err := fresh.VerifyStatement(1, "answer", start, [32]byte{1}, []byte("payload"), before); !errors.Is(err, crypto.ErrNoKey) {
		t.Errorf("a statement by a key that was replaced: %v, want ErrNoKey", err)
	}
	if _, err := open(b.Identity, seal(a.Identity, now), fresh, now); !errors.Is(err, crypto.ErrEnvelope) {
		t.Errorf("who stole the old keys: %v, want ErrEnvelope", err)
	}
	if _, err := open(b.Identity, seal(replaced, now), fresh, now); err != nil {
		t.Errorf("the new keys: %v", err)
	}
}

func TestCardNeedsRoot(t *testing.T) {
	a := newSite(t, "asker", 1)
	root, err := a.Root()
	if err != nil {
		t.Fatal(err)
	}
	without := a.WithoutRoot()
	if _, _, err := without.MakeCard(fields("asker"), nil, start, source(1)); !errors.Is(err, crypto.ErrNoKey) {
		t.Errorf("card without root: %v", err)
	}
	if _, _, err := without.MakeCard(fields("asker"), root, start, source(1)); err != nil {
		t.Errorf("card with the root from elsewhere: %v", err)
	}
	if _, _, err := without.MakeCard(fields("asker"), make([]byte, 32), start, source(1)); err == nil {
		t.Error("card signed by another root")
	}
}

func TestCardFields(t *testing.T) {
	a := newSite(t, "asker", 1)
	good := fields("asker")
	for name, change := range map[string]func(*crypto.CardFields){
		"no name":      func(f *crypto.CardFields) { f.Name = "" },
		"control":      func(f *crypto.CardFields) { f.Name = "a\x1b[2Jb" },
		"right-left":   func(f *crypto.CardFields) { f.Contact = "a\u202eb" },
		"long":         func(f *crypto.CardFields) { f.Name = strings.Repeat("a", 201) },
		"9 addresses":  func(f *crypto.CardFields) { f.URLs = slices.Repeat(f.URLs, 9) },
		"http":         func(f *crypto.CardFields) { f.URLs = []string{"http://a.example"} },
		"password":     func(f *crypto.CardFields) { f.URLs = []string{"https://a:b@a.example"} },
		"query":        func(f *crypto.CardFields) { f.URLs = []string{"https://a.example/?x"} },
		"no mode":      func(f *crypto.CardFields) { f.Modes = 0 },
		"unknown mode": func(f *crypto.CardFields) { f.Modes = 8 },
	} {
		f := good
		change(&f)
		if _, _, err := a.MakeCard(f, nil, start, source(1)); !errors.Is(err, crypto.ErrFormat) {
			t.Errorf("%s: %v, want ErrFormat", name, err)
		}
	}
}

// TestCardBytes changes every byte of a card and truncates it at every length.
func TestCardBytes(t *testing.T) {
	a := newSite(t, "asker", 1)
	b := a.card.Bytes()
	step := max(1, len(b)/1500)
	for i := 0; i < len(b); i += step {
		bad := bytes.Clone(b)
		bad[i] ^= 1
		if _, err := crypto.ParseCard(bad); err == nil {
			t.Fatalf("byte %d changed and accepted", i)
		}
		if _, err := crypto.ParseCard(b[:i]); err == nil {
			t.Fatalf("cut to %d and accepted", i)
		}
	}
	if _, err := crypto.ParseCard(append(bytes.Clone(b), 0)); err == nil {
		t.Fatal("a byte more")
	}
}

// TestE2 covers a partner's reasons to refuse a new card: rollback, different content with the same serial, a different site, expiry.
func TestE2(t *testing.T) {
	a, other := newSite(t, "asker", 1), newSite(t, "other", 2)
	r := source(3)
	later := start.Add(time.Hour)
	_, second, err := a.MakeCard(fields("asker"), nil, later, r)
	if err != nil {
		t.Fatal(err)
	}
	moved := fields("asker")
	moved.URLs[0] = "https://elsewhere.example"
	// The same keystore is restored from a backup at the same moment, so the serial is equal but the content is not.
	_, fork, err := a.MakeCard(moved, nil, later, r)
	if err != nil {
		t.Fatal(err)
	}
	if fork.Serial != second.Serial {
		t.Fatalf("serials %d and %d", fork.Serial, second.Serial)
	}
	got, err := crypto.Accept(a.Site(), a.card, second.Bytes(), later)
	if err != nil || got.Serial != second.Serial {
		t.Fatalf("the next card: %v", err)
	}
	if got, err := crypto.Accept(a.Site(), second, second.Bytes(), later); err != nil || got != second {
		t.Errorf("the same card again: %v", err)
	}
	for name, k := range map[string]struct {
		held *crypto.Card
		next []byte
		at   time.Time
		want error
	}{
		"rollback":             {second, a.card.Bytes(), later, crypto.ErrCard},
		"equal serial, forked": {second, fork.Bytes(), later, crypto.ErrCard},
		"another site":         {nil, other.card.Bytes(), later, crypto.ErrCard},
		"ended":                {nil, a.card.Bytes(), start.Add(crypto.CardLife + time.Hour), crypto.ErrCard},
		"not yet":              {a.card, second.Bytes(), start, crypto.ErrCard},
		"garbage":              {a.card, []byte("card"), later, crypto.ErrFormat},
	} {
		if _, err := crypto.Accept(a.Site(), k.held, k.next, k.at); !errors.Is(err, k.want) {
			t.Errorf("%s: %v, want %v", name, err, k.want)
		}
	}
}
