package web_test

import "concordat/internal/webtest"

const (
	thesisCharacters = 600_000 // about 300 pages, 100,000 words
	thesisPassages   = 2_000
	thesisSources    = 300
)

// Two texts that share nothing.
const (
	ledger = webtest.Ledger
	keeper = webtest.Keeper
)
