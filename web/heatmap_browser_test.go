package web_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"concordat"
	"concordat/internal/suite"
	"concordat/site/batch"
	"concordat/store"
)

// mapNames are the names beside a heat map: those of its rows from above and of its columns from the left, how far the middle of each
// is at most from that of its cells, in pixels, and whether one stands over another or outside of the room for names.
const mapNames = `(() => {
	const map = document.querySelector(".heat canvas").getBoundingClientRect(), out = {Rows: [], Columns: [], Off: 0, Over: 0, Wide: 0};
	for (const [side, from, to, start] of [["rows", "top", "bottom", map.top], ["columns", "left", "right", map.left]]) {
		const names = Array.from(document.querySelectorAll(".heat ." + side + " .name")), cell = map.width / names.length;
		let last = -1e9;
		names.forEach((e, i) => {
			const r = e.getBoundingClientRect();
			out[side === "rows" ? "Rows" : "Columns"].push(e.textContent);
			out.Off = Math.max(out.Off, Math.abs((r[from] + r[to]) / 2 - start - (i + 0.5) * cell));
			if (r[from] < last - 0.5) out.Over++;
			last = r[to];
		});
	}
	out.Wide = document.documentElement.scrollWidth - innerWidth;
	return out;
})()`

// TestHeatMapNames: the heat map of a small batch names its documents beside its rows and columns, each at its cells and none over
// another, as the headings of the table of pairs do; that of a larger one does not. The page is no wider than the screen.
func TestHeatMapNames(t *testing.T) {
	t.Parallel()
	d := newTestSite(t, true)
	path := map[int]string{}
	for _, n := range []int{4, batch.MaxMatrix, batch.MaxMatrix + 1} {
		path[n] = d.drawnBatch(t, n)
	}
	for _, c := range []struct {
		width    int
		language string
	}{{390, "zh"}, {1360, "en"}, {390, "de"}}[:suite.Rounds(1, 3)] {
		ctx, complaints := browser(t, d.URL, c.width)
		enter := d.enter(t, fmt.Sprint("officer", c.width, c.language), store.RoleOfficer)
		if err := chromedp.Run(ctx, enter, network.SetCookie("language", c.language).WithURL(d.URL),
			chromedp.EmulateViewport(int64(c.width), 900)); err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{4, batch.MaxMatrix, batch.MaxMatrix + 1} {
			var got struct {
				Rows, Columns   []string
				Off, Over, Wide float64
			}
			var headings []string
			if err := chromedp.Run(ctx,
				chromedp.Navigate(d.URL+path[n]),
				chromedp.WaitReady("[data-charts]:not([aria-busy])", chromedp.ByQuery),
				loaded(),
				chromedp.Evaluate(mapNames, &got),
				chromedp.Evaluate(`Array.from(document.querySelectorAll("table.matrix:not(.cluster table) thead th.number")).map((x) => x.textContent)`,
					&headings),
				shot(t, fmt.Sprint("heat-", n, "-", c.language), c.width),
				emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}),
				shot(t, fmt.Sprint("heat-", n, "-", c.language, "-dark"), c.width),
				emulation.SetEmulatedMedia()); err != nil {
				t.Fatal(err)
			}
			want := n
			if n > batch.MaxMatrix {
				want = 0
			}
			if len(got.Rows) != want || len(got.Columns) != want || got.Off > 1.5 || got.Over > 0 || got.Wide > 0 {
				t.Errorf("%v, %d documents: %d rows and %d columns named, %.1f px off, %.0f over others, page %.0f too wide", c, n,
					len(got.Rows), len(got.Columns), got.Off, got.Over, got.Wide)
			}
			for _, side := range [][]string{got.Rows, got.Columns, headings} {
				all := strings.Join(side, "|")
				if want > 0 && (!strings.Contains(all, "Application 1 ") || !strings.Contains(all, fmt.Sprintf("Application %d ", n))) {
					t.Errorf("%v, %d documents: names %q", c, n, all)
				}
			}
		}
		for _, x := range complaints() {
			t.Errorf("%v: %s", c, x)
		}
	}
}

// drawnBatch keeps a batch that has ended, of n documents of which each second shares a part with the one before it.
func (d *testSite) drawnBatch(t *testing.T, n int) (path string) {
	t.Helper()
	one, err := batch.New("Call", "ann", "test", batch.Job{}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	put := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx := t.Context()
	var inputs []store.BatchInput
	for i := range n {
		inputs = append(inputs, store.BatchInput{Number: i, Name: fmt.Sprint(i, ".txt"), Place: fmt.Sprint(i)})
	}
	put(d.store.Batches.CreateBatch(ctx, one, inputs))
	for i := range n {
		put(d.store.Batches.PutBatchMembers(ctx, one.ID, i, []store.BatchMember{{Name: fmt.Sprint(i, ".txt"), Author: fmt.Sprint("Applicant ", i),
			Title: fmt.Sprintf("Application %d of the call for the study of rivers, 数字人文", i+1), Characters: 1000}}))
	}
	for i := 1; i < n; i += 2 {
		put(d.store.Batches.PutCompared(ctx, one.ID, i-1, []store.BatchPair{{A: i - 1, B: i, Passages: []byte("[]")}}))
		put(d.store.Batches.PutChecked(ctx, one.ID, store.BatchMember{Number: i - 1, Round: 1, Fresh: json.RawMessage("[]")},
			map[int]store.PairShare{i: {Share: 0.4 + float64(i)/100}}))
	}
	put(d.store.Batches.FinishBatch(ctx, one.ID, concordat.TaskDone, store.Cause{}, nil))
	return "/batches/" + one.ID
}
