package config

import (
	"fmt"

	"go.yaml.in/yaml/v3"

	"concordat"
)

// Without returns the text of a configuration without what stands under the given keys of the first level.
// Comments elsewhere stay. It fails with concordat.ErrInvalid for what is not one mapping.
func Without(text []byte, names ...string) ([]byte, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("%w: %w", concordat.ErrInvalid, err)
	}
	if doc.Kind == 0 {
		return text, nil // empty
	}
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("configuration is no mapping: %w", concordat.ErrInvalid)
	}
	var kept []*yaml.Node
	changed := false
	for i := 0; i+1 < len(root.Content); i += 2 {
		gone := false
		for _, n := range names {
			gone = gone || root.Content[i].Value == n
		}
		if changed = changed || gone; !gone {
			kept = append(kept, root.Content[i], root.Content[i+1])
		}
	}
	if !changed {
		return text, nil
	}
	if root.Content = kept; len(kept) == 0 {
		return nil, nil
	}
	return yaml.Marshal(&doc)
}
