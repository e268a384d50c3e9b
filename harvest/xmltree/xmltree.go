package xmltree

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
)

// Node is an element.
type Node struct {
	Name  string // local name
	Space string // address of the namespace, or its prefix if undeclared
	Attrs []xml.Attr
	Text  string // text of the element, excluding its children
	Kids  []*Node
}

const (
	maxDepth = 100
	maxNodes = 500_000
)

var errBounds = errors.New("the XML is nested too deeply or has too many elements")

// Parse parses one element and its content. Pass bytes through Clean first.
func Parse(b []byte) (*Node, error) {
	d := xml.NewDecoder(bytes.NewReader(b))
	d.Strict = false // accept attributes without quotes and unknown entities
	d.Entity = xml.HTMLEntity
	d.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil } // Clean has decoded it
	// Comments and children split the text of an element into pieces, which are joined at its end in linear time.
	type element struct {
		*Node
		text []byte
	}
	var open []element
	count := 0
	for {
		t, err := d.Token()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		switch t := t.(type) {
		case xml.StartElement:
			n := &Node{Name: t.Name.Local, Space: t.Name.Space, Attrs: t.Attr}
			if count++; count > maxNodes || len(open) > maxDepth {
				return nil, errBounds
			}
			if len(open) > 0 {
				at := open[len(open)-1]
				at.Kids = append(at.Kids, n)
			}
			open = append(open, element{Node: n})
		case xml.EndElement:
			last := open[len(open)-1]
			last.Text = string(last.text)
			if open = open[:len(open)-1]; len(open) == 0 {
				return last.Node, nil
			}
		case xml.CharData:
			if len(open) > 0 {
				at := &open[len(open)-1]
				at.text = append(at.text, t...)
			}
		}
	}
}

var declared = regexp.MustCompile(`^\s*<\?xml[^>]*encoding\s*=\s*["']([A-Za-z0-9._-]{1,40})["']`)

// Clean converts text to UTF-8 and removes characters that XML forbids. encoding is the encoding stated by the media type; if it is
// empty, the encoding that the text declares applies.
func Clean(b []byte, encoding string) []byte {
	b = bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))
	if m := declared.FindSubmatch(b[:min(len(b), 300)]); m != nil {
		encoding = string(m[1])
	}
	wide := len(b) > 1 && (b[0] == 0xff && b[1] == 0xfe || b[0] == 0xfe && b[1] == 0xff)
	if !utf8.Valid(b) || wide { // valid UTF-8 is read as UTF-8, whatever the declared encoding
		if wide {
			encoding = "utf-16"
		}
		if e, _ := charset.Lookup(encoding); e != nil && !strings.EqualFold(encoding, "utf-8") {
			if out, err := e.NewDecoder().Bytes(b); err == nil {
				b = out
			}
		}
	}
	return bytes.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\r' && r != '\t' || r == 0xfffe || r == 0xffff || r >= 0xd800 && r <= 0xdfff {
			return -1
		}
		return r
	}, bytes.ToValidUTF8(b, []byte("\ufffd")))
}

// Find returns the elements with a local name, in order; n itself can be among them. It does not search inside the elements that it
// finds.
func (n *Node) Find(name string) (out []*Node) {
	if n == nil {
		return nil
	}
	if n.Name == name {
		return []*Node{n}
	}
	for _, k := range n.Kids {
		out = append(out, k.Find(name)...)
	}
	return out
}

// First returns the first element with a local name, or nil if there is none.
func (n *Node) First(name string) *Node {
	if n == nil || n.Name == name {
		return n
	}
	for _, k := range n.Kids {
		if f := k.First(name); f != nil {
			return f
		}
	}
	return nil
}

// Attr returns the attribute with a local name, or an empty string if there is none.
func (n *Node) Attr(name string) string {
	if n == nil {
		return ""
	}
	for _, a := range n.Attrs {
		if a.Name.Local == name {
			return strings.TrimSpace(a.Value)
		}
	}
	return ""
}

// Words returns the text of the element and its descendants, with single spaces.
func (n *Node) Words() string {
	if n == nil {
		return ""
	}
	var b strings.Builder
	n.words(&b)
	return strings.Join(strings.Fields(b.String()), " ")
}

func (n *Node) words(b *strings.Builder) {
	b.WriteString(n.Text)
	for _, k := range n.Kids {
		b.WriteByte(' ')
		k.words(b)
	}
}

// Texts returns the words of all elements with a local name, omitting elements without words.
func (n *Node) Texts(name string) (out []string) {
	for _, f := range n.Find(name) {
		if t := f.Words(); t != "" {
			out = append(out, t)
		}
	}
	return out
}

// String returns the name of the element.
func (n *Node) String() string { return fmt.Sprintf("<%s>", n.Name) }
