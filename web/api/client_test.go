package api_test

import (
	"bytes"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/client"
	"concordat/internal/webtest"
	"concordat/people"
	"concordat/store"
	"concordat/webhook"
)

func all[T any](t *testing.T, seq iter.Seq2[T, error]) (out []T) {
	t.Helper()
	for one, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, one)
	}
	return out
}

// TestClientChecks submits checks, waits for them, lists them and reads a report.
func TestClientChecks(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, false)
	ctx := t.Context()
	ada := d.Client(t, "ada", store.RoleOfficer)
	sue := d.Client(t, "sue", store.RoleSubmitter)
	made := webtest.Must[[]client.Check](t)(ada.Submit(ctx, client.Submission{Libraries: []concordat.LibraryID{"theses"}, Key: "k",
		Files: []client.File{client.Reader("essay.txt", strings.NewReader(webtest.Folios)), client.Bytes("broken.bad", []byte("x"))}}))
	if len(made) != 2 || made[0].Batch == "" {
		t.Fatalf("got %+v", made)
	}
	again := webtest.Must[[]client.Check](t)(ada.Submit(ctx, client.Submission{Libraries: []concordat.LibraryID{"theses"}, Key: "k",
		Files: []client.File{client.Bytes("essay.txt", []byte(webtest.Folios)), client.Bytes("broken.bad", []byte("x"))}}))
	if len(again) != 2 || again[0].ID != made[0].ID {
		t.Errorf("handed in twice: %+v", again)
	}
	_, err := ada.Submit(ctx, client.Submission{Key: "k", Text: "other"})
	webtest.WantKind(t, err, "idempotency_key")
	_, err = ada.Submit(ctx, client.Submission{})
	webtest.WantKind(t, err, "invalid")
	_, err = ada.Submit(ctx, client.Submission{Files: []client.File{client.Bytes("large.txt", make([]byte, 1<<20+1))}})
	if err == nil {
		t.Error("a file beyond the bound passed")
	}
	events := 0
	done := webtest.Must[client.Check](t)(ada.Wait(ctx, made[0].ID, func(client.Event) { events++ }))
	if done.State != concordat.TaskDone || events == 0 || done.Report == "" || done.Finished.IsZero() {
		t.Errorf("got %+v after %d events", done, events)
	}
	if failed := webtest.Must[client.Check](t)(ada.Wait(ctx, made[1].ID, nil)); failed.State != concordat.TaskFailed || failed.Cause == "" {
		t.Errorf("got %+v", failed)
	}
	own := webtest.Must[[]client.Check](t)(sue.Submit(ctx, client.Submission{Text: "Something else.", Title: "Own"}))
	webtest.Must[client.Check](t)(sue.Wait(ctx, own[0].ID, nil))
	for _, x := range []struct {
		who    *client.Client
		filter client.Filter
		want   int
	}{
		{ada, client.Filter{}, 3}, {ada, client.Filter{Owner: "sue"}, 1}, {ada, client.Filter{Batch: made[0].Batch}, 2},
		{ada, client.Filter{States: []concordat.State{concordat.TaskFailed, concordat.TaskQueued}}, 1},
		{ada, client.Filter{From: time.Now().Add(time.Hour)}, 0}, {ada, client.Filter{To: time.Now().Add(time.Hour)}, 3},
		{sue, client.Filter{}, 1}, {sue, client.Filter{Owner: "ada"}, 0},
	} {
		if got := all(t, x.who.Checks(ctx, x.filter)); len(got) != x.want {
			t.Errorf("%+v: %d checks, want %d", x.filter, len(got), x.want)
		}
	}
	_, err = sue.Check(ctx, made[0].ID)
	webtest.WantKind(t, err, "not_found")
	var b bytes.Buffer
	for _, format := range []string{"", "csv", "html"} {
		b.Reset()
		if err := ada.Report(ctx, made[0].ID, format, &b); err != nil || !strings.Contains(b.String(), "On folios") {
			t.Errorf("%s: %v: %s", format, err, b.String())
		}
	}
	webtest.WantKind(t, ada.Report(ctx, made[0].ID, "pop-up", &b), "invalid")
	webtest.WantKind(t, ada.Report(ctx, made[1].ID, "", &b), "not_found")
	if _, err := ada.Cancel(ctx, made[0].ID); err != nil {
		t.Error(err) // it has ended, so this changes nothing
	}
	webtest.WantKind(t, func() error { _, err := ada.Wait(ctx, "none", nil); return err }(), "not_found")
}

