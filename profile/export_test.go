package profile

// SortTerms is sortTerms, for tests.
var SortTerms = sortTerms
