package message

import "concordat/store"

// causes are the codes with which a task's cause begins and for which there are words and advice in
// every language: those of package extract, and those of the queue.
var causes = map[string]bool{"no_text_layer": true, "empty": true, "encrypted": true, "damaged": true, "unsupported": true, "limit": true,
	"timeout": true, "crashed": true, "binary": true, "encoding": true, "archive": true, "unreadable": true, "given up": true}

// IsSiteFault reports whether a task with this cause failed by a fault of the site.
func IsSiteFault(cause string) bool {
	c := store.ReadCause(cause)
	return c.Code != store.CauseCancelled && (!causes[c.Code] || c.Code == store.CauseGivenUp || c.Code == "crashed")
}

// Cause says in words why a task ended as it did, and what can be done about it.
func (l Language) Cause(cause string) string {
	c := store.ReadCause(cause)
	switch {
	case cause == "":
		return ""
	case c.Code == store.CauseAdded && len(c.Numbers) == 4:
		return l.Say("cause.added", c.Numbers[0], c.Numbers[1], c.Numbers[2], c.Numbers[3])
	case c.Code == store.CauseSplit && len(c.Numbers) == 1:
		return l.Say("cause.split", c.Numbers[0])
	case c.Code == store.CauseCancelled:
		return l.Say("cause.cancelled", c.Who)
	case !causes[c.Code]:
		return cause
	}
	words := l.Say("cause." + c.Code)
	if c.Detail != "" {
		words += l.Say("colon") + c.Detail
	}
	words += l.Say("stop")
	if c.Code == "limit" && c.Advice != "" { // it names the limit
		return words + l.Say("cause.limit.how", c.Advice)
	}
	return words + l.Say("cause."+c.Code+".how")
}
