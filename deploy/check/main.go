// Check reads the files of deploy/ with the parsers and linters of the programs that use them: Prometheus's for alert rules and the
// dashboard's expressions, BuildKit's for the container file, Compose's for the compose file, and Helm's linter and engine for the chart.
// It is a separate module, so that the product needs none of these programs.
//
//	go -C deploy/check run . ..
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/linter"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"github.com/prometheus/prometheus/model/rulefmt"
	promql "github.com/prometheus/prometheus/promql/parser"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/yaml"
)

func main() {
	dir := ".."
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	failed := false
	for _, c := range []struct {
		name  string
		check func(dir string) (string, error)
	}{{"prometheus/alerts.yaml", rules}, {"grafana/concordat.json", dashboard}, {"container/Containerfile", containerfile},
		{"container/compose.yaml", compose}, {"helm/concordat", chart},
		{"helm/concordat-screen", jobs}} {
		said, err := c.check(filepath.Join(dir, filepath.FromSlash(c.name)))
		if err != nil {
			failed = true
			fmt.Fprintf(os.Stderr, "%s: %v\n", c.name, err)
			continue
		}
		fmt.Printf("%s: %s\n", c.name, said)
	}
	if failed {
		os.Exit(1)
	}
}

func rules(path string) (string, error) {
	groups, errs := rulefmt.ParseFile(path, false)
	if len(errs) > 0 {
		return "", errors.Join(errs...)
	}
	n := 0
	for _, g := range groups.Groups {
		n += len(g.Rules)
	}
	return fmt.Sprintf("Prometheus accepts %d rules", n), nil
}

func dashboard(path string) (string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(b, &board); err != nil {
		return "", err
	}
	n := 0
	for _, p := range board.Panels {
		for _, t := range p.Targets {
			// Grafana replaces the variable with a regular expression.
			if _, err := promql.ParseExpr(strings.ReplaceAll(t.Expr, "$instance", ".*")); err != nil {
				return "", fmt.Errorf("%s: %s: %w", p.Title, t.Expr, err)
			}
			n++
		}
	}
	return fmt.Sprintf("Prometheus accepts %d expressions", n), nil
}

func containerfile(path string) (string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	file, err := parser.Parse(bytes.NewReader(b))
	if err != nil {
		return "", err
	}
	var found []error
	l := linter.New(&linter.Config{Warn: func(rule, description, url, format string, at []parser.Range) {
		line := 0
		if len(at) > 0 {
			line = at[0].Start.Line
		}
		found = append(found, fmt.Errorf("line %d: %s: %s", line, rule, format))
	}})
	stages, _, err := instructions.Parse(file.AST, l)
	for _, w := range file.Warnings {
		found = append(found, errors.New(w.Short))
	}
	if err = errors.Join(append(found, err)...); err != nil {
		return "", err
	}
	n := 0
	for _, s := range stages {
		n += len(s.Commands)
	}
	return fmt.Sprintf("BuildKit accepts %d stages with %d instructions and gives no warnings", len(stages), n), nil
}

func compose(path string) (string, error) {
	o, err := cli.NewProjectOptions([]string{path}, cli.WithProfiles([]string{"*"}))
	if err != nil {
		return "", err
	}
	p, err := o.LoadProject(context.Background())
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("Compose loads project %s with %d services and %d volumes", p.Name, len(p.Services), len(p.Volumes)), nil
}

// sets are values for rendering a site's chart, in addition to its defaults.
var sets = []string{"", `
url: https://x.example
federationPort: 8421
keySecret: keys
backup: {claim: backups}
ingress: {enabled: true, className: nginx}
storage: {className: fast}
`}

// screenSets are values for rendering a screening's chart.
var screenSets = []string{"", `
job: shingles
splits: 100
flags: {map: --modulus 8, pair: --threshold 0.5}
`}

func chart(dir string) (string, error) { return charted(dir, sets) }

// jobs checks the chart of a screening, and decodes its jobs as types of the Kubernetes API, refusing unknown fields and values of the
// wrong type.
func jobs(dir string) (string, error) {
	said, err := charted(dir, screenSets)
	if err != nil {
		return "", err
	}
	n := 0
	for _, text := range screenSets {
		values := map[string]any{}
		if err := yaml.Unmarshal([]byte(text), &values); err != nil {
			return "", err
		}
		err := render(dir, values, func(kind, one string) error {
			if kind != "Job" {
				return nil
			}
			var j batchv1.Job
			if err := yaml.UnmarshalStrict([]byte(one), &j); err != nil {
				return err
			}
			if j.Spec.CompletionMode == nil || *j.Spec.CompletionMode != batchv1.IndexedCompletion || *j.Spec.Completions < 1 {
				return fmt.Errorf("%s is not an indexed job", j.Name)
			}
			n++
			return nil
		})
		if err != nil {
			return "", err
		}
	}
	if n != 7 {
		return "", fmt.Errorf("found %d jobs, want jobs 3 and 4", n)
	}
	return fmt.Sprintf("%s; its %d jobs are indexed jobs of the Kubernetes API", said, n), nil
}

func charted(dir string, sets []string) (string, error) {
	var found []error
	notes := 0
	for _, text := range sets {
		values := map[string]any{}
		if err := yaml.Unmarshal([]byte(text), &values); err != nil {
			return "", err
		}
		for _, m := range lint.All(dir, values, "concordat", true).Messages {
			if m.Severity >= support.WarningSev {
				found = append(found, m)
			} else {
				notes++
			}
		}
		objects := 0
		err := render(dir, values, func(_, _ string) error { objects++; return nil })
		if err != nil {
			return "", err
		}
		if objects == 0 {
			found = append(found, errors.New("nothing was rendered"))
		}
	}
	if err := errors.Join(found...); err != nil {
		return "", err
	}
	return fmt.Sprintf("Helm lints and renders the chart with %d sets of values (%d notes)", len(sets), notes), nil
}

// render calls each for every object that the chart produces.
func render(dir string, values map[string]any, each func(kind, text string) error) error {
	c, err := loader.LoadDir(dir)
	if err != nil {
		return err
	}
	all, err := chartutil.ToRenderValues(c, values, chartutil.ReleaseOptions{Name: "site", Namespace: "concordat", IsInstall: true},
		chartutil.DefaultCapabilities)
	if err != nil {
		return err
	}
	files, err := engine.Render(c, all)
	if err != nil {
		return err
	}
	for name, text := range files {
		if strings.TrimSpace(text) == "" || strings.HasSuffix(name, "NOTES.txt") {
			continue
		}
		for _, one := range strings.Split("\n"+text, "\n---\n") {
			if bare.ReplaceAllString(one, "") == "" {
				continue
			}
			var object struct {
				APIVersion string `json:"apiVersion"`
				Kind       string `json:"kind"`
			}
			if err := yaml.Unmarshal([]byte(one), &object); err != nil || object.APIVersion == "" || object.Kind == "" {
				return fmt.Errorf("%s: %+v: %w", name, object, err)
			}
			if err := each(object.Kind, one); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}

// bare matches comments and white space.
var bare = regexp.MustCompile(`(?m)^\s*#.*$|\s`)
