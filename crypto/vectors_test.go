package crypto_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"testing"
	"testing/cryptotest"
	"time"

	"concordat/crypto"
)

var update = flag.Bool("update", false, "write testdata/vectors.json anew: a change of format")

// TestV1 runs our suite's vector from draft-ietf-hpke-pq, as Go ships it, through the functions that open envelopes, and seals with fixed
// randomness.
func TestV1(t *testing.T) {
	raw, err := os.ReadFile("testdata/hpke-xwing.json")
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		KEM         int    `json:"kem_id"`
		KDF         int    `json:"kdf_id"`
		AEAD        int    `json:"aead_id"`
		Info        string `json:"info"`
		Key         string `json:"skRm"`
		Public      string `json:"pkRm"`
		Enc         string `json:"enc"`
		Encryptions []struct{ AAD, CT, PT string }
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	if v.KEM != 0x647a || v.KDF != 1 || v.AEAD != 3 || len(v.Encryptions) == 0 {
		t.Fatalf("the vector is of another suite: %#x %d %d", v.KEM, v.KDF, v.AEAD)
	}
	e := v.Encryptions[0]
	got, err := crypto.Decrypt(unhex(t, v.Key), unhex(t, v.Enc), unhex(t, v.Info), unhex(t, e.AAD), unhex(t, e.CT))
	if err != nil || !bytes.Equal(got, unhex(t, e.PT)) {
		t.Fatalf("got %x, %v; want %s", got, err, e.PT)
	}
	seal := func(seed uint64) []byte {
		cryptotest.SetGlobalRandom(t, seed)
		enc, ct, err := crypto.Encrypt(unhex(t, v.Public), []byte("info"), []byte("aad"), []byte("plain"))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := crypto.Decrypt(unhex(t, v.Key), enc, []byte("info"), []byte("aad"), ct); err != nil || string(got) != "plain" {
			t.Fatalf("seed %d: %q, %v", seed, got, err)
		}
		return append(enc, ct...)
	}
	if one := seal(1); !bytes.Equal(one, seal(1)) || bytes.Equal(one, seal(2)) {
		t.Error("what is sealed does not depend on the randomness alone")
	}
}

