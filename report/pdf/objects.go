package pdf

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"

	"concordat"
)

// Names of attachments.
const (
	ReportFile  = "report.json" // the report in JSON
	ObjectsFile = "pages.json"  // Objects
)

// ObjectsVersion is the version of Objects in JSON.
const ObjectsVersion = 1

// Objects lists the objects of a file's pages with their digests, so that a changed page can be identified, and names the certificate
// that signs the file. The site signs both; anyone can verify its signature with its card.
type Objects struct {
	Version     int              `json:"version"`
	Site        concordat.SiteID `json:"site"`
	KeyEpoch    uint32           `json:"key_epoch"`
	At          time.Time        `json:"at"` // in whole milliseconds
	Certificate string           `json:"certificate"`
	Objects     []Object         `json:"objects"`
	Signature   []byte           `json:"signature"`
}

// Object is an object in a PDF file.
type Object struct {
	Number int    `json:"object"`
	Page   int    `json:"page,omitempty"` // from 1; 0 for an object shared between pages, for example a font
	Digest string `json:"sha256"`         // digest of its bytes, from its number to endobj
}

// objectsLabel is the prefix of the data hashed by Objects.Sum.
const objectsLabel = "concordat/pdf-pages/1\x00"

// Sum returns the digest to sign: SHA-256 over a label, the certificate's digest, and each object's number and page, as 4 bytes, and
// digest. It fails with concordat.ErrInvalid if a digest is malformed.
func (o *Objects) Sum() ([32]byte, error) {
	b := []byte(objectsLabel)
	add := func(digest string) error {
		raw, err := hex.DecodeString(digest)
		if err != nil || len(raw) != sha256.Size {
			return fmt.Errorf("digest %.70q: %w", digest, concordat.ErrInvalid)
		}
		b = append(b, raw...)
		return nil
	}
	if err := add(o.Certificate); err != nil {
		return [32]byte{}, err
	}
	for _, x := range o.Objects {
		b = binary.BigEndian.AppendUint32(b, uint32(x.Number))
		b = binary.BigEndian.AppendUint32(b, uint32(x.Page))
		if err := add(x.Digest); err != nil {
			return [32]byte{}, err
		}
	}
	return sha256.Sum256(b), nil
}

// ParseObjects parses b as Objects in JSON, or fails with concordat.ErrInvalid.
func ParseObjects(b []byte) (*Objects, error) {
	var o Objects
	if err := json.Unmarshal(b, &o); err != nil {
		return nil, fmt.Errorf("list of pages: %w: %w", concordat.ErrInvalid, err)
	}
	if o.Version != ObjectsVersion {
		return nil, fmt.Errorf("list of pages: %w: version %d, but this program reads %d", concordat.ErrInvalid, o.Version, ObjectsVersion)
	}
	return &o, nil
}

var objectHead = regexp.MustCompile(`(?m)^(\d{1,9}) 0 obj\n`)

// ObjectsOf returns the objects of pages made by Write, excluding structure elements, which contain no text and would make up most of the
// list. If the file was extended, only the original objects, which come first, are listed.
func ObjectsOf(pages []byte) []Object {
	var out []Object
	seen := map[int]bool{}
	next, count := []byte("\nendobj"), pageCount(pages)
	for _, m := range objectHead.FindAllSubmatchIndex(pages, -1) {
		n, _ := strconv.Atoi(string(pages[m[2]:m[3]])) // the pattern matches only digits
		end := bytes.Index(pages[m[1]:], next)
		if end < 0 || seen[n] || bytes.HasPrefix(pages[m[1]:], []byte(elementHead)) {
			continue
		}
		seen[n] = true
		sum := sha256.Sum256(pages[m[0] : m[1]+end])
		x := Object{Number: n, Digest: hex.EncodeToString(sum[:])}
		if page := (n - 1) / 2; page >= 1 && page <= count { // in fpdf, page p is object 1+2p, followed by its content
			x.Page = page
		}
		out = append(out, x)
	}
	slices.SortStableFunc(out, func(a, b Object) int { return a.Number - b.Number })
	return out
}

var counted = regexp.MustCompile(`/Type /Pages\n/Kids \[[0-9 R\n]*\]\n/Count (\d{1,9})`)

func pageCount(b []byte) int {
	m := counted.FindSubmatch(b)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(string(m[1])) // the pattern matches only digits
	return n
}

// Changed returns the pages of a file that differ from the list, in order. other reports whether an object shared between pages changed.
// Both are only hints; the signature covers the file itself.
func (o *Objects) Changed(file []byte) (pages []int, other bool) {
	is := map[int]string{}
	for _, x := range ObjectsOf(file) {
		is[x.Number] = x.Digest
	}
	for _, x := range o.Objects {
		switch {
		case is[x.Number] == x.Digest:
		case x.Page == 0:
			other = true
		case !slices.Contains(pages, x.Page):
			pages = append(pages, x.Page)
		}
	}
	return pages, other
}
