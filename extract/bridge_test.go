package extract

// For the tests of package extract_test.
var (
	CorpusDir = corpus
	ListFiles = files
)
