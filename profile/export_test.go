package profile

// SortTerms exports sortTerms.
var SortTerms = sortTerms
