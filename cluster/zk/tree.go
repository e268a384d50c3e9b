package zk

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	zkclient "github.com/go-zookeeper/zk"

	"concordat"
	"concordat/cluster/coord"
)

// tree names the znodes of one site; doc/cluster.md describes the content of each.
type tree struct {
	root string
	acl  []zkclient.ACL
}

func newTree(o Options) tree {
	t := tree{o.Root, zkclient.WorldACL(zkclient.PermAll)}
	if o.Account.User != "" {
		t.acl = zkclient.DigestACL(zkclient.PermAll, o.Account.User, o.Account.password)
	}
	return t
}

func (t tree) site() string                           { return t.root + "/site" }
func (t tree) live() string                           { return t.root + "/live" }
func (t tree) shards() string                         { return t.root + "/shards" }
func (t tree) nodes() string                          { return t.root + "/nodes" }
func (t tree) incarnation(i coord.Incarnation) string { return t.live() + "/" + escape(string(i)) }
func (t tree) shard(id concordat.ShardID) string      { return t.shards() + "/" + escape(string(id)) }
func (t tree) node(n coord.NodeID) string             { return t.nodes() + "/" + escape(string(n)) }

// maxName is the maximum length of a name within the tree, in bytes before escaping.
const maxName = 255

// escape converts any name to one level of a path, as in a URL; it also escapes names that consist only of dots.
func escape(name string) string {
	e := url.PathEscape(name)
	if strings.Trim(e, ".") == "" {
		e = strings.ReplaceAll(e, ".", "%2E")
	}
	return e
}

// unescape is the inverse of escape.
func unescape(level string) (string, bool) {
	name, err := url.PathUnescape(level)
	return name, err == nil && name != "" && len(name) <= maxName && escape(name) == level
}

// treeFormat is the format of the content of znodes.
const treeFormat = 1

// siteRecord is the content of the site znode.
type siteRecord struct {
	Format  int              `json:"format"`
	Site    concordat.SiteID `json:"site"`
	Scheme  string           `json:"scheme"`
	Cluster string           `json:"cluster"` // 32 hexadecimal digits, drawn at random when the cluster was founded
}

// nodeRecord is the content of a znode below nodes, which identifies the installation that owns the name.
type nodeRecord struct {
	Instance string `json:"instance"` // 32 hexadecimal digits, drawn at random at its first start
}

var drawn = regexp.MustCompile(`^[0-9a-f]{32}$`)

// decode parses the JSON of a znode into v. Unknown members are allowed, since a later version may add some.
func decode(what string, b []byte, v any) error {
	if err := json.NewDecoder(bytes.NewReader(b)).Decode(v); err != nil {
		return fmt.Errorf("znode %s: %w: %w", what, concordat.ErrCorrupt, err)
	}
	return nil
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // these types can always be encoded
	}
	return b
}

func decodeSite(b []byte) (siteRecord, error) {
	var s siteRecord
	if err := decode("site", b, &s); err != nil {
		return s, err
	}
	switch {
	case s.Format != treeFormat:
		return s, fmt.Errorf("the cluster's znodes have format version %d, but this program supports version %d: %w", s.Format, treeFormat, concordat.ErrInvalid)
	case s.Site == "" || !drawn.MatchString(s.Cluster):
		return s, fmt.Errorf("znode site is missing the name of the site or of the cluster: %w", concordat.ErrCorrupt)
	}
	return s, nil
}

func decodeShard(id concordat.ShardID, b []byte, version int32) (coord.Shard, error) {
	s := coord.Shard{Version: int64(version)}
	if err := decode("shards/"+escape(string(id)), b, &s.State); err != nil {
		return s, err
	}
	if err := s.State.Validate(); err != nil {
		return s, fmt.Errorf("znode shards/%s: %w: %w", escape(string(id)), concordat.ErrCorrupt, err)
	}
	return s, nil
}

// decodeLive decodes a znode below live, named after the incarnation.
func decodeLive(name string, b []byte) (coord.Node, error) {
	var n coord.Node
	if err := decode("live/"+name, b, &n); err != nil {
		return n, err
	}
	if i, ok := unescape(name); !ok || string(n.Incarnation) != i || !ofNode(n.ID, i) {
		return n, fmt.Errorf("znode live/%s contains the wrong incarnation, %q of node %q: %w", name, n.Incarnation, n.ID, concordat.ErrCorrupt)
	}
	return n, nil
}

// ofNode reports whether an incarnation belongs to node n, that is, consists of the node's name, a colon, and further characters.
func ofNode(n coord.NodeID, incarnation string) bool {
	of, _, ok := strings.Cut(incarnation, ":")
	return ok && n != "" && of == string(n)
}

// checkName refuses a name that cannot be a level of a path.
func checkName(name string) error {
	if name == "" || len(name) > maxName {
		return fmt.Errorf("the name has %d bytes, want 1 to %d: %w", len(name), maxName, concordat.ErrInvalid)
	}
	return nil
}

func (t tree) document(d Document) string { return t.root + "/" + string(d) }

// past returns the path of one version of the document at p.
func past(p string, version int64) string { return fmt.Sprintf("%s/%010d", p, version) }

// parsePast returns the version in a name created by past.
func parsePast(level string) (int64, bool) {
	v, err := strconv.ParseInt(level, 10, 64)
	return v, err == nil && v > 0 && len(level) == 10
}

// ancestors returns p and the znodes above it, highest first.
func ancestors(p string) []string {
	var all []string
	for ; p != "/"; p = path.Dir(p) {
		all = append(all, p)
	}
	slices.Reverse(all)
	return all
}
