package batches_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"concordat/internal/webtest"
	"concordat/site/batch"
	"concordat/store"
)

// TestBatchWordingPages: form wording shared by all documents of a batch is shown on the batch's page with the number of documents and
// the reason, and has its own page. An officer can count it, on the page or through the API.
func TestBatchWordingPages(t *testing.T) {
	t.Parallel()
	const question = "Describe the <i>aims</i> of your project in no more than two hundred words of plain language for the panel."
	d := webtest.New(t, false)
	ann, officer := d.SignedIn(t, "ann", store.RoleSubmitter), d.SignedIn(t, "olga", store.RoleOfficer)
	var files []string
	for i, body := range []string{ledger, keeper, webtest.Folios,
		strings.Repeat("The granary by the river was counted every year by another clerk, who wrote what he pleased. ", 3)} {
		files = append(files, fmt.Sprintf("%d.txt", i), question+"\n\n"+body)
	}
	path := ann.HandBatch(http.StatusOK, url.Values{"title": {"Call"}}, files...)
	b := d.AwaitBatch(t, path)
	page := officer.Get(path, http.StatusOK)
	officer.Wants(page, "Wording found in several documents", "Describe the &lt;i&gt;aims", `href="`+path+`/wording/1"`, "4 of 4")
	one := officer.Get(path+"/wording/1", http.StatusOK)
	officer.Wants(one, "Found in 4 of 4 documents", `value="count-wording"`, "/checks/"+b.ID+"-1", "3.txt")
	if mine := ann.Get(path+"/wording/1", http.StatusOK); strings.Contains(mine, `value="count-wording"`) {
		t.Error("a submitter is offered to count wording")
	}
	officer.Get(path+"/wording/9", http.StatusNotFound)
	officer.Get(path+"/wording/x", http.StatusNotFound)
	ann.Post(path+"/wording/1", http.StatusForbidden, url.Values{"action": {"count-wording"}, "comment": {"x"}})
	officer.Post(path+"/wording/1", http.StatusBadRequest, url.Values{"action": {"count-wording"}})
	officer.Post(path+"/wording/1", http.StatusOK, url.Values{"action": {"count-wording"}, "comment": {"it was written by one of them"}})
	officer.Wants(officer.Get(path, http.StatusOK), "wording counts", "it was written by one of them")
	officer.Wants(officer.Get("/checks/"+b.ID+"-1", http.StatusOK), "counted shared wording:", "it was written by one of them")

	program := officer.Program("read", "check")
	var got struct{ Wording []batch.WordingLine }
	program.Call("GET", "/api/v1"+path+"/wording", http.StatusOK, &got)
	if len(got.Wording) != 1 || got.Wording[0].Held != 4 || len(got.Wording[0].Documents) != 4 || !got.Wording[0].Counted ||
		got.Wording[0].Decided != batch.DecidedCount {
		t.Errorf("wording %+v", got)
	}
	program.JSON("PUT", "/api/v1"+path+"/wording/1", `{"count":true}`, http.StatusBadRequest, nil)
	program.JSON("PUT", "/api/v1"+path+"/wording/1", `{"count":false}`, http.StatusOK, nil)
	officer.Wants(officer.Get("/checks/"+b.ID+"-1", http.StatusOK), "stopped counting shared wording:")
}
