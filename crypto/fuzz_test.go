package crypto_test

import (
	"bytes"
	"runtime"
	"testing"
	"time"

	"concordat/crypto"
)

// These are the targets of F1. Each reads outside bytes, with a valid signature if the format has one, so that the fuzzer gets past it,
// and requires accepted input to be written back unchanged.

func FuzzF1Card(f *testing.F) {
	a := newSite(f, "asker", 1)
	root, err := a.Root()
	if err != nil {
		f.Fatal(err)
	}
	b := a.card.Bytes()
	f.Add(b[:len(b)-64])
	f.Add([]byte("CCDC\x01"))
	f.Fuzz(func(t *testing.T, body []byte) {
		signed := crypto.SignCard(root, body)
		c, err := crypto.ParseCard(signed)
		if err != nil {
			return
		}
		if c.Site != a.Site() || !bytes.Equal(c.Bytes(), signed) {
			t.Fatal("another card")
		}
		_, _ = crypto.Accept(a.Site(), a.card, signed, start)
	})
}

func FuzzF1Envelope(f *testing.F) {
	a, b := newSite(f, "asker", 1), newSite(f, "owner", 2)
	env, p := request(f, a, b, start, "the question")
	o, err := open(b.Identity, env, a.card, start)
	if err != nil {
		f.Fatal(err)
	}
	reply, err := b.SealReply(o, crypto.TypeReply, []byte("answer"), start, source(1))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(env)
	f.Add(reply)
	f.Add(env[:200])
	f.Fuzz(func(t *testing.T, env []byte) {
		if len(env) >= 204 {
			env = crypto.Resign(a.Identity, env, start)
		}
		v, err := b.VerifyRequest(env, a.card, policy, start)
		if err == nil {
			_, _ = v.Open()
		}
		_, _ = a.OpenReply(env, p, b.card, policy, start, crypto.TypeReply)
	})
}

func FuzzF1Padding(f *testing.F) {
	f.Add(crypto.Pad([]byte("abc")))
	f.Add(make([]byte, 4096))
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, err := crypto.Unpad(b); err == nil && !bytes.Equal(crypto.Pad(got), b) {
			t.Fatal("two forms of one message")
		}
	})
}

func FuzzF1Invitation(f *testing.F) {
	inv, err := newSite(f, "owner", 2).Invite("https://owner.example", time.Hour, start, source(1))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(inv.String())
	f.Add("concordat-invite-1.AAAA")
	f.Fuzz(func(t *testing.T, text string) {
		i, err := crypto.ParseInvitation(text)
		if err != nil {
			return
		}
		if again, err := crypto.ParseInvitation(i.String()); err != nil || *again != *i {
			t.Fatal("another invitation")
		}
	})
}

func FuzzF1Enrolment(f *testing.F) {
	a, b := newSite(f, "asker", 1), newSite(f, "owner", 2)
	inv, err := b.Invite("https://owner.example", time.Hour, start, source(1))
	if err != nil {
		f.Fatal(err)
	}
	req, mine, err := inv.Enrol(a.card, b.card, start, source(2))
	if err != nil {
		f.Fatal(err)
	}
	e, err := b.ReadEnrolment(req, start)
	if err != nil {
		f.Fatal(err)
	}
	receipt, err := b.Receipt(e, start)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(req)
	f.Add(receipt)
	f.Fuzz(func(t *testing.T, in []byte) {
		_, _ = b.ReadEnrolment(in, start)
		if mine.Accepted(in, b.card, start) == nil && !bytes.Equal(in, receipt) {
			t.Fatal("two receipts")
		}
	})
}

func FuzzF1Keystore(f *testing.F) {
	a := newSite(f, "asker", 1)
	s := crypto.RawKey([32]byte{1})
	ks, err := a.WithoutRoot().Lock(s, source(1))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(ks)
	f.Add(crypto.Plain(a.Identity))
	f.Fuzz(func(t *testing.T, in []byte) {
		_, _ = crypto.Unlock(in, s)
		if id, err := crypto.ParsePlain(in); err == nil && !bytes.Equal(crypto.Plain(id), in) {
			t.Fatal("two forms of one identity")
		}
	})
}

func FuzzF1Small(f *testing.F) {
	a := newSite(f, "asker", 1)
	id, err := a.NewEpoch("health", start, 0, source(1))
	if err != nil {
		f.Fatal(err)
	}
	fed, err := id.Federation("health")
	if err != nil {
		f.Fatal(err)
	}
	g := crypto.FederationGrant{Federation: fed, Leader: a.Site(), Members: []crypto.SiteID{a.Site()}}
	grant, err := g.Bytes()
	if err != nil {
		f.Fatal(err)
	}
	head, err := a.SignHead(1, [32]byte{1}, start)
	if err != nil {
		f.Fatal(err)
	}
	_, p := request(f, a, a, start, "x")
	f.Add(grant)
	f.Add(head.Bytes())
	f.Add(p.Bytes())
	f.Add([]byte(a.Site().String()))
	f.Fuzz(func(t *testing.T, in []byte) {
		if g, err := crypto.ParseFederationGrant(in); err == nil {
			if b, err := g.Bytes(); err != nil || !bytes.Equal(b, in) {
				t.Fatal("two forms of one grant")
			}
			_, _ = id.Join(g)
		}
		if h, err := crypto.ParseHead(in); err == nil && !bytes.Equal(h.Bytes(), in) {
			t.Fatal("two forms of one head")
		}
		if p, err := crypto.ParsePending(in); err == nil && !bytes.Equal(p.Bytes(), in) {
			t.Fatal("two forms of one request")
		}
		if s, err := crypto.ParseSiteID(string(in)); err == nil {
			if again, err := crypto.ParseSiteID(s.String()); err != nil || again != s {
				t.Fatal("another site")
			}
		}
	})
}

// TestF1Allocation: lengths and counts in a few input bytes must not make a decoder allocate memory for them.
func TestF1Allocation(t *testing.T) {
	a := newSite(t, "asker", 1)
	root, err := a.Root()
	if err != nil {
		t.Fatal(err)
	}
	id, err := a.NewEpoch("health", start, 0, source(1))
	if err != nil {
		t.Fatal(err)
	}
	plain := crypto.Plain(id)
	body := a.card.Bytes()
	body = body[:len(body)-64]
	high := func(b []byte, from int) [][]byte { // set each byte and all later ones to the maximum
		var out [][]byte
		for i := from; i < len(b); i += max(1, len(b)/200) {
			c := bytes.Clone(b)
			for j := i; j < min(i+4, len(c)); j++ {
				c[j] = 0xff
			}
			out = append(out, c)
		}
		return out
	}
	check := func(name string, inputs [][]byte, read func([]byte)) {
		t.Helper()
		for _, in := range inputs {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			read(in)
			runtime.ReadMemStats(&after)
			// ML-KEM keys are expanded about twentyfold.
			if took := after.TotalAlloc - before.TotalAlloc; took > uint64(64*len(in))+256<<10 {
				t.Errorf("%s: %d bytes in, %d bytes of memory", name, len(in), took)
			}
		}
	}
	check("card", high(body, 5), func(b []byte) { _, _ = crypto.ParseCard(crypto.SignCard(root, b)) })
	check("keystore", high(plain, 1), func(b []byte) { _, _ = crypto.ParsePlain(b) })
	f, _ := id.Federation("health")
	g := crypto.FederationGrant{Federation: f, Leader: a.Site()}
	grant, err := g.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	check("grant", high(grant, 5), func(b []byte) { _, _ = crypto.ParseFederationGrant(b) })
}
