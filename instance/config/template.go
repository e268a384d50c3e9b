package config

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Template defines the sections of documents in a library.
type Template struct {
	Name     string
	Path     string    // absolute path of the file with the sections; empty if they are in the configuration itself
	Sections []Section // at least one; a name may occur several times, with several headings
}

// Section is one kind of section of a template. It extends from a line that matches Heading to the template's next heading.
type Section struct {
	Name    string
	Heading *regexp.Regexp // matched against a line without surrounding white space
	Skip    bool           // do not check its text
}

// Limits on templates, to protect against files that are slow to match.
const (
	maxTemplates = 1000
	maxSections  = 1000
	maxHeading   = 1000 // maximum size of a regular expression in bytes
)

func (p *parser) templates(n *yaml.Node) {
	if isNull(n) {
		return
	}
	if n.Kind != yaml.SequenceNode || len(n.Content) > maxTemplates {
		p.fault(n, "templates", "must be a list of at most %d templates", maxTemplates)
		return
	}
	var all []Template
	for i, item := range n.Content {
		before := len(p.faults)
		t := p.template(item, fmt.Sprintf("templates[%d]", i))
		if slices.ContainsFunc(all, func(u Template) bool { return u.Name == t.Name }) && len(p.faults) == before {
			p.fault(item, fmt.Sprintf("templates[%d]", i), "template %s appears twice", t.Name)
		}
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b Template) int { return cmp.Compare(a.Name, b.Name) })
	p.config.Templates = all
	p.config.origins["templates"] = Origin{File: p.file, Line: n.Line}
}

func (p *parser) template(n *yaml.Node, at string) Template {
	var t Template
	pathNode := n
	before := len(p.faults)
	p.mapping(n, at, func(key, value *yaml.Node) {
		name := at + "." + key.Value
		switch key.Value {
		case "name":
			t.Name, _ = p.scalar(value, name)
		case "path":
			if path, ok := p.scalar(value, name); ok {
				t.Path = p.templatePath(value, name, path)
				pathNode = value
			}
		case "sections":
			t.Sections = p.sections(value, name)
		default:
			p.fault(key, name, "unknown key")
		}
	})
	switch {
	case len(p.faults) > before: // already reported
	case t.Name == "":
		p.fault(n, at, "no name")
	case t.Path != "" && t.Sections != nil:
		p.fault(n, at, "path and sections cannot be used together")
	case t.Path != "":
		t.Sections = p.templateFile(pathNode, at, t.Path)
	case len(t.Sections) == 0:
		p.fault(n, at, "no sections")
	}
	return t
}

func (p *parser) templatePath(n *yaml.Node, at, path string) string {
	if path == "" {
		p.fault(n, at, "no value")
		return ""
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.dir, path)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		p.fault(n, at, "%s", err)
	}
	return path
}

// templateFile reads sections from a separate file in the form of the templates that ship with the program (package segment). Each line
// is "section = pattern", with an exclamation mark after the name of a section that should not be checked; # starts a comment. Faults
// name the file.
func (p *parser) templateFile(n *yaml.Node, at, path string) []Section {
	text, err := readFile(path)
	if err != nil {
		p.fault(n, at+".path", "%s", err)
		return nil
	}
	var all []Section
	number, before := 0, len(p.faults)
	for line := range strings.Lines(string(text)) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		s, problem := parseLine(line)
		if problem == "" && len(all) == maxSections {
			problem = fmt.Sprintf("more than %d sections", maxSections)
		}
		if problem != "" {
			p.faults = append(p.faults, Fault{File: path, Line: number, Key: s.Name, Problem: problem})
			if len(p.faults) > before+maxSections {
				break
			}
			continue
		}
		all = append(all, s)
	}
	if len(p.faults) == before && len(all) == 0 {
		p.faults = append(p.faults, Fault{File: path, Problem: "no sections"})
	}
	return all
}

// parseLine parses "section = pattern". problem describes the fault, if any.
func parseLine(line string) (s Section, problem string) {
	name, pattern, ok := strings.Cut(line, "=")
	name, s.Skip = strings.CutSuffix(strings.TrimSpace(name), "!")
	s.Name = strings.TrimSpace(name)
	if !ok || s.Name == "" || !utf8.ValidString(s.Name) {
		return s, "invalid line; want section = pattern"
	}
	s.Heading, problem = compile(strings.TrimSpace(pattern))
	return s, problem
}

func (p *parser) sections(n *yaml.Node, at string) []Section {
	if n.Kind != yaml.SequenceNode || len(n.Content) > maxSections {
		p.fault(n, at, "must be a list of at most %d sections", maxSections)
		return nil
	}
	all := []Section{}
	for i, item := range n.Content {
		at := fmt.Sprintf("%s[%d]", at, i)
		before := len(p.faults)
		s := p.section(item, at)
		if len(p.faults) > before {
			continue
		}
		all = append(all, s)
	}
	return all
}

func (p *parser) section(n *yaml.Node, at string) Section {
	var s Section
	before := len(p.faults)
	p.mapping(n, at, func(key, value *yaml.Node) {
		name := at + "." + key.Value
		text, ok := "", false
		switch key.Value {
		case "name", "heading", "skip":
			text, ok = p.scalar(value, name)
		default:
			p.fault(key, name, "unknown key")
		}
		switch {
		case !ok:
		case key.Value == "name":
			s.Name = text
		case key.Value == "heading":
			s.Heading = p.heading(value, name, text)
		case text == "true" || text == "false":
			s.Skip = text == "true"
		default:
			p.fault(value, name, "invalid value %q; want true or false", text)
		}
	})
	if len(p.faults) == before && (s.Name == "" || s.Heading == nil) {
		p.fault(n, at, "name and heading are required")
	}
	return s
}

func (p *parser) heading(n *yaml.Node, at, text string) *regexp.Regexp {
	re, problem := compile(text)
	if problem != "" {
		p.fault(n, at, "%s", problem)
	}
	return re
}

// compile returns the compiled pattern of a heading, or nil and a description of the fault.
func compile(text string) (re *regexp.Regexp, problem string) {
	if text == "" || len(text) > maxHeading {
		return nil, fmt.Sprintf("must be a regular expression of 1 to %d bytes", maxHeading)
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, err.Error()
	}
	if re.MatchString("") {
		return nil, fmt.Sprintf("regular expression %q matches an empty line", text)
	}
	return re, ""
}