// TestClientReview tests rules with revisions, exclusions, undo, notes and verdicts.
func TestClientReview(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, false)
	ctx := t.Context()
	ada, bo := d.Client(t, "ada", store.RoleOfficer), d.Client(t, "bo", store.RoleOfficer)
	made := webtest.Must[[]client.Check](t)(ada.Submit(ctx, client.Submission{Text: "你好，世界。 " + webtest.Folios, Title: "Essay"}))
	id := webtest.Must[client.Check](t)(ada.Wait(ctx, made[0].ID, nil)).ID
	passages := all(t, ada.Evidence(ctx, id))
	if len(passages) != 1 || passages[0].Sources[0].Document != "folios.txt" ||
		passages[0].Span != (concordat.Span{End: 7 + len(webtest.Folios)}) {
		t.Fatalf("got %+v", passages)
	}
	first := webtest.Must[client.Ruled](t)(ada.Rules(ctx, id))
	changed := first
	changed.Rules.MinCharacters, changed.Rules.ExcludeKinds = 7, []concordat.Kind{concordat.KindSummary}
	second := webtest.Must[client.Ruled](t)(ada.SetRules(ctx, id, changed))
	if second.Revision != 1 || second.Rules.MinCharacters != 7 {
		t.Errorf("got %+v", second)
	}
	_, err := bo.SetRules(ctx, id, first) // bo has not seen ada's change
	webtest.WantKind(t, err, "changed")
	_, err = bo.UndoRules(ctx, id, client.Ruled{})
	webtest.WantKind(t, err, "condition")
	bad := second
	bad.Rules.MinSourceShare = 2
	_, err = bo.SetRules(ctx, id, bad)
	webtest.WantKind(t, err, "invalid")

	source := concordat.Ref{Site: "here", Library: "theses", Document: "folios.txt"}
	out := webtest.Must[client.Ruled](t)(bo.ExcludeSource(ctx, id, source, true))
	if len(out.Rules.ExcludeSources) != 1 || out.Rules.MinCharacters != 7 {
		t.Errorf("got %+v", out)
	}
	if got := all(t, ada.Evidence(ctx, id)); len(got) != 0 {
		t.Errorf("got %+v", got)
	}
	webtest.Must[client.Ruled](t)(bo.ExcludeSource(ctx, id, source, false))
	_, err = bo.ExcludePassage(ctx, id, passages[0].Span, " ")
	webtest.WantKind(t, err, "invalid")
	_, err = bo.ExcludePassage(ctx, id, concordat.Span{Start: 10_000, End: 10_010}, "beyond")
	webtest.WantKind(t, err, "not_found")
	out = webtest.Must[client.Ruled](t)(bo.ExcludePassage(ctx, id, passages[0].Span, "quoted"))
	if p := out.Rules.ExcludePassages; len(p) != 1 || p[0].By != "bo" || p[0].Span != passages[0].Span {
		t.Errorf("got %+v, want the span %v", p, passages[0].Span)
	}
	// Setting rules preserves the name of the person who excluded a passage.
	kept := webtest.Must[client.Ruled](t)(ada.SetRules(ctx, id, out))
	if p := kept.Rules.ExcludePassages; len(p) != 1 || p[0].By != "bo" {
		t.Errorf("got %+v", p)
	}
	undone := webtest.Must[client.Ruled](t)(ada.UndoRules(ctx, id, kept))
	undone = webtest.Must[client.Ruled](t)(ada.UndoRules(ctx, id, undone))
	if len(undone.Rules.ExcludePassages) != 0 {
		t.Errorf("got %+v", undone)
	}
	webtest.Must[client.Ruled](t)(bo.IncludePassage(ctx, id, passages[0].Span))
	var actions []string
	for _, c := range all(t, ada.RuleChanges(ctx, id)) {
		actions = append(actions, c.By+" "+c.Action)
	}
	want := []string{"ada set", "bo exclude-source", "bo include-source", "bo exclude-passage", "ada set", "ada undo", "ada undo",
		"bo include-passage"}
	if !slices.Equal(actions, want) {
		t.Errorf("got %v, want %v", actions, want)
	}

	_, _, err = ada.Verdict(ctx, id)
	webtest.WantKind(t, err, "not_found")
	_, err = bo.SignOff(ctx, id)
	webtest.WantKind(t, err, "changed")
	webtest.Must[client.Note](t)(ada.Comment(ctx, id, "Look at this."))
	webtest.Must[client.Note](t)(ada.GiveVerdict(ctx, id, "discuss", "One passage."))
	_, err = ada.GiveVerdict(ctx, id, "guilty", "x")
	webtest.WantKind(t, err, "invalid")
	_, err = ada.SignOff(ctx, id)
	webtest.WantKind(t, err, "changed")
	webtest.Must[client.Note](t)(bo.SignOff(ctx, id))
	if v, by, err := bo.Verdict(ctx, id); err != nil || v.Verdict != "discuss" || v.By != "ada" || !slices.Equal(by, []string{"bo"}) {
		t.Errorf("got %+v, %v, %v", v, by, err)
	}
	if notes := all(t, ada.Notes(ctx, id)); len(notes) != 3 || notes[0].Text != "Look at this." || notes[2].Kind != "signoff" {
		t.Errorf("got %+v", notes)
	}
}

