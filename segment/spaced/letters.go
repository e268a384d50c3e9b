package spaced

// class is a character's class in the search for runs.
type class uint8

const (
	other   class = iota
	letter        // letter of a searched script
	gap           // white space within a line
	nothing       // invisible, or a mark on the previous letter
)

// classOf returns the class of r by fixed ranges.
func classOf(r rune) class {
	switch {
	case r < 0x80:
		switch {
		case r|0x20 >= 'a' && r|0x20 <= 'z':
			return letter
		case r == ' ' || r == '\t':
			return gap
		}
		return other
	case r == 0xa0, r >= 0x2000 && r <= 0x200a, r == 0x202f, r == 0x205f, r == 0x3000:
		return gap
	case r == 0xad, r >= 0x300 && r <= 0x36f, r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e,
		r >= 0x2060 && r <= 0x2069, r == 0xfeff, r == 0x180e, r >= 0xfe00 && r <= 0xfe0f:
		return nothing
	case r >= 0xc0 && r <= 0x24f:
		if r == 0xd7 || r == 0xf7 {
			return other
		}
		return letter
	case r >= 0x386 && r <= 0x3ff && r != 0x387, // Greek
		r >= 0x400 && r <= 0x481, r >= 0x48a && r <= 0x52f, // Cyrillic
		r >= 0x531 && r <= 0x556, r >= 0x561 && r <= 0x587, // Armenian
		r >= 0x1e00 && r <= 0x1fbc,
		r >= 0xff21 && r <= 0xff3a, r >= 0xff41 && r <= 0xff5a:
		return letter
	}
	return other
}

// lower returns r in lower case if it belongs to a searched script.
func lower(r rune) rune {
	switch {
	case r >= 'A' && r <= 'Z', r >= 0xc0 && r <= 0xde && r != 0xd7, r >= 0x391 && r <= 0x3ab, r >= 0x410 && r <= 0x42f, r >= 0xff21 &&
		r <= 0xff3a:
		return r + 0x20
	case r >= 0x100 && r <= 0x137, r >= 0x14a && r <= 0x177, r >= 0x460 && r <= 0x481, r >= 0x48a && r <= 0x4bf, r >= 0x4d0 && r <= 0x52f,
		r >= 0x1e00 && r <= 0x1eff:
		return r | 1
	case r >= 0x400 && r <= 0x40f:
		return r + 0x50
	case r >= 0x531 && r <= 0x556:
		return r + 0x30
	}
	return r
}
