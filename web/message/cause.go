package message

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"concordat"
	"concordat/report/language"
	"concordat/store"
)

// causes are the codes from package extract that have a message and advice in every language.
var causes = map[store.CauseCode]bool{"no_text_layer": true, "empty": true, "encrypted": true, "damaged": true,
	"unsupported": true, "limit": true, "timeout": true, "crashed": true, "binary": true, "encoding": true, "archive": true,
	"unreadable": true}

// IsSiteFault reports whether a task with this cause failed because of a fault of the site.
func IsSiteFault(c store.Cause) bool {
	switch c.Code {
	case store.CauseCrashed:
		return true
	case store.CauseCancelled, store.CauseDeleted, store.CauseQuota:
		return false
	}
	return !causes[c.Code]
}

// Cause explains why a task ended and what can be done about it.
func (l Language) Cause(c store.Cause) string {
	switch c.Code {
	case store.CauseAdded:
		return l.Say("cause.added", c.Number(0), c.Number(1), c.Number(2), c.Number(3))
	case store.CauseSplit:
		return l.Say("cause.split", c.Number(0))
	case store.CauseUnread:
		return l.Say("cause.unread", c.Number(0), c.Number(1))
	case store.CauseCancelled:
		return l.Say("cause.cancelled", c.Who)
	case store.CauseGivenUp:
		return l.Say("cause.given up", c.Number(0)) + l.Say("cause.given up.how")
	case store.CauseDeleted:
		return l.Say("cause.deleted")
	case store.CauseQuota:
		kind := l.Say("quota." + c.Detail)
		if c.Number(3) == 0 {
			return l.Say("quota.never", kind, c.Number(0), c.Number(2))
		}
		return l.Say("quota.used", kind, c.Number(1), c.Number(2), time.Unix(int64(c.Number(3)), 0).UTC().Format(store.QuotaTime))
	case store.CauseFault:
		return l.Say("cause.fault")
	}
	if !causes[c.Code] {
		return c.String()
	}
	words := l.Say("cause." + string(c.Code))
	if c.Detail != "" {
		words += l.Say("colon") + l.detail(c.Detail)
	}
	words += l.Say("stop")
	if c.Code == store.CauseLimit && c.Advice != "" { // the advice states the limit
		return words + l.Say("cause.limit.how", c.Advice)
	}
	return words + l.Say("cause."+string(c.Code)+".how")
}

var numerals = regexp.MustCompile(`[0-9]+`)

// detail translates package extract's description of a file that it cannot read. The English text, with {1}, {2} in place of numbers, is
// the key. A message without a translation, such as one from a library, is shown untranslated.
func (l Language) detail(english string) string {
	if words, ok := language.Code(l).Lookup(english); ok {
		return words
	}
	var numbers []string // arguments for strings.NewReplacer
	key := numerals.ReplaceAllStringFunc(english, func(number string) string {
		numbers = append(numbers, "{"+strconv.Itoa(len(numbers)/2+1)+"}", number)
		return numbers[len(numbers)-2]
	})
	if words, ok := language.Code(l).Lookup(key); ok {
		return strings.NewReplacer(numbers...).Replace(words)
	}
	return english
}

// LeftOut returns a sentence about the files skipped in archives, or "" if none were skipped.
func (l Language) LeftOut(out concordat.LeftOut) string {
	if out.IsZero() {
		return ""
	}
	count := l.Say("leftout.many", out.Count)
	if out.Count == 1 {
		count = l.Say("leftout.one")
	}
	if len(out.Names) == 0 {
		return count + strings.TrimSpace(l.Say("stop"))
	}
	names := strings.Join(out.Names, l.Say("comma"))
	if more := out.Count - len(out.Names); more > 0 {
		names += l.Say("comma") + l.Say("leftout.more", more)
	}
	return count + l.Say("colon") + names + strings.TrimSpace(l.Say("stop"))
}
