package extract

import (
	"encoding/xml"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// scanned returns the tokens of s as read by the scanner, and whether the scanner stopped at a fault.
func scanned(s string) (out []string, bad bool) {
	x := xmlScan{s: s}
	for {
		kind, err := x.next()
		if err != nil {
			return out, err.Error() != "EOF"
		}
		switch kind {
		case xmlStart:
			out = append(out, fmt.Sprintf("<%v %v", x.name, append([]xml.Attr{}, x.attrs...)))
		case xmlStop:
			out = append(out, fmt.Sprintf("/%v", x.name))
		case xmlChars:
			if x.text != "" {
				out = append(out, fmt.Sprintf("%q", x.text))
			}
		}
	}
}

// decoded returns the same for encoding/xml.
func decoded(s string) (out []string, bad bool) {
	d := xml.NewDecoder(strings.NewReader(s))
	d.Strict = false
	d.Entity = xml.HTMLEntity
	for {
		t, err := d.RawToken()
		if err != nil {
			return out, err.Error() != "EOF"
		}
		switch t := t.(type) {
		case xml.StartElement:
			out = append(out, fmt.Sprintf("<%v %v", t.Name, t.Attr))
		case xml.EndElement:
			out = append(out, fmt.Sprintf("/%v", t.Name))
		case xml.CharData:
			if len(t) > 0 {
				out = append(out, fmt.Sprintf("%q", string(t)))
			}
		}
	}
}

func sameScan(t *testing.T, s string) {
	if s = strings.ToValidUTF8(s, "?"); strings.Contains(s, "<?xml") {
		return // encoding/xml rejects some versions and encodings
	}
	got, bad := scanned(s)
	want, wantBad := decoded(s)
	if bad != wantBad || strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Fatalf("%q: got %v, fault %v; encoding/xml has %v, fault %v", s, got, bad, want, wantBad)
	}
}

var xmlScanSeeds = []string{
	`<!DOCTYPE a [<!ENTITY b "<c>"> <!-- "' --> ]><w:p w:val="1" b='2' c=d e><w:t xml:space="preserve">a &amp; b&nbsp;&lt;&#x41;&#66;</w:t><w:br/></w:p>`,
	`<a><![CDATA[<b>&amp;]]]]><!-- a - b --><?go on?><b  c = "x&quot;y" /></a >` + "\r\n\r tail",
	`<a b="&unknown; & &#; &#x110000; &#xd800;">&;&a&b;</a>`,
	`<é中:b ö="ü">text ]] > ]>` + "\ufffd</é中:b>",
}

// TestXMLScan compares the scanner with encoding/xml on random combinations of markup.
func TestXMLScan(t *testing.T) {
	for _, s := range xmlScanSeeds {
		sameScan(t, s)
	}
	pieces := []string{"<", ">", "/", "&", ";", "#", "x", "=", `"`, "'", "a", "b:c", ":", "-", "--", "!", "?", "[", "]", "]]>",
		"<![CDATA[", "<!--",
		"-->",
		"<!D", " ", "\r", "\n", "\r\n", "é", "\x01", "\ufffe", "&amp;", "&#10;", "&eacute;", "<a>", "</a>",
		"<b c='d'/>", "<?p", "?>", "1", ".", "DATA"}
	rnd := rand.New(rand.NewPCG(35, 3))
	for range 60000 {
		var s strings.Builder
		if rnd.IntN(2) == 0 {
			s.WriteString("<a>")
		}
		for range 1 + rnd.IntN(12) {
			s.WriteString(pieces[rnd.IntN(len(pieces))])
		}
		sameScan(t, s.String())
	}
}

func FuzzXMLScan(f *testing.F) {
	for _, s := range xmlScanSeeds {
		f.Add(s)
	}
	f.Fuzz(sameScan)
}
