package crypto_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"concordat/crypto"
)

// cardBody has the fields of a card, encoded as in doc/format-federation.md, including values that MakeCard refuses.
type cardBody struct {
	magic             string
	version           byte
	from, to          time.Time
	name, contact     string
	urls              []string
	signing, sealing  []cardKey
	tls, modes, suite int // number of pins; modes; number of suites
}

type cardKey struct {
	epoch    uint32
	suite    byte
	key      []byte
	from, to time.Time
}

// bodyOf returns a small body that ParseCard accepts, with the card's keys.
func bodyOf(c *crypto.Card) cardBody {
	end := c.NotBefore.Add(crypto.CardLife)
	return cardBody{
		magic: "CCDC", version: 1, from: c.NotBefore, to: end, name: "asker", contact: "a@asker.example", urls: []string{"https://asker.example"},
		signing: []cardKey{{epoch: 1, key: c.Signing[0].Key, from: c.NotBefore, to: end}},
		sealing: []cardKey{{epoch: 1, suite: 1, key: c.Sealing[0].Key, from: c.NotBefore, to: end}},
		tls:     1, modes: 1, suite: 1,
	}
}

func (c cardBody) bytes() []byte {
	stamp := func(b []byte, t time.Time) []byte { return binary.BigEndian.AppendUint64(b, uint64(t.UnixMilli())) }
	b := append([]byte(c.magic), c.version)
	b = append(b, make([]byte, ed25519.PublicKeySize)...)
	b = stamp(stamp(binary.BigEndian.AppendUint64(b, 1), c.from), c.to)
	b = append(append(b, byte(len(c.name))), c.name...)
	b = append(b, byte(len(c.urls)))
	for _, u := range c.urls {
		b = append(binary.BigEndian.AppendUint16(b, uint16(len(u))), u...)
	}
	b = append(b, byte(len(c.signing)))
	for _, k := range c.signing {
		b = append(binary.BigEndian.AppendUint32(b, k.epoch), k.key...)
		b = stamp(stamp(b, k.from), k.to)
	}
	b = append(b, byte(len(c.sealing)))
	for _, k := range c.sealing {
		b = append(binary.BigEndian.AppendUint32(b, k.epoch), k.suite)
		b = append(binary.BigEndian.AppendUint16(b, uint16(len(k.key))), k.key...)
		b = stamp(stamp(b, k.from), k.to)
	}
	b = append(b, byte(c.tls))
	for i := range c.tls {
		pin := [32]byte{byte(i)}
		b = append(b, pin[:]...)
	}
	b = append(b, byte(c.modes), byte(c.suite))
	for i := range c.suite {
		b = append(b, byte(i+1))
	}
	return append(binary.BigEndian.AppendUint16(b, uint16(len(c.contact))), c.contact...)
}

// keys returns n keys like the first, with increasing epochs.
func keys(first cardKey, n int) []cardKey {
	out := make([]cardKey, n)
	for i := range out {
		out[i] = first
		out[i].epoch = uint32(i + 1)
		if i > 0 && first.suite > 0 {
			out[i].suite, out[i].key = 9, nil // of a later version, and therefore ignored
		}
	}
	return out
}

