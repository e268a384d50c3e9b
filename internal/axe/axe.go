// Package axe checks the accessibility of pages in a browser, for tests.
//
// axe.min.js is axe-core 4.14.1 by Deque Systems, unchanged, under the Mozilla Public License 2.0 (LICENSE).
package axe

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

//go:embed axe.min.js
var source string

// run requests all rules of WCAG 2.2 up to level AA and the best-practice rules.
const run = `axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"], resultTypes: ["violations"]})
	.then(r => JSON.stringify(r.violations.map(v => ({id: v.id, help: v.help, nodes: v.nodes.map(n => n.target.join(" ") + ": " + n.html.slice(0, 200))}))))`

// Violations returns the accessibility faults of the page in ctx's browser, one line per element.
func Violations(ctx context.Context) ([]string, error) {
	var answer string
	err := chromedp.Run(ctx, chromedp.Evaluate(source+";0", nil), chromedp.Evaluate(run, &answer,
		func(p *runtime.EvaluateParams) *runtime.EvaluateParams {
			return p.WithAwaitPromise(true)
		}))
	if err != nil {
		return nil, fmt.Errorf("axe: %w", err)
	}
	var found []struct {
		ID    string
		Help  string
		Nodes []string
	}
	if err := json.NewDecoder(strings.NewReader(answer)).Decode(&found); err != nil {
		return nil, fmt.Errorf("axe: %w", err)
	}
	var out []string
	for _, v := range found {
		for _, n := range v.Nodes {
			out = append(out, v.ID+" ("+v.Help+") "+n)
		}
	}
	return out, nil
}
