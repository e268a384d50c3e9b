package web_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"concordat/site/batch"
	"concordat/store"
)

// TestBatchWordingPages: form wording that all documents of a batch share is shown on its page with the number of
// documents and the reason, and can be opened; an officer can count it, by hand or by a program.
func TestBatchWordingPages(t *testing.T) {
	t.Parallel()
	const question = "Describe the <i>aims</i> of your project in no more than two hundred words of plain language for the panel."
	d := newTestSite(t, false)
	ann, officer := d.signedIn(t, "ann", store.RoleSubmitter), d.signedIn(t, "olga", store.RoleOfficer)
	var files []string
	for i, body := range []string{ledger, keeper, folios,
		strings.Repeat("The granary by the river was counted every year by another clerk, who wrote what he pleased. ", 3)} {
		files = append(files, fmt.Sprintf("%d.txt", i), question+"\n\n"+body)
	}
	path := ann.handBatch(http.StatusOK, url.Values{"title": {"Call"}}, files...)
	b := d.awaitBatch(t, path)
	page := officer.get(path, http.StatusOK)
	officer.wants(page, "Wording found in several documents", "Describe the &lt;i&gt;aims", `href="`+path+`/wording/1"`, "4 of 4")
	one := officer.get(path+"/wording/1", http.StatusOK)
	officer.wants(one, "Found in 4 of 4 documents", `value="count-wording"`, "/checks/"+b.ID+"-1", "3.txt")
	if mine := ann.get(path+"/wording/1", http.StatusOK); strings.Contains(mine, `value="count-wording"`) {
		t.Error("a submitter is offered to count wording")
	}
	officer.get(path+"/wording/9", http.StatusNotFound)
	officer.get(path+"/wording/x", http.StatusNotFound)
	ann.post(path+"/wording/1", http.StatusForbidden, url.Values{"action": {"count-wording"}, "comment": {"x"}})
	officer.post(path+"/wording/1", http.StatusBadRequest, url.Values{"action": {"count-wording"}})
	officer.post(path+"/wording/1", http.StatusOK, url.Values{"action": {"count-wording"}, "comment": {"it was written by one of them"}})
	officer.wants(officer.get(path, http.StatusOK), "wording counts", "it was written by one of them")
	officer.wants(officer.get("/checks/"+b.ID+"-1", http.StatusOK), "counts shared wording:", "it was written by one of them")

	program := officer.program("read", "check")
	var got struct{ Wording []batch.WordingLine }
	program.call("GET", "/api/v1"+path+"/wording", http.StatusOK, &got)
	if len(got.Wording) != 1 || got.Wording[0].Held != 4 || len(got.Wording[0].Documents) != 4 || !got.Wording[0].Counted ||
		got.Wording[0].Decided != batch.DecidedCount {
		t.Errorf("wording %+v", got)
	}
	program.json("PUT", "/api/v1"+path+"/wording/1", `{"count":true}`, http.StatusBadRequest, nil)
	program.json("PUT", "/api/v1"+path+"/wording/1", `{"count":false}`, http.StatusOK, nil)
	officer.wants(officer.get("/checks/"+b.ID+"-1", http.StatusOK), "no longer counts shared wording:")
}
