package batches_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"

	"concordat"
	"concordat/internal/chromium"
	"concordat/internal/suite"
	"concordat/internal/webtest"
	"concordat/site/batch"
	"concordat/store"
)

// mapNames measures the names next to a heat map. It returns the names of the rows from the top and of the columns from the left, the
// greatest distance in pixels between the middle of a name and the middle of its cells, and whether a name overlaps another or exceeds
// the space for names.
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

// TestHeatMapNames: the heat map of a small batch names its documents next to its rows and columns, like the headings of the table of
// pairs. Each name is next to its row or column and overlaps no other. The page is no wider than the screen.
func TestHeatMapNames(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	path := map[int]string{}
	for _, n := range []int{4, batch.MaxMatrix, batch.MaxMatrix + 1} {
		path[n] = drawnBatch(t, d, n)
	}
	for _, c := range []struct {
		width    int
		language string
	}{{390, "zh"}, {1360, "en"}, {390, "de"}}[:suite.Rounds(1, 3)] {
		ctx, complaints := webtest.Browser(t, d.URL, c.width)
		enter := d.Enter(t, fmt.Sprint("officer", c.width, c.language), store.RoleOfficer)
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
				webtest.Loaded(),
				chromedp.Evaluate(mapNames, &got),
				chromedp.Evaluate(`Array.from(document.querySelectorAll("table.matrix:not(.cluster table) thead th.number")).map((x) => x.textContent)`,
					&headings),
				webtest.Shot(t, fmt.Sprint("heat-", n, "-", c.language), c.width),
				emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}),
				webtest.Shot(t, fmt.Sprint("heat-", n, "-", c.language, "-dark"), c.width),
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

// drawnBatch stores a finished batch of n documents, in which every second document shares a part with its predecessor. The documents
// have the given dates in rotation. Some include a time of day, and some are empty.
func drawnBatch(t *testing.T, d *webtest.Site, n int, dates ...string) (path string) {
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
	put(d.Store.Batches.CreateBatch(ctx, one, inputs))
	if dates == nil {
		dates = []string{""}
	}
	for i := range n {
		dated := concordat.Date(dates[i%len(dates)])
		timed, err := concordat.ParseInstant(string(dated))
		if err == nil {
			dated = timed.Date()
		} else {
			timed = ""
		}
		put(d.Store.Batches.PutBatchMembers(ctx, one.ID, i, []store.BatchMember{{
			Dated: dated, Timed: timed, Name: fmt.Sprint(i, ".txt"), Author: fmt.Sprint("Applicant ", i),
			Title: fmt.Sprintf("Application %d of the call for the study of rivers, 数字人文", i+1), Characters: 1000}}))
	}
	for i := 1; i < n; i += 2 {
		put(d.Store.Batches.PutCompared(ctx, one.ID, i-1, []store.BatchPair{{A: i - 1, B: i, Passages: []byte("[]")}}))
		put(d.Store.Batches.PutChecked(ctx, one.ID, store.BatchMember{Number: i - 1, Round: 1, Fresh: json.RawMessage("[]")},
			map[int]store.PairShare{i: {Share: 0.4 + float64(i)/100}}))
	}
	put(d.Store.Batches.FinishBatch(ctx, one.ID, concordat.TaskDone, store.Cause{}, nil))
	return "/batches/" + one.ID
}

// dots measures a picture: how many dots it has and how many overlap another, how many names it has and how many overlap a name or a dot,
// its lines with and without an arrow, and the sentences above it.
const dots = `(() => {
	const panel = document.querySelector("[data-panel]:not([hidden])"), box = (e) => e.getBoundingClientRect();
	const over = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
	const dots = [...panel.querySelectorAll("circle")].map(box), names = [...panel.querySelectorAll("text.name")].map(box);
	const arcs = [...panel.querySelectorAll(".arc")], pairs = (of) => of.filter((a, i) => of.some((b, k) => k < i && over(a, b))).length;
	return {Dots: dots.length, Hidden: pairs(dots), Names: names.length, 
		Over: pairs(names) + names.filter((n) => dots.some((d) => over(n, d))).length,
		Arrows: arcs.filter((a) => a.hasAttribute("marker-end")).length, Plain: arcs.filter((a) => !a.hasAttribute("marker-end")).length,
		Said: [...panel.querySelectorAll("p:not(.hint)")].filter((p) => !p.hidden).map((p) => p.textContent)};
})()`

