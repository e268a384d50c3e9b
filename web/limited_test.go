package web_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"concordat/internal/webtest"
	"concordat/report"
	"concordat/store"
	"concordat/web"
	"concordat/web/pages/reports"
	"concordat/web/review"
)

// wordsOnly writes as a PDF only the words of a report.
type wordsOnly struct{ reports.Unsigned }

// WritePDF implements reports.Writer.
func (wordsOnly) WritePDF(_ context.Context, w io.Writer, rep *report.Report, comments bool) error {
	_, err := fmt.Fprintf(w, "comments %t\n", comments)
	if err == nil {
		err = report.WriteJSON(w, rep)
	}
	return err
}

// TestLimitedExports: a submitter with a limited view gets every format of a report without other people's words, including the
// officers', and only the pages of the submitter's own originals.
func TestLimitedExports(t *testing.T) {
	t.Parallel()
	const wording, among = "had begun to fade", "words among officers"
	essay := strings.Replace(webtest.Folios, wording, "was fading fast", 1) +
		" And here is a sentence of my own, which nobody has written before in this place."
	for _, see := range []review.See{review.SeeReport, review.SeeScore} {
		t.Run(string(see), func(t *testing.T) {
			d := webtest.NewWith(t, false, func(o *web.Options) {
				o.Policy = web.Policy{See: see}
				o.ReportFiles = wordsOnly{}
			})
			olga, sue, tom := d.SignedIn(t, "olga", store.RoleOfficer), d.SignedIn(t, "sue", store.RoleSubmitter),
				d.SignedIn(t, "tom", store.RoleSubmitter)
			id := string(d.CheckedBy(t, sue, "essay", essay))
			olga.Post("/checks/"+id+"/notes", http.StatusOK, url.Values{"kind": {"comment"}, "text": {among}})
			olga.Post("/checks/"+id+"/notes", http.StatusOK, url.Values{"kind": {"verdict"}, "verdict": {"clear"}, "text": {among}})
			if !strings.Contains(olga.Get("/checks/"+id+"/report", http.StatusOK), wording) {
				t.Error("an officer does not see the wording: nothing can be shown")
			}
			if got := olga.Get("/checks/"+id+"/report?format=pdf", http.StatusOK); !strings.Contains(got, "comments true") {
				t.Errorf("the PDF of an officer: %q", got)
			}
			at := bytes.Index([]byte(essay), []byte("was fading"))
			olga.Post("/checks/"+id+"/rules", http.StatusOK, url.Values{"action": {"exclude-passage"}, "start": {fmt.Sprint(at)},
				"end": {fmt.Sprint(at + 5)}, "comment": {among}})
			prog := sue.Program("read")
			for _, format := range []string{"html", "json", "csv", "pdf"} {
				for from, text := range map[string]string{"page": sue.Get("/checks/"+id+"/report?format="+format, http.StatusOK),
					"program": raw(t, d, prog, "/api/v1/checks/"+id+"/report?format="+format)} {
					if text == "" || strings.Contains(text, wording) || strings.Contains(text, among) || strings.Contains(text, "comments true") {
						t.Errorf("%s to a %s: %q", format, from, text)
					}
				}
			}
			for _, path := range []string{"/pages", "/pages/1", "/pages/1.png", "/pages/1?passage=1", "/report?format=pdf"} {
				tom.Get("/checks/"+id+path, http.StatusNotFound)
			}
		})
	}
}

// raw returns the body of the answer to a program's request.
func raw(t *testing.T, d *webtest.Site, p *webtest.Program, path string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+p.Token)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		t.Errorf("%s: %s", path, resp.Status)
	}
	return body(t, resp)
}
