package main

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"html/template"
	"io"
	"strconv"
	"strings"

	"concordat"
	"concordat/cmd/cli"
	"concordat/screen"
	"concordat/segment"
)

// labelsHeader is the first line of labels.tsv. The page writes the same header.
const labelsHeader = "pair\ta\tb\tlabel"

// readLabels reads labels.tsv: the labels of the pairs by number. It refuses a line that labels an unknown pair, or a pair a second time,
// and reports the line's number.
func readLabels(path string, pairs []samplePair) (map[int]screen.Label, error) {
	labels := map[int]screen.Label{}
	line := 0
	err := eachLineOf(path, func(text string) error {
		line++
		text = strings.TrimSuffix(text, "\r")
		if line == 1 {
			if text != labelsHeader {
				return cli.Usagef("%s line 1: want the columns %s, separated by tabs", path, strings.ReplaceAll(labelsHeader, "\t", ", "))
			}
			return nil
		}
		cells := strings.Split(text, "\t")
		if len(cells) != 4 {
			return cli.Usagef("%s line %d: got %d columns, want 4", path, line, len(cells))
		}
		n, err := strconv.Atoi(cells[0])
		if err != nil || n < 1 || n > len(pairs) {
			return cli.Usagef("%s line %d: no pair %q: pairs are numbered 1 to %d", path, line, cells[0], len(pairs))
		}
		if p := pairs[n-1]; cells[1] != string(p.A) || cells[2] != string(p.B) {
			return cli.Usagef("%s line %d: pair %d has different documents in this sample: the labels are from a different sample", path, line, n)
		}
		l := screen.Label(cells[3])
		switch l {
		case screen.LabelSame, screen.LabelDifferent, screen.LabelUnknown:
		default:
			return cli.Usagef("%s line %d: unknown label %q; want same, different or unknown", path, line, cells[3])
		}
		if old, twice := labels[n]; twice {
			return cli.Usagef("%s line %d: pair %d was already labelled %s", path, line, n, old)
		}
		labels[n] = l
		return nil
	})
	if err == nil && line == 0 {
		err = cli.Usagef("%s is empty", path)
	}
	return labels, err
}

// labelPage is the page on which a person labels the pairs of a sample: one file that loads nothing from the network.
type labelPage struct {
	Sample sampleHeader `json:"sample"`
	Pairs  []labelPair  `json:"pairs"`
}

// labelPair is a pair as shown on the page.
type labelPair struct {
	Pair int       `json:"pair"`
	A    labelText `json:"a"`
	B    labelText `json:"b"`
}

// labelText is a document in pieces that are alternately shared with the other document and only in this one, starting with a shared
// piece.
type labelText struct {
	ID     concordat.DocumentID `json:"id"`
	Title  string               `json:"title,omitempty"`
	Cut    bool                 `json:"cut,omitempty"` // whether the text continues
	Pieces []string             `json:"pieces"`
}

const (
	longestLabelled = 200_000 // maximum bytes of a text on the page
	labelRun        = 3       // number of consecutive words that count as equal
)

func newLabelPair(number int, x, y *concordat.Document) (labelPair, error) {
	a, err := segment.Split(x.Text)
	if err != nil {
		return labelPair{}, err
	}
	b, err := segment.Split(y.Text)
	return labelPair{number, newLabelText(x, a, b), newLabelText(y, b, a)}, err
}

func newLabelText(d *concordat.Document, own, other *segment.Text) labelText {
	out := labelText{ID: d.ID, Title: d.Title}
	end := len(d.Text)
	if end > longestLabelled {
		end, out.Cut = longestLabelled, true
		for end > 0 && d.Text[end]&0xc0 == 0x80 { // inside a letter
			end--
		}
	}
	// A boundary between pieces is at the first word of the next one.
	at, common := 0, true
	for i, shared := range sharedWords(own, other) {
		start := int(own.Words[i].Start)
		if start >= end {
			break
		}
		if shared != common {
			out.Pieces = append(out.Pieces, d.Text[at:start])
			at, common = start, shared
		}
	}
	out.Pieces = append(out.Pieces, d.Text[at:end])
	return out
}

// sharedWords returns, for each word of own, whether it is in a run of labelRun words that occurs anywhere in other. A text of fewer
// words is a single run.
func sharedWords(own, other *segment.Text) []bool {
	run := max(1, min(labelRun, len(own.Words), len(other.Words)))
	key := func(t *segment.Text, i int) (k [labelRun]uint64) {
		for j := range run {
			k[j] = t.Words[i+j].Hash
		}
		return k
	}
	has := map[[labelRun]uint64]bool{}
	for i := 0; i+run <= len(other.Words); i++ {
		has[key(other, i)] = true
	}
	shared := make([]bool, len(own.Words))
	for i := 0; i+run <= len(own.Words); i++ {
		if has[key(own, i)] {
			for j := range run {
				shared[i+j] = true
			}
		}
	}
	return shared
}

//go:embed label.css
var labelStyle string

//go:embed label.js
var labelScript string

//go:embed label.html
var labelHTML string

var labelTemplate = template.Must(template.New("label").Parse(labelHTML))

// write writes the page. It identifies its style and script by their digests, so the browser runs nothing else, whatever the texts
// contain, and requests nothing from the network.
func (p *labelPage) write(w io.Writer) error {
	var data bytes.Buffer
	if err := json.NewEncoder(&data).Encode(p); err != nil { // escapes what could end the element
		return err
	}
	digest := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return base64.StdEncoding.EncodeToString(sum[:])
	}
	return labelTemplate.Execute(w, map[string]any{
		"Library": p.Sample.Library, "Pairs": len(p.Pairs), "Columns": labelsHeader,
		// All four are our own, or JSON.
		"Policy": "default-src 'none'; style-src 'sha256-" + digest(labelStyle) + "'; script-src 'sha256-" + digest(labelScript) +
			"'; base-uri 'none'; form-action 'none'",
		"Sample": digest(data.String()), // key under which the browser stores the labels
		"Style":  template.CSS(labelStyle), "Script": template.JS(labelScript), "Data": template.JS(data.Bytes()),
	})
}
