package partners_test

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"

	"concordat"
	"concordat/index"
	"concordat/internal/webtest"
	"concordat/profile"
	"concordat/site/answer"
	"concordat/store"
	"concordat/webhook"
)

// TestProbingIsSeen: a partner that keeps asking about variants of a sentence is reported in the log, on its page and through a webhook
// of the site; a partner that asks about several drafts of a text is not.
func TestProbingIsSeen(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(d.Store.Partners.AddPartner(ctx, store.Partner{Site: "SOUTH", Serial: 1, Card: []byte("card"), Words: "six words"}))
	adam := d.SignedIn(t, "adam", store.RoleAdministrator)
	var told []string // received by the webhook
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		told = append(told, string(b))
	}))
	webtest.After(t, receiver.Close)
	_, err := d.Store.Webhooks.CreateHook(ctx, store.Hook{Account: "adam", Whole: true, URL: receiver.URL,
		Kinds: []store.EventKind{store.EventPartnerAlarm}})
	must(err)
	sender := webhook.New(webhook.Options{Store: d.Store.Webhooks, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})

	p, err := profile.New(profile.Options{Key: bytes.Repeat([]byte{7}, 32)})
	must(err)
	prints, err := index.Open(filepath.Join(t.TempDir(), "set"), index.Options{Site: "here", Scheme: p.Scheme(), Shard: "00"})
	must(err)
	webtest.After(t, func() { _ = prints.Close() })
	var log bytes.Buffer
	answers := answer.New(answer.Options{ID: "here", Index: d.Site.Options().Index, Store: d.Store,
		Logger: slog.New(slog.NewTextHandler(&log, nil))})
	epoch := concordat.Epoch{Federation: "health", Number: 1}
	must(answers.Sets.UseEpochs(ctx, answer.EpochSet{Epoch: epoch, Profiler: p, Index: prints, SketchKey: bytes.Repeat([]byte{8}, 32),
		CellKey: bytes.Repeat([]byte{7}, 32), HandleKey: bytes.Repeat([]byte{9}, 32)}))
	_, err = answers.Shares.Share(ctx, store.Share{Library: "theses", Partner: "SOUTH", Rule: store.ShareRule{Level: concordat.ShowMetadata,
		Matches: 1, Limits: store.Limits{Sentences: -1, Burst: -1, Disclosures: -1, Documents: -1}}})
	must(err)
	must(answers.Sets.CatchUp(ctx))
	own, err := p.Profile(concordat.Document{ID: "d", Text: webtest.Folios}, nil)
	must(err)
	sentence := own.Questions()[0]
	jobs := byte(0)
	ask := func(variants int) {
		t.Helper()
		for i := range variants {
			f := sentence.Fingerprint
			f[i/60] ^= 1 << (i % 60) // words of 60 and 40 bits
			jobs++
			_, err := answers.Answer(ctx, "SOUTH", &concordat.Ask{Job: concordat.JobID{1, jobs}, Epoch: epoch, Scheme: p.Scheme(),
				Libraries: []concordat.LibraryID{"theses"}, Probe: concordat.ProbeOne, Level: concordat.ShowMetadata, Purpose: "thesis",
				Sentences: []concordat.AskedSentence{{Fingerprint: f, Gate: sentence.Gate}}})
			must(err)
		}
		sender.Step(ctx)
	}
	const words = "suspiciously many variants of the same sentences"
	seen := func() (page, logged, hooked bool) {
		return strings.Contains(adam.Get("/admin/partners/SOUTH", http.StatusOK), words),
			strings.Contains(log.String(), words) && strings.Contains(log.String(), "site=SOUTH"),
			len(told) > 0 && strings.Contains(told[0], "partner.alarm") && strings.Contains(told[0], "SOUTH")
	}
	ask(20)
	if page, logged, hooked := seen(); page || logged || hooked {
		t.Errorf("after twenty drafts: page %v, log %v, webhook %v", page, logged, hooked)
	}
	ask(100)
	if page, logged, hooked := seen(); !page || !logged || !hooked || len(told) != 1 {
		t.Errorf("after variants without end: page %v, log %v, webhook %v of %d", page, logged, hooked, len(told))
	}
}
