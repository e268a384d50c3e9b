package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"concordat"
)

// File is a file named in a configuration.
type File struct {
	Key  string // key that names it, as for ForNode
	Path string // relative paths of store.password_file and meaning.encoder.key_file start at the site's folder
	Name string // name of its copy in the folder of another machine
}

// Files returns the files named in the configuration, in order of key.
func (c *Config) Files() []File {
	all := []File{{"report.certificate", c.Report.Certificate, "report-certificate.pem"}, {"report.key", c.Report.Key, "report-key.pem"},
		{"wording.stock", c.Wording.Stock, "stock.txt"}, {"store.password_file", c.Store.PasswordFile, "store-password"},
		{"meaning.encoder.key_file", c.Meaning.Encoder.KeyFile, "encoder-key"}}
	for _, p := range c.Login.OIDC {
		all = append(all, File{"login.oidc." + p.Name, p.secretFile, "oidc-" + p.Name + "-secret"})
	}
	all = slices.DeleteFunc(all, func(f File) bool { return f.Path == "" })
	slices.SortFunc(all, func(a, b File) int { return cmp.Compare(a.Key, b.Key) })
	return all
}

// ForNode returns the text of a configuration file for another machine of the site, without the group cluster, and with the values in
// set. The key login.oidc.NAME represents the client_secret_file of that provider. An empty value removes a key. Comments are preserved.
// Errors wrap concordat.ErrInvalid.
func ForNode(text []byte, set map[string]string) ([]byte, error) { return edit(text, set, "cluster") }

// Set returns the text of a configuration file with the values in set; an empty value removes a key. Comments are preserved. Errors wrap
// concordat.ErrInvalid.
func Set(text []byte, set map[string]string) ([]byte, error) { return edit(text, set) }

func edit(text []byte, set map[string]string, without ...string) ([]byte, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("configuration: %w: %w", concordat.ErrInvalid, err)
	}
	if doc.Kind == 0 {
		doc = yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{{Kind: yaml.MappingNode}}}
	}
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("configuration: %w: not a mapping of keys to values", concordat.ErrInvalid)
	}
	for _, group := range without {
		remove(root, group)
	}
	keys := make([]string, 0, len(set))
	for k := range set {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		var err error
		if name, ok := strings.CutPrefix(k, "login.oidc."); ok {
			err = setSecretFile(root, name, set[k])
		} else {
			err = setKey(root, strings.Split(k, "."), set[k])
		}
		if err != nil {
			return nil, fmt.Errorf("configuration: %s: %w: %w", k, concordat.ErrInvalid, err)
		}
	}
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := errors.Join(e.Encode(&doc), e.Close()); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Text returns the value of a key in the text of a configuration file, or "".
func Text(text []byte, key string) (string, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return "", fmt.Errorf("configuration: %w: %w", concordat.ErrInvalid, err)
	}
	if doc.Kind == 0 {
		return "", nil
	}
	n := doc.Content[0]
	for part := range strings.SplitSeq(key, ".") {
		if n = child(n, part); n == nil {
			return "", nil
		}
	}
	return n.Value, nil
}

// child returns the value of a key, or nil.
func child(m *yaml.Node, key string) *yaml.Node {
	for i := 0; m.Kind == yaml.MappingNode && i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			return m.Content[i+1]
		}
	}
	return nil
}

func remove(m *yaml.Node, key string) {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			m.Content = slices.Delete(m.Content, i, i+2)
			return
		}
	}
}

func setKey(m *yaml.Node, path []string, value string) error {
	if m.Kind != yaml.MappingNode {
		return errors.New("must be a mapping of keys to values")
	}
	v := child(m, path[0])
	if len(path) > 1 {
		switch {
		case v == nil && value == "":
			return nil
		case v == nil || isNull(v):
			remove(m, path[0])
			v = &yaml.Node{Kind: yaml.MappingNode}
			m.Content = append(m.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: path[0]}, v)
		}
		return setKey(v, path[1:], value)
	}
	remove(m, path[0])
	if value != "" {
		m.Content = append(m.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: path[0]},
			&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value, Style: yaml.DoubleQuotedStyle})
	}
	return nil
}

func setSecretFile(root *yaml.Node, provider, path string) error {
	login := child(root, "login")
	if login == nil {
		return errors.New("unknown provider")
	}
	list := child(login, "oidc")
	if list == nil || list.Kind != yaml.SequenceNode {
		return errors.New("unknown provider")
	}
	for _, p := range list.Content {
		if name := child(p, "name"); name != nil && name.Value == provider {
			return setKey(p, []string{"client_secret_file"}, path)
		}
	}
	return errors.New("unknown provider")
}
