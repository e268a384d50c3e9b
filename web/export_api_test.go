package web

// Scopes are those of tokens, for tests.
var Scopes = scopes

// CursorOf and ReadCursor are cursorOf and readCursor, for tests.
var (
	CursorOf   = cursorOf
	ReadCursor = readCursor
	ReadAdded  = readAdded
)
