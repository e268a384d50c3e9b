//go:build linux

package deploy_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestBenchSteps: every step of make bench is described and exists, and the documents name no others.
func TestBenchSteps(t *testing.T) {
	text := read(t, "bench.sh")
	every := regexp.MustCompile(`(?m)^every='(.*)'$`).FindStringSubmatch(text)
	if every == nil {
		t.Fatal("bench.sh lists no steps")
	}
	steps := strings.Fields(every[1])
	for _, step := range steps {
		if !strings.Contains(text, "\nstep_"+step+"() {") || !strings.Contains(text, "\n#\t"+step+" ") {
			t.Errorf("step %s is not there, or not described", step)
		}
	}
	pages := []string{"../README.md", "../Makefile"}
	for _, pattern := range []string{"../doc/*.md", "../doc/evaluation/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("no page %s: %v", pattern, err)
		}
		pages = append(pages, found...)
	}
	named := regexp.MustCompile(`STEPS=(?:"([^"]*)"|([a-z]+))`)
	for _, page := range pages {
		for _, m := range named.FindAllStringSubmatch(read(t, page), -1) {
			for _, step := range strings.Fields(m[1] + " " + m[2]) {
				if !slices.Contains(steps, step) {
					t.Errorf("%s names the step %s, which does not exist", page, step)
				}
			}
		}
	}
}
