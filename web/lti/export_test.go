package lti

import (
	"slices"
	"strings"
)

// Learns reports whether the message is of somebody who learns in the context it comes from.
func (m *Message) Learns() bool {
	return slices.ContainsFunc(m.Roles, func(r string) bool {
		return r == membership+"#Learner" || r == "Learner" || strings.HasPrefix(r, membership+"/Learner#")
	})
}
