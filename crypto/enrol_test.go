package crypto_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"concordat/crypto"
)

// TestE1 enrols a site: invitation, request, check, receipt, the same six words on both sides. Then it tries everything that must fail.
// The store ensures, and its tests check, that an invitation can be used only once and that the state is pending until a person confirms.
func TestE1(t *testing.T) {
	a, b, thief := newSite(t, "asker", 1), newSite(t, "owner", 2), newSite(t, "thief", 3)
	r := source(4)
	made, err := b.Invite("https://owner.example:8443", crypto.InvitationLife, start, r)
	if err != nil {
		t.Fatal(err)
	}
	text := made.String()
	inv, err := crypto.ParseInvitation("  " + text[:40] + "\n" + text[40:] + "\n") // as wrapped by a mail program
	if err != nil || *inv != *made {
		t.Fatalf("parse: %v", err)
	}
	now := start.Add(time.Hour)
	req, mine, err := inv.Enrol(a.card, b.card, now, r)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(req, made.Token[:]) || bytes.Contains(req, []byte("asker")) {
		t.Error("the request shows the token or the card to the wire")
	}
	e, err := b.ReadEnrolment(req, now)
	if err != nil {
		t.Fatal(err)
	}
	if e.TokenHash() != made.TokenHash() || e.Card.Site != a.Site() {
		t.Fatal("another invitation or site")
	}
	if err := e.Check(made.Expiry, now, b.card); err != nil {
		t.Fatal(err)
	}
	receipt, err := b.Receipt(e, now)
	if err != nil {
		t.Fatal(err)
	}
	if err := mine.Accepted(receipt, b.card, now); err != nil {
		t.Fatal(err)
	}
	theirs, ours := crypto.Words(b.Site(), a.Site(), made.Digest(), e.Nonce), crypto.Words(inv.Site, a.Site(), inv.Digest(), mine.Nonce)
	if theirs != ours {
		t.Errorf("words %v and %v", theirs, ours)
	}

	t.Run("expired", func(t *testing.T) {
		late := made.Expiry.Add(time.Second)
		if _, _, err := inv.Enrol(a.card, b.card, late, r); !errors.Is(err, crypto.ErrInvitation) {
			t.Errorf("asker: %v", err)
		}
		if err := e.Check(made.Expiry, late, b.card); !errors.Is(err, crypto.ErrInvitation) {
			t.Errorf("inviter: %v", err)
		}
	})
	t.Run("wrong site", func(t *testing.T) {
		if _, _, err := inv.Enrol(a.card, thief.card, now, r); !errors.Is(err, crypto.ErrInvitation) {
			t.Errorf("a card of another site at the address: %v", err)
		}
		if _, err := thief.ReadEnrolment(req, now); !errors.Is(err, crypto.ErrOpen) {
			t.Errorf("read by another site: %v", err)
		}
		if err := e.Check(made.Expiry, now, thief.card); !errors.Is(err, crypto.ErrInvitation) {
			t.Errorf("proof for another card: %v", err)
		}
	})
	t.Run("without token", func(t *testing.T) {
		guess := *inv
		guess.Token[0] ^= 1
		req, _, err := guess.Enrol(thief.card, b.card, now, r)
		if err != nil {
			t.Fatal(err)
		}
		e, err := b.ReadEnrolment(req, now)
		if err != nil || e.TokenHash() == made.TokenHash() {
			t.Errorf("a guessed token is that of the invitation (%v)", err)
		}
	})
	t.Run("own invitation", func(t *testing.T) {
		req, _, err := inv.Enrol(b.card, b.card, now, r)
		if err != nil {
			t.Fatal(err)
		}
		e, err := b.ReadEnrolment(req, now)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Check(made.Expiry, now, b.card); !errors.Is(err, crypto.ErrInvitation) {
			t.Errorf("a site that redeems its own invitation: %v", err)
		}
	})
	t.Run("receipt", func(t *testing.T) {
		forged, err := thief.Receipt(e, now)
		if err != nil {
			t.Fatal(err)
		}
		for name, bad := range map[string][]byte{"another site's": forged, "cut": receipt[:len(receipt)-1], "empty": nil} {
			if mine.Accepted(bad, b.card, now) == nil {
				t.Errorf("%s receipt accepted", name)
			}
		}
		for i := range receipt {
			bad := bytes.Clone(receipt)
			bad[i] ^= 1
			if mine.Accepted(bad, b.card, now) == nil {
				t.Fatalf("byte %d changed and accepted", i)
			}
		}
		if err := mine.Accepted(receipt, b.card, now.Add(time.Hour)); !errors.Is(err, crypto.ErrStale) {
			t.Errorf("an hour later: %v", err)
		}
	})
	t.Run("bytes", func(t *testing.T) {
		for i := 0; i < len(req); i += 7 {
			bad := bytes.Clone(req)
			bad[i] ^= 1
			if _, err := b.ReadEnrolment(bad, now); err == nil {
				t.Fatalf("byte %d changed and accepted", i)
			}
		}
	})
	t.Run("man in the middle", func(t *testing.T) {
		// The thief redeems the stolen invitation and gives A its own invitation, so the words differ.
		own, err := thief.Invite("https://thief.example", time.Hour, start, r)
		if err != nil {
			t.Fatal(err)
		}
		at, atA := crypto.Words(b.Site(), thief.Site(), made.Digest(), e.Nonce), crypto.Words(thief.Site(), a.Site(), own.Digest(), e.Nonce)
		if at == atA {
			t.Error("both administrators see the same words")
		}
	})
}

