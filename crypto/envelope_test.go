package crypto_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"concordat/crypto"
)

func TestRoundTrip(t *testing.T) {
	a, b := newSite(t, "asker", 1), newSite(t, "owner", 2)
	for _, n := range []int{0, 1, 2000, 100_000, 1 << 20, crypto.MaxPayload} {
		question := strings.Repeat("q", n)
		env, p := request(t, a, b, start, question)
		got, err := open(b.Identity, env, a.card, start.Add(time.Second))
		if err != nil || string(got.Payload) != question {
			t.Fatalf("%d bytes: open: %v", n, err)
		}
		if got.ID != p.ID || got.Digest != p.Digest || got.From != a.Site() {
			t.Errorf("%d bytes: header %+v does not fit %+v", n, got.Header, p)
		}
		reply, err := b.SealReply(got, crypto.TypeReply, []byte("answer"), start.Add(2*time.Second), source(5))
		if err != nil {
			t.Fatal(err)
		}
		p, err = crypto.ParsePending(p.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		r, err := a.OpenReply(reply, p, b.card, policy, start.Add(3*time.Second), crypto.TypeReply)
		if err != nil || string(r.Payload) != "answer" {
			t.Fatalf("reply: %v", err)
		}
	}
	if _, _, err := a.SealRequest(crypto.Request{Type: crypto.TypeQuery, TTL: time.Minute, Payload: make([]byte, crypto.MaxEnvelope)},
		b.card, start, source(1)); err == nil {
		t.Error("a payload larger than an envelope was sealed")
	}
}

// TestPadding: contents padded to the same size have the same length.
func TestPadding(t *testing.T) {
	a, b := newSite(t, "asker", 1), newSite(t, "owner", 2)
	size := func(n int) int {
		env, _ := request(t, a, b, start, strings.Repeat("x", n))
		return len(env)
	}
	if size(1) != size(2000) || size(3000) != size(6000) {
		t.Errorf("sizes %d %d, %d %d: want equal in a bucket", size(1), size(2000), size(3000), size(6000))
	}
	if size(1) == size(6000) || size(1<<20) == size(2<<20) {
		t.Error("one bucket holds everything")
	}
}

// TestPaddingBuckets: the padded sizes are 4, 8, 16 ... KiB up to 1 MiB, then each multiple of 256 KiB, including the 4 bytes of the
// length.
func TestPaddingBuckets(t *testing.T) {
	const kib = 1 << 10
	for n, want := range map[int]int{
		0: 4 * kib, 4*kib - 4: 4 * kib, 4*kib - 3: 8 * kib, 8*kib - 3: 16 * kib, 512*kib - 3: 1024 * kib, 1024*kib - 4: 1024 * kib,
		1024*kib - 3: 1280 * kib, 1280*kib - 4: 1280 * kib, 1280*kib - 3: 1536 * kib, 1536*kib - 3: 1792 * kib, 2048*kib - 3: 2304 * kib,
	} {
		padded := crypto.Pad(make([]byte, n))
		if len(padded) != want {
			t.Errorf("%d bytes are padded to %d, want %d", n, len(padded), want)
		}
		if b, err := crypto.Unpad(padded); err != nil || len(b) != n {
			t.Errorf("%d bytes are %d after padding, error %v", n, len(b), err)
		}
		if _, err := crypto.Unpad(append(padded, make([]byte, 256*kib)...)); !errors.Is(err, crypto.ErrFormat) {
			t.Errorf("%d bytes in a longer bucket: error %v, want ErrFormat", n, err)
		}
	}
}

// TestT1 changes every byte, truncates at every length and appends one byte.
func TestT1(t *testing.T) {
	a, b := newSite(t, "asker", 1), newSite(t, "owner", 2)
	env, _ := request(t, a, b, start, "the question")
	now := start.Add(time.Second)
	for i := range env {
		for _, bit := range []byte{1 << (i % 8)} {
			bad := bytes.Clone(env)
			bad[i] ^= bit
			if _, err := b.VerifyRequest(bad, a.card, policy, now); !errors.Is(err, crypto.ErrEnvelope) {
				t.Fatalf("byte %d changed: %v, want ErrEnvelope", i, err)
			}
		}
	}
	for n := range len(env) {
		if _, err := b.VerifyRequest(env[:n], a.card, policy, now); !errors.Is(err, crypto.ErrEnvelope) {
			t.Fatalf("cut to %d bytes: %v, want ErrEnvelope", n, err)
		}
	}
	if _, err := b.VerifyRequest(append(bytes.Clone(env), 0), a.card, policy, now); !errors.Is(err, crypto.ErrEnvelope) {
		t.Fatalf("a byte more: %v, want ErrEnvelope", err)
	}
	if _, err := open(b.Identity, env, a.card, now); err != nil {
		t.Fatalf("the untouched envelope: %v", err)
	}
}

// TestT2: a member puts its own name into another site's envelope and signs it.
func TestT2(t *testing.T) {
	a, b, thief := newSite(t, "asker", 1), newSite(t, "owner", 2), newSite(t, "thief", 3)
	env, _ := request(t, a, b, start, "the question")
	stolen := crypto.Resign(thief.Identity, env, start)
	v, err := b.VerifyRequest(stolen, thief.card, policy, start)
	if err != nil {
		t.Fatalf("the signature of a member: %v", err)
	}
	if _, err := v.Open(); !errors.Is(err, crypto.ErrOpen) {
		t.Fatalf("re-signed: %v, want ErrOpen", err)
	}
	// Nothing was opened, so the refusal is encrypted to the sender's card key and states this.
	refusal, err := b.SealRefusal(v, thief.card, []byte("cannot open"), start, source(4))
	if err != nil {
		t.Fatal(err)
	}
	p := &crypto.Pending{To: b.Site(), Digest: sha256.Sum256(stolen), Until: start.Add(time.Hour)}
	r, err := thief.OpenReply(refusal, p, b.card, policy, start, crypto.TypeReply)
	if err != nil || r.Type != crypto.TypeError || string(r.Payload) != "cannot open" {
		t.Fatalf("refusal: %v", err)
	}
}

// TestR1 is the table of messages that must be refused. The cache itself is in package federation; this tests
// the values that it needs: one key and one digest for the same bytes, and an expiry.
func TestR1(t *testing.T) {
	a, b, c := newSite(t, "asker", 1), newSite(t, "owner", 2), newSite(t, "other", 3)
	env, _ := request(t, a, b, start, "the question")
	edit := func(at int, with ...byte) []byte {
		bad := bytes.Clone(env)
		copy(bad[at:], with)
		return crypto.Resign(a.Identity, bad, start) // really signed, since the field alone must not be accepted
	}
	early, _ := request(t, a, b, start.Add(time.Hour), "the question")
	minute := binary.BigEndian.AppendUint32(nil, 600_001)
	for name, k := range map[string]struct {
		env  []byte
		from *crypto.Card
		now  time.Time
		p    crypto.Policy
		want error
	}{
		"stale":               {env, a.card, start.Add(time.Minute + crypto.Skew + time.Millisecond), policy, crypto.ErrStale},
		"future":              {early, a.card, start.Add(time.Hour - crypto.Skew - time.Millisecond), policy, crypto.ErrStale},
		"unknown sender":      {env, nil, start, policy, crypto.ErrEnvelope},
		"card of another":     {env, c.card, start, policy, crypto.ErrEnvelope},
		"type not allowed":    {env, a.card, start, crypto.Policy{Types: []crypto.MessageType{crypto.TypeShip}}, crypto.ErrEnvelope},
		"suite not pinned":    {env, a.card, start, crypto.Policy{Suites: []crypto.Suite{2}, Types: policy.Types}, crypto.ErrEnvelope},
		"nothing allowed":     {env, a.card, start, crypto.Policy{}, crypto.ErrEnvelope},
		"card has ended":      {env, a.card, start.Add(crypto.CardLife + time.Hour), policy, crypto.ErrEnvelope},
		"version":             {edit(4, 2), a.card, start, policy, crypto.ErrEnvelope},
		"suite":               {edit(5, 2), a.card, start, policy, crypto.ErrEnvelope},
		"reply as request":    {edit(6, byte(crypto.TypeReply)), a.card, start, policy, crypto.ErrEnvelope},
		"other type":          {edit(6, byte(crypto.TypeReveal)), a.card, start, policy, crypto.ErrOpen},
		"flags":               {edit(7, 1), a.card, start, policy, crypto.ErrEnvelope},
		"sealing epoch":       {edit(72, 0, 0, 0, 2), a.card, start, policy, crypto.ErrOpen},
		"no sealing epoch":    {edit(72, 0, 0, 0, 0), a.card, start, policy, crypto.ErrOpen},
		"lives too long":      {edit(104, minute...), a.card, start, policy, crypto.ErrStale},
		"lives not":           {edit(104, 0, 0, 0, 0), a.card, start, policy, crypto.ErrStale},
		"time beyond the end": {edit(96, 255), a.card, start, policy, crypto.ErrEnvelope},
		"reply-to":            {edit(108, 1), a.card, start, policy, crypto.ErrEnvelope},
		"message id":          {edit(80, env[80]^1), a.card, start, policy, crypto.ErrOpen},
	} {
		v, err := b.VerifyRequest(k.env, k.from, k.p, k.now)
		if err == nil {
			_, err = v.Open()
		}
		if !errors.Is(err, k.want) {
			t.Errorf("%s: %v, want %v", name, err, k.want)
		}
	}
	if _, err := c.VerifyRequest(env, a.card, policy, start); !errors.Is(err, crypto.ErrEnvelope) {
		t.Errorf("wrong recipient: %v, want ErrEnvelope", err)
	}
	one, err1 := b.VerifyRequest(env, a.card, policy, start)
	two, err2 := b.VerifyRequest(env, a.card, policy, start.Add(time.Second))
	if err1 != nil || err2 != nil || one.ID != two.ID || one.Digest != two.Digest {
		t.Fatalf("the same bytes twice: %v, %v", err1, err2)
	}
	if late := one.Until.Add(time.Millisecond); !one.Until.Equal(start.Add(time.Minute + crypto.Skew)) {
		t.Errorf("until %v", one.Until)
	} else if _, err := b.VerifyRequest(env, a.card, policy, late); !errors.Is(err, crypto.ErrStale) {
		t.Errorf("after Until the cache forgets and the clock must refuse: %v", err)
	}
}

func TestReplyBinding(t *testing.T) {
	a, b, c := newSite(t, "asker", 1), newSite(t, "owner", 2), newSite(t, "other", 3)
	env, p := request(t, a, b, start, "one")
	_, q := request(t, a, b, start.Add(time.Millisecond), "two")
	o, err := open(b.Identity, env, a.card, start)
	if err != nil {
		t.Fatal(err)
	}
	seal := func(id *crypto.Identity, typ crypto.MessageType) []byte {
		r, err := id.SealReply(o, typ, []byte("answer"), start, source(9))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	good := seal(b.Identity, crypto.TypeReply)
	for name, k := range map[string]struct {
		env  []byte
		p    *crypto.Pending
		from *crypto.Card
		now  time.Time
		want error
	}{
		"of another request": {good, q, b.card, start, crypto.ErrEnvelope},
		"by another site":    {seal(c.Identity, crypto.TypeReply), p, c.card, start, crypto.ErrEnvelope},
		"of another type":    {seal(b.Identity, crypto.TypeEvidence), p, b.card, start, crypto.ErrEnvelope},
		"too late":           {good, p, b.card, start.Add(time.Hour), crypto.ErrStale},
	} {
		if _, err := a.OpenReply(k.env, k.p, k.from, policy, k.now, crypto.TypeReply); !errors.Is(err, k.want) {
			t.Errorf("%s: %v, want %v", name, err, k.want)
		}
	}
	if _, err := c.OpenReply(good, p, b.card, policy, start, crypto.TypeReply); !errors.Is(err, crypto.ErrEnvelope) {
		t.Errorf("at another site: %v", err)
	}
	if r, err := a.OpenReply(good, p, b.card, policy, start, crypto.TypeReply); err != nil || string(r.Payload) != "answer" {
		t.Errorf("the reply: %v", err)
	}
	if r, err := a.OpenReply(seal(b.Identity, crypto.TypeError), p, b.card, policy, start, crypto.TypeReply); err != nil ||
		r.Type != crypto.TypeError {
		t.Errorf("an error: %v", err)
	}
}

// TestK1 seals 300 messages over three weeks of the sites' clock while the receiver rotates and expires its keys, and opens each message
// at the latest possible time of arrival. The race detector watches the swap.
func TestK1(t *testing.T) {
	a, b := newSite(t, "asker", 1), newSite(t, "owner", 2)
	var now atomic.Int64 // time shown by the clock, in nanoseconds after start
	var held atomic.Pointer[crypto.Identity]
	held.Store(b.Identity)
	type message struct {
		env []byte
		at  time.Duration
	}
	flight := make(chan message, 300)
	const messages, span = 300, 21 * 24 * time.Hour
	var sealing sync.WaitGroup
	for w := range 4 {
		sealing.Go(func() {
			for i := w; i < messages; i += 4 {
				at := span * time.Duration(i) / messages
				env, _, err := a.SealRequest(crypto.Request{Type: crypto.TypeQuery, TTL: crypto.MaxTTL, Payload: fmt.Append(nil, i)}, b.card,
					start.Add(at), source(byte(i)))
				if err != nil {
					t.Error(err)
					return
				}
				flight <- message{env, at}
			}
		})
	}
	go func() { sealing.Wait(); close(flight) }()
	var all []message
	for m := range flight {
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b message) int { return int(a.at - b.at) })
	stop, kept := make(chan struct{}), make(chan struct{})
	go func() { // rotates and expires keys as fast as possible, by the clock
		defer close(kept)
		r := source(99)
		for {
			select {
			case <-stop:
				return
			default:
			}
			at := start.Add(time.Duration(now.Load()))
			id, _ := held.Load().Expire(at)
			if id, err := id.Rotate(at, r); err == nil {
				held.Store(id)
			}
		}
	}()
	for batch := range slices.Chunk(all, 10) { // 17 hours of messages are open at once
		now.Store(int64(batch[len(batch)-1].at + crypto.MaxTTL + crypto.Skew))
		var opening sync.WaitGroup
		for _, m := range batch {
			opening.Go(func() {
				// The message's own age is at its limit, too.
				if _, err := open(held.Load(), m.env, a.card, start.Add(m.at+crypto.MaxTTL+crypto.Skew)); err != nil {
					t.Errorf("message sealed at %v lost: %v", m.at, err)
				}
			})
		}
		opening.Wait()
	}
	close(stop)
	<-kept
	if len(all) != messages {
		t.Fatalf("%d messages, want %d", len(all), messages)
	}
}

// TestK1Destroyed: a sealing key's private half is destroyed once nothing can be in transit any more, so recorded messages from its time
// can no longer be opened.
func TestK1Destroyed(t *testing.T) {
	a, b := newSite(t, "asker", 1), newSite(t, "owner", 2)
	env, _ := request(t, a, b, start, "recorded")
	v, err := b.VerifyRequest(env, a.card, policy, start)
	if err != nil {
		t.Fatal(err)
	}
	count := func(id *crypto.Identity) (n int) {
		for _, k := range id.Keys(start) {
			if k.Kind == "sealing" && k.Epoch == 1 {
				n++
			}
		}
		return n
	}
	end := start.Add(crypto.SealingLife + crypto.SealingGrace)
	kept, _ := b.Expire(end)
	if count(kept) != 1 {
		t.Error("the key went before its time")
	}
	gone, changed := b.Expire(end.Add(time.Second))
	if count(gone) != 0 || !changed {
		t.Error("the key is still there")
	}
	w, err := gone.VerifyRequest(env, a.card, policy, start)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Open(); !errors.Is(err, crypto.ErrOpen) {
		t.Errorf("opened with a destroyed key: %v", err)
	}
	if _, err := v.Open(); err != nil {
		t.Errorf("in flight when the identity was swapped: %v", err)
	}
}
