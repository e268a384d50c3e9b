package bounds

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"

	"concordat"
)

// mostCursor bounds a cursor, in bytes: it may hold the id of a document.
const mostCursor = 4 << 10

// CursorOf returns a cursor: the name of its list and where to go on. Who holds it takes it for a
// whole; it gives no rights.
func CursorOf(list string, at ...any) string {
	b, err := json.Marshal(append([]any{list}, at...))
	if err != nil {
		panic(err) // strings and numbers
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// ReadCursor reads a cursor of a list into at, pointers to as many strings and numbers as it holds. An
// empty one leaves them as they are. It fails with concordat.ErrNotFound for one that names no place of this list.
func ReadCursor(cursor, list string, at ...any) error {
	if cursor == "" {
		return nil
	}
	bad := fmt.Errorf("%w: the cursor is not one of this list", concordat.ErrNotFound)
	if len(cursor) > mostCursor {
		return bad
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil {
		return bad
	}
	var parts []json.RawMessage
	var name string
	if json.Unmarshal(b, &parts) != nil || len(parts) != len(at)+1 || json.Unmarshal(parts[0], &name) != nil || name != list {
		return bad
	}
	for i, p := range at {
		if json.Unmarshal(parts[i+1], p) != nil {
			return bad
		}
	}
	return nil
}

// PageInput asks for one page of a list. It and the other inputs that operations share are exported
// because huma reads the fields of exported ones only.
type PageInput struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"50" doc:"Most entries of the page"`
	Cursor string `query:"cursor" maxLength:"4096" doc:"next of the page before; empty: the first page"`
}

// PageOf returns the page that in asks for of a list that is in memory, and the cursor of the next one; empty: it
// is the last. Entries come in ascending order of key, which no two share. The list is not changed.
func PageOf[T any, K cmp.Ordered](in *PageInput, list string, all []T, key func(T) K) (page []T, next string, err error) {
	var after K
	if err := ReadCursor(in.Cursor, list, &after); err != nil {
		return nil, "", err
	}
	page = slices.SortedFunc(slices.Values(all), func(a, b T) int { return cmp.Compare(key(a), key(b)) })
	if in.Cursor != "" {
		page = slices.DeleteFunc(page, func(x T) bool { return key(x) <= after })
	}
	if len(page) > in.Limit {
		page = page[:in.Limit]
		next = CursorOf(list, key(page[len(page)-1]))
	}
	return page, next, nil
}