func TestInvitationText(t *testing.T) {
	b := newSite(t, "owner", 2)
	inv, err := b.Invite("https://owner.example:8443/concordat", time.Hour, start, source(1))
	if err != nil {
		t.Fatal(err)
	}
	text := inv.String()
	for n := range len(text) {
		if _, err := crypto.ParseInvitation(text[:n]); !errors.Is(err, crypto.ErrFormat) {
			t.Fatalf("cut to %d characters: %v", n, err)
		}
	}
	for i := strings.LastIndexByte(text, '.') + 1; i < len(text); i++ {
		for _, c := range []byte("Aa_") {
			if text[i] == c {
				continue
			}
			if _, err := crypto.ParseInvitation(text[:i] + string(c) + text[i+1:]); err == nil {
				t.Fatalf("character %d changed and accepted", i)
			}
		}
	}
	_, bare, _ := strings.Cut(text, ".")
	for _, other := range []string{bare, "." + bare, "x" + text, strings.Replace(text, ".", "2.", 1)} {
		if _, err := crypto.ParseInvitation(other); !errors.Is(err, crypto.ErrFormat) {
			t.Errorf("%.20s... is taken for an invitation: %v", other, err)
		}
	}
	if got, err := crypto.ParseInvitation(" " + text[:20] + "\n\t" + text[20:] + "\n"); err != nil || *got != *inv {
		t.Errorf("with white space: %v, error %v", got, err)
	}
	if _, err := b.Invite("http://owner.example", time.Hour, start, source(1)); !errors.Is(err, crypto.ErrFormat) {
		t.Errorf("plain http: %v", err)
	}
}

func TestWordList(t *testing.T) {
	list := crypto.WordList()
	if len(list) != 2048 || !slices.IsSorted(list) {
		t.Fatalf("%d words, sorted %v", len(list), slices.IsSorted(list))
	}
	seen := map[string]bool{}
	for _, w := range list {
		if len(w) < 4 || len(w) > 7 || strings.Trim(w, "abcdefghijklmnopqrstuvwxyz") != "" {
			t.Errorf("word %q", w)
		}
		if seen[w[:4]] {
			t.Errorf("%q begins as another word", w)
		}
		seen[w[:4]] = true
	}
}
