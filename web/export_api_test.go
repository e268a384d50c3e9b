package web

import "concordat/people"

// Scopes are those of tokens, for tests.
var Scopes = people.Scopes

// ReadAdded is readAdded, for tests.
var ReadAdded = readAdded
