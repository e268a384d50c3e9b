package web

import (
	"context"
	"slices"
	"strings"

	"concordat/store"
	"concordat/web/pages"
)

// place is a page in the navigation.
type place struct {
	Path  string
	Title string // message key
	roles []store.Role
	also  []string // paths of pages that belong to it but are not below it
}

// places lists the main navigation, which contains the pages for daily work and the entry page of administration.
var places = []place{
	{"/checks", "title.checks", pages.Everyone, nil},
	{"/checks/new", "title.new", pages.Checkers, nil},
	{"/batches", "title.batches", pages.Everyone, []string{"/rechecks"}},
	{"/libraries", "title.libraries", pages.Everyone, nil},
	{"/requests", "title.requests", pages.Officers, nil},
	{"/alerts", "title.alerts", pages.Officers, []string{"/cases"}},
	{"/admin", "title.admin", pages.Overseers, []string{"/people", "/deletions", "/platforms"}},
}

// adminPlaces lists the administration pages in display order. The pages about people and their work come first, then the pages about the
// machine.
var adminPlaces = []place{
	{"/admin", "admin.health", pages.Overseers, nil},
	{"/admin/tasks", "admin.tasks", pages.Overseers, nil},
	{"/people", "title.people", pages.Administrators, nil},
	{"/admin/partners", "admin.partners", pages.Overseers, nil},
	{"/platforms", "title.platforms", pages.Administrators, nil},
	{"/admin/harvest", "admin.harvest", pages.Overseers, nil},
	{"/admin/inbox", "admin.inbox", pages.Overseers, nil},
	{"/deletions", "title.deletions", pages.Overseers, nil},
	{"/admin/audit", "admin.audit", pages.Overseers, nil},
	{"/admin/storage", "admin.storage", pages.Overseers, nil},
	{"/admin/schemes", "admin.schemes", pages.Overseers, nil},
	{"/admin/cluster", "admin.cluster", pages.Overseers, nil},
	{"/admin/settings", "admin.settings", pages.Overseers, nil},
}

// shownPlace is a navigation entry on a page. Current is the value of aria-current (WAI-ARIA 1.2): "page" for the page itself, "true" for
// a page above it, and otherwise empty.
type shownPlace struct{ Path, Title, Current string }

// Places returns the pages of the main navigation that the visitor may open.
func (f frame) Places() []shownPlace { return f.shown(places) }

// Sub returns the administration pages if the current page is one of them, and otherwise nil.
func (f frame) Sub() []shownPlace {
	if i := holder(places, f.Path); f.Visitor == nil || i < 0 || places[i].Path != "/admin" {
		return nil
	}
	return f.shown(adminPlaces)
}

// idlePlaces returns the paths of administration pages without content: the cluster page on a site of one machine, and the schemes page
// on a site with only its own scheme.
func idlePlaces(ctx context.Context, w *Web, v *Visitor, path string) (out []string) {
	if i := holder(places, path); v == nil || i < 0 || places[i].Path != "/admin" {
		return nil
	}
	if w.o.Nodes == nil {
		out = append(out, "/admin/cluster")
	}
	if epochs, err := w.o.Store.Answers.Epochs(ctx); err == nil && len(epochs) == 0 {
		out = append(out, "/admin/schemes")
	}
	return out
}

func (f frame) shown(all []place) (out []shownPlace) {
	if f.Visitor == nil {
		return nil
	}
	here := holder(all, f.Path)
	for i, p := range all {
		if !slices.Contains(p.roles, f.Visitor.Role) || p.Path == "/platforms" && !f.LTI || slices.Contains(f.Idle, p.Path) && i != here {
			continue
		}
		one := shownPlace{Path: p.Path, Title: p.Title}
		switch {
		case i == here && f.Path == p.Path:
			one.Current = "page"
		case i == here:
			one.Current = "true"
		}
		out = append(out, one)
	}
	return out
}

// holder returns the index of the nearest place at or above a path, or -1 if there is none.
func holder(all []place, path string) int {
	best, length := -1, 0
	for i, p := range all {
		for _, root := range append([]string{p.Path}, p.also...) {
			if (path == root || strings.HasPrefix(path, root+"/")) && len(root) > length {
				best, length = i, len(root)
			}
		}
	}
	return best
}
