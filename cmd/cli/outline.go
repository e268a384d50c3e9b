package cli

import (
	"github.com/spf13/cobra"

	"concordat"
	"concordat/store"
)

// noOutline is the flag value for no outlines.
const noOutline = "none"

// AddOutline adds the flag for the form in which matching documents are shown.
func AddOutline(c *cobra.Command, to *string) {
	c.Flags().StringVar(to, "outline", store.DefaultShareRule().Outline,
		"form in which matching documents are shown for alignment: words, fingerprints or none")
	c.RegisterFlagCompletionFunc("outline", cobra.FixedCompletions(
		[]string{concordat.OutlineWords, concordat.OutlineFingerprints, noOutline}, cobra.ShellCompDirectiveNoFileComp))
}

// OutlineForm converts a flag value to the form that a rule stores.
func OutlineForm(word string) string {
	if word == noOutline {
		return ""
	}
	return word
}
