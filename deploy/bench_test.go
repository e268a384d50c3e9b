//go:build linux

package deploy_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestBenchSteps: every step of make bench is described and exists, and the documents name no other.
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
	pages, err := filepath.Glob("../doc/*.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`STEPS=(?:"([^"]*)"|([a-z]+))`)
	for _, page := range append(pages, "../README.md", "../Makefile") {
		for _, m := range named.FindAllStringSubmatch(read(t, page), -1) {
			for _, step := range strings.Fields(m[1] + " " + m[2]) {
				if !slices.Contains(steps, step) {
					t.Errorf("%s names the step %s, which does not exist", page, step)
				}
			}
		}
	}
}
