package report

import (
	"regexp"
	"slices"
	"strings"

	"concordat"
)

const (
	maxSkeleton = 900 // maximum bytes of code covered by one mark
	leastCode   = 0.5 // minimum share of code lines in a block
)

var (
	// codeLine matches a line of code: it ends like a statement or a block, begins with a keyword of a programming language, or is a
	// comment.
	codeLine = regexp.MustCompile(`[;{}]\s*(?://.*|/\*.*)?$|^\s*(?:def|class|import|from\s+\S+\s+import|return|if|elif|else|for|while|with|try|except|raise|` +
		`assert|pass|func|function|var|let|const|public|private|protected|static|void|int|double|float|bool|char|package|using|namespace|` +
		`#include|#define|#!|@\w+|end)\b.*[:({\[=)]?\s*$|^\s*(?:#|//|/\*|\*|--|%|""")|\w\(.*\)\s*:?\s*$|^\s*[\w.\[\]]+\s*(?:[-+*/|&]?=|<-|:=)\s*\S|^\s*\$?[)\]}]+[,;]?\s*$`)
	// goesOnHere matches the mark where recipients of a skeleton start writing; the text after it is theirs.
	goesOnHere = regexp.MustCompile(`(?i)\b(?:to-?do|fixme)\b|\b(?:your|student'?s?|own) (?:code|solution|answer|implementation|work)\b|` +
		`\b(?:write|add|insert|implement|complete|fill in|put) (?:\w+ ){0,4}(?:here|below|this)\b|` +
		`NotImplemented|not (?:yet )?implemented|` +
		`(?:ihr|dein|eigener)e?r? code|hier (?:ergänzen|einfügen|implementieren|weiter)|(?:votre|ton) code|à compléter|complét(?:er|ez)|` +
		`(?:tu|su|seu|vostro|tuo) c[óo]di(?:go|ce)|completar|completare|aan te vullen|jouw code|(?:twój|wasz) kod|uzupełnij|ваш код|допиш|` +
		`(?:你|您)的代码|在此(?:处)?(?:编写|填写|补充|完成|实现)|请(?:补充|完成|实现)|待(?:完成|实现|补充)`)
	// toBeKept matches the mark of a block that recipients must leave unchanged.
	toBeKept = regexp.MustCompile(`(?i)\b(?:do not|don'?t|never|must not) (?:\w+ )?(?:change|modify|edit|alter|touch|remove)\b|\b(?:provided|given|supplied) (?:code|by the)|` +
		`\b(?:starter|skeleton|template|boilerplate) code\b|nicht (?:ver)?ändern|vorgegeben|ne pas modifier|fourni par|no modificar|não (?:modificar|alterar)|` +
		`non modificare|niet (?:wijzigen|aanpassen)|nie (?:zmieniać|modyfikować)|не (?:изменя|меня)|(?:请)?(?:不要|勿|不得)(?:修改|改动|更改)`)
)

// codeWords holds words that begin lines of code, as in codeLine.
var codeWords = map[string]bool{}

func init() {
	for _, w := range strings.Fields("def class import from return if elif else for while with try except raise assert pass func function var " +
		"let const public private protected static void int double float bool char package using namespace end") {
		codeWords[w] = true
	}
}

// likeCode is a cheap test for whether codeLine can match a line without surrounding spaces.
func likeCode(l string) bool {
	if strings.ContainsAny(l, ";{}=") || strings.Contains(l, "<-") || strings.ContainsAny(l[:1], "#/*-%\"@$)]") {
		return true
	}
	if end := strings.TrimRight(l, ": \t"); strings.HasSuffix(end, ")") && strings.Contains(end, "(") {
		return true
	}
	word := strings.IndexFunc(l, func(r rune) bool { return r > 'z' || r < 'a' })
	if word < 0 {
		word = len(l)
	}
	return codeWords[l[:word]]
}

// skeleton returns the part of a paragraph's code that was handed out: everything up to the line that marks where to continue, or all of
// a block marked as unchangeable. In a single text, such a mark proves nothing, because someone might copy a solution and add the mark
// above it.
func skeleton(text string, p concordat.Span) (concordat.Span, bool) {
	if p.Len() > 4*maxSkeleton {
		return concordat.Span{}, false
	}
	in := p.In(text)
	ls := slices.DeleteFunc(lines(in), func(l line) bool { return l.trimmed == "" })
	n := len(ls)
	like := 0
	for _, l := range ls {
		if likeCode(l.trimmed) {
			like++
		}
	}
	if n < 2 || float64(like) < leastCode*float64(n) {
		return concordat.Span{}, false // prose, as most paragraphs are
	}
	if !goesOnHere.MatchString(in) && !toBeKept.MatchString(in) {
		return concordat.Span{}, false
	}
	code, kept, end := 0, false, -1
	for _, l := range ls {
		if codeLine.MatchString(in[l.Start:l.End]) {
			code++
		}
		kept = kept || toBeKept.MatchString(l.trimmed)
		if goesOnHere.MatchString(l.trimmed) {
			end = l.End
		}
	}
	if float64(code) < leastCode*float64(n) {
		return concordat.Span{}, false
	}
	if kept && end < 0 {
		end = len(in)
	}
	if end <= 0 || end > maxSkeleton {
		return concordat.Span{}, false
	}
	return concordat.Span{Start: p.Start, End: p.Start + end}, true
}
