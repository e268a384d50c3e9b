package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"concordat"
)

// manifestLabel is the prefix of the data hashed by Manifest.Sum.
const manifestLabel = "concordat/manifest/1\x00"

// ManifestVersion is the version of the manifest in the JSON form of a report.
const ManifestVersion = 1

// Manifest lists the content of a report in JSON item by item, each with a digest, so that a signature over it reveals where a report was
// changed, and not only that it was.
type Manifest struct {
	Version   int
	Site      concordat.SiteID // site that signs the report
	KeyEpoch  uint32           // epoch of its signing key
	At        time.Time        // in whole milliseconds
	Items     []Item           // in report order
	Signature []byte
}

// Item is one object of a report: the report itself, a passage, a source of a passage, an entry about a consulted library, and so on.
type Item struct {
	Path   string   // empty for the report; otherwise like scores, evidence[3], evidence[3].sources[0]
	Digest [32]byte // digest of its fields, by name, excluding objects that are separate items
	Fields []byte   // four bytes of the digest of each field, by name, to identify a changed field
}

// hintSize is the number of bytes kept of each field's digest. Digest protects the item; these bytes only show which field changed.
const hintSize = 4

// Sum returns the digest to sign: SHA-256 over a label and, for each item, its path, its digest and its fields. Path and fields are each
// prefixed with their length as 4 bytes.
func (m *Manifest) Sum() [32]byte {
	b := []byte(manifestLabel)
	for _, i := range m.Items {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(i.Path))), i.Path...)
		b = append(b, i.Digest[:]...)
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(i.Fields))), i.Fields...)
	}
	return sha256.Sum256(b)
}

type jsonManifest struct {
	Version   int              `json:"version"`
	Site      concordat.SiteID `json:"site"`
	KeyEpoch  uint32           `json:"key_epoch"`
	At        time.Time        `json:"at"`
	Items     []string         `json:"items"`
	Signature []byte           `json:"signature"`
}

// manifestKey is the key of the manifest in a report's JSON.
const manifestKey = "manifest"

// Items returns the items of a report in JSON, excluding its manifest. It fails with concordat.ErrInvalid if j is not a report, or if an
// object has a duplicate key, since programs differ in which one they use.
func Items(report []byte) ([]Item, error) {
	o, err := parseReport(report)
	if err != nil {
		return nil, err
	}
	delete(o, manifestKey)
	return appendItems(nil, "", o), nil
}

func parseReport(b []byte) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	v, err := parseValue(d, 0)
	if err == nil {
		if _, more := d.Token(); more != io.EOF {
			err = errors.New("unexpected text after the JSON object")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("report: %w: %w", concordat.ErrInvalid, err)
	}
	o, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("report: %w: not a JSON object", concordat.ErrInvalid)
	}
	return o, nil
}

// deepest is the maximum nesting depth of a report.
const deepest = 32

