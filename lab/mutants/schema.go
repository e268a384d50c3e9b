package main

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// form is how a change is written so that it can be switched on while the program runs.
type form int

// These are the forms.
const (
	formApart   form = iota // not switchable
	formTruth               // a condition: both versions are present, and one is evaluated
	formValue               // a value: both versions are evaluated, and neither calls anything
	formNumber              // + - * / of numbers
	formWhole               // operators of whole numbers
	formShift               // << and >>
	formDropped             // an omitted statement
	formNoError             // an omitted call that returns an error
)

// formOf returns the form of an arithmetic operator.
func formOf(op string) form {
	switch op {
	case "+", "-", "*", "/":
		return formNumber
	case "<<", ">>":
		return formShift
	}
	return formWhole
}

// marked tells the compiler that the code written for a change is in a separate file, named by the change's number, and that the code
// after it is in the file of the enclosing change or, if there is none, on its own line. This is necessary because a compiler reports no
// columns beyond 255. The space separates it from a preceding /.
func marked(k, around int, s, after string) string {
	if around > 0 {
		after = fmt.Sprintf("mutant%d.go:1:1", around)
	}
	return fmt.Sprintf(" /*line mutant%d.go:1:1*/%s/*line %s*/", k, s, after)
}

// place returns the file, line and column of the byte at offset at.
func place(file string, src []byte, at int) string {
	before := src[:at]
	return fmt.Sprintf("%s:%d:%d", path.Base(file), 1+bytes.Count(before, []byte("\n")), at-bytes.LastIndexByte(before, '\n'))
}

// schema returns the source of a file with all its changes, each after its number (Untch, Offutt and Harrold 1993, Mutation analysis
// using mutant schemata). Spans of changes are nested or disjoint, like syntax.
func schema(src []byte, cs []Change, number map[string]int) string {
	in := slices.Clone(cs)
	slices.SortStableFunc(in, func(a, b Change) int {
		if a.Start != b.Start {
			return a.Start - b.Start
		}
		return b.End - a.End
	})
	return between(src, 0, len(src), in, 0, number)
}

// between writes the bytes from start to end with the changes within them, outermost first; around is the number of the enclosing change.
func between(src []byte, start, end int, cs []Change, around int, number map[string]int) string {
	var out strings.Builder
	at := start
	for len(cs) > 0 {
		one := cs[0]
		n := 1
		for n < len(cs) && cs[n].Start == one.Start && cs[n].End == one.End {
			n++
		}
		same := cs[:n]
		last := n
		for last < len(cs) && cs[last].End <= one.End {
			last++
		}
		out.Write(src[at:one.Start])
		out.WriteString(switched(src, same, cs[n:last], around, number))
		at, cs = one.End, cs[last:]
	}
	out.Write(src[at:end])
	return out.String()
}

// switched writes the changes of one span, nested.
func switched(src []byte, same, inner []Change, around int, number map[string]int) string {
	one := same[0]
	after := place(one.File, src, one.End)
	if one.Form == formNumber || one.Form == formWhole || one.Form == formShift {
		k := number[one.Key()]
		left := slices.DeleteFunc(slices.Clone(inner), func(c Change) bool { return c.End > one.LeftEnd })
		right := slices.DeleteFunc(slices.Clone(inner), func(c Change) bool { return c.Start < one.RightStart })
		name := map[form]string{formNumber: "mutantNumber", formWhole: "mutantWhole", formShift: "mutantShift"}[one.Form]
		return marked(k, around, fmt.Sprintf("%s(%d, %s, %s, %q, %q)", name, k, between(src, one.Start, one.LeftEnd, left, k, number),
			between(src, one.RightStart, one.End, right, k, number), one.Op, one.ToOp), after)
	}
	text := between(src, one.Start, one.End, inner, number[one.Key()], number)
	// If a statement is a single call, the code that omits the statement goes around the code that changes the call.
	for _, c := range slices.SortedStableFunc(slices.Values(same), func(a, b Change) int { return dropsLast(a) - dropsLast(b) }) {
		k := number[c.Key()]
		switch c.Form {
		case formTruth:
			text = marked(k, around, fmt.Sprintf("(mutantIs(%d) && (%s) || !mutantIs(%d) && (%s))", k, c.To, k, text), after)
		case formValue:
			text = marked(k, around, fmt.Sprintf("mutantPick(%d, %s, %s)", k, text, c.To), after)
		case formNoError:
			text = marked(k, around, fmt.Sprintf("mutantNoError(%d, func() error { return %s })", k, text), after)
		case formDropped:
			text = marked(k, around, fmt.Sprintf("if !mutantIs(%d) { %s }", k, text), after)
		}
	}
	return text
}

