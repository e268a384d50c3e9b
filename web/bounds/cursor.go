package bounds

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"concordat"
)

// maxCursor is the maximum length of a cursor in bytes. A cursor can contain a document ID.
const maxCursor = 4 << 10

// List is a list returned in pages. A cursor consists of the list's name followed by dot-separated parts that state where to continue.
// Each part is a number of at most 18 digits or a text in base64url (RFC 4648, section 5). Cursors are opaque to callers and grant no
// rights.
type List struct {
	name    string
	pattern *regexp.Regexp
}

// Part is the type of one part of a cursor.
type Part string

// The types of parts.
const (
	Number Part = `[0-9]{1,18}`
	Text   Part = `(?:[A-Za-z0-9_-]{4})*(?:[A-Za-z0-9_-][AQgw]|[A-Za-z0-9_-]{2}[AEIMQUYcgkosw048])?`
)

// NewList returns a list whose cursors have the given parts. The name consists of letters and hyphens.
func NewList(name string, parts ...Part) List {
	pattern := name
	for _, p := range parts {
		pattern += `\.` + string(p)
	}
	return List{name, regexp.MustCompile(`^(?:` + pattern + `)?$`)}
}

// Name returns the name of the list.
func (l List) Name() string { return l.name }

// Pattern returns the regular expression that every cursor of the list matches, including the empty one.
func (l List) Pattern() string { return l.pattern.String() }

// Cursor returns a cursor that continues the list at the given parts, which are strings or numbers from 0 to 10^18 - 1.
func (l List) Cursor(at ...any) string {
	c := l.name
	for _, a := range at {
		if s := fmt.Sprint(a); isText(a) {
			c += "." + base64.RawURLEncoding.EncodeToString([]byte(s))
		} else {
			c += "." + s
		}
	}
	return c
}

func isText(a any) bool {
	switch a.(type) {
	case int, int64:
		return false
	}
	return true
}

// Read parses a cursor of the list into pointers of type *int, *int64 or *string, one for each value passed to Cursor. An empty cursor
// leaves the values unchanged. Read returns concordat.ErrInvalid for a cursor that does not match the list's pattern.
func (l List) Read(cursor string, at ...any) error {
	if cursor == "" {
		return nil
	}
	parts := strings.Split(cursor, ".")
	if len(cursor) > maxCursor || !l.pattern.MatchString(cursor) || len(parts) != len(at)+1 {
		return fmt.Errorf("%w: the cursor belongs to a different list", concordat.ErrInvalid)
	}
	for i, p := range at {
		if err := readPart(parts[i+1], p); err != nil {
			return fmt.Errorf("%w: the cursor belongs to a different list", concordat.ErrInvalid)
		}
	}
	return nil
}

func readPart(part string, into any) (err error) {
	switch into := into.(type) {
	case *int:
		*into, err = strconv.Atoi(part)
	case *int64:
		*into, err = strconv.ParseInt(part, 10, 64)
	case *string:
		var b []byte
		b, err = base64.RawURLEncoding.Strict().DecodeString(part)
		*into = strings.ReplaceAll(strings.ToValidUTF8(string(b), "\uFFFD"), "\x00", "") // databases require valid UTF-8 without NUL
	default:
		panic(fmt.Sprintf("a part of a cursor of type %T", into))
	}
	return err
}

// PageInput is the input that requests one page of a list. Like other shared inputs, it is exported because huma reads only fields of
// exported types.
type PageInput struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"50" doc:"Maximum number of entries in the page"`
	Cursor string `query:"cursor" maxLength:"4096" doc:"next of the previous page; empty: the first page"`
}

// PageOf returns the requested page of a list in memory and the cursor of the next page, which is empty after the last page. Entries must
// be sorted by key in ascending order, and keys must be unique. The list's cursors contain the key as text. PageOf does not change the
// list.
func PageOf[T any, K ~string](in *PageInput, list List, all []T, key func(T) K) (page []T, next string, err error) {
	var after string
	if err := list.Read(in.Cursor, &after); err != nil {
		return nil, "", err
	}
	page = slices.SortedFunc(slices.Values(all), func(a, b T) int { return cmp.Compare(key(a), key(b)) })
	if in.Cursor != "" {
		page = slices.DeleteFunc(page, func(x T) bool { return string(key(x)) <= after })
	}
	if len(page) > in.Limit {
		page = page[:in.Limit]
		next = list.Cursor(key(page[len(page)-1]))
	}
	return page, next, nil
}
