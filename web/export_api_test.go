package web

import "concordat/people"

// Scopes are those of tokens, for tests.
var Scopes = people.Scopes

// CursorOf and ReadCursor are cursorOf and readCursor, for tests.
var (
	CursorOf   = cursorOf
	ReadCursor = readCursor
	ReadAdded  = readAdded
)

// English returns the words for a rule of package people.
func English(r people.Rule) string { return english.rule(r) }