// TestTimelineOfOneDay: documents of the same date are stacked so that each is visible, and their pairs have lines without an arrow;
// pairs of different dates have arrows; an empty timeline states that it is empty, and the labels of a graph do not overlap anything.
func TestTimelineOfOneDay(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	ctx, complaints := webtest.Browser(t, d.URL, 1360)
	if err := chromedp.Run(ctx, d.Enter(t, "olga", store.RoleOfficer), network.SetCookie("language", "en").WithURL(d.URL)); err != nil {
		t.Fatal(err)
	}
	type seen struct {
		Dots, Hidden, Names, Over, Arrows, Plain int
		Said                                     []string
	}
	for _, c := range []struct {
		name  string
		dates []string // assigned to the documents in rotation
		n     int
		time  seen
	}{
		{"one", []string{"2026-05-31"}, 12, seen{Dots: 12, Names: 12, Plain: 6,
			Said: []string{"All dated documents have the same date, so the date does not show which came first."}}},
		{"call", []string{"2026-05-31"}, 58, seen{Dots: 58, Plain: 29,
			Said: []string{"All dated documents have the same date, so the date does not show which came first."}}},
		{"hours", []string{"2026-05-31T09:05:00Z", "2026-05-31T09:05:01Z", "2026-05-31T11:40+02:00", "2026-05-31T09:40:30Z",
			"2026-05-31T12:00Z", "2026-05-31"}, 12, seen{Dots: 12, Names: 8, Arrows: 2, Plain: 4}},
		{"two", []string{"2026-05-30", "2026-05-31"}, 40, seen{Dots: 40, Arrows: 20}},
		{"year", []string{"2026", "2026-05-31", "2025-01", ""}, 8, seen{Dots: 6, Names: 4, Plain: 2,
			Said: []string{"Documents without a date, not shown: 2"}}},
		{"none", []string{""}, 8, seen{Said: []string{"Fewer than two documents have a date, so there is nothing to draw."}}},
	} {
		path := drawnBatch(t, d, c.n, c.dates...)
		var time, graph seen
		if err := chromedp.Run(ctx, chromedp.Navigate(d.URL+path),
			chromedp.WaitReady("[data-charts]:not([aria-busy])", chromedp.ByQuery), webtest.Loaded(),
			chromium.Click("[data-tab=time]", chromedp.ByQuery), chromedp.WaitReady("[data-charts]:not([aria-busy])", chromedp.ByQuery),
			chromedp.Evaluate(dots, &time), webtest.Shot(t, "timeline-"+c.name, 1360),
			chromium.Click("[data-tab=graph]", chromedp.ByQuery), chromedp.WaitVisible(".graph .node", chromedp.ByQuery),
			chromedp.WaitReady("[data-charts]:not([aria-busy])", chromedp.ByQuery),
			chromedp.Evaluate(dots, &graph), webtest.Shot(t, "graph-"+c.name, 1360)); err != nil {
			t.Fatal(err)
		}
		if len(time.Said) == 0 {
			time.Said = nil
		}
		if diff := cmp.Diff(c.time, time); diff != "" {
			t.Errorf("timeline of %s (-want +got):\n%s", c.name, diff)
		}
		if graph.Dots != c.n || graph.Over > 0 || c.n <= 12 && graph.Names < c.n*2/3 {
			t.Errorf("graph of %s: %+v", c.name, graph)
		}
	}
	for _, x := range complaints() {
		t.Error(x)
	}
}
