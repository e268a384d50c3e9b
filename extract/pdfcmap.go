package extract

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"unicode/utf16"
)

// maxCodes is the maximum number of codes in a ToUnicode table, since codes have two bytes.
const maxCodes = 1 << 16

// toUnicode is a font's ToUnicode table (ISO 32000-1, section 9.10.3), which states the meaning of each code.
type toUnicode map[int]string

// readToUnicode parses a table, skipping anything it cannot parse. room is the number of codes that ranges can still cover.
func readToUnicode(data []byte, room *int) toUnicode {
	t := toUnicode{}
	var operands [][]byte // operands since the last operator; nil for a bracket
	for len(data) > 0 {
		token, rest := cmapToken(data)
		data = rest
		switch {
		case len(token) == 0:
		case token[0] == '<':
			code, _ := hex.DecodeString(string(cmapDigits(token)))
			operands = append(operands, append(make([]byte, 0, len(code)), code...))
		case token[0] == '[' || token[0] == ']':
			operands = append(operands, nil)
		case string(token) == "endbfchar":
			for ; len(operands) >= 2; operands = operands[2:] {
				t.set(operands[0], 0, operands[1], 0)
			}
			operands = operands[:0]
		case string(token) == "endbfrange":
			t.ranges(operands, room)
			operands = operands[:0]
		case token[0] < '0' || token[0] > '9':
			operands = operands[:0]
		}
	}
	return t
}

// cmapToken splits off the first token: a string, a bracket or a word. Comments end at the end of the line.
func cmapToken(data []byte) (token, rest []byte) {
	for {
		data = bytes.TrimLeft(data, " \t\r\n\f\x00")
		if len(data) == 0 {
			return nil, nil
		}
		if data[0] != '%' {
			break
		}
		n := bytes.IndexAny(data, "\r\n")
		if n < 0 {
			return nil, nil
		}
		data = data[n:]
	}
	n := 0
	switch {
	case bytes.HasPrefix(data, []byte("<<")):
		n = 2
	case data[0] == '<':
		n = bytes.IndexByte(data, '>') + 1
	case data[0] == '(':
		n = literalEnd(data)
	case data[0] == '[', data[0] == ']', data[0] == '>':
		n = 1
	default:
		n = bytes.IndexAny(data[1:], " \t\r\n\f\x00<>[]/%(") + 1
	}
	if n == 0 {
		n = len(data)
	}
	return data[:n], data[n:]
}

// literalEnd returns the end of a string in parentheses, or 0.
func literalEnd(data []byte) int {
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

// cmapDigits returns the digits of a string; an odd number of digits is padded with a zero.
func cmapDigits(token []byte) []byte {
	var out []byte
	for _, c := range token {
		if c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' {
			out = append(out, c)
		}
	}
	if len(out)%2 == 1 {
		out = append(out, '0')
	}
	return out
}

// ranges parses the operands of bfrange: the first and last codes, and the meaning of the first or a list of meanings.
func (t toUnicode) ranges(operands [][]byte, room *int) {
	for len(operands) >= 3 && operands[0] != nil && operands[1] != nil {
		first, last := operands[0], operands[1]
		n := codeOf(last) - codeOf(first) + 1
		operands = operands[2:]
		if operands[0] != nil {
			n = min(max(n, 0), max(*room, 0))
			*room -= n
			for i := range n {
				t.set(first, i, operands[0], i)
			}
			operands = operands[1:]
			continue
		}
		operands = operands[1:]
		for i := 0; len(operands) > 0; i++ {
			meaning := operands[0]
			if operands = operands[1:]; meaning == nil {
				break
			}
			if i < n {
				t.set(first, i, meaning, 0)
			}
		}
	}
}

// codeOf returns a code of one or two bytes as a number, or -1.
func codeOf(code []byte) int {
	switch len(code) {
	case 1:
		return int(code[0])
	case 2:
		return int(code[0])<<8 | int(code[1])
	}
	return -1
}

// set assigns code + add a meaning in UTF-16, with add added to its last unit.
func (t toUnicode) set(code []byte, add int, meaning []byte, increase int) {
	const longest = 32 // in bytes
	c := codeOf(code) + add
	if codeOf(code) < 0 || c >= maxCodes || len(meaning) > longest {
		return
	}
	if len(meaning) == 1 {
		meaning = []byte{0, meaning[0]}
	}
	units := make([]uint16, len(meaning)/2)
	for i := range units {
		units[i] = uint16(meaning[2*i])<<8 | uint16(meaning[2*i+1])
	}
	if len(units) > 0 {
		units[len(units)-1] += uint16(increase)
	}
	t[c] = string(utf16.Decode(units))
}

// stream returns the table as a stream object, for codes of the given number of bytes.
func (t toUnicode) stream(width int) []byte {
	body := t.write(width)
	return fmt.Appendf(nil, "<</Length %d>>stream\n%s\nendstream", len(body), body)
}

// write returns the content of that stream.
func (t toUnicode) write(width int) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /Seen def /CMapType 2 def\n"+
		"1 begincodespacerange <%0*X> <%0*X> endcodespacerange\n", 2*width, 0, 2*width, 1<<(8*width)-1)
	const most = 100 // per block
	for block := range slices.Chunk(slices.Sorted(maps.Keys(t)), most) {
		fmt.Fprintf(&out, "%d beginbfchar\n", len(block))
		for _, c := range block {
			fmt.Fprintf(&out, "<%0*X> <", 2*width, c)
			for _, u := range utf16.Encode([]rune(t[c])) {
				fmt.Fprintf(&out, "%04X", u)
			}
			out.WriteString(">\n")
		}
		out.WriteString("endbfchar\n")
	}
	out.WriteString("endcmap CMapName currentdict /CMap defineresource pop end end\n")
	return out.Bytes()
}
