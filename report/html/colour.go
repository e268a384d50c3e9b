package html

import (
	"fmt"

	"concordat"
	"concordat/report"
)

// colours is the number of sources with a distinct colour and pattern; all further sources share one. Letters distinguish all sources.
const colours = 8

// soClass returns the class for a source's colour, preceded by a space, or "" for slot 0.
func soClass(slot int) string {
	if slot == 0 {
		return ""
	}
	return fmt.Sprintf(" so so%d", slot)
}

// colouring gives the sources of a report their colours and letters.
type colouring struct {
	r    *report.Report
	rank map[concordat.Ref]int // rank of each source in r.Sources
	slot map[concordat.Ref]int // colour of each source, from 1; see colours
}

// first returns the source that determines a passage's colour: the closest one that counts.
func (c colouring) first(i int) (concordat.Ref, bool) {
	e := c.r.Evidence[i]
	if e.Excluded != "" {
		return concordat.Ref{}, false
	}
	for _, s := range e.Sources {
		if s.Excluded == "" {
			return s.Ref, true
		}
	}
	return concordat.Ref{}, false
}

// coloured returns the classes of passage i, preceded by a space. If only is not 0, passages that the source with this ordinal does not
// contain are dimmed.
func (c colouring) coloured(i, only int) string {
	out := ""
	if ref, ok := c.first(i); ok {
		out = soClass(c.slot[ref])
	}
	if only > 0 && !c.holds(i, only) {
		out += " dim"
	}
	return out
}

// holds reports whether the source with the given ordinal contains passage i.
func (c colouring) holds(i, ordinal int) bool {
	for _, s := range c.r.Evidence[i].Sources {
		if k, ok := c.rank[s.Ref]; ok && c.r.Sources[k].Ordinal == ordinal {
			return true
		}
	}
	return false
}

// colour returns the fill class of passage i in a map, or "" if the class of its kind applies.
func (c colouring) colour(i int) string {
	if ref, ok := c.first(i); ok && c.slot[ref] > 0 {
		return fmt.Sprintf("so%d", c.slot[ref])
	}
	return ""
}

// letter returns the letter of the source that determines the colour of passage i, or "" if none counts.
func (c colouring) letter(i int) string {
	if ref, ok := c.first(i); ok {
		return c.letterOf(ref)
	}
	return ""
}

// letterOf returns the letter of a source.
func (c colouring) letterOf(ref concordat.Ref) string {
	if k, ok := c.rank[ref]; ok {
		return c.r.Sources[k].Letter()
	}
	return ""
}

// chip writes the letter of a source in its colour.
func (d *doc) chip(ref concordat.Ref) {
	d.raw(`<span class="sq`, soClass(d.hues.slot[ref]), `">`, d.hues.letterOf(ref), `</span>`)
}

// drawn lists the fills of a map in drawing order, strongest last.
var drawn = func() []string {
	out := []string{"lead", "out", "common", "template", "form", "sentence", "quotation", "summary", "paraphrase", "near", "verbatim"}
	for n := colours + 1; n > 0; n-- {
		out = append(out, fmt.Sprintf("so%d", n))
	}
	return out
}()

// sourcePatterns are the textures for the colours of sources, for insertion into the pattern defs.
const sourcePatterns = `<pattern id="t-so2" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect class="q0" width="7" height="7"/><rect class="q1" width="3.5" height="7"/></pattern>` +
	`<pattern id="t-so3" width="6" height="6" patternUnits="userSpaceOnUse"><rect class="q0" width="6" height="6"/><circle class="q1" cx="3" cy="3" r="2"/></pattern>` +
	`<pattern id="t-so4" width="6" height="6" patternUnits="userSpaceOnUse"><rect class="q0" width="6" height="6"/><rect class="q1" width="6" height="3"/></pattern>` +
	`<pattern id="t-so5" width="6" height="6" patternUnits="userSpaceOnUse"><rect class="q0" width="6" height="6"/><rect class="q1" width="3" height="6"/></pattern>` +
	`<pattern id="t-so6" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(-45)"><rect class="q0" width="7" height="7"/><rect class="q1" width="3.5" height="7"/></pattern>` +
	`<pattern id="t-so7" width="8" height="8" patternUnits="userSpaceOnUse"><rect class="q0" width="8" height="8"/><path class="q1" d="M0 0h4v4H0zM4 4h4v4H4z"/></pattern>` +
	`<pattern id="t-so8" width="8" height="8" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect class="q1" width="8" height="8"/><rect class="q0" x="2" y="2" width="5" height="5"/></pattern>`
