package reports_test

import (
	"net/http"
	"strings"
	"testing"

	"concordat/internal/webtest"
	"concordat/report"
	"concordat/store"
	"concordat/web"
	"concordat/web/review"
)

// TestCaseLibraryFromCache: the cached report shows whether a submission can be added to a library, so showing a case again unpacks
// nothing. Here the stored findings can no longer be unpacked.
func TestCaseLibraryFromCache(t *testing.T) {
	t.Parallel()
	d := webtest.NewWith(t, true, func(o *web.Options) {
		o.Current = webtest.Current{Add: func() review.Adding {
			return review.Adding{Rule: review.AddOnRequest, Library: "submissions"}
		}}
	})
	d.AddFinished(t, "case", "sue", webtest.Thesis(t, 2_000, 2, 2))
	withheld := webtest.Thesis(t, 2_000, 2, 2)
	report.Withhold(withheld)
	d.AddFinished(t, "withheld", "sue", withheld)
	olga := d.SignedIn(t, "olga", store.RoleOfficer)
	for _, again := range []bool{false, true} {
		if again {
			d.SQL(t, "UPDATE findings SET data = x'00'")
		}
		olga.Wants(olga.Get("/checks/case", http.StatusOK), "Add to library")
		if strings.Contains(olga.Get("/checks/withheld", http.StatusOK), "Add to library") {
			t.Error("a text that is not kept is offered to be added")
		}
	}
}
