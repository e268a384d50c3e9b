package api_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"concordat"
	"concordat/client"
	"concordat/internal/webtest"
	"concordat/store"
)

// TestClientWording: a program finds undecided wording in a report and decides about it for every check of the library, either way, and
// for all documents of a batch; only administrators decide for a library.
func TestClientWording(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, false)
	ctx := t.Context()
	root, ada := d.Client(t, "root", store.RoleAdministrator), d.Client(t, "ada", store.RoleOfficer)
	shared := "The harbour of this town was dredged three times, first by convicts who were lent by the garrison, then by a company of " +
		"shareholders from the hill farms, and last by the ministry, which sent two steam dredgers and a surveyor who drank. None of " +
		"the three left drawings. What we know of the bottom comes from the lead lines of pilots, who wrote depths on the doors of " +
		"their sheds, and from the insurers, who paid for eleven keels that broke on a shelf which no chart of the time admits."
	own := func(i int) (out string) {
		for j := range 60 {
			out += fmt.Sprintf("Word%d%c of its own%d. ", 100*i+j, 'a'+i, 100*i+j)
		}
		return out
	}
	var docs []client.NewDocument
	for i := range 10 {
		text := own(i)
		if i < 4 {
			text += "\n\n" + shared
		}
		docs = append(docs, client.NewDocument{File: client.Bytes(fmt.Sprintf("%d.txt", i), []byte(text))})
	}
	webtest.Must[[]client.Added](t)(ada.AddDocuments(ctx, "theses", docs...))
	check := func() client.Evidence {
		t.Helper()
		made := webtest.Must[[]client.Check](t)(ada.Submit(ctx, client.Submission{Text: own(20) + "\n\n" + shared}))
		webtest.Must[client.Check](t)(ada.Wait(ctx, made[0].ID, nil))
		found := all(t, ada.Evidence(ctx, made[0].ID))
		if len(found) != 1 {
			t.Fatalf("found %+v", found)
		}
		return found[0]
	}
	open := check()
	if open.Excluded != string(concordat.ExcludedUndecided) || !strings.HasPrefix(shared, open.Text) {
		t.Fatalf("not to be decided: %+v", open)
	}
	theses := client.WordingOf(root, "theses")
	const name = "harbour: 50 %?"
	for counts, excluded := range map[bool]concordat.Exclusion{true: "", false: concordat.ExcludedTemplate} {
		if w := webtest.Must[client.Wording](t)(theses.Decide(ctx, name, open.Text, counts)); w.Name != name || w.Counts != counts {
			t.Errorf("decided %+v", w)
		}
		if e := check(); e.Excluded != string(excluded) {
			t.Errorf("counts %v: %+v", counts, e)
		}
	}
	if ws := webtest.Must[[]client.Wording](t)(theses.List(ctx)); len(ws) != 1 || ws[0].Text != "" || ws[0].Bytes != len(open.Text) {
		t.Errorf("decisions %+v", ws)
	}
	if w := webtest.Must[client.Wording](t)(theses.Read(ctx, name)); w.Text != open.Text {
		t.Errorf("got %+v", w)
	}
	_, err := client.WordingOf(ada, "theses").Decide(ctx, name, open.Text, true)
	webtest.WantKind(t, err, "refused")
	_, err = client.WordingOf(root, "none").Decide(ctx, name, open.Text, true)
	webtest.WantKind(t, err, "not_found")
	_, err = theses.Decide(ctx, name, "", true)
	webtest.WantKind(t, err, "invalid")
	if err := theses.Withdraw(ctx, name); err != nil {
		t.Fatal(err)
	}
	webtest.WantKind(t, theses.Withdraw(ctx, name), "not_found")
	_, err = theses.Read(ctx, name)
	webtest.WantKind(t, err, "not_found")
	if e := check(); e.Excluded != string(concordat.ExcludedUndecided) {
		t.Errorf("withdrawn: %+v", e)
	}
	if notes, err := d.Store.Audit.Audit(ctx, 0, 1000); err != nil || !slices.ContainsFunc(notes, func(e store.AuditEntry) bool {
		return e.Action == "library_unword" && e.Actor == "root"
	}) {
		t.Errorf("%v: the audit does not say who withdrew it", err)
	}

	var files []string
	for i := range 9 {
		files = append(files, fmt.Sprintf("%d.txt", i), own(i)+"\n\n"+shared)
	}
	sue := d.SignedIn(t, "sue", store.RoleSubmitter)
	b := d.AwaitBatch(t, sue.HandBatch(http.StatusOK, url.Values{"title": {"Essays"}}, files...))
	ws := webtest.Must[[]client.BatchWording](t)(client.WordingOfBatch(ada, b.ID).List(ctx))
	if len(ws) != 1 || !ws[0].Decide || ws[0].Held != 9 || ws[0].Counted {
		t.Fatalf("wording of the batch: %+v", ws)
	}
	if err := client.WordingOfBatch(ada, b.ID).Count(ctx, ws[0].Number, true, "none of it was handed out"); err != nil {
		t.Fatal(err)
	}
	if ws = webtest.Must[[]client.BatchWording](t)(client.WordingOfBatch(ada, b.ID).List(ctx)); !ws[0].Counted || ws[0].Decide {
		t.Errorf("decided: %+v", ws)
	}
	webtest.WantKind(t, client.WordingOfBatch(ada, b.ID).Count(ctx, 9, false, ""), "not_found")
}
