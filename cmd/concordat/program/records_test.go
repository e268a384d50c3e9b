package program

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"concordat"
	"concordat/cmd/cli"
	"concordat/daemon"
	"concordat/instance"
	"concordat/store"
)

// TestOneRecordOneShape: a record has the same keys and values in a --json line and in the API.
func TestOneRecordOneShape(t *testing.T) {
	t.Parallel()
	p, north := newPlace(t, "uni"), newPlace(t, "north")
	north.command(cli.Done, "site", "card", "--url", "https://north.example")
	dir := t.TempDir()
	for name, text := range map[string]string{"docs.tsv": "a\tA title\t" + iceText + "\n", "one.txt": iceText + "This is mine.",
		"two.txt": iceText} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := func(name string) string { return filepath.Join(dir, name) }
	p.command(cli.Done, "library", "create", "theses", "--title", "Theses")
	p.command(cli.Done, "library", "set", "theses", "--forward", "none", "--embargo", "2020-01-02", "--expires", "2999-01-02")
	p.command(cli.Done, "add", "--library", "theses", file("docs.tsv"))
	check := concordat.TaskID(p.json("check", file("one.txt"), "--standing")["task"].(string))
	p.command(cli.Done, "batch", file("one.txt"), file("two.txt"))
	batch := p.json("batch", "list")["id"].(string)
	p.command(cli.Done, "recheck", "set", batch, "--every", "30")
	p.command(cli.Done, "delete", "document", "theses", "a", "--reason", "measure")
	p.command(cli.Done, "add", "--library", "theses", file("docs.tsv"))

	var card store.SignedCard
	withStore(t, north.dir, func(ctx context.Context, o *instance.Instance) error {
		sites, err := o.Store.Partners.CardSites(ctx)
		if err != nil || len(sites) != 1 {
			t.Fatalf("cards of %v, %v", sites, err)
		}
		cards, err := o.Store.Partners.Cards(ctx, sites[0])
		card = cards[0]
		return err
	})
	site := card.Site
	at := time.Now().Add(-time.Hour).Truncate(time.Second)
	withStore(t, p.dir, func(ctx context.Context, o *instance.Instance) error {
		row, err := o.Store.Catalogue.DocumentRow(ctx, "theses", "a")
		if err != nil {
			return err
		}
		_, err = o.Store.Alerts.PutAlert(ctx, store.Alert{Side: store.AlertFound, Task: check, At: at, Sentences: 2, Title: "A title",
			Source: concordat.Ref{Site: "uni", Library: "theses", Document: "a"}, Spans: []concordat.Span{{Start: 0, End: 9}}})
		return errors.Join(err,
			o.Store.Partners.AddPartner(ctx, store.Partner{Site: site, Name: "north", Invited: true, Words: "six words", Serial: card.Serial,
				Card: card.Card}),
			o.Store.Partners.SetPartnerState(ctx, site, store.PartnerPending, store.PartnerActive),
			o.Store.LTI.PutLTIPlatform(ctx, store.LTIPlatform{ID: "moodle", Name: "Moodle", Issuer: "https://lms.example", Client: "c1",
				AuthURL: "https://lms.example/auth", TokenURL: "https://lms.example/token", TokenAudience: "https://lms.example",
				KeysURL: "https://lms.example/keys", Deployments: []string{"1"}, Made: at}),
			o.Store.Answers.PutDisclosure(ctx, store.Disclosure{ID: "one", Direction: store.DisclosureIn, Partner: site,
				Job: concordat.JobID{1}, Library: "theses", Document: "a", Hash: row.Hash, Spans: []concordat.Span{{Start: 0, End: 20}},
				Reason: "an examination", Contact: "dean@north", State: concordat.DisclosurePending, Until: time.Now().Add(time.Hour)}))
	})
	p.command(cli.Done, "library", "share", "theses", "--with", "north", "--level", "passage", "--documents", "7", "--leads", "--purpose",
		"thesis")

	records := []struct {
		path, list string // in the API
		args       []string
		viewer     []string // keys whose values depend on the requester; only in the API
	}{
		{"/libraries", "libraries", []string{"library", "list"}, nil},
		{"/checks", "checks", []string{"report", "list"}, []string{"coverage", "flags", "leads"}},
		{"/batches", "batches", []string{"batch", "list"}, nil},
		{"/rechecks", "rechecks", []string{"recheck", "list"}, nil},
		{"/alerts", "alerts", []string{"alert", "list"}, nil},
		{"/requests", "requests", []string{"disclosure", "list"}, nil},
		{"/requests/one", "", []string{"disclosure", "show", "one"}, nil},
		{"/libraries/theses/shares", "shares", []string{"library", "shared", "theses"}, nil},
		{"/admin/partners", "partners", []string{"peer", "list"}, nil},
		{"/lti/platforms", "platforms", []string{"lti", "platform", "list"}, nil},
		{"/deletions", "deletions", []string{"delete", "list"}, nil},
		{"/batches/" + batch + "/pairs", "pairs", []string{"batch", "show", batch}, nil},
		{"/admin/audit", "entries", []string{"audit", "show"}, nil},
	}
	printed := make([]string, len(records))
	for i, c := range records {
		printed[i] = p.command(cli.Done, append([]string{"--json"}, c.args...)...)
	}

	a := &app{cli.Site{Data: p.dir, Terminal: cli.Terminal{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard}}}
	o, err := a.Open(t.Context(), instance.WithIndex)
	if err != nil {
		t.Fatal(err)
	}
	web, err := daemon.New(o, daemon.Options{Sign: a.Signatures(), Tell: a.Warn}).OpenWebApp()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(web.Pages)
	t.Cleanup(func() {
		server.Close()
		if err := errors.Join(web.Close(), o.Close()); err != nil {
			t.Error(err)
		}
	})
	now := time.Now()
	if err := errors.Join(o.Store.People.CreateAccount(t.Context(), store.Account{Name: "ada", Role: store.RoleAdministrator, Created: now}),
		o.Store.People.PutToken(t.Context(), servedToken, store.Token{Purpose: store.PurposeAPI, Account: "ada", Name: "test",
			Scopes: []string{"read", "check", "documents", "platforms", "erase"}, Made: now, Expires: now.Add(time.Hour)})); err != nil {
		t.Fatal(err)
	}
	get := func(path string) any {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/api/v1"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+servedToken)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }() // the body was read to its end
		b, err := io.ReadAll(resp.Body)
		var out any
		if err = errors.Join(err, json.Unmarshal(b, &out)); err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s %v %s", path, resp.Status, err, b)
		}
		return out
	}
	for i, c := range records {
		var api []any
		if got := get(c.path); c.list == "" {
			api = []any{got}
		} else {
			api = got.(map[string]any)[c.list].([]any)
		}
		var lines []any
		for line := range strings.Lines(printed[i]) {
			var v map[string]any
			if err := json.Unmarshal([]byte(line), &v); err != nil {
				t.Fatalf("%v: %v in %s", c.args, err, line)
			}
			if c.list != "pairs" || v["type"] == "pair" {
				lines = append(lines, v)
			}
		}
		for _, one := range api {
			maps.DeleteFunc(one.(map[string]any), func(k string, _ any) bool {
				return slices.Contains(c.viewer, k) || k == "$schema"
			})
		}
		if c.list == "entries" { // the audit keeps growing, and each side starts at its own end
			api, lines = ofAudit(api, "keys made"), ofAudit(lines, "keys made")
		}
		if len(api) == 0 {
			t.Errorf("%s: no record", c.path)
		}
		if d := cmp.Diff(api, lines); d != "" {
			t.Errorf("%s and %v (-API +command):\n%s", c.path, c.args, d)
		}
	}
}

// ofAudit returns the entries with the given action.
func ofAudit(all []any, action string) []any {
	return slices.DeleteFunc(all, func(e any) bool { return e.(map[string]any)["action"] != action })
}
