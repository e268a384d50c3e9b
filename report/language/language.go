package language

import (
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Code is the BCP 47 tag of a language that has a file here. The zero value is English.
type Code string

// English is the language in which every text exists.
const English Code = "en"

// The keys with which a file describes its language.
const (
	keyName     = "language.name"     // the language's own name for itself
	keyJoin     = "language.join"     // text between two sentences
	keyTime     = "language.time"     // layout of a date with its time, as for time.Format
	keyPercent  = "language.percent"  // a number in percent, {n} being the number
	keyDecimal  = "language.decimal"  // the decimal mark
	keySingular = "language.singular" // yes: singular and plural differ
)

//go:embed *.json
var files embed.FS

// tables returns, for every language, a function that returns its texts by their keys. A file is read when one of its texts is first
// needed: a command that writes no report reads none. The files are part of the program, and a test reads each of them.
var tables = sync.OnceValue(func() map[Code]func() map[string]string {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(err)
	}
	all := map[Code]func() map[string]string{}
	for _, e := range entries {
		all[Code(strings.TrimSuffix(e.Name(), ".json"))] = sync.OnceValue(func() map[string]string { return read(e.Name()) })
	}
	return all
})

func read(name string) map[string]string {
	text, err := files.ReadFile(name)
	if err != nil {
		panic(err)
	}
	table := map[string]string{}
	if err := json.Unmarshal(text, &table); err != nil {
		panic(fmt.Sprintf("%s: %v", name, err))
	}
	return table
}

// table returns the texts of language c by their keys, or none if there is no such language.
func (c Code) table() map[string]string {
	read, ok := tables()[Code(c.Tag())]
	if !ok {
		return nil
	}
	return read()
}

// All returns every language: English, then the others by their tags.
func All() []Code {
	codes := slices.Sorted(maps.Keys(tables()))
	codes = slices.DeleteFunc(codes, func(c Code) bool { return c == English })
	return append([]Code{English}, codes...)
}

// Short returns the names with which flags and settings choose a language, in the order of All: en, zh.
func Short() []string {
	var out []string
	for _, c := range All() {
		out = append(out, base(string(c)))
	}
	return out
}

// Parse returns the language of a tag, for example en, zh, zh-CN or zh_Hans, by its first part. The empty tag is English.
func Parse(tag string) (c Code, ok bool) {
	if tag == "" {
		return English, true
	}
	for _, c := range All() {
		if base(string(c)) == base(tag) {
			return c, true
		}
	}
	return "", false
}

// base returns the first part of a tag, in lower case.
func base(tag string) string {
	first, _, _ := strings.Cut(strings.ToLower(strings.ReplaceAll(tag, "_", "-")), "-")
	return strings.TrimSpace(first)
}

// Tag returns the BCP 47 tag, as used in HTML.
func (c Code) Tag() string {
	if c == "" {
		return string(English)
	}
	return string(c)
}

// Lookup returns the text of a key in language c, or ok false if its file has none.
func (c Code) Lookup(key string) (text string, ok bool) {
	text, ok = c.table()[key]
	return text, ok
}

// Say returns the text of a key in language c, with its verbs replaced by args as in fmt.Sprintf. Translations may
// take the arguments in another order. If c lacks the text, it is English, and if English lacks it too, it is the
// key itself.
func (c Code) Say(key string, args ...any) string {
	text, ok := c.Lookup(key)
	if !ok {
		if text, ok = English.Lookup(key); !ok {
			text = key
		}
	}
	if len(args) == 0 {
		return text
	}
	return fmt.Sprintf(text, args...)
}

// Noun returns the word for n things, given the English words for one and for many. A language whose words have only one form has a text
// only for many.
func (c Code) Noun(n int, one, many string) string {
	if n == 1 && c.Say(keySingular) == "yes" {
		return c.Say(one)
	}
	return c.Say(many)
}

// Name returns the language's name for itself.
func (c Code) Name() string { return c.Say(keyName) }

// Join joins sentences.
func (c Code) Join(sentences []string) string { return strings.Join(sentences, c.Say(keyJoin)) }

// Percent returns a number, given as Go prints it, in percent: 4.5% in English, and 4,5 % in German, with a no-break space.
func (c Code) Percent(number string) string {
	return strings.Replace(c.Say(keyPercent), "{n}", c.Decimal(number), 1)
}

// Decimal returns a number, given as Go prints it, with the decimal mark of the language.
func (c Code) Decimal(number string) string {
	return strings.Replace(number, ".", c.Say(keyDecimal), 1)
}

// TimeLayout returns the layout of a date with its time in UTC, as time.Time.Format takes it.
func (c Code) TimeLayout() string { return c.Say(keyTime) }

// Keys returns the keys of the words of pages, sorted: all those that English has.
func Keys() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(English.table())), func(k string) bool { return strings.HasPrefix(k, "language.") })
}

// Table returns a copy of the texts of language c by their keys.
func (c Code) Table() map[string]string { return maps.Clone(c.table()) }
