package batches_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"concordat"
	"concordat/internal/webtest"
	"concordat/site/batch"
	"concordat/store"
	"concordat/web"
	"concordat/web/review"
)

// TestBatchSeen: the policy for reports also limits what submitters see of a batch, on every route.
func TestBatchSeen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		policy               web.Policy
		verdicts             bool
		wording, pair, share bool
	}{
		{policy: web.Policy{}, wording: true, pair: true, share: true},
		{policy: web.Policy{See: review.SeeReport}, pair: true, share: true},
		{policy: web.Policy{See: review.SeeScore}, share: true},
		{policy: web.Policy{See: review.SeeNothing}},
		{policy: web.Policy{From: review.FromVerdict}},
		{policy: web.Policy{From: review.FromVerdict, See: review.SeeReport}, verdicts: true, pair: true, share: true},
	} {
		t.Run(string(c.policy.See)+string(c.policy.From), func(t *testing.T) {
			d := webtest.NewWith(t, false, func(o *web.Options) { o.Policy = c.policy })
			sue, olga := d.SignedIn(t, "sue", store.RoleSubmitter), d.SignedIn(t, "olga", store.RoleOfficer)
			path := sue.HandBatch(http.StatusOK, nil, "a.txt", "My own words come before it all, and nobody else has them. "+ledger, "b.txt",
				keeper+ledger)
			b := d.AwaitBatch(t, path)
			id := concordat.TaskID(b.ID + "-1")
			if c.verdicts {
				for _, n := range []string{"-1", "-2"} {
					olga.Post("/checks/"+b.ID+n+"/notes", http.StatusOK, url.Values{"kind": {"verdict"}, "verdict": {"clear"}, "text": {"it is cited"}})
				}
			}
			olga.Post(path+"/pairs/1/2", http.StatusOK, url.Values{"verdict": {"discount"}, "reason": {"among officers"}})
			for _, r := range []store.Recheck{{Kind: store.RecheckBatch, Target: b.ID}, {Kind: store.RecheckCheck, Target: string(id)}} {
				r.Owner, r.Every, r.Fresh, r.Ran, r.Next = "sue", 3,
					[]byte(`[{"site":"here","library":"x","document":"y","title":"A new source","share":0.5}]`), b.Made, b.Made.AddDate(1, 0, 0)
				if err := d.Store.Alerts.PutRecheck(t.Context(), r); err != nil {
					t.Fatal(err)
				}
			}
			seesBatch(sue, path, c.wording, c.pair, c.share)
			again := sue.Get("/rechecks", http.StatusOK)
			if got := strings.Contains(again, "A new source"); got != c.pair {
				t.Errorf("names new sources: %t", got)
			}
			if !c.pair && strings.Contains(again, "nothing new") {
				t.Error("says that nothing is new, and does not tell")
			}
			prog, at := sue.Program("read"), "/api/v1/batches/"+b.ID
			want := http.StatusForbidden
			if c.pair {
				want = http.StatusOK
			}
			prog.Call("GET", at+"/pairs", want, nil)
			prog.Call("GET", at+"/clusters", want, nil)
			var got struct{ Documents []batch.MemberLine }
			prog.Call("GET", at, http.StatusOK, &got)
			if len(got.Documents) != 2 || (got.Documents[0].Share != nil) != c.share || !c.pair && got.Documents[0].Cluster != 0 {
				t.Errorf("%+v", got.Documents)
			}
			if page := olga.Get(path, http.StatusOK); !strings.Contains(page, "among officers") || !strings.Contains(page, "/pairs/1/2") {
				t.Error("an officer does not see all of it")
			}
		})
	}
}

// seesBatch requests the pages and tables of a batch.
func seesBatch(p *webtest.Person, path string, wording, pair, share bool) {
	p.T.Helper()
	want := http.StatusForbidden
	if pair {
		want = http.StatusOK
	}
	beside := p.Get(path+"/pairs/1/2", want)
	if got := strings.Contains(beside, "ferries that crossed"); got != wording {
		p.T.Errorf("the pair shows the wording of the other document: %t", got)
	}
	for _, table := range []string{"pairs.csv", "matrix.csv", "wording.csv", "batch.json"} {
		p.Get(path+"/tables/"+table, want)
	}
	page := p.Get(path, http.StatusOK)
	if got := strings.Contains(page, "/pairs/1/2"); got != pair {
		p.T.Errorf("the page shows the pair: %t", got)
	}
	if got := !strings.Contains(page, ">not shown</span>"); got != share {
		p.T.Errorf("the page shows shares: %t", got)
	}
	if got := strings.Contains(p.Get(path+"/tables/documents.csv", http.StatusOK), `,"0","",`); got == share {
		p.T.Errorf("the table shows shares: %t", !got)
	}
	if strings.Contains(page, "among officers") != wording {
		p.T.Error("the page shows what officers wrote, or does not show it to whom sees everything")
	}
}
