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

// Keys under which a file describes its language.
const (
	keyName     = "language.name"     // the language's name for itself
	keyJoin     = "language.join"     // separator between sentences
	keyTime     = "language.time"     // layout of a date and time, as for time.Format
	keyPercent  = "language.percent"  // a percentage, with {n} for the number
	keyDecimal  = "language.decimal"  // the decimal mark
	keyGroup    = "language.group"    // the mark between groups of three digits
	keySingular = "language.singular" // "yes" if singular and plural differ
)

//go:embed *.json
var files embed.FS

// tables maps each language to a function that returns the language's texts by key. A file is parsed when one of its texts is first
// needed, so a command that writes no report parses no files. The files are embedded in the program, and a test parses all of them.
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

// table returns the texts of language c by key, or nil if there is no such language.
func (c Code) table() map[string]string {
	read, ok := tables()[Code(c.Tag())]
	if !ok {
		return nil
	}
	return read()
}

// All returns every language: English, then the others in order of their tags.
func All() []Code {
	codes := slices.Sorted(maps.Keys(tables()))
	codes = slices.DeleteFunc(codes, func(c Code) bool { return c == English })
	return append([]Code{English}, codes...)
}

// Short returns the names by which flags and settings select a language, in the order of All: en, zh.
func Short() []string {
	var out []string
	for _, c := range All() {
		out = append(out, base(string(c)))
	}
	return out
}

// Parse returns the language of a tag, for example en, zh, zh-CN or zh_Hans, judging by its first part. The empty tag is English.
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

// Tag returns the BCP 47 tag, for use in HTML.
func (c Code) Tag() string {
	if c == "" {
		return string(English)
	}
	return string(c)
}

// Lookup returns the text for a key in language c; ok is false if its file has none.
func (c Code) Lookup(key string) (text string, ok bool) {
	text, ok = c.table()[key]
	return text, ok
}

// Say returns the text for a key in language c, formatted with args as by fmt.Sprintf. Translations can use the arguments in a different
// order. If c lacks the text, Say uses English; if English lacks it too, it uses the key.
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

// Noun returns the word for n things, given the English singular and plural. A language without plural forms has only the plural text.
func (c Code) Noun(n int, one, many string) string {
	if n == 1 && c.Say(keySingular) == "yes" {
		return c.Say(one)
	}
	return c.Say(many)
}

// Name returns the language's name for itself.
func (c Code) Name() string { return c.Say(keyName) }

// Join joins sentences with the language's separator.
func (c Code) Join(sentences []string) string { return strings.Join(sentences, c.Say(keyJoin)) }

// Percent formats a number, given as Go prints it, as a percentage: 4.5% in English, and 4,5 % in German, with a no-break space.
func (c Code) Percent(number string) string {
	return strings.Replace(c.Say(keyPercent), "{n}", c.Decimal(number), 1)
}

// Decimal formats a number, given as Go prints it, with the language's decimal mark.
func (c Code) Decimal(number string) string {
	return strings.Replace(number, ".", c.Say(keyDecimal), 1)
}

// GroupMark returns the mark between groups of three digits.
func (c Code) GroupMark() string { return c.Say(keyGroup) }

// TimeLayout returns the layout for a date and time in UTC, for use with time.Time.Format.
func (c Code) TimeLayout() string { return c.Say(keyTime) }

// Keys returns the keys of all page texts in English, sorted.
func Keys() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(English.table())), func(k string) bool { return strings.HasPrefix(k, "language.") })
}

// Table returns a copy of the texts of language c by key.
func (c Code) Table() map[string]string { return maps.Clone(c.table()) }
