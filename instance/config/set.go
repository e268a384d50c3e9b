package config

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"concordat"
)

// SetText returns the text of a configuration file with the key set to a value in the syntax of the environment. It preserves everything
// else, including comments and order. It does not validate the value; LoadText does.
func SetText(text []byte, key, value string) ([]byte, error) {
	if !slices.ContainsFunc(keys, func(k Key) bool { return k.Name == key }) {
		return nil, fmt.Errorf("%s: unknown key: %w", key, concordat.ErrInvalid)
	}
	p := parser{config: Default()}
	root := p.document(text)
	if len(p.faults) > 0 {
		return nil, p.faults
	}
	if root == nil || isNull(root) {
		root = &yaml.Node{Kind: yaml.MappingNode}
	}
	at := root
	parts := strings.Split(key, ".")
	for i, part := range parts {
		if at.Kind != yaml.MappingNode {
			return nil, fmt.Errorf("%s: %s cannot contain other keys: %w", key, strings.Join(parts[:i], "."), concordat.ErrInvalid)
		}
		last := i == len(parts)-1
		child := childOf(at, part)
		switch {
		case last && child == nil:
			at.Content = append(at.Content, scalarNode(part), scalarNode(value))
		case last:
			set := scalarNode(value)
			set.HeadComment, set.LineComment, set.FootComment = child.HeadComment, child.LineComment, child.FootComment
			*child = *set
		case child == nil || isNull(child):
			next := &yaml.Node{Kind: yaml.MappingNode}
			if child != nil {
				*child = *next
				next = child
			} else {
				at.Content = append(at.Content, scalarNode(part), next)
			}
			child = next
		}
		at = child
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(root); err != nil {
		return nil, err
	}
	return b.Bytes(), enc.Close()
}

// LoadText is like LoadCentral, but for a text that is not yet in the file at path.
func LoadText(text []byte, path string, central Central, env Lookup) (*Config, error) {
	return loadCentral(text, path, central, env)
}

// childOf returns the value of a key of a mapping; nil if absent.
func childOf(n *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// scalarNode writes a value plainly if YAML reads the same text back, and quoted otherwise.
func scalarNode(value string) *yaml.Node {
	var plain yaml.Node
	if err := yaml.Unmarshal([]byte(value), &plain); err == nil && len(plain.Content) == 1 {
		if n := plain.Content[0]; n.Kind == yaml.ScalarNode && n.Value == value && !isNull(n) && n.Style == 0 {
			return &yaml.Node{Kind: yaml.ScalarNode, Tag: n.Tag, Value: value}
		}
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value, Style: yaml.DoubleQuotedStyle}
}
