package web_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"concordat"
	"concordat/internal/webtest"
	"concordat/people"
	"concordat/web"
)

// TestStatus: a page and the API answer each error with the same status, whatever wraps it, and a page describes it.
func TestStatus(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	want := map[error]int{
		concordat.ErrNotFound: 404, concordat.ErrRefused: 403, concordat.ErrDiskFull: 507, concordat.ErrChanged: 409,
		concordat.ErrExists: 409, concordat.ErrInvalid: 400, concordat.ErrUnavailable: 503, concordat.ErrCorrupt: 500,
		errors.New("some other"): 500, &people.TooManyOpen{}: 429, &people.RuleError{Rule: people.RuleOwn}: 400,
	}
	all := web.Refusals()
	for err := range want {
		all = append(all, err)
	}
	for _, err := range all {
		page, api, kind, text := d.Web.StatusOf(fmt.Errorf("it: %w", err))
		if page != api || want[err] != 0 && page != want[err] {
			t.Errorf("%v: page %d, API %d, want %d", err, page, api, want[err])
		}
		if fault := "the cause was logged"; (page == http.StatusInternalServerError) != strings.Contains(text, fault) {
			t.Errorf("%v: status %d, and the page says\n%s", err, page, text)
		}
		if (page == http.StatusInternalServerError) != (kind == "fault") {
			t.Errorf("%v: status %d, kind %q", err, page, kind)
		}
	}
}
