package web_test

const (
	thesisCharacters = 600_000 // about 300 pages, 100,000 words
	thesisPassages   = 2_000
	thesisSources    = 300
)