// TestCardBounds: ParseCard accepts each field up to the limit in doc/format-federation.md and refuses anything beyond it, even in a
// properly signed card, so a partner cannot make a card that this program would not make.
func TestCardBounds(t *testing.T) {
	a := newSite(t, "asker", 1)
	root, err := a.Root()
	if err != nil {
		t.Fatal(err)
	}
	body := func(change func(*cardBody)) []byte {
		b := bodyOf(a.card)
		change(&b)
		return crypto.SignCard(root, b.bytes())
	}
	host := "https://a.example/"
	for name, test := range map[string]struct {
		change func(*cardBody)
		good   bool
	}{
		"as it is":           {func(*cardBody) {}, true},
		"magic":              {func(b *cardBody) { b.magic = "CCDX" }, false},
		"version":            {func(b *cardBody) { b.version = 2 }, false},
		"name of 200":        {func(b *cardBody) { b.name = strings.Repeat("n", 200) }, true},
		"name of 201":        {func(b *cardBody) { b.name = strings.Repeat("n", 201) }, false},
		"no name":            {func(b *cardBody) { b.name = "" }, false},
		"contact of 1024":    {func(b *cardBody) { b.contact = strings.Repeat("c", 1024) }, true},
		"contact of 1025":    {func(b *cardBody) { b.contact = strings.Repeat("c", 1025) }, false},
		"no contact":         {func(b *cardBody) { b.contact = "" }, true},
		"hidden in contact":  {func(b *cardBody) { b.contact = "a\u202eb" }, false},
		"line in contact":    {func(b *cardBody) { b.contact = "a\nb" }, false},
		"8 addresses":        {func(b *cardBody) { b.urls = slices.Repeat([]string{host}, 8) }, true},
		"9 addresses":        {func(b *cardBody) { b.urls = slices.Repeat([]string{host}, 9) }, false},
		"no address":         {func(b *cardBody) { b.urls = nil }, true},
		"address of 1024":    {func(b *cardBody) { b.urls = []string{host + strings.Repeat("x", 1024-len(host))} }, true},
		"address of 1025":    {func(b *cardBody) { b.urls = []string{host + strings.Repeat("x", 1025-len(host))} }, false},
		"fragment":           {func(b *cardBody) { b.urls = []string{host + "#f"} }, false},
		"no host":            {func(b *cardBody) { b.urls = []string{"https:///x"} }, false},
		"48 signing keys":    {func(b *cardBody) { b.signing = keys(b.signing[0], 48) }, true},
		"49 signing keys":    {func(b *cardBody) { b.signing = keys(b.signing[0], 49) }, false},
		"no signing key":     {func(b *cardBody) { b.signing = nil }, false},
		"48 sealing keys":    {func(b *cardBody) { b.sealing = keys(b.sealing[0], 48) }, true},
		"49 sealing keys":    {func(b *cardBody) { b.sealing = keys(b.sealing[0], 49) }, false},
		"no sealing key":     {func(b *cardBody) { b.sealing = nil }, false},
		"no sealing key now": {func(b *cardBody) { b.sealing[0].key = b.sealing[0].key[1:] }, false},
		"48 TLS keys":        {func(b *cardBody) { b.tls = 48 }, true},
		"49 TLS keys":        {func(b *cardBody) { b.tls = 49 }, false},
		"no TLS key":         {func(b *cardBody) { b.tls = 0 }, false},
		"8 suites":           {func(b *cardBody) { b.suite = 8 }, true},
		"9 suites":           {func(b *cardBody) { b.suite = 9 }, false},
		"a mode to come":     {func(b *cardBody) { b.modes = 128 }, true},
		"for one moment":     {func(b *cardBody) { b.to = b.from.Add(time.Millisecond) }, true},
		"for no time":        {func(b *cardBody) { b.to = b.from }, false},
		"for too long":       {func(b *cardBody) { b.to = b.to.Add(time.Millisecond) }, false},
		"key of epoch 0":     {func(b *cardBody) { b.signing[0].epoch = 0 }, false},
		"key for no time":    {func(b *cardBody) { b.signing[0].to = b.signing[0].from }, false},
		"epoch twice":        {func(b *cardBody) { b.signing = append(b.signing, b.signing[0]) }, false},
		"epochs that fall":   {func(b *cardBody) { b.signing = keys(b.signing[0], 2); slices.Reverse(b.signing) }, false},
		"sealing of epoch 0": {func(b *cardBody) { b.sealing[0].epoch = 0 }, false},
	} {
		_, err := crypto.ParseCard(body(test.change))
		if test.good && err != nil || !test.good && !errors.Is(err, crypto.ErrFormat) {
			t.Errorf("%s: error %v, taken is to be %v", name, err, test.good)
		}
	}
	long := make([]byte, crypto.MaxCard+1)
	copy(long, a.card.Bytes())
	if _, err := crypto.ParseCard(long); !errors.Is(err, crypto.ErrFormat) {
		t.Errorf("more than MaxCard: %v", err)
	}
}

