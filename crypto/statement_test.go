package crypto_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"concordat/crypto"
)

func TestStatement(t *testing.T) {
	a, b := newSite(t, "asker", 1), newSite(t, "owner", 2)
	at := start.Add(1234567 * time.Nanosecond)
	req, payload := [32]byte{1, 2, 3}, []byte("answer payload")
	epoch, sig, err := b.SignStatement("answer", at, req, payload)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.card.VerifyStatement(epoch, "answer", at.Truncate(time.Millisecond), req, payload, sig); err != nil {
		t.Fatalf("the statement: %v", err)
	}
	other := req
	other[31]++
	for name, err := range map[string]error{
		"kind":    b.card.VerifyStatement(epoch, "outline", at, req, payload, sig),
		"time":    b.card.VerifyStatement(epoch, "answer", at.Add(time.Millisecond), req, payload, sig),
		"request": b.card.VerifyStatement(epoch, "answer", at, other, payload, sig),
		"payload": b.card.VerifyStatement(epoch, "answer", at, req, payload[1:], sig),
		"site":    a.card.VerifyStatement(epoch, "answer", at, req, payload, sig),
		"nothing": b.card.VerifyStatement(epoch, "answer", at, req, payload, nil),
	} {
		if !errors.Is(err, crypto.ErrSignature) {
			t.Errorf("other %s: %v, want ErrSignature", name, err)
		}
	}
	if err := b.card.VerifyStatement(epoch+1, "answer", at, req, payload, sig); !errors.Is(err, crypto.ErrNoKey) {
		t.Errorf("other epoch: %v, want ErrNoKey", err)
	}
	if err := b.card.VerifyStatement(epoch, "answer", at.AddDate(3, 0, 0), req, payload, sig); !errors.Is(err, crypto.ErrNoKey) {
		t.Errorf("outside the key's time: %v, want ErrNoKey", err)
	}
	for i := range sig {
		bad := bytes.Clone(sig)
		bad[i] ^= 1
		if b.card.VerifyStatement(epoch, "answer", at, req, payload, bad) == nil {
			t.Fatalf("signature byte %d changed and accepted", i)
		}
	}
	for _, kind := range []string{"", "Answer", "an answer", "a/b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"} {
		if _, _, err := b.SignStatement(kind, at, req, payload); !errors.Is(err, crypto.ErrFormat) {
			t.Errorf("kind %q: %v", kind, err)
		}
	}
}

// TestV5Answer: an answer's recipient, job and submission are signed, and it is not a statement of the older format, which includes none
// of them.
func TestV5Answer(t *testing.T) {
	a, b := newSite(t, "asker", 1), newSite(t, "owner", 2)
	answer := crypto.Answer{Kind: "tell", At: start.Add(1234567 * time.Nanosecond), Asker: a.Site(), Job: [16]byte{5},
		Commitment: [32]byte{6}, Request: [32]byte{1, 2, 3}, Payload: []byte("answer payload")}
	epoch, sig, err := b.SignAnswer(&answer)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.card.VerifyAnswer(epoch, &answer, sig); err != nil {
		t.Fatalf("the answer: %v", err)
	}
	for name, change := range map[string]func(*crypto.Answer){
		"kind":       func(x *crypto.Answer) { x.Kind = "outlines" },
		"time":       func(x *crypto.Answer) { x.At = x.At.Add(time.Millisecond) },
		"asker":      func(x *crypto.Answer) { x.Asker = b.Site() },
		"job":        func(x *crypto.Answer) { x.Job[15]++ },
		"commitment": func(x *crypto.Answer) { x.Commitment[31]++ },
		"request":    func(x *crypto.Answer) { x.Request[31]++ },
		"payload":    func(x *crypto.Answer) { x.Payload = x.Payload[1:] },
	} {
		changed := answer
		change(&changed)
		if err := b.card.VerifyAnswer(epoch, &changed, sig); !errors.Is(err, crypto.ErrSignature) {
			t.Errorf("other %s: %v, want ErrSignature", name, err)
		}
	}
	if err := b.card.VerifyStatement(epoch, answer.Kind, answer.At, answer.Request, answer.Payload, sig); !errors.Is(err,
		crypto.ErrSignature) {
		t.Errorf("as a statement of the older form: %v, want ErrSignature", err)
	}
	if err := b.card.VerifyAnswer(epoch+1, &answer, sig); !errors.Is(err, crypto.ErrNoKey) {
		t.Errorf("other epoch: %v, want ErrNoKey", err)
	}
	answer.Kind = "An answer"
	if _, _, err := b.SignAnswer(&answer); !errors.Is(err, crypto.ErrFormat) {
		t.Errorf("kind %q: %v", answer.Kind, err)
	}
}

// TestL2Heads: a head is valid if its site signed it with a key in force, and every byte of it matters. Package store detects a
// head that contradicts an earlier one (witness.go), and a record that was changed, deleted or moved (TestL1Audit there).
func TestL2Heads(t *testing.T) {
	a, b := newSite(t, "asker", 1), newSite(t, "owner", 2)
	sign := func(seq uint64, hash byte, at time.Time) *crypto.Head {
		h, err := a.SignHead(seq, [32]byte{hash}, at)
		if err != nil {
			t.Fatal(err)
		}
		h, err = crypto.ParseHead(h.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Check(a.card); err != nil {
			t.Fatal(err)
		}
		return h
	}
	if h, err := a.SignHead(1, [32]byte{1}, start.Add(10*crypto.SigningLife)); !errors.Is(err, crypto.ErrNoKey) || h != nil {
		t.Errorf("without a signing key in force: head %v, error %v, want ErrNoKey", h, err)
	}
	kept := sign(10, 1, start)
	if err := kept.Check(b.card); !errors.Is(err, crypto.ErrCard) {
		t.Errorf("another site's card: %v", err)
	}
	raw := kept.Bytes()
	if len(raw) != crypto.HeadSize {
		t.Errorf("%d bytes, want %d", len(raw), crypto.HeadSize)
	}
	for i := range raw {
		bad := bytes.Clone(raw)
		bad[i] ^= 1
		if h, err := crypto.ParseHead(bad); err == nil && h.Check(a.card) == nil {
			t.Fatalf("byte %d changed and accepted", i)
		}
	}
}