func dropsLast(c Change) int {
	if c.Form == formDropped {
		return 1
	}
	return 0
}

var (
	quotedSwitch = regexp.MustCompile(`mutant[A-Z]\w*\((\d+)`)
	placeOfError = regexp.MustCompile(`^\S*mutant(\d+)\.go:\d+`)
	lineOfError  = regexp.MustCompile(`^\S*?([^/\s]+\.go):(\d+):`)
)

// faulty returns the numbers of the changes that a compiler rejects: the ones quoted in a message, the one at its position, or all on its
// line, since an untyped constant is rejected for the type of its neighbour.
func faulty(messages string, cs []Change, number map[string]int) map[int]bool {
	out := map[int]bool{}
	for line := range strings.Lines(messages) {
		found := quotedSwitch.FindAllStringSubmatch(line, -1)
		if found == nil {
			found = placeOfError.FindAllStringSubmatch(line, 1)
		}
		for _, m := range found {
			if k, err := strconv.Atoi(m[1]); err == nil {
				out[k] = true
			}
		}
		if m := lineOfError.FindStringSubmatch(line); found == nil && m != nil {
			for _, c := range cs {
				if path.Base(c.File) == m[1] && strconv.Itoa(c.Line) == m[2] {
					out[number[c.Key()]] = true
				}
			}
		}
	}
	return out
}

// switches is the file added to a package for switching its changes; its parameters are the package's name, and the number of changes
// plus one.
const switches = `package %s

import (
	"os"
	"strconv"
	"sync/atomic"
)

var (
	mutantChosen, _ = strconv.Atoi(os.Getenv("MUTANT"))
	mutantReached   = os.Getenv("MUTANTS_REACHED")
	mutantSeen      [%d]atomic.Bool
)

// mutantIs reports whether a change is active. If asked to, it records that the place was reached.
func mutantIs(k int) bool {
	if mutantReached != "" && !mutantSeen[k].Load() && !mutantSeen[k].Swap(true) {
		mutantNote(k)
	}
	return k == mutantChosen
}

// mutantNote writes on another thread, since some tests make the system calls of their own thread fail.
func mutantNote(k int) {
	written := make(chan error)
	go func() { written <- mutantWrite(k) }()
	if err := <-written; err != nil {
		panic(err)
	}
}

func mutantWrite(k int) error {
	f, err := os.OpenFile(mutantReached, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(strconv.Itoa(k) + "\n")
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

func mutantPick[T any](k int, from, to T) T {
	if mutantIs(k) {
		return to
	}
	return from
}

func mutantNoError(k int, call func() error) error {
	if mutantIs(k) {
		return nil
	}
	return call()
}

type mutantInt interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr
}

func mutantNumber[T mutantInt | ~float32 | ~float64](k int, x, y T, from, to string) T {
	switch mutantPick(k, from, to) {
	case "+":
		return x + y
	case "-":
		return x - y
	case "*":
		return x * y
	}
	return x / y
}

func mutantWhole[T mutantInt](k int, x, y T, from, to string) T {
	switch mutantPick(k, from, to) {
	case "%%":
		return x %% y
	case "*":
		return x * y
	case "&":
		return x & y
	case "|":
		return x | y
	}
	return x &^ y
}

func mutantShift[T, S mutantInt](k int, x T, y S, from, to string) T {
	if mutantPick(k, from, to) == "<<" {
		return x << y
	}
	return x >> y
}
`