// parseValue is like json.Unmarshal, but refuses objects with duplicate keys.
func parseValue(d *json.Decoder, depth int) (any, error) {
	if depth > deepest {
		return nil, errors.New("nested too deeply")
	}
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t {
	case json.Delim('['):
		list := []any{}
		for d.More() {
			v, err := parseValue(d, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := d.Token()
		return list, err
	case json.Delim('{'):
		o := map[string]any{}
		for d.More() {
			k, err := d.Token()
			if err != nil {
				return nil, err
			}
			name := k.(string) // the decoder accepts nothing else before a colon
			if _, twice := o[name]; twice {
				return nil, fmt.Errorf("key %q appears twice", name)
			}
			if o[name], err = parseValue(d, depth+1); err != nil {
				return nil, err
			}
		}
		_, err := d.Token()
		return o, err
	}
	return t, nil
}

// appendItems appends the item for o and the items within it, by name and order.
func appendItems(items []Item, path string, o map[string]any) []Item {
	item := Item{Path: path}
	var whole []byte
	at := len(items)
	items = append(items, item)
	for _, name := range slices.Sorted(maps.Keys(o)) {
		below := name
		if path != "" {
			below = path + "." + name
		}
		var sum [32]byte
		switch v := o[name].(type) {
		case map[string]any:
			if path == "" { // top level, for example scores; deeper objects, for example spans, are values
				sum = sha256.Sum256([]byte("object"))
				items = appendItems(items, below, v)
				break
			}
			sum = sha256.Sum256(canonical(nil, v))
		case []any:
			if !objects(v) {
				sum = sha256.Sum256(canonical(nil, v))
				break
			}
			sum = sha256.Sum256([]byte("list"))
			for i, x := range v {
				items = appendItems(items, below+"["+strconv.Itoa(i)+"]", x.(map[string]any))
			}
		default:
			sum = sha256.Sum256(canonical(nil, v))
		}
		whole = append(binary.BigEndian.AppendUint32(whole, uint32(len(name))), name...)
		whole = append(whole, sum[:]...)
		items[at].Fields = append(items[at].Fields, sum[:hintSize]...)
	}
	items[at].Digest = sha256.Sum256(whole)
	return items
}

// objects reports whether v is a list that contains only objects. An empty list counts too, because an object added to it is a new item.
func objects(v []any) bool {
	return !slices.ContainsFunc(v, func(x any) bool { _, ok := x.(map[string]any); return !ok })
}

// canonical appends a form of v that depends only on its value, not on key order, escapes or the spelling of numbers.
func canonical(b []byte, v any) []byte {
	text := func(kind byte, s string) {
		b = append(binary.BigEndian.AppendUint32(append(b, kind), uint32(len(s))), s...)
	}
	switch v := v.(type) {
	case nil:
		b = append(b, 'z')
	case bool:
		b = append(b, map[bool]byte{true: 't', false: 'f'}[v])
	case string:
		text('s', v)
	case json.Number:
		s := v.String()
		if f, err := v.Float64(); err == nil {
			s = strconv.FormatFloat(f, 'g', -1, 64)
		}
		text('n', s)
	case []any:
		b = binary.BigEndian.AppendUint32(append(b, 'l'), uint32(len(v)))
		for _, x := range v {
			b = canonical(b, x)
		}
	case map[string]any:
		b = binary.BigEndian.AppendUint32(append(b, 'o'), uint32(len(v)))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			text('s', name)
			b = canonical(b, v[name])
		}
	}
	return b
}

// AddManifest returns the output of WriteJSON with the manifest added as its last key.
func AddManifest(report []byte, m *Manifest) ([]byte, error) {
	body, ok := bytes.CutSuffix(bytes.TrimRight(report, "\n"), []byte("\n}"))
	if !ok || m.Version != ManifestVersion {
		return nil, fmt.Errorf("add manifest: %w", concordat.ErrInvalid)
	}
	j := jsonManifest{m.Version, m.Site, m.KeyEpoch, m.At, make([]string, len(m.Items)), m.Signature}
	for i, x := range m.Items {
		j.Items[i] = x.String()
	}
	b, err := json.MarshalIndent(j, "  ", "  ")
	if err != nil {
		return nil, err
	}
	out := append(bytes.Clone(body), ",\n  \""+manifestKey+"\": "...)
	return append(append(out, b...), "\n}\n"...), nil
}

// String returns the item as written in a manifest: path, digest and fields, separated by spaces, the latter two in base64. The path of
// the report itself is written as a full stop.
func (i Item) String() string {
	path := i.Path
	if path == "" {
		path = "."
	}
	return path + " " + base64.RawStdEncoding.EncodeToString(i.Digest[:]) + " " + base64.RawStdEncoding.EncodeToString(i.Fields)
}

func parseItem(s string) (Item, error) {
	bad := fmt.Errorf("manifest: %w: item %.60q", concordat.ErrInvalid, s)
	f := strings.Split(s, " ")
	if len(f) != 3 || f[0] == "" {
		return Item{}, bad
	}
	i := Item{Path: f[0]}
	if i.Path == "." {
		i.Path = ""
	}
	digest, err := base64.RawStdEncoding.Strict().DecodeString(f[1])
	if err != nil || copy(i.Digest[:], digest) != len(digest) || len(digest) != len(i.Digest) {
		return Item{}, bad
	}
	i.Fields, err = base64.RawStdEncoding.Strict().DecodeString(f[2])
	if err != nil || len(i.Fields)%hintSize != 0 {
		return Item{}, bad
	}
	return i, nil
}

// Changes describes the differences between a report and its manifest, in report order. It returns nil if there are none.
func (m *Manifest) Changes(report []byte) ([]string, error) {
	o, err := parseReport(report)
	if err != nil {
		return nil, err
	}
	delete(o, manifestKey)
	items := appendItems(nil, "", o)
	c := changes{was: tree(m.Items), is: tree(items), names: map[string][]string{}}
	fieldNames(c.names, "", o)
	c.compare("", "")
	return c.out, nil
}

// fieldNames records the sorted field names of every item.
func fieldNames(names map[string][]string, path string, o map[string]any) {
	names[path] = slices.Sorted(maps.Keys(o))
	for _, name := range names[path] {
		below := name
		if path != "" {
			below = path + "." + name
		}
		switch v := o[name].(type) {
		case map[string]any:
			if path == "" {
				fieldNames(names, below, v)
			}
		case []any:
			for i, x := range v {
				if o, ok := x.(map[string]any); ok && objects(v) {
					fieldNames(names, below+"["+strconv.Itoa(i)+"]", o)
				}
			}
		}
	}
}

// branch is an item with the items nested in it.
type branch struct {
	Item
	below map[string][]string // paths of the nested items, by field
	whole [32]byte            // digest of the item and everything nested in it
}

// tree returns items as branches, by path.
func tree(items []Item) map[string]*branch {
	all := map[string]*branch{}
	for _, i := range items {
		if all[i.Path] == nil {
			all[i.Path] = &branch{Item: i, below: map[string][]string{}}
		}
	}
	for _, i := range items {
		if i.Path == "" {
			continue
		}
		up, field := "", i.Path
		if dot := strings.LastIndexByte(i.Path, '.'); dot >= 0 {
			up, field = i.Path[:dot], i.Path[dot+1:]
		}
		field, _, _ = strings.Cut(field, "[")
		if b := all[up]; b != nil && !slices.Contains(b.below[field], i.Path) {
			b.below[field] = append(b.below[field], i.Path)
		}
	}
	// Deeper items come first, so that an item's descendants are finished before it.
	paths := slices.Collect(maps.Keys(all))
	sort.Slice(paths, func(i, j int) bool { return strings.Count(paths[i], ".") > strings.Count(paths[j], ".") })
	for _, p := range paths {
		if p != "" {
			all[p].sum(all)
		}
	}
	return all
}

func (b *branch) sum(all map[string]*branch) {
	h := b.Digest[:]
	for _, f := range slices.Sorted(maps.Keys(b.below)) {
		for _, p := range b.below[f] {
			h = append(h[:len(h):len(h)], all[p].whole[:]...)
		}
	}
	b.whole = sha256.Sum256(h)
}

type changes struct {
	was, is map[string]*branch
	names   map[string][]string // field names of the items in the report
	out     []string
}

func (c *changes) say(path, format string, args ...any) {
	c.out = append(c.out, inWords(path)+fmt.Sprintf(format, args...))
}

// compare compares the manifest's item at path was with the report's item at path is.
func (c *changes) compare(was, is string) {
	a, b := c.was[was], c.is[is]
	if a == nil || b == nil {
		c.say(is, " is not in the manifest")
		return
	}
	if a.Digest != b.Digest {
		c.fields(is, a.Item, b.Item)
	}
	fields := maps.Clone(a.below)
	maps.Copy(fields, b.below)
	for _, f := range slices.Sorted(maps.Keys(fields)) {
		c.lists(a.below[f], b.below[f])
	}
}

// fields records the differences within one item.
func (c *changes) fields(path string, was, is Item) {
	names := c.names[path]
	if len(was.Fields) != len(is.Fields) {
		c.say(path, ": a field was added or removed")
		return
	}
	n := 0
	for i, name := range names {
		if !bytes.Equal(was.Fields[i*hintSize:(i+1)*hintSize], is.Fields[i*hintSize:(i+1)*hintSize]) {
			c.say(path, ": %s changed", name)
			n++
		}
	}
	if n == 0 {
		c.say(path, ": changed")
	}
}

// lists compares two lists of items; equal items at either end are unchanged even if their numbers differ; the rest are compared in
// pairs, and any left over were added or removed.
func (c *changes) lists(was, is []string) {
	same := func(a, b string) bool { return c.was[a].whole == c.is[b].whole }
	for len(was) > 0 && len(is) > 0 && same(was[0], is[0]) {
		was, is = was[1:], is[1:]
	}
	for len(was) > 0 && len(is) > 0 && same(was[len(was)-1], is[len(is)-1]) {
		was, is = was[:len(was)-1], is[:len(is)-1]
	}
	for i := range min(len(was), len(is)) {
		c.compare(was[i], is[i])
	}
	for _, p := range was[min(len(was), len(is)):] {
		c.say(p, " was removed")
	}
	for _, p := range is[min(len(was), len(is)):] {
		c.say(p, " was added")
	}
}

// inWords returns a readable form of a path: evidence[2].sources[0] becomes evidence 3, source 1.
func inWords(path string) string {
	if path == "" {
		return "report"
	}
	var parts []string
	for p := range strings.SplitSeq(path, ".") {
		field, index, listed := strings.Cut(strings.TrimSuffix(p, "]"), "[")
		if !listed {
			parts = append(parts, field)
			continue
		}
		if one, ok := singular[field]; ok {
			field = one
		}
		n, _ := strconv.Atoi(index) // always valid for our own items; items of a foreign manifest are only displayed
		parts = append(parts, fmt.Sprintf("%s %d", field, n+1))
	}
	return strings.Join(parts, ", ")
}

var singular = map[string]string{"sources": "source", "parts": "part", "sections": "section", "flags": "flag", "signatures": "signature",
	"statements": "statement", "partners": "partner", "disclosures": "disclosure", "exclude_passages": "excluded passage",
	"count_wording": "counted wording", "wording": "shared wording", "shared_works": "shared works", "exclude_sources": "excluded source"}
