package extract

import (
	"encoding/binary"
	"strings"
	"unicode/utf16"
)

// msgProperty names the properties of an Outlook message that are read ([MS-OXPROPS]).
const (
	msgSubject  = "0037"
	msgSender   = "0C1A"
	msgBody     = "1000"
	msgHTML     = "1013"
	msgRTF      = "1009"
	msgFileLong = "3707"
	msgFile     = "3704"
	msgData     = "3701"
)

// msgProperties reads the property streams directly below path.
func msgProperties(streams map[string][]byte, path string) map[string][]byte {
	p := map[string][]byte{}
	for k, v := range streams {
		if name, ok := strings.CutPrefix(k, strings.ToLower(path)+"__substg1.0_"); ok && len(name) == 8 {
			p[strings.ToUpper(name)] = v
		}
	}
	return p
}

func msgStreams(data []byte) (map[string][]byte, error) {
	return oleStreams(data, func(path []string, name string) bool {
		return strings.HasPrefix(strings.ToLower(name), "__substg1.0_") && len(path) <= 1
	})
}

// msgText is a string property, wide or narrow.
func msgText(p map[string][]byte, id string) string {
	if raw, ok := p[id+"001F"]; ok {
		u := make([]uint16, len(raw)/2)
		for i := range u {
			u[i] = binary.LittleEndian.Uint16(raw[2*i:])
		}
		return strings.TrimRight(string(utf16.Decode(u)), "\x00")
	}
	if raw, ok := p[id+"001E"]; ok {
		if c, err := detectEncoding(raw); err == nil {
			if s, err := c.decode(raw); err == nil {
				return strings.TrimRight(s, "\x00")
			}
		}
	}
	return ""
}

// readMSG reads the subject, sender and body of an Outlook message.
func readMSG(b *builder, data []byte) error {
	streams, err := msgStreams(data)
	if err != nil {
		return err
	}
	p := msgProperties(streams, "")
	b.res.Title, b.res.Author = msgText(p, msgSubject), msgText(p, msgSender)
	b.text(b.res.Title)
	b.end()
	switch {
	case len(p[msgHTML+"0102"]) > 0: // Outlook displays this; the plain text next to it can differ
		b.alternative(msgText(p, msgBody))
		return b.bodyText(mailPart{kind: "text/html", data: p[msgHTML+"0102"]})
	case msgText(p, msgHTML) != "":
		b.alternative(msgText(p, msgBody))
		b.htmlText(msgText(p, msgHTML))
	case msgText(p, msgBody) != "":
		b.plainParagraphs(msgText(p, msgBody))
	case len(p[msgRTF+"0102"]) > 0:
		rtf, err := unpackRTF(p[msgRTF+"0102"], b.opt.MaxUnpacked)
		if err != nil {
			return err
		}
		return readRTF(b, rtf)
	}
	return nil
}

// rtfDictionary is the initial content of the window ([MS-OXRTFCP] section 2.1.2.1).
const rtfDictionary = "{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern \\fscript \\fdecor MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0\\blue0\r\n\\par \\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx"

// unpackRTF unpacks a body in compressed RTF ([MS-OXRTFCP] section 2.2).
func unpackRTF(in []byte, most int64) ([]byte, error) {
	if len(in) < 16 {
		return nil, &Error{Code: Damaged, Detail: "the message's body is cut off"}
	}
	if binary.LittleEndian.Uint32(in[8:]) == 0x414c454d { // stored
		return in[16:], nil
	}
	var window [4096]byte
	at := copy(window[:], rtfDictionary)
	var out []byte
	put := func(c byte) {
		out = append(out, c)
		window[at] = c
		at = (at + 1) & 4095
	}
	for i := 16; i < len(in); {
		control := in[i]
		i++
		for bit := 0; bit < 8 && i < len(in); bit++ {
			if control>>bit&1 == 0 {
				put(in[i])
				i++
				continue
			}
			if i+1 >= len(in) {
				return out, nil
			}
			ref := int(in[i])<<8 | int(in[i+1])
			i += 2
			from := ref >> 4
			if from == at {
				return out, nil
			}
			for range ref&15 + 2 {
				put(window[from])
				from = (from + 1) & 4095
			}
			if int64(len(out)) > most {
				return nil, limitError("message body", "MaxUnpacked", "too large when unpacked")
			}
		}
	}
	return out, nil
}
