package lti

import (
	"slices"
	"strings"
)

// Learns reports whether the message is from a learner in its context.
func (m *Message) Learns() bool {
	return slices.ContainsFunc(m.Roles, func(r string) bool {
		return r == membership+"#Learner" || r == "Learner" || strings.HasPrefix(r, membership+"/Learner#")
	})
}
