package federation_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/crypto"
	"concordat/federation"
	"concordat/federation/wire"
	"concordat/internal/fedtest"
)

var rewrite = flag.Bool("rewrite", false, "write the vectors anew: only for a new version of the protocol")

const exchangeFile = "testdata/exchange.txt"

// fixed is a source of known bytes, the SHA-256 of the seed and an increasing counter.
type fixed struct {
	seed string
	n    uint32
	left []byte
}

func (f *fixed) Read(p []byte) (int, error) {
	for n := 0; n < len(p); {
		if len(f.left) == 0 {
			sum := sha256.Sum256(binary.BigEndian.AppendUint32([]byte(f.seed), f.n))
			f.left = sum[:]
			f.n++
		}
		c := copy(p[n:], f.left)
		f.left, n = f.left[c:], n+c
	}
	return len(p), nil
}

// fixedSite returns the site generated from the seed, with its card.
func fixedSite(t *testing.T, seed string, at time.Time) (*crypto.Identity, *crypto.Card) {
	t.Helper()
	random := &fixed{seed: seed}
	id, err := crypto.New(at, random)
	if err != nil {
		t.Fatal(err)
	}
	id, card, err := id.MakeCard(crypto.CardFields{Name: seed, URLs: []string{"https://" + seed + ".example"}, Contact: "library@" + seed +
		".example", Modes: crypto.ModeSealed}, nil, at, random)
	if err != nil {
		t.Fatal(err)
	}
	return id, card
}

var fixedTime = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// fixedAsk returns an ask of three sentences, padded with dummies from a known source.
func fixedAsk(t *testing.T) []byte {
	t.Helper()
	a := &concordat.Ask{
		Job: concordat.JobID{1, 2, 3}, Epoch: fedtest.Epoch, Scheme: scheme, Libraries: []concordat.LibraryID{"theses"},
		Level: concordat.ShowMetadata, Probe: concordat.ProbeOne, Purpose: "thesis", Commitment: [32]byte{9},
	}
	for i := range 3 {
		a.Sentences = append(a.Sentences, concordat.AskedSentence{Fingerprint: concordat.FingerprintFromHalves(uint64(i), 0x0123456789abcdef),
			Gate: 27})
	}
	padded, _, err := wire.Pad(a, [32]byte{7}, &fixed{seed: "dummies"})
	if err != nil {
		t.Fatal(err)
	}
	b, err := wire.AppendAsk(nil, padded)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestExchangeVector: a whole exchange is frozen. Both cards, the request's envelope and the reply's can be opened with the keys
// generated from two seeds, and have the original contents.
func TestExchangeVector(t *testing.T) {
	asker, askerCard := fixedSite(t, "asker", fixedTime)
	owner, ownerCard := fixedSite(t, "owner", fixedTime)
	if *rewrite {
		writeExchange(t, asker, owner, askerCard, ownerCard)
	}
	text, err := os.ReadFile(exchangeFile)
	if err != nil {
		t.Fatal(err)
	}
	v := map[string][]byte{}
	for line := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n") {
		name, digits, _ := strings.Cut(line, ": ")
		if v[name], err = hex.DecodeString(digits); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(v["asker card"], askerCard.Bytes()) || !bytes.Equal(v["owner card"], ownerCard.Bytes()) {
		t.Error("the cards have other bytes")
	}
	if !bytes.Equal(v["payload"], fixedAsk(t)) {
		t.Error("the padded ask has other bytes")
	}
	now := fixedTime.Add(time.Second)
	verified, err := owner.VerifyRequest(v["request"], askerCard, crypto.Policy{Types: []crypto.MessageType{crypto.TypeQuery}}, now)
	if err != nil {
		t.Fatal(err)
	}
	opened, err := verified.Open()
	if err != nil {
		t.Fatal(err)
	}
	request, err := wire.ParseRequest(opened.Payload)
	if err != nil || !bytes.Equal(request.Payload, v["payload"]) || request.Card != askerCard.Serial || request.Known != ownerCard.Serial {
		t.Errorf("the request holds something else: %v", err)
	}
	pending, err := crypto.ParsePending(v["pending"])
	if err != nil {
		t.Fatal(err)
	}
	got, err := asker.OpenReply(v["reply"], pending, ownerCard, crypto.Policy{}, now, crypto.TypeReply)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := wire.ParseReply(got.Payload)
	if err != nil {
		t.Fatal(err)
	}
	signed := federation.AnswerTo(crypto.TypeQuery, v["payload"])
	signed.Asker, signed.At, signed.Payload = asker.Site(), reply.At, reply.Payload
	if err := ownerCard.VerifyAnswer(reply.KeyEpoch, &signed, reply.Signature[:]); err != nil {
		t.Error(err)
	}
	answer, err := wire.ParseAnswer(reply.Payload)
	if err != nil || answer.Answer.Documents[0].Title != "A title" || answer.Scheme != scheme {
		t.Errorf("the reply holds something else: %+v, %v", answer, err)
	}
}

func writeExchange(t *testing.T, asker, owner *crypto.Identity, askerCard, ownerCard *crypto.Card) {
	t.Helper()
	payload := fixedAsk(t)
	content, err := wire.AppendRequest(nil, &wire.Request{Card: askerCard.Serial, Known: ownerCard.Serial, Payload: payload})
	check(t, err)
	env, pending, err := asker.SealRequest(crypto.Request{Type: crypto.TypeQuery, TTL: time.Minute, Payload: content}, ownerCard, fixedTime,
		&fixed{seed: "message"})
	check(t, err)
	v, err := owner.VerifyRequest(env, askerCard, crypto.Policy{Types: []crypto.MessageType{crypto.TypeQuery}}, fixedTime)
	check(t, err)
	o, err := v.Open()
	check(t, err)
	body, err := wire.AppendAnswer(nil, &wire.EpochAnswer{Epoch: fedtest.Epoch, Scheme: scheme, Answer: concordat.SiteAnswer{
		Libraries: []concordat.LibraryAnswer{{Library: "theses", Level: concordat.ShowMetadata, Ready: 1, Exists: true, Documents: 1,
			Sentences: 1, LeftSentences: -1, LeftDisclosures: 499}},
		Documents: []concordat.DocumentAnswer{{Handle: concordat.Handle{4}, Matches: 1, Title: "A title", Outline: concordat.OutlineWords}},
		Hits:      []concordat.Hit{{Sentence: 5, Ordinal: 17, Closeness: concordat.CloseNear, Documents: 1}},
	}})
	check(t, err)
	signed := federation.AnswerTo(crypto.TypeQuery, payload)
	signed.Asker, signed.At, signed.Payload = asker.Site(), fixedTime, body
	epoch, signature, err := owner.SignAnswer(&signed)
	check(t, err)
	reply, err := wire.AppendReply(nil, &wire.Reply{Card: ownerCard.Serial, At: fixedTime, KeyEpoch: epoch, Signature: [64]byte(signature),
		Payload: body})
	check(t, err)
	answer, err := owner.SealReply(o, crypto.TypeReply, reply, fixedTime, &fixed{seed: "reply"})
	check(t, err)
	text := fmt.Sprintf("asker card: %x\nowner card: %x\npayload: %x\nrequest: %x\npending: %x\nreply: %x\n",
		askerCard.Bytes(), ownerCard.Bytes(), payload, env, pending.Bytes(), answer)
	check(t, os.WriteFile(exchangeFile, []byte(text), 0o644))
}
