package extract

import (
	"slices"
	"strings"

	"github.com/andybalholm/cascadia"
	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/css"
	"golang.org/x/net/html"
)

// Limits on reading style sheets. The largest site's pages have about 5,000 rules each; a step is one comparison of a selector part with
// an element.
const (
	maxStyleBytes = 4 << 20
	maxStyleRules = 20000
	maxStyleSteps = 20_000_000
)

// styleSheet contains a page's rules that can hide text, that is, those that set one of hidingProperties.
type styleSheet struct {
	byKey  map[string][]*styleRule // keyed by the id, class or element in the selector's last part
	rules  int
	steps  int  // number of rules so far
	writes bool // some rule inserts text before or after elements
}

// styleRule is a selector with its declarations.
type styleRule struct {
	parts  []selectorPart // from left to right
	weight cascadia.Specificity
	order  int
	sets   []setting
	of     pseudo
}

// selectorPart is a part of a selector that matches a single element.
type selectorPart struct {
	match cascadia.Sel
	child bool // the preceding part must match the parent rather than any ancestor
}

// setting is one declaration.
type setting struct {
	name, value string
	important   bool
}

// parseStyles reads style sheets. It leaves out rules for print or speech or only for some windows, and selectors that depend on
// neighbours or user actions, because they hide text only sometimes.
func parseStyles(text string) *styleSheet {
	s := &styleSheet{byKey: map[string][]*styleRule{}}
	p := css.NewParser(parse.NewInputString(text[:min(len(text), maxStyleBytes)]), false)
	var selectors []string
	var sets []setting
	var shut []bool // for each open block, whether its rules apply only sometimes
	for s.rules < maxStyleRules {
		kind, _, data := p.Next()
		switch kind {
		case css.ErrorGrammar:
			if !p.HasParseError() {
				return s
			}
		case css.BeginAtRuleGrammar:
			shut = append(shut, !alwaysHolds(string(data), joinTokens(p.Values())) || slices.Contains(shut, true))
		case css.EndAtRuleGrammar:
			shut = shut[:max(0, len(shut)-1)]
		case css.QualifiedRuleGrammar:
			selectors = append(selectors, joinTokens(p.Values()))
		case css.BeginRulesetGrammar:
			selectors, sets = append(selectors, joinTokens(p.Values())), nil
		case css.DeclarationGrammar:
			if d := newSetting(string(data), joinTokens(p.Values())); hidingProperties[d.name] {
				sets = append(sets, d)
			}
		case css.EndRulesetGrammar:
			if len(sets) > 0 && !slices.Contains(shut, true) {
				s.add(selectors, sets)
			}
			selectors = nil
		}
	}
	return s
}

// alwaysHolds reports whether the rules in an at-rule apply in every window.
func alwaysHolds(name, condition string) bool {
	c := strings.TrimSpace(strings.ToLower(condition))
	switch strings.ToLower(name) {
	case "@media":
		return c == "" || c == "all" || c == "screen" || c == "only screen" || c == "screen,print" || c == "all,screen"
	case "@supports", "@layer":
		return true
	}
	return false
}

func joinTokens(tokens []css.Token) string {
	var b strings.Builder
	for _, t := range tokens {
		b.Write(t.Data)
	}
	return b.String()
}

func newSetting(name, value string) setting {
	d := setting{name: strings.ToLower(name), value: strings.TrimSpace(value)}
	if d.name != "content" {
		d.value = strings.ToLower(d.value)
	}
	if v, ok := strings.CutSuffix(strings.ReplaceAll(d.value, "! important", "!important"), "!important"); ok {
		d.value, d.important = strings.TrimSpace(v), true
	}
	return d
}

// inlineStyle parses the value of a style attribute.
func inlineStyle(text string) []setting {
	var sets []setting
	p := css.NewParser(parse.NewInputString(text[:min(len(text), maxStyleBytes)]), true)
	for {
		kind, _, data := p.Next()
		switch kind {
		case css.ErrorGrammar:
			if !p.HasParseError() {
				return sets
			}
		case css.DeclarationGrammar:
			if d := newSetting(string(data), joinTokens(p.Values())); hidingProperties[d.name] {
				sets = append(sets, d)
			}
		}
	}
}

