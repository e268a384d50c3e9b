package screen

import (
	"fmt"
	"html"
	"io"
	"math"
	"strings"
)

// The pictures are SVG 1.1 without scripts, style sheets or external content, so that they work in pages under any policy and as separate
// files.

const (
	inkColour   = "#333"
	lineColour  = "#bbb"
	plainColour = "#4a78a8"
	hotColour   = "#b8442a"
)

// drawing collects the elements of a picture.
type drawing struct{ b strings.Builder }

func (d *drawing) begin(width, height float64, title string) {
	fmt.Fprintf(&d.b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" width="%g" height="%g" role="img" font-family="sans-serif" font-size="11"><title>%s</title>`,
		width, height, width, height, html.EscapeString(title))
}

func (d *drawing) f(format string, args ...any) { fmt.Fprintf(&d.b, format, args...) }

func (d *drawing) text(x, y float64, anchor, text string) {
	d.f(`<text x="%.1f" y="%.1f" text-anchor="%s" fill="%s">%s</text>`, x, y, anchor, inkColour, html.EscapeString(text))
}

func (d *drawing) end(w io.Writer) error {
	d.b.WriteString("</svg>\n")
	_, err := io.WriteString(w, d.b.String())
	return err
}

// WriteSVG draws the leading bits of neighbours and the buckets, with a line for uniform prints, as in figures 2(a) and 2(b) of Manku,
// Jain and Das Sarma 2007.
func (d *Distribution) WriteSVG(w io.Writer) error {
	const width, high, left = 860.0, 150.0, 60.0
	var g drawing
	g.begin(width, 440, fmt.Sprintf("Distribution of %d fingerprints", d.Prints))
	bars := func(top float64, title string, counts []int, uniform func(i int) float64, label func(i int) string, every int) {
		most := 1.0
		for i, n := range counts {
			most = max(most, float64(n), uniform(i))
		}
		g.text(left, top-8, "start", title)
		g.text(left-6, top+8, "end", fmt.Sprint(int(most)))
		step := (width - left - 10) / float64(len(counts))
		var line strings.Builder
		for i, n := range counts {
			h := float64(n) / most * high
			colour := plainColour
			if u := uniform(i); float64(n) > 2*u+5*math.Sqrt(u)+5 {
				colour = hotColour
			}
			x := left + float64(i)*step
			g.f(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"><title>%s: %d</title></rect>`, x, top+high-h, max(1, step-1), h,
				colour, label(i), n)
			if i%every == 0 {
				g.text(x+step/2, top+high+13, "middle", label(i))
			}
			fmt.Fprintf(&line, "%.1f,%.1f ", x+step/2, top+high-uniform(i)/most*high)
		}
		g.f(`<polyline points="%s" fill="none" stroke="%s"/>`, strings.TrimSpace(line.String()), inkColour)
	}
	lead := make([]int, 64)
	for i := range lead {
		lead[i] = d.Lead[63-i]
	}
	bars(30, fmt.Sprintf("highest bit in which adjacent sorted fingerprints differ; the line shows a uniform distribution; %d adjacent fingerprints are equal", d.Equal), lead,
		func(i int) float64 { return UniformLead(d.Prints, 63-i) }, func(i int) string { return fmt.Sprint(63 - i) }, 8)
	n := float64(d.Prints)
	bars(250, fmt.Sprintf("fingerprints in each of %d equal ranges; the line shows a uniform distribution; spread %.2f", Buckets, d.Spread()), d.Bucket[:],
		func(int) float64 { return n / Buckets }, func(i int) string { return fmt.Sprint(i) }, 16)
	return g.end(w)
}

// Series is one kind of print in a picture of curves.
type Series struct {
	Name   string
	Bits   int // bits of the print, for drawing distances as proportions
	Points []CurvePoint
}

var seriesColours = []string{"#4a78a8", "#b8442a", "#3d8a4f", "#8a5aa8", "#b08a1e", "#444"}

// WriteCurves draws precision (dashed) and recall (solid) against the proportion of bits that may differ, as in figure 1 of Manku, Jain
// and Das Sarma 2007, for several kinds of prints.
func WriteCurves(w io.Writer, title string, series []Series) error {
	const width, height, left, top, high, wide = 720.0, 400.0, 50.0, 40.0, 290.0, 640.0
	var g drawing
	g.begin(width, height+20*float64(len(series)), title)
	g.text(left, 20, "start", title+" (recall solid, precision dashed)")
	farthest := 0.01
	for _, s := range series {
		if n := len(s.Points); n > 0 && s.Bits > 0 {
			farthest = max(farthest, float64(s.Points[n-1].K)/float64(s.Bits))
		}
	}
	for i := range 6 {
		v := float64(i) / 5
		y := top + high*(1-v)
		g.f(`<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s"/>`, left, y, left+wide, y, lineColour)
		g.text(left-6, y+4, "end", fmt.Sprintf("%.1f", v))
		g.text(left+wide*v, top+high+16, "middle", fmt.Sprintf("%.2f", v*farthest))
	}
	g.text(left+wide/2, top+high+32, "middle", "maximum distance, as a share of the bits")
	for i, s := range series {
		colour := seriesColours[i%len(seriesColours)]
		for _, kind := range []struct {
			dash  string
			value func(CurvePoint) float64
		}{{"", CurvePoint.Recall}, {` stroke-dasharray="5 4"`, CurvePoint.Precision}} {
			var line strings.Builder
			for _, p := range s.Points {
				fmt.Fprintf(&line, "%.1f,%.1f ", left+wide*float64(p.K)/float64(max(1, s.Bits))/farthest, top+high*(1-kind.value(p)))
			}
			g.f(`<polyline points="%s" fill="none" stroke="%s" stroke-width="1.8"%s/>`, strings.TrimSpace(line.String()), colour, kind.dash)
		}
		y := height - 10 + 20*float64(i)
		g.f(`<rect x="%.1f" y="%.1f" width="14" height="10" fill="%s"/>`, left, y, colour)
		g.text(left+20, y+9, "start", s.Name)
	}
	return g.end(w)
}

