package answer

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/internal/storetest"
	"concordat/store"
)

// TestAuditCounts: for each library asked, the audit records the number of documents and matches disclosed, the number withheld, and the
// reason for a refusal. For a question refused as a whole, it records only the libraries.
func TestAuditCounts(t *testing.T) {
	libraries := []concordat.LibraryID{"theses", "grants", "closed"}
	refusal := &concordat.Refusal{Reason: concordat.ReasonEmbargo}
	withheld := map[concordat.LibraryID]int{"grants": 3}
	var prints, cells auditAnswer
	prints.take(&concordat.Ask{Libraries: libraries}, &concordat.SiteAnswer{
		Libraries: []concordat.LibraryAnswer{{Library: "theses", Level: concordat.ShowMetadata},
			{Library: "grants", Level: concordat.ShowMetadata}, {Library: "closed", Level: concordat.ShowNothing, Refusal: refusal}},
		Documents: []concordat.DocumentAnswer{{Library: 0}, {Library: 1}, {Library: 1}},
		Hits:      []concordat.Hit{{Document: 0}, {Document: 0}, {Document: 0}, {Document: 2}}}, withheld, nil)
	cells.takeLeads(&concordat.LeadAsk{Libraries: libraries}, &concordat.LeadAnswer{
		Libraries: []concordat.LeadLibraryAnswer{{Library: "theses"}, {Library: "grants"}, {Library: "closed", Refusal: refusal}},
		Documents: []concordat.LeadDocument{{Library: 0}, {Library: 1}, {Library: 1}},
		Hits:      []concordat.LeadHit{{Document: 0}, {Document: 0}, {Document: 0}, {Document: 2}}}, withheld, nil)
	want := []auditLibraryAnswer{{Library: "theses", Level: concordat.ShowMetadata, Documents: 1, Hits: 3},
		{Library: "grants", Level: concordat.ShowMetadata, Documents: 2, Hits: 1, Withheld: 3},
		{Library: "closed", Level: concordat.ShowNothing, Refused: concordat.ReasonEmbargo}}
	for name, got := range map[string]auditAnswer{"fingerprints": prints, "cells": cells} {
		if len(got.Libraries) != len(want) || got.Refused != "" {
			t.Fatalf("%s: %+v", name, got)
		}
		for i, l := range got.Libraries {
			if l != want[i] {
				t.Errorf("%s: %+v, want %+v", name, l, want[i])
			}
		}
	}
	prints, cells = auditAnswer{}, auditAnswer{}
	prints.take(&concordat.Ask{Libraries: libraries}, nil, nil, refusal)
	cells.takeLeads(&concordat.LeadAsk{Libraries: libraries}, nil, nil, refusal)
	for name, got := range map[string]auditAnswer{"fingerprints": prints, "cells": cells} {
		if got.Refused != string(concordat.ReasonEmbargo) || len(got.Libraries) != 3 ||
			got.Libraries[1] != (auditLibraryAnswer{Library: "grants", Level: concordat.ShowNothing}) {
			t.Errorf("%s refused: %+v", name, got)
		}
	}
}

// endingLog is a log that cancels the context of the work that writes to it.
type endingLog struct {
	io.Writer
	end context.CancelFunc
}

func (e *endingLog) Write(b []byte) (int, error) {
	defer e.end()
	return e.Writer.Write(b)
}

// unshared returns a store that fails to read shares.
func unshared(t *testing.T) *store.DB {
	db, script := storetest.Scripted(storetest.SQLite(t))
	script.On("Shares", func() error { return errors.New("the disk is broken") })
	return db
}

// TestSetsBehindAreLogged: if sets cannot be filled, the site logs an error; if it is stopped while filling them, it logs nothing.
func TestSetsBehindAreLogged(t *testing.T) {
	db := unshared(t)
	for name, c := range map[string]struct{ stopped, want bool }{"broken": {false, true}, "stopped": {true, false}} {
		ctx, end := context.WithTimeout(t.Context(), time.Minute) // it would wait forever if nothing were logged
		var log bytes.Buffer
		s := New(Options{ID: "here", Store: db, Logger: slog.New(slog.NewTextHandler(&endingLog{&log, end}, nil))})
		if c.stopped {
			end()
		}
		if err := s.Sets.KeepEpochs(ctx); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		end()
		if got := strings.Contains(log.String(), "level=ERROR") && strings.Contains(log.String(), "out of date"); got != c.want {
			t.Errorf("%s: logged %q", name, &log)
		}
	}
}
