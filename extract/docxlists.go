package extract

import (
	"strconv"
	"strings"
	"unicode"
)

// docxLists contains a document's numberings with words in their labels (ECMA-376 part 1, section 17.9); plain numbers and bullets are
// left out, since they are not text.
type docxLists struct {
	abstract map[string]map[int]*docxLevel // by abstract numbering and level
	num      map[string]string             // numbering -> abstract numbering
	override map[string]map[int]*docxLevel // by numbering and level
	counts   map[string][]int              // latest number on each level, by numbering

	inAbstract, inNum string // currently being read
	level             *docxLevel
	levelNumber       int
}

// docxLevel describes how a level of a list is labelled.
type docxLevel struct {
	format, text string
	start        int
}

// docxItem is the place of a paragraph in a list; an empty id means no list.
type docxItem struct {
	id    string
	level int
	done  bool // its label was written
}

// maxListLevels is the maximum number of list levels; Word has nine.
const maxListLevels = 9

func newDocxLists() *docxLists {
	return &docxLists{abstract: map[string]map[int]*docxLevel{}, num: map[string]string{}, override: map[string]map[int]*docxLevel{},
		counts: map[string][]int{}}
}

func (l *docxLists) start(name string, a attrs) {
	switch name {
	case "w:abstractNum":
		l.inAbstract = a.get("abstractNumId")
		l.abstract[l.inAbstract] = map[int]*docxLevel{}
	case "w:num":
		l.inNum = a.get("numId")
		l.override[l.inNum] = map[int]*docxLevel{}
	case "w:abstractNumId":
		l.num[l.inNum] = a.get("val")
	case "w:lvl":
		l.levelNumber, _ = strconv.Atoi(a.get("ilvl")) // 0 if it is damaged
		l.level = &docxLevel{start: 1}
		if l.inNum != "" {
			l.override[l.inNum][l.levelNumber] = l.level
		} else if of := l.abstract[l.inAbstract]; of != nil {
			of[l.levelNumber] = l.level
		}
	case "w:start":
		if n, err := strconv.Atoi(a.get("val")); err == nil && l.level != nil {
			l.level.start = n
		}
	case "w:numFmt":
		if l.level != nil {
			l.level.format = a.get("val")
		}
	case "w:lvlText":
		if l.level != nil {
			l.level.text = a.get("val")
		}
	}
}

func (l *docxLists) stop(name string) {
	switch name {
	case "w:lvl":
		l.level = nil
	case "w:abstractNum":
		l.inAbstract = ""
	case "w:num":
		l.inNum = ""
	}
}
func (l *docxLists) chars(string) {}

func (l *docxLists) levelOf(id string, level int) *docxLevel {
	if o := l.override[id][level]; o != nil {
		return o
	}
	return l.abstract[l.num[id]][level]
}

// ofStyle returns the list that a style adds its paragraphs to.
func (l *docxLists) ofStyle(id string, styles *docxStyles) docxItem {
	for range maxBases {
		if item, ok := styles.list[id]; ok {
			return item
		}
		if id = styles.styles[id].base; id == "" {
			break
		}
	}
	return docxItem{}
}

// label returns the text before an item, followed by a blank, if it contains a word, and counts the item. It returns "" for an item whose
// label was already returned.
func (l *docxLists) label(item *docxItem) string {
	if item.done || item.level < 0 || item.level >= maxListLevels {
		return ""
	}
	item.done = true
	own := l.levelOf(item.id, item.level)
	if own == nil {
		return ""
	}
	counts := l.counts[item.id]
	for n := len(counts); n <= item.level; n++ {
		before := 0
		if lv := l.levelOf(item.id, n); lv != nil {
			before = lv.start - 1
		}
		if n < item.level {
			before++
		}
		counts = append(counts, before)
	}
	counts[item.level]++
	l.counts[item.id] = counts[:item.level+1] // deeper levels start over
	if strings.IndexFunc(own.text, unicode.IsLetter) < 0 {
		return ""
	}
	var b strings.Builder
	for i := 0; i < len(own.text); i++ {
		if own.text[i] == '%' && i+1 < len(own.text) && own.text[i+1] >= '1' && own.text[i+1] <= '9' {
			i++
			if n := int(own.text[i] - '1'); n < len(counts) {
				lv := l.levelOf(item.id, n)
				if lv == nil {
					lv = own
				}
				b.WriteString(listNumber(lv.format, counts[n]))
			}
			continue
		}
		b.WriteByte(own.text[i])
	}
	return b.String() + " "
}

// listNumber writes a number in a list format; formats in other scripts are written in digits.
func listNumber(format string, n int) string {
	switch {
	case n <= 0 || n > 3999:
	case format == "lowerLetter", format == "upperLetter":
		s := strings.Repeat(string(rune('a'+(n-1)%26)), min((n-1)/26+1, 20))
		if format == "upperLetter" {
			return strings.ToUpper(s)
		}
		return s
	case format == "lowerRoman", format == "upperRoman":
		var b strings.Builder
		for _, d := range []struct {
			value int
			sign  string
		}{{1000, "m"}, {900, "cm"}, {500, "d"}, {400, "cd"}, {100, "c"}, {90, "xc"}, {50, "l"}, {40, "xl"}, {10, "x"}, {9, "ix"}, {5,
			"v"}, {4, "iv"}, {1, "i"}} {
			for ; n >= d.value; n -= d.value {
				b.WriteString(d.sign)
			}
		}
		if format == "upperRoman" {
			return strings.ToUpper(b.String())
		}
		return b.String()
	case format == "none", format == "bullet":
		return ""
	}
	return strconv.Itoa(n)
}
