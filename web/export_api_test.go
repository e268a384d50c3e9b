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
