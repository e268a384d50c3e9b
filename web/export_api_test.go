package web

import "concordat/people"

// Scopes are those of tokens, for tests.
var Scopes = people.Scopes
