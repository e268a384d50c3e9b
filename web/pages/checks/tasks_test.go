package checks_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"concordat"
	"concordat/internal/webtest"
	"concordat/store"
)

// TestAdminTasks: a failed task can be restarted, filters restrict the list, and an auditor cannot change a task.
func TestAdminTasks(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	adam := d.SignedIn(t, "adam", store.RoleAdministrator)
	adam.Upload(http.StatusOK, nil, "one.txt", webtest.Folios)
	tasks, err := d.Store.Checks.Tasks(t.Context(), 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	path := "/admin/tasks/" + string(tasks[0].ID)
	adam.Post(path, http.StatusConflict, url.Values{"action": {"retry"}})
	adam.Post(path, http.StatusBadRequest, url.Values{"action": {"dance"}})
	if page := adam.Post(path, http.StatusOK, url.Values{"action": {"cancel"}}); !strings.Contains(page, "Cancelled by adam.") {
		t.Error("not cancelled")
	}
	if page := adam.Get("/admin/tasks?state=queued", http.StatusOK); strings.Contains(page, "one.txt") {
		t.Error("a failed task among the queued ones")
	}
	if page := adam.Get("/admin/tasks?state=failed&owner=adam", http.StatusOK); !strings.Contains(page, "one.txt") {
		t.Error("the failed task is not found")
	}
	d.SignedIn(t, "axel", store.RoleAuditor).Post(path, http.StatusForbidden, url.Values{"action": {"retry"}})
	adam.Post(path, http.StatusOK, url.Values{"action": {"retry"}})
	if now, err := d.Store.Checks.Task(t.Context(), tasks[0].ID); err != nil || now.State != concordat.TaskQueued {
		t.Errorf("after the retry %+v, %v", now, err)
	}
}
