package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A parser fills a Config from the text of one file and collects its faults.
type parser struct {
	config *Config
	file   string
	dir    string // base of relative paths
	faults Faults
}

func (p *parser) fault(n *yaml.Node, key, format string, args ...any) {
	p.faults = append(p.faults, Fault{File: p.file, Line: n.Line, Key: key, Problem: fmt.Sprintf(format, args...)})
}

// document returns the root of the only YAML document in text, or nil if there is none or it has a fault.
func (p *parser) document(text []byte) *yaml.Node {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var doc, more yaml.Node
	err := dec.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err == nil {
		if more := dec.Decode(&more); !errors.Is(more, io.EOF) {
			err = errors.New("the file must contain a single YAML document")
		}
	}
	if err != nil {
		p.faults = append(p.faults, Fault{File: p.file, Problem: strings.TrimPrefix(err.Error(), "yaml: ")})
		return nil
	}
	return doc.Content[0]
}

func (p *parser) parse(text []byte) {
	if root := p.document(text); root != nil {
		p.group(root, "")
	}
}

// group reads a mapping; name is its key, empty for the file itself.
func (p *parser) group(n *yaml.Node, name string) {
	p.mapping(n, name, func(key, value *yaml.Node) {
		full := key.Value
		if name != "" {
			full = name + "." + key.Value
		}
		i := slices.IndexFunc(keys, func(k Key) bool { return k.Name == full })
		switch {
		case strings.Contains(key.Value, "."): // only one way to write a key is allowed, so that repetitions are detected
			p.fault(key, full, "unknown key: use nested keys instead of a name with dots")
		case i >= 0:
			p.value(keys[i], value)
		case full == "templates":
			p.templates(value)
		case full == "login.oidc":
			p.providers(value)
		case slices.ContainsFunc(keys, func(k Key) bool { return strings.HasPrefix(k.Name, full+".") }):
			p.group(value, full)
		default:
			p.fault(key, full, "unknown key")
		}
	})
}

// mapping calls each for every pair in n, which may be empty, and reports repeated keys.
func (p *parser) mapping(n *yaml.Node, name string, each func(key, value *yaml.Node)) {
	if isNull(n) {
		return
	}
	if n.Kind != yaml.MappingNode {
		p.fault(n, name, "must be a mapping of keys to values")
		return
	}
	lines := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" {
			p.fault(key, name, "a key must be a plain name")
			continue
		}
		if line, ok := lines[key.Value]; ok {
			p.fault(key, name, "key %s is already set on line %d", key.Value, line)
			continue
		}
		lines[key.Value] = key.Line
		each(key, value)
	}
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// scalar returns the text of a single value.
func (p *parser) scalar(n *yaml.Node, name string) (string, bool) {
	switch {
	case isNull(n):
		p.fault(n, name, "no value")
	case n.Kind != yaml.ScalarNode:
		p.fault(n, name, "must be a single value")
	default:
		return n.Value, true
	}
	return "", false
}

func (p *parser) value(k Key, n *yaml.Node) {
	text, ok := "", false
	if strings.HasPrefix(k.Type, "list") && n.Kind == yaml.SequenceNode {
		text, ok = p.items(k, n)
	} else {
		text, ok = p.scalar(n, k.Name)
	}
	if !ok {
		return
	}
	if err := k.set(p.config, text); err != nil {
		p.fault(n, k.Name, "%s", err)
		return
	}
	p.config.origins[k.Name] = Origin{File: p.file, Line: n.Line}
}

// items joins the values of a sequence by commas, which a single value cannot contain.
func (p *parser) items(k Key, n *yaml.Node) (string, bool) {
	var items []string
	for _, item := range n.Content {
		text, ok := p.scalar(item, k.Name)
		if !ok {
			return "", false
		}
		if strings.Contains(text, ",") {
			p.fault(item, k.Name, "%q contains a comma", text)
			return "", false
		}
		items = append(items, text)
	}
	return strings.Join(items, ","), true
}

// readAtMost reads all of r. It fails if r contains more than most bytes.
func readAtMost(r io.Reader, most int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("file is larger than %s", bytesText(most))
	}
	return text, err
}