func (s *styleSheet) add(selectors []string, sets []setting) {
	for _, text := range strings.Split(strings.Join(selectors, ","), ",") {
		text, of := cutPseudo(strings.TrimSpace(text))
		parts, key, ok := parseSelector(text)
		if !ok {
			continue
		}
		s.writes = s.writes || of != noPseudo
		r := &styleRule{parts: parts, order: s.rules, sets: sets, of: of}
		for _, p := range parts {
			r.weight = r.weight.Add(p.match.Specificity())
		}
		s.rules++
		s.byKey[key] = append(s.byKey[key], r)
	}
}

// maxParts is the maximum number of parts in a selector.
const maxParts = 12

// parseSelector splits a selector into parts and returns what its last part requires: "#id", ".class", an element or "*".
func parseSelector(text string) (parts []selectorPart, key string, ok bool) {
	text = strings.TrimSpace(text)
	if text == "" || strings.ContainsAny(text, ":+~") || len(text) > 1000 {
		return nil, "", false
	}
	child := false
	for _, f := range strings.Fields(strings.ReplaceAll(text, ">", " > ")) {
		if f == ">" {
			child = true
			continue
		}
		m, err := cascadia.Parse(f)
		if err != nil || len(parts) == maxParts {
			return nil, "", false
		}
		parts, key = append(parts, selectorPart{m, child}), f
		child = false
	}
	if len(parts) == 0 || child {
		return nil, "", false
	}
	return parts, lastKey(key), true
}

func lastKey(part string) string {
	part, _, _ = strings.Cut(part, "[")
	for _, mark := range []string{"#", "."} {
		if _, name, ok := strings.Cut(part, mark); ok {
			if i := strings.IndexAny(name, "#."); i >= 0 {
				name = name[:i]
			}
			return mark + name
		}
	}
	if part == "" {
		return "*"
	}
	return strings.ToLower(part)
}

// settings returns what the sheet sets for the innermost open element, in cascade order (CSS Cascading and Inheritance Level 3, section
// 6.1), but without giving precedence to important declarations.
func (s *styleSheet) settings(open []*html.Node) []setting { return s.settingsOf(open, noPseudo) }

func (s *styleSheet) settingsOf(open []*html.Node, of pseudo) []setting {
	if s == nil || s.steps > maxStyleSteps {
		return nil
	}
	n := open[len(open)-1]
	var found []*styleRule
	try := func(key string) {
		for _, r := range s.byKey[key] {
			if r.of == of && s.holds(r, open) {
				found = append(found, r)
			}
		}
	}
	try("*")
	try(n.Data)
	for _, a := range n.Attr {
		switch a.Key {
		case "id":
			try("#" + a.Val)
		case "class":
			for i, c := range strings.Fields(a.Val) {
				if i < 100 {
					try("." + c)
				}
			}
		}
	}
	slices.SortStableFunc(found, func(a, b *styleRule) int {
		switch {
		case a.weight.Less(b.weight):
			return -1
		case b.weight.Less(a.weight):
			return 1
		}
		return a.order - b.order
	})
	var sets []setting
	for _, r := range found {
		sets = append(sets, r.sets...)
	}
	return sets
}

// holds reports whether a rule's selector matches the innermost open element. It takes at most one step per part and element, whatever
// the selector.
func (s *styleSheet) holds(r *styleRule, open []*html.Node) bool {
	last := len(r.parts) - 1
	s.steps++
	if !r.parts[last].match.Match(open[len(open)-1]) {
		return false
	}
	at := make([]bool, len(open)) // the elements that the last part examined can match
	at[len(open)-1] = true
	for i := last - 1; i >= 0; i-- {
		next, any, below := make([]bool, len(open)), false, false
		for d := len(open) - 1; d > 0; d-- {
			below = below || at[d]
			if r.parts[i+1].child && !at[d] || !below {
				continue
			}
			s.steps++
			if r.parts[i].match.Match(open[d-1]) {
				next[d-1], any = true, true
			}
		}
		if !any {
			return false
		}
		at = next
	}
	return true
}
