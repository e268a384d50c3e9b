package web

import "concordat/people"

// Scopes exports the scopes of tokens.
var Scopes = people.Scopes