// vectors are the frozen bytes of version 1, in hexadecimal or text; doc/format-federation.md describes them.
type vectors struct {
	Fields     crypto.CardFields `json:"fields"`
	Now        time.Time         `json:"now"`
	RawKey     string            `json:"raw_key"`
	Keystore   string            `json:"keystore"`    // owner's, opened by raw_key
	KeysPlain  string            `json:"keys_plain"`  // contents of the keystore
	AskerPlain string            `json:"asker_plain"` // asker's keys
	Site       string            `json:"site"`        // owner's identity
	Asker      string            `json:"asker"`
	Card       string            `json:"card"` // owner's
	AskerCard  string            `json:"asker_card"`
	Invitation string            `json:"invitation"` // made by owner
	Nonce      string            `json:"nonce"`
	Words      [6]string         `json:"words"`
	Request    string            `json:"request"` // envelope from asker to owner
	Question   string            `json:"question"`
	Enrolment  string            `json:"enrolment"`
	Statement  struct {
		Kind, Request, Payload, Signature string
		Epoch                             uint32
	} `json:"statement"`
	// Answer is the statement in the form of an answer to the requesting site.
	Answer struct {
		Job, Commitment, Signature string
	} `json:"answer"`
	Head           string `json:"head"`
	Scheme         string `json:"scheme"`
	EpochSecret    string `json:"epoch_secret"`
	FingerprintKey string `json:"fingerprint_key"`
	SketchKey      string `json:"sketch_key"`
	AuthorKey      string `json:"author_key"`
	HandleKey      string `json:"handle_key"`
	Grant          string `json:"grant"`
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// make sets everything that follows from the keystores of both sites; it does not make sealed bytes, because Go does not guarantee how it
// uses randomness.
func (v *vectors) make(t *testing.T, owner, asker *crypto.Identity) (ownerCard, askerCard *crypto.Card) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	v.Now, v.Fields, v.Scheme = start, fields("owner"), "natural@0123456789abcdef"
	v.KeysPlain, v.AskerPlain = hex.EncodeToString(crypto.Plain(owner)), hex.EncodeToString(crypto.Plain(asker))
	owner, ownerCard, err := owner.MakeCard(v.Fields, nil, start, source(11))
	must(err)
	_, askerCard, err = asker.MakeCard(fields("asker"), nil, start, source(12))
	must(err)
	v.Site, v.Asker = owner.Site().String(), asker.Site().String()
	v.Card, v.AskerCard = hex.EncodeToString(ownerCard.Bytes()), hex.EncodeToString(askerCard.Bytes())
	inv, err := owner.Invite("https://owner.example:8443", crypto.InvitationLife, start, source(13))
	must(err)
	v.Invitation, v.Nonce = inv.String(), "000102030405060708090a0b0c0d0e0f"
	v.Words = crypto.Words(owner.Site(), asker.Site(), inv.Digest(), [16]byte(unhex(t, v.Nonce)))
	var sig []byte
	st := &v.Statement
	st.Kind, st.Payload = "answer", "the payload"
	digest := crypto.DigestOf([]byte("the request"))
	st.Request = hex.EncodeToString(digest[:])
	st.Epoch, sig, err = owner.SignStatement(st.Kind, start, digest, []byte(st.Payload))
	must(err)
	st.Signature = hex.EncodeToString(sig)
	answer := crypto.Answer{Kind: st.Kind, At: start, Asker: asker.Site(), Job: [16]byte{4, 5}, Commitment: [32]byte{6, 7},
		Request: digest, Payload: []byte(st.Payload)}
	_, sig, err = owner.SignAnswer(&answer)
	must(err)
	v.Answer.Job, v.Answer.Commitment = hex.EncodeToString(answer.Job[:]), hex.EncodeToString(answer.Commitment[:])
	v.Answer.Signature = hex.EncodeToString(sig)
	head, err := owner.SignHead(7, [32]byte{1, 2, 3}, start)
	must(err)
	v.Head = hex.EncodeToString(head.Bytes())
	owner, err = owner.NewEpoch("health", start, 0, source(14))
	must(err)
	f, err := owner.Federation("health")
	must(err)
	e := f.Epochs[0]
	secret := crypto.EpochSecret(e)
	v.EpochSecret = hex.EncodeToString(secret[:])
	v.FingerprintKey = hex.EncodeToString(e.FingerprintKey(v.Scheme))
	v.SketchKey = hex.EncodeToString(e.SketchKey(asker.Site(), owner.Site()))
	v.AuthorKey = hex.EncodeToString(e.AuthorKey())
	v.HandleKey = hex.EncodeToString(owner.HandleKey(asker.Site(), "health", 1))
	grant := crypto.FederationGrant{Federation: f, Leader: owner.Site(), Members: []crypto.SiteID{owner.Site(), asker.Site()}}
	g, err := grant.Bytes()
	must(err)
	v.Grant = hex.EncodeToString(g)
	return ownerCard, askerCard
}

// TestOldVectors reads data written by version 1 of the card format and the previous release: a keystore, cards whose TLS keys carry no
// proof, an envelope and an enrolment between such sites. A card made from that keystore has the current version.
func TestOldVectors(t *testing.T) {
	raw, err := os.ReadFile("testdata/compat/vectors-1.json")
	if err != nil {
		t.Fatal(err)
	}
	var old vectors
	if err := json.Unmarshal(raw, &old); err != nil {
		t.Fatal(err)
	}
	owner, err := crypto.Unlock(unhex(t, old.Keystore), crypto.RawKey([32]byte(unhex(t, old.RawKey))))
	if err != nil {
		t.Fatal(err)
	}
	card := func(of string, site crypto.SiteID) *crypto.Card {
		t.Helper()
		c, err := crypto.Accept(site, nil, unhex(t, of), start)
		if err != nil {
			t.Fatal(err)
		}
		if c.Proven {
			t.Error("a card of version 1 is taken for one whose TLS keys are proven")
		}
		return c
	}
	asker, err := crypto.ParseSiteID(old.Asker)
	if err != nil {
		t.Fatal(err)
	}
	own, askers := card(old.Card, owner.Site()), card(old.AskerCard, asker)
	o, err := open(owner, unhex(t, old.Request), askers, start)
	if err != nil || string(o.Payload) != old.Question {
		t.Errorf("the envelope: %v", err)
	}
	e, err := owner.ReadEnrolment(unhex(t, old.Enrolment), start)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Check(start.Add(time.Hour), start, own); err != nil || e.Card.Site != asker {
		t.Errorf("the enrolment: %v", err)
	}
	_, made, err := owner.MakeCard(fields("owner"), nil, start, source(1))
	if err != nil || !made.Proven || made.TLS[0] != own.TLS[0] {
		t.Errorf("a card of the old keystore: %v", err)
	}
}

