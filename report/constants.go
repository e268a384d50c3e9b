package report

import (
	_ "embed"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"concordat"
)

//go:embed constants.txt
var constantsFile string

const (
	leastConstants = 3  // minimum rows in a table of constants
	maxRowWords    = 20 // maximum words in a row
	leastDigits    = 5  // minimum digits needed to recognise a constant
)

// element is a chemical element.
type element struct {
	symbol, number string
	weight         float64 // standard atomic weight
}

// publicConstants returns the elements, and the digits of constants without decimal point, exponent, or leading and trailing zeros.
var publicConstants = sync.OnceValues(func() (elements []element, digits []string) {
	for line := range strings.Lines(constantsFile) {
		f := strings.Fields(line)
		switch f[0] {
		case "element":
			weight, err := strconv.ParseFloat(f[3], 64)
			if err != nil {
				panic("constants.txt: " + line)
			}
			elements = append(elements, element{f[1], f[2], weight})
		case "constant":
			digits = append(digits, strings.Trim(f[1], "0"))
		}
	}
	return elements, digits
})

// constantTables returns the tables of public constants, each with the heading above it: rows that contain known constants and no other
// numbers. A table of results contains numbers that are not public constants.
func constantTables(ls []line) []Apart {
	var out []Apart
	for i := 0; i < len(ls); {
		j := i
		for j < len(ls) && isRow(ls[j].trimmed) && constantRow(ls[j].trimmed) {
			j++
		}
		if j-i >= leastConstants {
			if i > 0 && isRow(ls[i-1].trimmed) && !endsSentence(ls[i-1].trimmed) {
				i--
			}
			out = append(out, Apart{concordat.Span{Start: ls[i].Start, End: ls[j-1].End}, AsConstants})
		}
		i = max(j, i+1)
	}
	return out
}

func isRow(l string) bool {
	return l != "" && len(l) <= 300 && measureWords(l) <= maxRowWords
}

// rowNumber matches a number in a row, optionally with thousands separators or an uncertainty in parentheses.
var rowNumber = regexp.MustCompile(`[0-9][0-9.,\x{00A0}\x{202F}]*(?:\([0-9]+\))?(?:\s?[×x·*]\s?10\s?\^?\s?[-−–+⁻⁺]?[0-9⁰¹²³⁴-⁹]+|[eE][-+−]?[0-9]+)?`)

// constantRow reports whether all numbers in a row are known constants: either the two numbers of one element, which its symbol or the
// numbers identify, or the digits of a constant.
func constantRow(l string) bool {
	elements, digits := publicConstants()
	var numbers []string
	for _, n := range rowNumber.FindAllString(l, maxRowWords) {
		numbers = append(numbers, strings.TrimRight(n, ".,"))
	}
	if len(numbers) == 0 {
		return false
	}
	known, ones := 0, 0
	for _, n := range numbers {
		switch {
		case n == "1": // the 1 of a unit
			ones++
		case isConstant(n, digits):
			known++
		}
	}
	if known > 0 && known+ones == len(numbers) {
		return true
	}
	words := strings.FieldsFunc(l, func(r rune) bool { return !unicode.IsLetter(r) })
	for _, e := range elements {
		symbol := slices.Contains(words, e.symbol)
		if !symbol && !slices.Contains(numbers, e.number) {
			continue
		}
		facts := 0
		for _, n := range numbers {
			if n == e.number || isWeight(n, e.weight) {
				facts++
			}
		}
		if facts == len(numbers) && (facts > 1 || symbol) {
			return true
		}
	}
	return false
}

// isConstant reports whether a number has the digits of a constant, rounded or truncated to no fewer than leastDigits.
func isConstant(n string, digits []string) bool {
	mantissa := n
	if i := strings.IndexAny(n, "×x·*eE("); i >= 0 {
		mantissa = n[:i]
	}
	own := strings.Trim(strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, mantissa), "0")
	if len(own) < leastDigits {
		return false
	}
	for _, d := range digits {
		if strings.HasPrefix(d, own) {
			return true
		}
		if len(d) > len(own) && d[len(own)] >= '5' { // rounded up
			if v, err := strconv.ParseUint(d[:len(own)], 10, 64); err == nil && own == strings.Trim(strconv.FormatUint(v+1, 10), "0") {
				return true
			}
		}
	}
	return false
}

// isWeight reports whether a number is an atomic weight, rounded to at least one decimal.
func isWeight(n string, weight float64) bool {
	n = strings.Replace(strings.TrimRight(strings.SplitN(n, "(", 2)[0], "0"), ",", ".", 1)
	v, err := strconv.ParseFloat(n, 64)
	_, decimals, _ := strings.Cut(n, ".")
	if err != nil || decimals == "" {
		return false
	}
	unit := 1.0
	for range decimals {
		unit /= 10
	}
	return v-weight <= unit && weight-v <= unit
}
