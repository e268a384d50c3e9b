package web_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// lighthouseSeen is the part of the JSON of Lighthouse 13 that TestLighthouse reads.
type lighthouseSeen struct {
	RuntimeError struct{ Message string }
	Categories   map[string]struct {
		Score     float64 // 0 to 1
		AuditRefs []struct {
			ID     string
			Weight float64
		}
	}
	Audits map[string]struct {
		Title            string
		Score            *float64 // nil: does not apply
		NumericValue     float64  // ms, or bytes
		ScoreDisplayMode string
	}
}

// TestLighthouse wants full marks of Lighthouse for accessibility and good practice on the pages that people see most, at least
// 0.9 for speed, as a desktop and as a phone, and the first text within half a second as a desktop. It runs where
// CONCORDAT_LIGHTHOUSE is the folder of its npm package (make check-pages). Search engines are kept out, which halves its mark
// for them.
func TestLighthouse(t *testing.T) {
	folder := os.Getenv("CONCORDAT_LIGHTHOUSE")
	if folder == "" {
		t.Skip("CONCORDAT_LIGHTHOUSE names no folder")
	}
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal(err)
	}
	d, _, fill := shownDesk(t)
	d.finished(t, "long", "ada", thesis(t, thesisCharacters, thesisPassages, thesisSources))
	const cookie = "session=secret-of-ada"
	for _, window := range []string{"desktop", "mobile"} {
		for _, path := range []string{"/login", "/checks", "/checks/C", "/checks/long", "/batches/BATCH", "/libraries/theses"} {
			out := filepath.Join(t.TempDir(), "seen.json")
			args := []string{filepath.Join(folder, "cli", "index.js"), d.URL + fill.Replace(path), "--quiet", "--output=json",
				"--output-path=" + out, "--chrome-flags=--headless=new --no-sandbox --disable-gpu", "--only-categories=performance,accessibility,best-practices,seo"}
			if window == "desktop" {
				args = append(args, "--preset=desktop")
			}
			if path != "/login" {
				args = append(args, `--extra-headers={"Cookie":"`+cookie+`"}`)
			}
			c := exec.CommandContext(t.Context(), "node", args...)
			c.Env = append(os.Environ(), "CHROME_PATH="+chromium)
			if said, err := c.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", path, err, said)
			}
			b, err := os.ReadFile(out)
			var seen lighthouseSeen
			if err == nil {
				err = json.NewDecoder(bytes.NewReader(b)).Decode(&seen)
			}
			if err != nil || seen.RuntimeError.Message != "" {
				t.Fatalf("%s: %v %s", path, err, seen.RuntimeError.Message)
			}
			line := fmt.Sprintf("%-8s %-18s", window, path)
			for _, c := range []struct {
				name  string
				least float64
			}{{"performance", 0.9}, {"accessibility", 1}, {"best-practices", 1}, {"seo", 0.5}} {
				score := seen.Categories[c.name].Score
				line += fmt.Sprintf(" %s %3.0f", c.name, 100*score)
				if score < c.least {
					t.Errorf("%s, %s: %s %.2f, %.2f wanted", window, path, c.name, score, c.least)
				}
			}
			for _, m := range []struct{ name, audit string }{{"first text", "first-contentful-paint"}, {"largest", "largest-contentful-paint"},
				{"blocked", "total-blocking-time"}, {"bytes", "total-byte-weight"}} {
				line += fmt.Sprintf(" %s %.0f", m.name, seen.Audits[m.audit].NumericValue)
			}
			t.Logf("%s shift %.3f%s", line, seen.Audits["cumulative-layout-shift"].NumericValue, lighthouseFaults(seen))
			if first := seen.Audits["first-contentful-paint"].NumericValue; window == "desktop" && first > 500 {
				t.Errorf("%s: the first text after %.0f ms", path, first)
			}
		}
	}
}

// lighthouseFaults are the audits that did not pass, with their scores.
func lighthouseFaults(seen lighthouseSeen) string {
	var faults []string
	for _, c := range seen.Categories {
		for _, ref := range c.AuditRefs {
			if a := seen.Audits[ref.ID]; a.Score != nil && *a.Score < 0.9 && a.ScoreDisplayMode != "informative" {
				faults = append(faults, fmt.Sprintf("\n\t%s: %s (%.2f)", ref.ID, a.Title, *a.Score))
			}
		}
	}
	slices.Sort(faults)
	return strings.Join(slices.Compact(faults), "")
}
