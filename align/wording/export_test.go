package wording

import (
	"context"

	"concordat"
)

// Forms returns the sentences and lines of a text that read like a form's, in order and disjoint. It looks only at the text, and its
// result is not a finding: it matters only if another text contains it too.
func Forms(text string) []Form {
	forms, err := NewReader(text).formsIn(context.Background(), concordat.Span{End: len(text)})
	if err != nil {
		panic(err) // cannot happen, because its context does not end
	}
	return forms
}
