package web

import (
	"net/http"

	"concordat"
	"concordat/store"
)

// designPage shows every component of the pages in its states, for whoever changes one. No page leads there.
type designPage struct {
	adminFrame
	Colours, Heat []string // tokens
	States        []concordat.State
	Stages        []store.CaseStage
	Icons         []string
	Shares        []float64
}

func (w adminPages) designPage(rw http.ResponseWriter, r *http.Request, v *Visitor) {
	w.Show(rw, r, v, http.StatusOK, "admin_design", "title.admin", designPage{adminFrame: adminFor(v),
		Colours: []string{"ink", "soft", "paper", "card", "line", "edge", "accent", "accent-wash", "good", "good-wash", "bad", "bad-wash",
			"wait", "wait-wash"},
		Heat:   []string{"heat-0", "heat-1", "heat-2", "heat-3", "heat-4", "heat-5"},
		States: taskStates, Stages: []store.CaseStage{store.StageNew, store.StageReview, store.StageDecided, store.StageSigned},
		Icons: []string{"upload", "folder", "library", "inbox", "search", "check", "circle-check", "rotate-ccw", "settings", "download",
			"trash-2", "plus", "layers", "file-text"},
		Shares: []float64{0, 0.01, 0.3, 0.75, 1}})
}