// TestFederationNames: a name has 1 to 64 characters from a-z, 0-9 and hyphens, both in a new federation and in one received from a
// partner.
func TestFederationNames(t *testing.T) {
	a := newSite(t, "lead", 1)
	made, err := a.NewEpoch("n", start, 0, source(1))
	if err != nil {
		t.Fatal(err)
	}
	f, err := made.Federation("n")
	if err != nil {
		t.Fatal(err)
	}
	grant, err := (&crypto.FederationGrant{Federation: f, Leader: a.Site()}).Bytes()
	if err != nil {
		t.Fatal(err)
	}
	for name, good := range map[string]bool{
		"a": true, "z": true, "0": true, "9": true, "-": true, "a-z-0-9": true, strings.Repeat("m", 64): true,
		"": false, strings.Repeat("m", 65): false, "`": false, "{": false, "/": false, ":": false, ",": false, ".": false, "A": false,
		"Z": false, "é": false, "a\x00": false,
	} {
		if _, err := a.NewEpoch(name, start, 0, source(1)); good && err != nil || !good && !errors.Is(err, crypto.ErrFormat) {
			t.Errorf("new federation %q: error %v, taken is to be %v", name, err, good)
		}
		sent := slices.Concat(grant[:5], []byte{byte(len(name))}, []byte(name), grant[7:])
		if _, err := crypto.ParseFederationGrant(sent); good && err != nil || !good && !errors.Is(err, crypto.ErrFormat) {
			t.Errorf("granted federation %q: error %v, taken is to be %v", name, err, good)
		}
	}
}