// Node is a document in a picture.
type Node struct {
	Label string
	Mark  bool // drawn filled, as the representative
}

// MaxDrawn is the maximum number of a cluster's documents that WriteCluster draws.
const MaxDrawn = 60

// WriteCluster draws the documents of a cluster in a row, in the order given, for example by date, and their pairs as arcs that are
// darker for greater resemblance. It draws only the first MaxDrawn documents and the links between them. Links refer to nodes by index.
func WriteCluster(w io.Writer, title string, nodes []Node, links []Link) error {
	more := len(nodes) - MaxDrawn
	nodes = nodes[:min(len(nodes), MaxDrawn)]
	step := 26.0
	span := 0
	for _, l := range links {
		if max(l.A, l.B) < len(nodes) {
			span = max(span, max(l.A-l.B, l.B-l.A))
		}
	}
	rise := max(14, float64(span)*step/2*0.7)
	width, base := 40+step*float64(len(nodes)), 14+rise
	var g drawing
	g.begin(max(width, 200), base+34, title)
	for _, l := range links {
		if max(l.A, l.B) >= len(nodes) {
			continue
		}
		x, y := 20+step*float64(min(l.A, l.B)), 20+step*float64(max(l.A, l.B))
		colour, dash := plainColour, ""
		if l.Aside {
			colour, dash = inkColour, ` stroke-dasharray="3 3"`
		}
		g.f(`<path d="M%.1f %.1f A%.1f %.1f 0 0 1 %.1f %.1f" fill="none" stroke="%s"%s stroke-opacity="%.2f" stroke-width="%.1f"><title>%s – %s: %.0f%%</title></path>`,
			x, base, (y-x)/2, (y-x)/2*0.7, y, base, colour, dash, 0.15+0.85*l.Resemblance, 1+2*l.Resemblance,
			html.EscapeString(nodes[l.A].Label), html.EscapeString(nodes[l.B].Label), 100*l.Resemblance)
	}
	for i, n := range nodes {
		fill := "#fff"
		if n.Mark {
			fill = hotColour
		}
		x := 20 + step*float64(i)
		g.f(`<circle cx="%.1f" cy="%.1f" r="6" fill="%s" stroke="%s"><title>%s</title></circle>`, x, base, fill, inkColour,
			html.EscapeString(n.Label))
		g.text(x, base+20, "middle", fmt.Sprint(i+1))
	}
	if more > 0 {
		g.text(20, base+33, "start", fmt.Sprintf("and %d more", more))
	}
	return g.end(w)
}

// WriteOverview draws clusters as circles with areas proportional to their numbers of documents, each a link to the page's fragment
// #cluster-N, with N from 1. It draws at most the first 400.
func WriteOverview(w io.Writer, sizes []int) error {
	const width = 900.0
	const maxCircles = 400
	drawn := sizes[:min(len(sizes), maxCircles)]
	largest := 1
	for _, n := range drawn {
		largest = max(largest, n)
	}
	radius := func(n int) float64 { return max(5, 46*math.Sqrt(float64(n)/float64(largest))) }
	type circle struct{ x, y, r float64 }
	var at []circle
	x, y, row := 0.0, 6.0, 0.0
	for _, n := range drawn {
		r := radius(n)
		if x+2*r > width {
			x, y, row = 0, y+row+4, 0
		}
		row = max(row, 2*r)
		at = append(at, circle{x + r, y + r, r})
		x += 2*r + 4
	}
	var g drawing
	g.begin(width, y+row+20, fmt.Sprintf("%d clusters", len(sizes)))
	for i, c := range at {
		g.f(`<a href="#cluster-%d"><circle cx="%.1f" cy="%.1f" r="%.1f" fill="%s" fill-opacity="0.75"><title>cluster %d: %d documents</title></circle></a>`, i+1, c.x, c.y, c.r, plainColour, i+1, drawn[i])
		if c.r > 9 {
			g.text(c.x, c.y+4, "middle", fmt.Sprint(drawn[i]))
		}
	}
	if more := len(sizes) - len(drawn); more > 0 {
		g.text(0, y+row+16, "start", fmt.Sprintf("and %d smaller clusters", more))
	}
	return g.end(w)
}
