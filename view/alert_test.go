package view_test

import (
	"encoding/json"
	"testing"
	"time"

	"concordat"
	"concordat/store"
	"concordat/view"
)

// TestAlert: an alert names the partner that asked or that has the document, and has only the marks that people set.
func TestAlert(t *testing.T) {
	at := time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC)
	names := map[concordat.SiteID]string{"south": "South"}
	source := concordat.Ref{Site: "south", Library: "theses", Document: "a"}
	for name, c := range map[string]struct {
		alert store.Alert
		want  string
	}{
		"here": {store.Alert{Seq: 1, Side: store.AlertFound, Task: "t", At: at,
			Source:    concordat.Ref{Site: "north", Library: "theses", Document: "a"},
			Sentences: 2, Spans: []concordat.Span{{Start: 3, End: 9}}},
			`{"number":1,"side":"found","at":"2026-11-01T09:00:00Z","check":"t","library":"theses","document":"a","sentences":2,"spans":[{"start":3,"end":9}]}`},
		"at a partner": {store.Alert{Seq: 2, Side: store.AlertFound, Task: "t", At: at, Source: source, Level: concordat.ShowMetadata,
			Read: store.AlertMark{By: "ada", At: at}},
			`{"number":2,"side":"found","at":"2026-11-01T09:00:00Z","check":"t","partner":"south","name":"South","level":"metadata","library":"theses","document":"a","sentences":0,"read":{"by":"ada","at":"2026-11-01T09:00:00Z"}}`},
		"told": {store.Alert{Seq: 3, Side: store.AlertTold, At: at, Partner: "east", Job: "0a", Source: source},
			`{"number":3,"side":"told","at":"2026-11-01T09:00:00Z","partner":"east","name":"east","job":"0a","library":"theses","document":"a","sentences":0}`},
	} {
		got, err := json.Marshal(view.OfAlert(c.alert, names))
		if err != nil || string(got) != c.want {
			t.Errorf("%s:\n%s\nwant\n%s (%v)", name, got, c.want, err)
		}
	}
}
