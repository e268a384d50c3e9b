package wording

import (
	"context"

	"concordat"
)

// Forms returns the sentences and lines of a text that read like those of a form, in order and disjoint. It looks at the text alone
// and is not a finding: what it returns matters only if another text contains it too.
func Forms(text string) []Form {
	forms, err := NewReader(text).formsIn(context.Background(), concordat.Span{End: len(text)})
	if err != nil {
		panic(err) // its context does not end
	}
	return forms
}