// TestClientLibraries adds and lists documents.
func TestClientLibraries(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	ctx := t.Context()
	ada := d.Client(t, "ada", store.RoleOfficer)
	var docs []client.NewDocument
	for i := range 7 {
		docs = append(docs, client.NewDocument{File: client.Bytes(fmt.Sprintf("text%d.txt", i), []byte(fmt.Sprintf("Number %d. ",
			i)+webtest.Folios)),
			Title: fmt.Sprint("T", i), Date: "2001-02"})
	}
	docs = append(docs, client.NewDocument{File: client.Bytes("x.bad", []byte("x")), ID: "own-id"})
	added := webtest.Must[[]client.Added](t)(ada.AddDocuments(ctx, "theses", docs...))
	if len(added) != 8 || added[0].Outcome != "added" || added[7].Outcome != "failed" || added[7].ID != "own-id" ||
		added[7].Cause != "damaged" {
		t.Errorf("got %+v", added)
	}
	if again := webtest.Must[[]client.Added](t)(ada.AddDocuments(ctx, "theses", docs[0])); again[0].Outcome != "unchanged" {
		t.Errorf("got %+v", again)
	}
	_, err := ada.AddDocuments(ctx, "none", docs[0])
	webtest.WantKind(t, err, "not_found")
	_, err = ada.AddDocuments(ctx, "theses")
	webtest.WantKind(t, err, "invalid")
	_, err = ada.AddDocuments(ctx, "theses", client.NewDocument{File: client.Bytes("a.txt", []byte("x")), Date: "yesterday"})
	webtest.WantKind(t, err, "invalid")
	if got := all(t, ada.Documents(ctx, "theses")); len(got) != 8 || got[1].Title != "T0" || got[1].Date != "2001-02" || got[1].Revision != 1 {
		t.Errorf("got %+v", got)
	}
	if l := webtest.Must[client.Library](t)(ada.Library(ctx, "theses")); l.Documents != 8 || l.Title != "All <theses>" {
		t.Errorf("got %+v", l)
	}
	if got := all(t, ada.Libraries(ctx)); len(got) != 1 {
		t.Errorf("got %+v", got)
	}
	if got := all(t, ada.Partners(ctx)); len(got) != 2 || !got[0].Told || got[1].Told || got[0].Libraries[0].ID != "theses" {
		t.Errorf("got %+v", got)
	}
	if got := webtest.Must[[]string](t)(ada.Templates(ctx)); !slices.Equal(got, []string{"thesis"}) {
		t.Errorf("got %v", got)
	}
	if v := webtest.Must[client.Version](t)(ada.Version(ctx)); v.Site != "here" || v.MaxFile != 1<<20 || !v.Adds ||
		!slices.Equal(v.Scopes, people.Scopes) {
		t.Errorf("got %+v", v)
	}
	sue := d.Client(t, "sue", store.RoleSubmitter)
	for _, err := range sue.Documents(ctx, "theses") {
		webtest.WantKind(t, err, "refused")
	}
	_, err = sue.AddDocuments(ctx, "theses", docs[0])
	webtest.WantKind(t, err, "refused")
}