// freeze creates everything from scratch; use it only for a new version of a format.
func freeze(t *testing.T) {
	owner, err := crypto.New(start, source(1))
	if err != nil {
		t.Fatal(err)
	}
	asker, err := crypto.New(start, source(2))
	if err != nil {
		t.Fatal(err)
	}
	var v vectors
	ownerCard, askerCard := v.make(t, owner, asker)
	key := [32]byte{31: 1}
	v.RawKey = hex.EncodeToString(key[:])
	ks, err := owner.Lock(crypto.RawKey(key), source(15))
	if err != nil {
		t.Fatal(err)
	}
	v.Keystore, v.Question = hex.EncodeToString(ks), "the question"
	env, _, err := asker.SealRequest(crypto.Request{Type: crypto.TypeQuery, TTL: time.Minute, Payload: []byte(v.Question)}, ownerCard,
		start, source(16))
	if err != nil {
		t.Fatal(err)
	}
	v.Request = hex.EncodeToString(env)
	inv, err := crypto.ParseInvitation(v.Invitation)
	if err != nil {
		t.Fatal(err)
	}
	enrol, _, err := inv.Enrol(askerCard, ownerCard, start, source(17))
	if err != nil {
		t.Fatal(err)
	}
	v.Enrolment = hex.EncodeToString(enrol)
	out, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("testdata/vectors.json", append(out, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestV3 reads the frozen bytes and recreates, byte by byte, everything that keys and inputs determine.
func TestV3(t *testing.T) {
	if *update {
		freeze(t)
	}
	raw, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var want vectors
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	key := crypto.RawKey([32]byte(unhex(t, want.RawKey)))
	owner, err := crypto.Unlock(unhex(t, want.Keystore), key)
	if err != nil {
		t.Fatal(err)
	}
	if ks, err := owner.Lock(key, source(15)); err != nil || hex.EncodeToString(ks) != want.Keystore {
		t.Errorf("the keystore is written differently (%v)", err)
	}
	asker, err := crypto.ParsePlain(unhex(t, want.AskerPlain))
	if err != nil {
		t.Fatal(err)
	}
	got := vectors{RawKey: want.RawKey, Keystore: want.Keystore, Request: want.Request, Question: want.Question, Enrolment: want.Enrolment}
	ownerCard, askerCard := got.make(t, owner, asker)
	again, err := json.MarshalIndent(got, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(append(again, '\n'), raw) {
		a, b := bytes.Split(again, []byte("\n")), bytes.Split(raw, []byte("\n"))
		for i := range min(len(a), len(b)) {
			if !bytes.Equal(a[i], b[i]) {
				t.Errorf("got  %.100s\nwant %.100s", a[i], b[i])
			}
		}
	}
	o, err := open(owner, unhex(t, want.Request), askerCard, start)
	if err != nil || string(o.Payload) != want.Question {
		t.Errorf("the frozen envelope: %v", err)
	}
	e, err := owner.ReadEnrolment(unhex(t, want.Enrolment), start)
	if err != nil {
		t.Fatalf("the frozen enrolment: %v", err)
	}
	if err := e.Check(start.Add(time.Hour), start, ownerCard); err != nil || e.Card.Site != asker.Site() {
		t.Errorf("the frozen enrolment: %v", err)
	}
}
