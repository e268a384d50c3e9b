package federation_test

import (
	"crypto/rand"
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"testing"
	"time"

	"concordat"
	"concordat/crypto"
	"concordat/federation"
	"concordat/federation/wire"
	"concordat/internal/cputime"
	"concordat/internal/fedtest"
)

// answerOf returns an answer to n sentences, with two hits each in twenty documents.
func answerOf(n int) concordat.SiteAnswer {
	t := concordat.SiteAnswer{Libraries: []concordat.LibraryAnswer{{Library: "theses", Level: concordat.ShowMetadata, Exists: true, Ready: 1,
		Documents: 20, Sentences: n, LeftSentences: 1000, LeftDisclosures: 10}}}
	for d := range 20 {
		t.Documents = append(t.Documents, concordat.DocumentAnswer{Handle: handleOf(d), Matches: n / 10,
			Title: "On the Measurement of Things, Volume 1", Author: "A. Author", Contact: "library@example.org", Outline: concordat.OutlineWords})
	}
	for i := range 2 * n {
		t.Hits = append(t.Hits, concordat.Hit{Sentence: i / 2, Document: i % 20, Ordinal: i, Closeness: concordat.Closeness(i % 2), Documents: 1})
	}
	return t
}

// BenchmarkSealing measures the cost of cryptography for one ask and its answer: padding, sealing, signing, verifying and opening on both
// sides, without network, disk and matching. cpu-ns/op is the sum of both sides.
func BenchmarkSealing(b *testing.B) {
	for _, n := range []int{64, 200, 1000, 8192} {
		b.Run(fmt.Sprintf("sentences=%d", n), func(b *testing.B) {
			asker, owner := fedtest.NewSite(b, scheme), fedtest.NewSite(b, scheme)
			from, to := asker.Member(federation.StateActive).Card, owner.Member(federation.StateActive).Card
			askerID, _ := asker.Roster.Self()
			ownerID, _ := owner.Roster.Self()
			r := mathrand.New(mathrand.NewPCG(1, 2))
			a := submission(r, library(r, "", 1, 10), n)
			told := wire.EpochAnswer{Epoch: a.Epoch, Scheme: a.Scheme, Answer: answerOf(n)}
			policy := crypto.Policy{Types: []crypto.MessageType{crypto.TypeQuery}}
			var up, down int
			start := cputime.Used()
			for b.Loop() {
				now := time.Now()
				padded, order, err := wire.Pad(a, [32]byte{1}, rand.Reader)
				payload := must(b, wire.AppendAsk, padded, err)
				request := must(b, wire.AppendRequest, &wire.Request{Payload: payload}, nil)
				env, pending, err := askerID.SealRequest(crypto.Request{Type: crypto.TypeQuery, TTL: time.Minute, Payload: request}, to, now,
					rand.Reader)
				check(b, err)

				v, err := ownerID.VerifyRequest(env, from, policy, now)
				check(b, err)
				o, err := v.Open()
				check(b, err)
				got, err := wire.ParseRequest(o.Payload)
				check(b, err)
				_, err = wire.ParseAsk(got.Payload)
				body := must(b, wire.AppendAnswer, &told, err)
				signed := federation.AnswerTo(crypto.TypeQuery, got.Payload)
				signed.Asker, signed.At, signed.Payload = askerID.Site(), now, body
				_, signature, err := ownerID.SignAnswer(&signed)
				reply := must(b, wire.AppendReply, &wire.Reply{At: now, Payload: body, Signature: [64]byte(signature)}, err)
				answer, err := ownerID.SealReply(o, crypto.TypeReply, reply, now, rand.Reader)
				check(b, err)

				opened, err := askerID.OpenReply(answer, pending, to, crypto.Policy{}, now, crypto.TypeReply)
				check(b, err)
				r, err := wire.ParseReply(opened.Payload)
				check(b, err)
				signed = federation.AnswerTo(crypto.TypeQuery, payload)
				signed.Asker, signed.At, signed.Payload = askerID.Site(), now, r.Payload
				check(b, to.VerifyAnswer(1, &signed, r.Signature[:]))
				t, err := wire.ParseAnswer(r.Payload)
				check(b, err)
				check(b, wire.Restore(&t.Answer, order, n))
				up, down = len(env), len(answer)
			}
			cputime.Report(b, start, b.N, "op")
			b.ReportMetric(float64(up), "bytes-up")
			b.ReportMetric(float64(down), "bytes-down")
		})
	}
}

func must[T any](b *testing.B, write func([]byte, *T) ([]byte, error), v *T, err error) []byte {
	check(b, err)
	p, err := write(nil, v)
	check(b, err)
	return p
}

func check(b testing.TB, err error) {
	if err != nil {
		b.Helper()
		b.Fatal(err)
	}
}

// BenchmarkExchange measures whole asks over one open connection with loopback TLS, both sides in one process, including the replay file;
// the answerer does nothing.
func BenchmarkExchange(b *testing.B) {
	for _, n := range []int{64, 200, 1000} {
		b.Run(fmt.Sprintf("sentences=%d", n), func(b *testing.B) {
			r := mathrand.New(mathrand.NewPCG(1, 2))
			a := submission(r, library(r, "", 1, 10), n)
			f := fedtest.Join(b, scheme, &scan{}, &scan{level: concordat.ShowMetadata})
			p := f.Partner(0, 1)
			_, err := p.Ask(b.Context(), a)
			check(b, err)
			start := cputime.Used()
			for b.Loop() {
				_, err := p.Ask(b.Context(), a)
				check(b, err)
			}
			cputime.Report(b, start, b.N, "op")
		})
	}
}

// BenchmarkRefused measures the cost of refusing a message, from a stranger and from a partner with an invalid signature.
func BenchmarkRefused(b *testing.B) {
	w := newWorkbench(b, time.Now)
	stranger := fedtest.NewSite(b, scheme)
	payload := w.query(b, 200)
	strange, _ := sealFrom(b, stranger, w.owner, crypto.TypeQuery, payload, time.Minute, time.Now())
	broken, _ := w.seal(b, crypto.TypeQuery, payload, time.Minute)
	broken[len(broken)-1] ^= 1
	for _, c := range []struct {
		name string
		env  []byte
	}{{"stranger", strange}, {"signature", broken}} {
		b.Run("by="+c.name, func(b *testing.B) {
			start := cputime.Used()
			for b.Loop() {
				if code, _ := w.post(c.env); code != http.StatusBadRequest {
					b.Fatal(code)
				}
			}
			cputime.Report(b, start, b.N, "op")
		})
	}
}