// TestClientPeople tests accounts and tokens.
func TestClientPeople(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	ctx := t.Context()
	root := d.Client(t, "root", store.RoleAdministrator)
	link := webtest.Must[client.Link](t)(root.AddPerson(ctx, client.Person{Name: "new one", Title: "N. One", Role: "submitter"}))
	if !strings.HasPrefix(link.Path, "/join?key=") || link.Person.Role != "submitter" {
		t.Errorf("got %+v", link)
	}
	_, err := root.AddPerson(ctx, client.Person{Name: "new one", Role: "submitter"})
	webtest.WantKind(t, err, "exists")
	_, err = root.AddPerson(ctx, client.Person{Name: "x", Role: "king"})
	webtest.WantKind(t, err, "invalid")
	if p := webtest.Must[client.Person](t)(root.DisablePerson(ctx, "new one", true)); !p.Disabled {
		t.Errorf("got %+v", p)
	}
	_, err = root.DisablePerson(ctx, "root", true)
	webtest.WantKind(t, err, "invalid")
	if p := webtest.Must[client.Person](t)(root.SetRole(ctx, "new one", "auditor")); p.Role != "auditor" || !p.Disabled {
		t.Errorf("got %+v", p)
	}
	_, err = root.SetRole(ctx, "new one", "king")
	webtest.WantKind(t, err, "invalid")
	_, err = root.SetRole(ctx, "root", "officer")
	webtest.WantKind(t, err, "invalid")
	_, err = root.NewLink(ctx, "nobody")
	webtest.WantKind(t, err, "not_found")
	webtest.Must[client.Link](t)(root.NewLink(ctx, "new one"))
	if got := all(t, root.People(ctx)); len(got) != 2 || got[0].Name != "new one" {
		t.Errorf("got %+v", got)
	}
	ada := d.Client(t, "ada", store.RoleOfficer, "tokens", "read")
	for _, err := range ada.People(ctx) {
		webtest.WantKind(t, err, "refused")
	}
	if me := webtest.Must[client.Me](t)(ada.Me(ctx)); me.Account.Name != "ada" || !slices.Equal(me.Scopes, []string{"tokens", "read"}) {
		t.Errorf("got %+v", me)
	}
	_, err = ada.MakeToken(ctx, "more", 0, "check")
	webtest.WantKind(t, err, "refused") // a token cannot grant rights that it lacks
	_, err = ada.MakeToken(ctx, "more", 0, "everything")
	webtest.WantKind(t, err, "invalid")
	secret := webtest.Must[string](t)(ada.MakeToken(ctx, "less", 7, "read"))
	less, err := client.New(client.Options{Address: d.URL, Token: secret, HTTP: &http.Client{Transport: webtest.DescribedTransport{T: t}}})
	if err != nil {
		t.Fatal(err)
	}
	if me := webtest.Must[client.Me](t)(less.Me(ctx)); me.Expires.After(time.Now().Add(8 * 24 * time.Hour)) {
		t.Errorf("got %+v", me)
	}
	for _, one := range all(t, ada.Tokens(ctx)) {
		if one.Name == "less" {
			if err := ada.RevokeToken(ctx, one.ID); err != nil {
				t.Error(err)
			}
		}
	}
	_, err = less.Me(ctx)
	webtest.WantKind(t, err, "token")
}