// TestGrantBounds: a grant has 1 to 8 epochs with numbers increasing from 1, each ending after it begins, and at most 1,024 members;
// Bytes makes no other grant, and ParseFederationGrant accepts no other.
func TestGrantBounds(t *testing.T) {
	a := newSite(t, "lead", 1)
	epochs := func(n int) []crypto.FederationEpoch {
		out := make([]crypto.FederationEpoch, n)
		for i := range out {
			out[i] = crypto.FederationEpoch{Number: uint32(i + 1), From: start, To: start.Add(time.Hour)}
		}
		return out
	}
	grant := func(e []crypto.FederationEpoch, members int) *crypto.FederationGrant {
		return &crypto.FederationGrant{Federation: crypto.Federation{Name: "health", Epochs: e}, Leader: a.Site(),
			Members: make([]crypto.SiteID, members)}
	}
	for name, test := range map[string]struct {
		g    *crypto.FederationGrant
		good bool
	}{
		"one of each": {grant(epochs(1), 1), true}, "no member": {grant(epochs(1), 0), true},
		"8 epochs": {grant(epochs(8), 1), true}, "9 epochs": {grant(epochs(9), 1), false}, "no epoch": {grant(nil, 1), false},
		"1,024 members": {grant(epochs(1), 1024), true}, "1,025 members": {grant(epochs(1), 1025), false},
	} {
		b, err := test.g.Bytes()
		if test.good && err != nil || !test.good && !errors.Is(err, crypto.ErrFormat) {
			t.Errorf("%s: written: error %v, good is %v", name, err, test.good)
		}
		if !test.good {
			continue
		}
		if got, err := crypto.ParseFederationGrant(b); err != nil || len(got.Members) != len(test.g.Members) ||
			len(got.Federation.Epochs) != len(test.g.Federation.Epochs) {
			t.Errorf("%s: read: %v", name, err)
		}
	}
	whole := func(change func(e *crypto.FederationEpoch)) []byte {
		e := epochs(2)
		change(&e[1])
		b, err := grant(e, 1).Bytes()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	good := whole(func(*crypto.FederationEpoch) {})
	if _, err := crypto.ParseFederationGrant(good); err != nil {
		t.Fatal(err)
	}
	edited := func(at int, to byte) []byte {
		b := bytes.Clone(good)
		b[at] = to
		return b
	}
	const counted = 4 + 1 + 1 + len("health")
	members := binary.BigEndian.AppendUint16(bytes.Clone(good[:len(good)-34]), 1025)
	nine := slices.Concat(good[:counted], []byte{9})
	for i := range 9 {
		nine = binary.BigEndian.AppendUint32(nine, uint32(i+1))
		nine = append(nine, good[counted+5:counted+1+52]...)
	}
	for name, b := range map[string][]byte{
		"magic": edited(0, 'X'), "version": edited(4, 2), "one byte more": append(bytes.Clone(good), 0), "one byte less": good[:len(good)-1],
		"epoch 0":           whole(func(e *crypto.FederationEpoch) { e.Number = 0 }),
		"epoch twice":       whole(func(e *crypto.FederationEpoch) { e.Number = 1 }),
		"ends as it begins": whole(func(e *crypto.FederationEpoch) { e.To = e.From }),
		"9 epochs":          slices.Concat(nine, good[counted+1+2*52:]),
		"1,025 members":     append(members, make([]byte, 1025*32)...),
	} {
		if _, err := crypto.ParseFederationGrant(b); !errors.Is(err, crypto.ErrFormat) {
			t.Errorf("%s: error %v, want ErrFormat", name, err)
		}
	}
}

// TestEnrolmentHead: a request with a different magic, version or suite, or with bytes after its end, is refused for that reason, before
// anything is decrypted.
func TestEnrolmentHead(t *testing.T) {
	a, b := newSite(t, "asker", 1), newSite(t, "owner", 2)
	inv, err := b.Invite("https://owner.example", time.Hour, start, source(1))
	if err != nil {
		t.Fatal(err)
	}
	req, _, err := inv.Enrol(a.card, b.card, start, source(2))
	if err != nil {
		t.Fatal(err)
	}
	for at := range 6 {
		bad := bytes.Clone(req)
		bad[at]++
		if _, err := b.ReadEnrolment(bad, start); !errors.Is(err, crypto.ErrFormat) {
			t.Errorf("byte %d of the head changed: error %v, want ErrFormat", at, err)
		}
	}
	for name, bad := range map[string][]byte{"longer": append(bytes.Clone(req), 0), "shorter": req[:len(req)-1],
		"too long": make([]byte, crypto.MaxEnrolment+1)} {
		if _, err := b.ReadEnrolment(bad, start); !errors.Is(err, crypto.ErrFormat) {
			t.Errorf("%s: error %v, want ErrFormat", name, err)
		}
	}
}

// TestReceiptIsForThisRequest: a receipt signed by the inviting site is refused if its magic, version, status, site or request
// differs.
func TestReceiptIsForThisRequest(t *testing.T) {
	a, b := newSite(t, "asker", 1), newSite(t, "owner", 2)
	inv, err := b.Invite("https://owner.example", time.Hour, start, source(1))
	if err != nil {
		t.Fatal(err)
	}
	req, mine, err := inv.Enrol(a.card, b.card, start, source(2))
	if err != nil {
		t.Fatal(err)
	}
	e, err := b.ReadEnrolment(req, start)
	if err != nil {
		t.Fatal(err)
	}
	receipt, err := b.Receipt(e, start)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 6 + 32 + 32 { // magic, version, status; site; digest
		if err := mine.Accepted(crypto.Rereceipt(b.Identity, receipt, i, start), b.card, start); !errors.Is(err, crypto.ErrFormat) {
			t.Errorf("byte %d changed before it was signed: error %v, want ErrFormat", i, err)
		}
	}
}

// TestKeystoreContent: a keystore that can be decrypted but has bytes after its site's keys, or too few keys, is refused.
func TestKeystoreContent(t *testing.T) {
	a := newSite(t, "asker", 1)
	s := crypto.RawKey([32]byte{7})
	plain := crypto.Plain(a.Identity)
	for name, bad := range map[string][]byte{"longer": append(bytes.Clone(plain), 0), "shorter": plain[:len(plain)-1], "empty": nil} {
		b, err := crypto.LockPlain(a.Site(), bad, s, source(1))
		if err != nil {
			t.Fatal(err)
		}
		if id, err := crypto.Unlock(b, s); !errors.Is(err, crypto.ErrFormat) || id != nil {
			t.Errorf("%s: error %v, want ErrFormat and no keys", name, err)
		}
	}
	b, err := crypto.LockPlain(newSite(t, "owner", 2).Site(), plain, s, source(1))
	if err != nil {
		t.Fatal(err)
	}
	if id, err := crypto.Unlock(b, s); !errors.Is(err, crypto.ErrFormat) || id != nil {
		t.Errorf("the keys of another site: error %v, want ErrFormat and no keys", err)
	}
}

// TestInvitationBounds: an invitation of 4,096 characters, including white space, is read, and a longer one is refused unread.
func TestInvitationBounds(t *testing.T) {
	inv, err := newSite(t, "owner", 2).Invite("https://owner.example", time.Hour, start, source(1))
	if err != nil {
		t.Fatal(err)
	}
	for n, good := range map[int]bool{4096: true, 4097: false} {
		text := inv.String()
		text += strings.Repeat(" ", n-len(text))
		if _, err := crypto.ParseInvitation(text); (err == nil) != good || !good && !errors.Is(err, crypto.ErrFormat) {
			t.Errorf("%d characters: error %v", n, err)
		}
	}
}

// TestRootSeed: a keystore that can be decrypted but contains a root key of the wrong length is refused.
func TestRootSeed(t *testing.T) {
	a := newSite(t, "asker", 1)
	s := crypto.RawKey([32]byte{7})
	for _, n := range []int{0, 31, 33, 64} {
		b, err := crypto.LockRootOf(a.Site(), make([]byte, n), s, source(1))
		if err != nil {
			t.Fatal(err)
		}
		if seed, err := crypto.UnlockRoot(b, s); !errors.Is(err, crypto.ErrFormat) {
			t.Errorf("a root key of %d bytes: %d bytes, error %v, want ErrFormat", n, len(seed), err)
		}
	}
}

// TestCostBounds: each passphrase cost is accepted up to its limit and not beyond. If costs are changed within the limits, the keystore
// does not open, because they are signed.
func TestCostBounds(t *testing.T) {
	a := newSite(t, "asker", 1)
	s := crypto.Passphrase([]byte("x"))
	b, err := a.Lock(s, source(1))
	if err != nil {
		t.Fatal(err)
	}
	const memory, passes, lanes = 4 + 3 + 32 + 16, 4 + 3 + 32 + 16 + 4, 4 + 3 + 32 + 16 + 8
	cost := func(m, p uint32, l byte) []byte {
		c := bytes.Clone(b)
		binary.BigEndian.PutUint32(c[memory:], m)
		binary.BigEndian.PutUint32(c[passes:], p)
		c[lanes] = l
		return c
	}
	for name, test := range map[string]struct {
		b    []byte
		want error
	}{
		"least memory": {cost(8, 1, 1), crypto.ErrPassphrase}, "less memory": {cost(7, 1, 1), crypto.ErrFormat},
		"too much memory": {cost(1<<20+1, 1, 1), crypto.ErrFormat}, "most passes": {cost(8, 16, 1), crypto.ErrPassphrase},
		"too many passes": {cost(8, 17, 1), crypto.ErrFormat}, "no pass": {cost(8, 0, 1), crypto.ErrFormat},
		"no lane": {cost(8, 1, 0), crypto.ErrFormat}, "two lanes": {cost(16, 1, 2), crypto.ErrFormat},
	} {
		if _, err := crypto.Unlock(test.b, s); !errors.Is(err, test.want) {
			t.Errorf("%s: error %v, want %v", name, err, test.want)
		}
	}
}

// TestRootWrongSecret: a wrong secret is reported as such rather than as a damaged keystore.
func TestRootWrongSecret(t *testing.T) {
	a := newSite(t, "asker", 1)
	b, err := a.LockRoot(crypto.RawKey([32]byte{7}), source(1))
	if err != nil {
		t.Fatal(err)
	}
	if seed, err := crypto.UnlockRoot(b, crypto.RawKey([32]byte{8})); !errors.Is(err, crypto.ErrPassphrase) || len(seed) != 0 {
		t.Errorf("%d bytes, error %v, want ErrPassphrase", len(seed), err)
	}
}

// TestEnvelopeBounds: a request is valid for at most MaxTTL, in whole milliseconds, and an envelope of MaxEnvelope bytes is read.
func TestEnvelopeBounds(t *testing.T) {
	a, b := newSite(t, "asker", 1), newSite(t, "owner", 2)
	for ttl, good := range map[time.Duration]bool{
		time.Millisecond: true, crypto.MaxTTL: true,
		0: false, -time.Second: false, crypto.MaxTTL + time.Millisecond: false, 1500 * time.Microsecond: false,
	} {
		_, _, err := a.SealRequest(crypto.Request{Type: crypto.TypeQuery, TTL: ttl, Payload: []byte("x")}, b.card, start, source(1))
		if good && err != nil || !good && !errors.Is(err, crypto.ErrFormat) {
			t.Errorf("time to live %v: error %v, good is %v", ttl, err, good)
		}
	}
	env, _ := request(t, a, b, start, "x")
	for n, good := range map[int]bool{crypto.MaxEnvelope: true, crypto.MaxEnvelope + 1: false} {
		long := make([]byte, n)
		copy(long, env)
		if _, err := crypto.ParseHeader(long); (err == nil) != good {
			t.Errorf("envelope of %d bytes: error %v, good is %v", n, err, good)
		}
	}
}

// TestOverlapBounds: the previous epoch is served for another 0 to EpochOverlap.
func TestOverlapBounds(t *testing.T) {
	a := newSite(t, "lead", 1)
	for overlap, good := range map[time.Duration]bool{0: true, crypto.EpochOverlap: true, -1: false, crypto.EpochOverlap + 1: false} {
		if _, err := a.NewEpoch("health", start, overlap, source(1)); good && err != nil || !good && !errors.Is(err, crypto.ErrFormat) {
			t.Errorf("overlap %v: error %v, good is %v", overlap, err, good)
		}
	}
}

// TestSecretEqual: two secrets are equal if their kinds and bytes are.
func TestSecretEqual(t *testing.T) {
	raw := [32]byte{1}
	key, word := crypto.RawKey(raw), crypto.Passphrase(raw[:])
	for name, test := range map[string]struct {
		a, b crypto.Secret
		want bool
	}{
		"same key": {key, crypto.RawKey(raw), true}, "other key": {key, crypto.RawKey([32]byte{2}), false},
		"same passphrase": {word, crypto.Passphrase(raw[:]), true}, "the beginning of it": {word, crypto.Passphrase(raw[:31]), false},
		"the same bytes as another kind": {key, word, false},
	} {
		if got := test.a.Equal(test.b); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// TestSiteIDOneForm: a text that differs only in the bits after the identity, with valid check characters, is refused; a refused text
// leaves the existing identity unchanged.
func TestSiteIDOneForm(t *testing.T) {
	s := newSite(t, "a", 1).Site()
	good := s.String()
	for bits := byte(1); bits < 16; bits++ {
		if got, err := crypto.ParseSiteID(crypto.SiteIDWithTail(s, bits)); !errors.Is(err, crypto.ErrFormat) || got != (crypto.SiteID{}) {
			t.Errorf("bits %04b behind the identity: %v, error %v", bits, got, err)
		}
	}
	if same := crypto.SiteIDWithTail(s, 0); same != strings.ReplaceAll(good, "-", "") {
		t.Fatalf("the test writes %s, want %s", same, good)
	}
	var into crypto.SiteID
	if err := into.UnmarshalText([]byte(good)); err != nil || into != s {
		t.Errorf("unmarshalled %v, error %v", into, err)
	}
	if err := into.UnmarshalText([]byte("x" + good)); !errors.Is(err, crypto.ErrFormat) || into != s {
		t.Errorf("after a bad text: %v, error %v", into, err)
	}
}

// TestCurrentEpoch: the current epoch is the newest one that has begun and has not ended, if any.
func TestCurrentEpoch(t *testing.T) {
	f := crypto.Federation{Name: "health", Epochs: []crypto.FederationEpoch{
		{Number: 1, From: start, To: start.Add(2 * time.Hour)}, {Number: 2, From: start.Add(time.Hour), To: start.Add(3 * time.Hour)}}}
	for after, want := range map[time.Duration]uint32{
		-1: 0, 0: 1, time.Hour - 1: 1, time.Hour: 2, 2 * time.Hour: 2, 3*time.Hour - 1: 2, 3 * time.Hour: 0,
	} {
		e, err := f.Current(start.Add(after))
		if e.Number != want || (err == nil) != (want > 0) || err != nil && !errors.Is(err, crypto.ErrNoKey) {
			t.Errorf("after %v: epoch %d, error %v, want %d", after, e.Number, err, want)
		}
	}
}

// TestLongKeystore: input longer than any keystore is refused before it is opened.
func TestLongKeystore(t *testing.T) {
	a := newSite(t, "asker", 1)
	s := crypto.RawKey([32]byte{1})
	b, err := a.Lock(s, source(1))
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range map[int]error{crypto.MaxKeystore + 1: crypto.ErrFormat, crypto.MaxKeystore: crypto.ErrPassphrase} {
		if _, err := crypto.Unlock(append(b[:len(b):len(b)], make([]byte, n-len(b))...), s); !errors.Is(err, want) {
			t.Errorf("%d bytes: error %v, want %v", n, err, want)
		}
	}
}

// TestManyRotations: a site that rotates its keys every month for twelve years always has a valid card, since its oldest signing keys
// leave the card. A site that rotates them every hour is refused, with the reason, while a card has no room for more unexpired keys; its
// card remains valid.
func TestManyRotations(t *testing.T) {
	a := newSite(t, "asker", 1)
	id, now, r := a.Identity, start, source(2)
	for month := range 144 {
		var card *crypto.Card
		var err error
		if id, err = id.Rotate(now, r); err != nil {
			t.Fatalf("month %d: %v", month, err)
		}
		if id, card, err = id.MakeCard(fields("asker"), nil, now, r); err != nil {
			t.Fatalf("month %d: %v", month, err)
		}
		newest := id.Keys(now)[0]
		for _, k := range id.Keys(now) {
			if k.Kind == "signing" && k.Epoch > newest.Epoch {
				newest = k
			}
		}
		if last := card.Signing[len(card.Signing)-1]; len(card.Signing) > 48 || last.Epoch != newest.Epoch {
			t.Fatalf("month %d: the card has %d signing keys, the last is %d of %d", month, len(card.Signing), last.Epoch, newest.Epoch)
		}
		if month > 100 && len(card.Signing) < 48 {
			t.Errorf("month %d: the card names %d signing keys, and has room for 48", month, len(card.Signing))
		}
		now = now.AddDate(0, 1, 0)
	}
	refused := false
	for range 100 {
		next, err := id.Rotate(now, r)
		if err != nil {
			if refused = errors.Is(err, crypto.ErrFormat) && strings.Contains(err.Error(), "keys have not expired"); !refused {
				t.Fatal(err)
			}
			break
		}
		if next, _, err = next.MakeCard(fields("asker"), nil, now, r); err != nil {
			t.Fatal(err)
		}
		id, now = next, now.Add(time.Hour)
	}
	if !refused {
		t.Error("100 rotations in a hundred hours are taken")
	}
	if _, _, err := id.MakeCard(fields("asker"), nil, now, r); err != nil {
		t.Errorf("a card after the refusal: %v", err)
	}
	if _, err := id.Rotate(now.AddDate(0, 2, 0), r); err != nil {
		t.Errorf("two months later: %v", err)
	}
}

// TestStatementKinds: a statement's kind has 1 to 32 characters from a-z and hyphens.
func TestStatementKinds(t *testing.T) {
	a := newSite(t, "asker", 1)
	for kind, good := range map[string]bool{
		"a": true, "z": true, "tell-me": true, strings.Repeat("k", 32): true,
		"": false, strings.Repeat("k", 33): false, "`": false, "{": false, "A": false, "0": false, "a b": false, "a\x00": false,
	} {
		if _, _, err := a.SignStatement(kind, start, [32]byte{1}, nil); good && err != nil || !good && !errors.Is(err, crypto.ErrFormat) {
			t.Errorf("kind %q: error %v, good is %v", kind, err, good)
		}
	}
}