// TestClientWebhooks: an event reaches a receiver, which verifies it, and reaches it again after a replay.
func TestClientWebhooks(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	ctx := t.Context()
	ada := d.Client(t, "ada", store.RoleOfficer)
	root := d.Client(t, "root", store.RoleAdministrator)
	var told []*client.Notification
	var secrets []string
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		for _, s := range secrets {
			n, err := client.Verify(s, r.Header, body, time.Now())
			if err != nil {
				t.Error(err)
				continue
			}
			told = append(told, n)
		}
		if len(told) == 1 {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	defer receiver.Close()
	sender := webhook.New(webhook.Options{Store: d.Store.Webhooks, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})

	_, err := ada.MakeWebhook(ctx, client.Webhook{URL: receiver.URL, Events: []string{"check.failed"}, Whole: true})
	webtest.WantKind(t, err, "refused")
	_, err = ada.MakeWebhook(ctx, client.Webhook{URL: "https://10.0.0.1/", Events: []string{"check.failed"}})
	webtest.WantKind(t, err, "invalid")
	_, err = ada.MakeWebhook(ctx, client.Webhook{URL: receiver.URL, Events: []string{"song"}})
	webtest.WantKind(t, err, "invalid")
	h := webtest.Must[client.Webhook](t)(ada.MakeWebhook(ctx, client.Webhook{URL: receiver.URL, Title: "portal",
		Events: []string{"check.failed", "batch.done"}}))
	secrets = []string{h.Secret}
	made := webtest.Must[[]client.Check](t)(ada.Submit(ctx, client.Submission{Text: webtest.Folios, Title: "Private title"}))
	webtest.Must[client.Check](t)(ada.Cancel(ctx, made[0].ID))
	if n := sender.Step(ctx); n != 1 || len(told) != 1 || told[0].Type != "check.failed" ||
		!strings.Contains(string(told[0].Data), string(made[0].ID)) {
		t.Fatalf("%d attempts told %+v", n, told)
	}
	if strings.Contains(string(told[0].Data), "Private title") {
		t.Errorf("told %s", told[0].Data)
	}
	waiting := all(t, ada.Deliveries(ctx, h.ID, "pending"))
	if len(waiting) != 1 || waiting[0].Status != 500 || waiting[0].Due.IsZero() {
		t.Fatalf("got %+v", waiting)
	}
	turned := webtest.Must[client.Webhook](t)(ada.RotateWebhook(ctx, h.ID))
	secrets = []string{h.Secret, turned.Secret} // both are valid now
	if err := ada.Replay(ctx, h.ID, waiting[0].Seq); err != nil {
		t.Fatal(err)
	}
	if n := sender.Step(ctx); n != 1 || len(told) != 3 || told[2].ID != told[0].ID {
		t.Errorf("%d attempts told %+v", n, told)
	}
	if n, err := ada.ReplayAll(ctx, h.ID, "delivered", time.Now().Add(-time.Hour), time.Time{}); n != 1 || err != nil {
		t.Errorf("replayed %d, %v", n, err)
	}
	_, err = ada.ReplayAll(ctx, h.ID, "dead", time.Now(), time.Now().Add(-time.Hour))
	webtest.WantKind(t, err, "invalid")
	if err := ada.PingWebhook(ctx, h.ID); err != nil {
		t.Error(err)
	}
	changed := webtest.Must[client.Webhook](t)(ada.ChangeWebhook(ctx, client.Webhook{ID: h.ID, State: "paused", Title: "other"}))
	if changed.State != "paused" || changed.Title != "other" || changed.URL != h.URL || changed.Secret != "" || changed.Former.IsZero() {
		t.Errorf("got %+v", changed)
	}
	if n := sender.Step(ctx); n != 0 {
		t.Errorf("%d attempts of a paused webhook", n)
	}
	if got := all(t, root.Webhooks(ctx)); len(got) != 1 || got[0].Account != "ada" {
		t.Errorf("got %+v", got)
	}
	sue := d.Client(t, "sue", store.RoleSubmitter)
	_, err = sue.Webhook(ctx, h.ID)
	webtest.WantKind(t, err, "not_found")
	webtest.WantKind(t, sue.Replay(ctx, h.ID, waiting[0].Seq), "not_found")
	webtest.WantKind(t, ada.Replay(ctx, h.ID, 1000), "not_found")
	if err := root.DeleteWebhook(ctx, h.ID); err != nil {
		t.Error(err)
	}
	webtest.WantKind(t, ada.DeleteWebhook(ctx, h.ID), "not_found")
	lines, err := d.Store.Audit.Audit(ctx, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		if strings.Contains(string(line.Detail), h.Secret) || strings.Contains(string(line.Detail), receiver.URL) {
			t.Errorf("the audit holds a secret or an address: %s", line.Detail)
		}
	}
}
